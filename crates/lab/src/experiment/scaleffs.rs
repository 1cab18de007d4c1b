//! The ScaleFFS paper's experiments (Jung, Kim, Kim, Lee, ACM TOMCCAP 5(1), 2008), with nandfs beside ScaleFFS.
//!
//! Of its peers, JFFS2 is Linux's, on its simulated chip in QEMU; YAFFS is not here, and its published figures stand in the
//! tables. Where the paper used a player and its songs, files of 5 MB stand in. The paper's table IV explains less than 2 of the mount's 7 ms. The rest, and
//! the same share of each transfer, is left out, so figures here are better than the paper's and have its shape.

use super::{Experiment, Known, Look, Metric, Point, Points, peers::peers};
use crate::{
    Medium,
    measured::Figure,
    on_chip::{BlockType, Scenario, System, Task, Work},
};

/// Section 4.6: reclaiming an erase block in which nothing is live.
pub(super) const RECLAIM: Experiment<'static> = Experiment {
    name: "scaleffs-reclaim",
    about: "ScaleFFS paper, 4.6: device time to reclaim an erase block without live data, its spare areas looked at",
    x: "workload",
    look: Look::Bars,
    metrics: &[Metric::Measured(Figure::Reclaim)],
    points: Points::OnChip(|| {
        let work = Work::Reclaim { bytes: 64 << 20 };
        both(&[("songs made and removed".to_owned(), "512+16:32:1024".to_owned(), work)])
    }),
    known: || {
        let metric = Metric::Measured(Figure::Reclaim);
        vec![Known { series: "paper: scaleffs", x: "songs made and removed", metric, value: 2.4, kept: None }]
    },
};

/// Section 4.3: a log whose erase blocks are chained in any order.
pub(super) const REFILL: Experiment<'static> = Experiment {
    name: "scaleffs-refill",
    about: "ScaleFFS paper, 4.3: mount and reads of 155 MB of songs, every second of which was written anew so many times",
    x: "rounds",
    look: Look::Lines,
    metrics: &[Metric::Measured(Figure::Mount), Metric::Measured(Figure::ReadRate)],
    points: Points::OnChip(|| {
        let work = |rounds| Work::Refill { files: 31, bytes: SONG, rounds };
        both(&[0_u32, 3, 6].map(|rounds| (rounds.to_string(), CHIP.to_owned(), work(rounds))))
    }),
    known: Vec::new,
};

/// Figure 5.
pub(super) const FIG5: Experiment<'static> = Experiment {
    name: "scaleffs-fig5",
    about: "ScaleFFS paper, figure 5: mount against the size of the flash, nothing stored",
    x: "flash (MiB)",
    look: Look::Lines,
    metrics: &[Metric::Measured(Figure::Mount)],
    points: Points::OnChip(|| {
        let sizes = [64_u32, 128, 256, 512, 1024];
        both(&sizes.map(|mib| (mib.to_string(), format!("512+16:32:{}", mib * 64), EMPTY)))
    }),
    known: || mounts("scaleffs-fig5", &SEVEN_MS),
};

/// Figure 6.
pub(super) const FIG6: Experiment<'static> = Experiment {
    name: "scaleffs-fig6",
    about: "ScaleFFS paper, figure 6: mount against data stored, in files of 5 MB on 256 MiB",
    x: "stored (MB)",
    look: Look::Lines,
    metrics: &[Metric::Measured(Figure::Mount)],
    points: Points::OnChip(|| {
        let stored = [0_u32, 50, 100, 150];
        both(&stored.map(|mb| (mb.to_string(), CHIP.to_owned(), Work::Mount { files: mb / 5, bytes: SONG })))
    }),
    known: || mounts("scaleffs-fig6", &["0", "50", "100", "150"]),
};

/// Figure 7.
pub(super) const FIG7: Experiment<'static> = Experiment {
    name: "scaleffs-fig7",
    about: "ScaleFFS paper, figure 7: mount against the number of empty files on 256 MiB",
    x: "files",
    look: Look::Lines,
    metrics: &[Metric::Measured(Figure::Mount), Metric::Measured(Figure::MapBlocks)],
    points: Points::OnChip(|| {
        let files = [0_u32, 1000, 10_000, 100_000];
        both(&files.map(|files| (files.to_string(), CHIP.to_owned(), Work::Mount { files, bytes: 0 })))
    }),
    known: || mounts("scaleffs-fig7", &["0", "1000", "10000", "100000"]),
};

/// Figure 8.
pub(super) const FIG8: Experiment<'static> = Experiment {
    name: "scaleffs-fig8",
    about: "ScaleFFS paper, figure 8: 155 MB of songs written to an empty volume, then read",
    x: "workload",
    look: Look::Bars,
    metrics: &[
        Metric::Measured(Figure::WriteRate),
        Metric::Measured(Figure::ReadRate),
        Metric::Measured(Figure::WriteShare),
        Metric::Measured(Figure::ReadShare),
        Metric::Measured(Figure::Written),
    ],
    points: Points::OnChip(|| {
        both(&[("songs".to_owned(), CHIP.to_owned(), Work::Transfer { files: 31, bytes: SONG })])
    }),
    known: || {
        let figures = [
            ("paper: scaleffs", Metric::Measured(Figure::WriteShare), 93.0),
            ("paper: scaleffs", Metric::Measured(Figure::ReadShare), 90.0),
            ("paper: JFFS2", Metric::Measured(Figure::ReadShare), 74.1),
            ("paper: scaleffs", Metric::Measured(Figure::ReadRate), 7.9 * 1000.0 * 1000.0 / 1024.0),
        ];
        let paper =
            figures.map(|(series, metric, value)| Known { series, x: "songs", metric, value, kept: None });
        peers("scaleffs-fig8").into_iter().chain(paper).collect()
    },
};

/// Figure 9.
pub(super) const FIG9: Experiment<'static> = Experiment {
    name: "scaleffs-fig9",
    about: "ScaleFFS paper, figure 9: 4 KiB at random places of a film of 100 MB, and the time in which JFFS2 opens it",
    x: "workload",
    look: Look::Bars,
    metrics: &[Metric::Measured(Figure::Latency), Metric::Measured(Figure::ReadTime)],
    points: Points::OnChip(|| {
        both(&[("film".to_owned(), CHIP.to_owned(), Work::Seek { bytes: FILM, reads: 1000 })])
    }),
    known: || {
        let known = |series, figure, value| Known {
            series,
            x: "film",
            metric: Metric::Measured(figure),
            value,
            kept: None,
        };
        let mut all = peers("scaleffs-fig9");
        // Eight pages, and no index to be read.
        all.push(known("all in memory", Figure::Latency, 8.0 * 0.0557));
        all.push(known("paper: JFFS2", Figure::ReadTime, 14.6));
        all
    },
};

/// Table V.
pub(super) const TABLE5: Experiment<'static> = Experiment {
    name: "scaleffs-table5",
    about: "ScaleFFS paper, table V: memory for metadata while one file is written; nandfs: all but its cache",
    x: "file (MB)",
    look: Look::Bars,
    metrics: &[Metric::Measured(Figure::Memory)],
    points: Points::OnChip(|| {
        both(&[10_u64, 100].map(|mb| (mb.to_string(), CHIP.to_owned(), Work::Memory { bytes: mb << 20 })))
    }),
    known: || {
        let rows = [
            ("paper: scaleffs", 43.0, 410.0),
            ("paper: JFFS2", 185.0, 1843.0),
            ("paper: YAFFS", 46.9, 459.3),
        ];
        let figure = |series, x, value| Known {
            series,
            x,
            metric: Metric::Measured(Figure::Memory),
            value,
            kept: None,
        };
        rows.into_iter()
            .flat_map(|(name, ten, hundred)| [figure(name, "10", ten), figure(name, "100", hundred)])
            .collect()
    },
};

/// Table VI.
pub(super) const TABLE6: Experiment<'static> = Experiment {
    name: "scaleffs-table6",
    about: "ScaleFFS paper, table VI: device time by type of block, while songs are downloaded, played, and a film is searched",
    x: "type of block",
    look: Look::Table,
    metrics: &[Metric::Measured(Figure::TimeShare)],
    points: Points::OnChip(|| {
        let mut points = Vec::new();
        for (series, scenario) in SCENARIOS {
            for (x, block) in TYPES {
                let setup = Task {
                    system: System::ScaleFfs,
                    chip: CHIP.to_owned(),
                    medium: Medium::default(),
                    work: Work::Share(scenario, block),
                };
                points.push(Point { series: series.to_owned(), x: x.to_owned(), setup });
            }
        }
        points
    }),
    known: || {
        // The paper's "below 0.01" counts as 0.01.
        let rows = [
            ("paper: download", [99.4, 0.04, 0.47, 0.03, 0.03, 0.03]),
            ("paper: play", [99.4, 0.01, 0.58, 0.01, 0.01, 0.01]),
            ("paper: search", [80.2, 0.4, 18.8, 0.2, 0.2, 0.2]),
        ];
        let listed = ["data", "inode", "indirect", "map", "map index", "checkpoint"];
        let figure = |series, (x, value)| Known {
            series,
            x,
            metric: Metric::Measured(Figure::TimeShare),
            value,
            kept: None,
        };
        rows.into_iter()
            .flat_map(|(series, row)| listed.into_iter().zip(row).map(move |cell| figure(series, cell)))
            .collect()
    },
};

/// Section 4.5, with the bound of 4.4.
pub(super) const CRASH: Experiment<'static> = Experiment {
    name: "scaleffs-crash",
    about: "ScaleFFS paper, 4.4: mount after a power cut, by data written since the mount",
    x: "written (KB)",
    look: Look::Lines,
    metrics: &[Metric::Measured(Figure::MountAfterCut)],
    points: Points::OnChip(|| {
        let written = [100_u64, 1000, 2000, 3900, 4100, 9000];
        both(&written.map(|kb| (kb.to_string(), CHIP.to_owned(), Work::Cut { bytes: kb * 1000 })))
    }),
    known: || {
        vec![Known {
            series: "paper: scaleffs",
            x: "3900",
            metric: Metric::Measured(Figure::MountAfterCut),
            value: 221.0,
            kept: None,
        }]
    },
};

/// Equation 1.
pub(super) const EQUATION1: Experiment<'static> = Experiment {
    name: "scaleffs-equation1",
    about: "ScaleFFS paper, equation 1: how long the checkpoint region lasts at 4 GB a day, from checkpoints counted",
    x: "written (MB)",
    look: Look::Table,
    metrics: &[Metric::Measured(Figure::Lifetime)],
    points: Points::OnChip(|| {
        let written = [100_u64, 400];
        let task = |mb: u64| Task {
            system: System::ScaleFfs,
            chip: CHIP.to_owned(),
            medium: Medium::default(),
            work: Work::Ring { bytes: mb << 20 },
        };
        written.map(|mb| Point { series: "scaleffs".to_owned(), x: mb.to_string(), setup: task(mb) }).to_vec()
    }),
    known: || {
        ["100", "400"]
            .map(|x| Known {
                series: "paper: scaleffs",
                x,
                metric: Metric::Measured(Figure::Lifetime),
                value: 137.0,
                kept: None,
            })
            .to_vec()
    },
};

/// The paper's chip.
const CHIP: &str = "scaleffs-256m";
const SONG: u64 = 5 << 20;
const FILM: u64 = 100 << 20;
const EMPTY: Work = Work::Mount { files: 0, bytes: 0 };
const SEVEN_MS: [&str; 5] = ["64", "128", "256", "512", "1024"];
const SCENARIOS: [(&str, Scenario); 3] =
    [("download", Scenario::Download), ("play", Scenario::Play), ("search", Scenario::Seek)];
const TYPES: [(&str, BlockType); 7] = [
    ("data", BlockType::Data),
    ("inode", BlockType::Inode),
    ("indirect", BlockType::Indirect),
    ("map", BlockType::Map),
    ("map index", BlockType::MapIndex),
    ("checkpoint", BlockType::Checkpoint),
    ("directory", BlockType::Directory),
];

/// The same for the paper's file system and for nandfs: place, chip, work.
fn both(cases: &[(String, String, Work)]) -> Vec<Point<Task>> {
    let mut points = Vec::new();
    for system in [System::ScaleFfs, System::Nandfs] {
        for (x, chip, work) in cases {
            let setup = Task { system, chip: chip.clone(), medium: Medium::default(), work: *work };
            points.push(Point { series: system.name(), x: x.clone(), setup });
        }
    }
    points
}

/// The paper's mounts, which take 7 ms at all these places, and JFFS2's.
fn mounts(experiment: &str, places: &[&'static str]) -> Vec<Known> {
    let metric = Metric::Measured(Figure::Mount);
    let paper =
        places.iter().map(|&x| Known { series: "paper: scaleffs", x, metric, value: 7.0, kept: None });
    peers(experiment).into_iter().chain(paper).collect()
}
