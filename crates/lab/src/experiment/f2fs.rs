//! The F2FS paper's experiments on logging and cleaning (Lee, Sim, Hwang, Cho, FAST 2015), smaller: 256 MiB or 1 GiB in
//! place of 120 GB, with the paper's shares.
//!
//! Figures 6 to 8 count the blocks that the file system writes for each block of a user's, and their time on a disk like
//! the paper's SATA SSD; work inside it is left out.

use pumice_f2fs::{InPlace, Logging, Streams};

use super::{Experiment, Known, Look, Metric, Options, Point, Points, peers::peers};
use crate::{
    LabError, Medium,
    files::Script,
    measured::Figure,
    on_disk::{Mount, Task, Work},
    on_stack::{self, Recorded},
};

/// The metrics of figures 3 and 4; the paper tells throughput or elapsed time, over that of ext4.
const STACK: &[Metric] =
    &[Metric::Measured(Figure::Time), Metric::Measured(Figure::Space), Metric::Measured(Figure::Erases)];

/// Figure 3.
pub(super) const FIG3: Experiment<'static> = Experiment {
    name: "f2fs-fig3",
    about: "F2FS paper, figure 3: iozone, SQLite and recorded applications on a disk of ftl, with Linux's ext4, btrfs, NILFS2, F2FS",
    x: "workload",
    look: Look::Bars,
    metrics: STACK,
    points: Points::OnStack(|options| {
        let mut points: Vec<_> = MOBILE.into_iter().flat_map(|script| stack(script, None)).collect();
        points.extend(recorded(options)?);
        Ok(points)
    }),
    known: || peers("f2fs-fig3"),
};

/// Figure 4.
pub(super) const FIG4: Experiment<'static> = Experiment {
    name: "f2fs-fig4",
    about: "F2FS paper, figure 4: filebench's servers on a disk of ftl, with Linux's ext4, btrfs, NILFS2, F2FS",
    x: "workload",
    look: Look::Bars,
    metrics: STACK,
    points: Points::OnStack(|_| Ok(SERVERS.into_iter().flat_map(|script| stack(script, None)).collect())),
    known: || peers("f2fs-fig4"),
};

/// Figure 5, with the sizes of requests from its text.
pub(super) const FIG5: Experiment<'static> = Experiment {
    name: "f2fs-fig5",
    about: "F2FS paper, figure 5: requests of a file system to its disk under filebench's file server and random writes, by time and place, with Linux's ext4, btrfs, NILFS2, F2FS",
    x: "workload",
    look: Look::Bars,
    metrics: &[
        Metric::Measured(Figure::WritesLarge),
        Metric::Measured(Figure::WriteMean),
        Metric::Measured(Figure::DiscardedShare),
        Metric::Measured(Figure::DiscardsSmall),
        Metric::Measured(Figure::Writes),
        Metric::Measured(Figure::Discards),
    ],
    points: Points::OnStack(|_| {
        let points = [Script::FileServer, Script::RandomWrite].map(|script| stack(script, None));
        Ok(points
            .into_iter()
            .flatten()
            .map(|point| Point { setup: on_stack::Task { traced: true, ..point.setup }, ..point })
            .collect())
    }),
    known: || {
        // The paper does not tell the discards of NILFS2.
        let paper = [
            ("paper: ext4", Figure::WritesLarge, 0.9),
            ("paper: btrfs", Figure::WritesLarge, 3.8),
            ("paper: nilfs2", Figure::WritesLarge, 78.0),
            ("paper: f2fs", Figure::WritesLarge, 6.9),
            ("paper: ext4", Figure::DiscardedShare, 66.7),
            ("paper: btrfs", Figure::DiscardedShare, 47.0),
            ("paper: f2fs", Figure::DiscardedShare, 38.0),
            ("paper: ext4", Figure::DiscardsSmall, 60.0),
            ("paper: btrfs", Figure::DiscardsSmall, 75.0),
            ("paper: f2fs", Figure::DiscardsSmall, 0.0),
        ];
        let known = |(series, figure, value)| Known {
            series,
            x: "fileserver",
            metric: Metric::Measured(figure),
            value,
            kept: None,
        };
        let mut all = peers("f2fs-fig5");
        all.extend(paper.map(known));
        all
    },
};

const MOBILE: [Script; 7] = [
    Script::SequentialWrite,
    Script::SequentialRead,
    Script::RandomWrite,
    Script::RandomRead,
    Script::Insert,
    Script::Update,
    Script::Delete,
];
const SERVERS: [Script; 4] =
    [Script::VideoServer, Script::FileServer, Script::MailServer, Script::Transactions];
/// Recorded applications, and the files that have their calls.
const APPLICATIONS: [(&str, &str); 2] =
    [("Facebook-app", "mobigen-facebook.txt.zst"), ("Twitter-app", "mobigen-twitter.txt.zst")];

/// A workload on F2FS as Pumice mounts it by default, and as Linux does: fsync then writes in place.
fn stack(script: Script, recorded: Option<&Recorded>) -> [Point<on_stack::Task>; 2] {
    let ways = [("F2FS, Pumice", InPlace::Never), ("F2FS, Pumice, in place", InPlace::Fsync)];
    ways.map(|(series, in_place)| {
        let mount = Mount { in_place, ..Mount::default() };
        let setup = on_stack::Task {
            mount,
            script,
            recorded: recorded.cloned(),
            traced: false,
            medium: Medium::default(),
        };
        Point { series: series.to_owned(), x: script.to_string(), setup }
    })
}

/// The applications that have a recording among the traces.
fn recorded(options: &Options) -> Result<Vec<Point<on_stack::Task>>, LabError> {
    let files = APPLICATIONS.map(|(x, file)| (x, options.traces.join(file)));
    let mut points = Vec::new();
    for (x, path) in files.into_iter().filter(|(_, path)| path.is_file()) {
        let recorded = Recorded::new(path)?;
        points
            .extend(stack(Script::Recorded, Some(&recorded)).map(|point| Point { x: x.to_owned(), ..point }));
    }
    Ok(points)
}

/// Figure 6.
pub(super) const FIG6: Experiment<'static> = Experiment {
    name: "f2fs-fig6",
    about: "F2FS paper, figure 6: segments by blocks in use after mails and photographs, by the number of logs",
    x: "logs",
    look: Look::Bars,
    metrics: &[
        Metric::Measured(Figure::SegmentsEmpty),
        Metric::Measured(Figure::SegmentsSparse),
        Metric::Measured(Figure::SegmentsOverHalf),
        Metric::Measured(Figure::SegmentsDense),
        Metric::Measured(Figure::SegmentsFull),
    ],
    points: Points::OnDisk(|| logs("f2fs", 1)),
    known: Vec::new,
};

/// Section 3.2.3, end.
pub(super) const AGED: Experiment<'static> = Experiment {
    name: "f2fs-aged",
    about: "F2FS paper, 3.2.3: the same of figure 6 on an aged volume, after twice as many mails more",
    x: "logs",
    look: Look::Bars,
    metrics: &[
        Metric::Measured(Figure::SegmentsEmpty),
        Metric::Measured(Figure::SegmentsSparse),
        Metric::Measured(Figure::SegmentsFull),
    ],
    points: Points::OnDisk(|| {
        let mut points = logs("f2fs", 1);
        points.extend(logs("f2fs, aged", 3));
        points
    }),
    known: Vec::new,
};

/// Mails with each number of logs, so many times as many.
fn logs(series: &str, age: u64) -> Vec<Point<Task>> {
    let logs = Streams::NAMED.into_iter().rev();
    let mount = |streams| Mount { streams, ..Mount::default() };
    logs.map(|(x, streams)| point(series, x, mount(streams), Work::Mail { age })).collect()
}

/// Figure 7.
pub(super) const FIG7: Experiment<'static> = Experiment {
    name: "f2fs-fig7",
    about: "F2FS paper, figure 7: random writes of 4 KiB to a hot part, by how full the volume is; 25: nothing cold",
    x: "full (%)",
    look: Look::Lines,
    metrics: &[
        Metric::Measured(Figure::Written),
        Metric::Measured(Figure::WrittenMost),
        Metric::Measured(Figure::Throughput),
    ],
    points: Points::OnDisk(|| {
        let parts =
            [("25", 0, 250), ("80", 600, 200), ("90", 600, 300), ("95", 600, 350), ("97.5", 600, 375)];
        let mut points = Vec::new();
        for (series, logging, in_place) in [
            ("adaptive", Logging::Adaptive, InPlace::Never),
            ("adaptive, in place when scarce", Logging::Adaptive, InPlace::ScarceAndUsed),
            ("normal", Logging::Normal, InPlace::Never),
        ] {
            for (x, cold, hot) in parts {
                let work = Work::Overwrite { cold, hot, idle: false };
                points.push(point(series, x, Mount { logging, in_place, ..Mount::default() }, work));
            }
        }
        points
    }),
    known: Vec::new,
};

/// Figure 8.
pub(super) const FIG8: Experiment<'static> = Experiment {
    name: "f2fs-fig8",
    about: "F2FS paper, figure 8: adaptive and normal logging on full volumes; there normal logging writes 27 % more as a file server",
    x: "workload",
    look: Look::Bars,
    metrics: &[
        Metric::Measured(Figure::Written),
        Metric::Measured(Figure::Drop),
        Metric::Measured(Figure::Threaded),
        Metric::Measured(Figure::Throughput),
    ],
    points: Points::OnDisk(|| {
        let works = [
            ("file server, 94 %", Work::FileServer { full: 940 }),
            ("random writes, 97.5 %", Work::Overwrite { cold: 600, hot: 375, idle: false }),
        ];
        let mut points = Vec::new();
        for (series, logging) in [("adaptive", Logging::Adaptive), ("normal", Logging::Normal)] {
            points
                .extend(works.map(|(x, work)| point(series, x, Mount { logging, ..Mount::default() }, work)));
        }
        points
    }),
    known: Vec::new,
};

/// Section 3.2.4, end.
pub(super) const IDLE: Experiment<'static> = Experiment {
    name: "f2fs-idle",
    about: "F2FS paper, 3.2.4: random writes of 4 KiB at 90 %, with and without idle time between the runs; the paper gained 10 %",
    x: "between the runs",
    look: Look::Bars,
    metrics: &[Metric::Measured(Figure::Throughput), Metric::Measured(Figure::Written)],
    points: Points::OnDisk(|| {
        let mut points = Vec::new();
        for (series, logging) in [("adaptive", Logging::Adaptive), ("normal", Logging::Normal)] {
            for (x, idle) in [("nothing", false), ("idle time", true)] {
                let work = Work::Overwrite { cold: 600, hot: 300, idle };
                points.push(point(series, x, Mount { logging, ..Mount::default() }, work));
            }
        }
        points
    }),
    known: Vec::new,
};

fn point(series: &str, x: &str, mount: Mount, work: Work) -> Point<Task> {
    Point { series: series.to_owned(), x: x.to_owned(), setup: Task { mount, work } }
}
