//! The CFFS paper's experiments (Lim, Park, IEEE Transactions on Computers 55(7), 2006), with nandfs beside CFFS.
//!
//! Its peers are not here; their published figures stand in the tables. `docs/cffs.md` lists the assumptions: the sizes
//! of the files that fill the chip, and how full it was when blocks were collected. The last is varied here: the same
//! PostMark runs on chips of 64 MB, as the paper's, and on smaller ones of the same shape.

use super::{Experiment, Known, Look, Metric, Point, Points, peers::peers};
use crate::{
    Medium,
    files::{POSTMARK_BYTES, POSTMARKS},
    measured::Figure,
    on_chip::{ScanEquation, System, Task, Work},
};

/// Table 3.
pub(super) const TABLE3: Experiment<'static> = Experiment {
    name: "cffs-table3",
    about: "CFFS paper, table 3: mount of 64 MB, by how full it is, with files of all sizes",
    x: "full (%)",
    look: Look::Lines,
    metrics: &[Metric::Measured(Figure::Mount), Metric::Measured(Figure::MountAfterCut)],
    points: Points::OnChip(|| {
        let mut points = Vec::new();
        for system in SYSTEMS {
            points.extend(FULL.map(|percent| point(&system.name(), percent, system, Work::Scan { percent })));
        }
        points
    }),
    known: || {
        let rows = [
            ("paper: FTL", 1060.0),
            ("paper: NFTL", 808.0),
            ("paper: JFFS2", 22_600.0),
            ("paper: YAFFS", 3000.0),
            ("paper: cffs", 593.0),
        ];
        let metric = Metric::Measured(Figure::Mount);
        rows.map(|(series, value)| Known { series, x: "100", metric, value, kept: None }).to_vec()
    },
};

/// Tables 4 and 5.
pub(super) const TABLE4: Experiment<'static> = Experiment {
    name: "cffs-table4",
    about: "CFFS paper, tables 4 and 5: PostMark of 1,000 transactions, by files to transactions and size of the chip",
    x: "files to transactions",
    look: Look::Bars,
    metrics: &[
        Metric::Measured(Figure::ExtraWrites),
        Metric::Measured(Figure::Programs),
        Metric::Measured(Figure::TransactionRate),
        Metric::Measured(Figure::YaffsRate),
    ],
    points: Points::OnChip(|| {
        let mut points = Vec::new();
        for system in SYSTEMS {
            for mib in [64, 22] {
                for (x, files) in RATIOS {
                    let chip = match mib {
                        64 => CHIP.to_owned(),
                        mib => small(mib),
                    };
                    let setup = Task { system, chip, medium: Medium::default(), work: postmark(files) };
                    points.push(Point {
                        series: format!("{}, {mib} MB", system.name()),
                        x: x.to_owned(),
                        setup,
                    });
                }
            }
        }
        points
    }),
    known: || {
        let rows = [
            ("paper: ext2 over NFTL", [3.69, 3.37, 2.47]),
            ("paper: ext2 over FTL", [0.7, 0.69, 0.71]),
            ("paper: YAFFS", [0.3, 0.17, 0.15]),
            ("paper: cffs", [0.26, 0.15, 0.12]),
        ];
        let extra = |series, x, value| Known {
            series,
            x,
            metric: Metric::Measured(Figure::ExtraWrites),
            value,
            kept: None,
        };
        let mut known: Vec<Known> = rows
            .into_iter()
            .flat_map(|(series, row)| {
                RATIOS.into_iter().zip(row).map(move |((x, _), value)| extra(series, x, value))
            })
            .collect();
        let pages = [("paper: JFFS2", 90_045.0), ("paper: YAFFS", 68_055.0), ("paper: cffs", 68_689.0)];
        known.extend(peers("cffs-table4"));
        known.extend(pages.map(|(series, value)| Known {
            series,
            x: "1:2",
            metric: Metric::Measured(Figure::Programs),
            value,
            kept: None,
        }));
        known
    },
};

/// Figure 4.
pub(super) const FIG4: Experiment<'static> = Experiment {
    name: "cffs-fig4",
    about: "CFFS paper, figure 4: how unevenly PostMark's writes are spread over the pages of the chip; for other file systems over the blocks of the disk",
    x: "files to transactions",
    look: Look::Bars,
    metrics: &[Metric::Measured(Figure::HotShare), Metric::Measured(Figure::HotBlocks)],
    points: Points::OnChip(|| {
        let marks = SYSTEMS.into_iter().flat_map(|system| RATIOS.map(|ratio| (system, ratio)));
        let point = |(system, (x, files)): (System, (&str, u32))| Point {
            series: system.name(),
            x: x.to_owned(),
            setup: Task { system, chip: CHIP.to_owned(), medium: Medium::default(), work: postmark(files) },
        };
        marks.map(point).collect()
    }),
    known: || peers("cffs-fig4"),
};

/// Equations (1) to (3).
pub(super) const EQUATIONS: Experiment<'static> = Experiment {
    name: "cffs-equations",
    about: "CFFS paper, equations (1) to (3): reads of a mount of 64 MB, against those computed from the same files",
    x: "full (%)",
    look: Look::Lines,
    metrics: &[Metric::Measured(Figure::MountReads)],
    points: Points::OnChip(|| {
        let by = |equation| move |percent| Work::ScanBy { percent, equation };
        let measured = FULL.map(|percent| point("cffs", percent, System::Cffs, Work::Scan { percent }));
        let computed =
            [("equation (1), YAFFS", ScanEquation::Yaffs), ("equation (2), CFFS", ScanEquation::Cffs)];
        let computed = computed.into_iter().flat_map(|(series, equation)| {
            FULL.map(|percent| point(series, percent, System::Cffs, by(equation)(percent)))
        });
        measured.into_iter().chain(computed).collect()
    }),
    known: Vec::new,
};

/// Section 2.3.
pub(super) const CACHE: Experiment<'static> = Experiment {
    name: "cffs-cache",
    about: "CFFS paper, 2.3: reads for an inode of 3,000, looked up in any order, by memory for the cache",
    x: "cache (KiB)",
    look: Look::Lines,
    metrics: &[Metric::Measured(Figure::LookupReads)],
    points: Points::OnChip(|| {
        let mut points = Vec::new();
        for system in SYSTEMS {
            points.extend([64_u64, 256, 1024, 2048].map(|kib| {
                let cache_bytes = usize::try_from(kib << 10).unwrap_or(usize::MAX);
                point(&system.name(), kib, system, Work::Lookups { files: 3000, cache_bytes })
            }));
        }
        points
    }),
    known: Vec::new,
};

/// Section 2.4: the weight.
pub(super) const WEAR: Experiment<'static> = Experiment {
    name: "cffs-wear",
    about: "CFFS paper, 2.4: how evenly blocks are erased by 12 times PostMark on 22 MB, with the weight and without",
    x: "files to transactions",
    look: Look::Bars,
    metrics: &[Metric::Measured(Figure::WearSpread), Metric::Measured(Figure::ExtraWrites)],
    points: Points::OnChip(|| {
        let mut points = Vec::new();
        for system in [System::Cffs, System::CffsUnweighted, System::Nandfs] {
            // A file for 2 transactions does not fit so often.
            points.extend(RATIOS.into_iter().take(2).map(|(x, files)| {
                let work = Work::Wear { files, rounds: 12 };
                let setup = Task { system, chip: small(22), medium: Medium::default(), work };
                Point { series: system.name(), x: x.to_owned(), setup }
            }));
        }
        points
    }),
    known: Vec::new,
};

/// A chip of so many MB, of the shape of the paper's.
fn small(mib: u32) -> String {
    format!("512+16:32:{}", mib * 64)
}

/// The paper's chip.
const CHIP: &str = "k9s1208";
const SYSTEMS: [System; 2] = [System::Cffs, System::Nandfs];
const FULL: [u64; 4] = [25, 50, 75, 100];
const RATIOS: [(&str, u32); 3] = [("1:10", 100), ("1:3", 333), ("1:2", 500)];

fn postmark(files: u32) -> Work {
    Work::PostMark { files, transactions: POSTMARKS, sizes: POSTMARK_BYTES }
}

fn point(series: &str, percent: u64, system: System, work: Work) -> Point<Task> {
    let setup = Task { system, chip: CHIP.to_owned(), medium: Medium::default(), work };
    Point { series: series.to_owned(), x: percent.to_string(), setup }
}
