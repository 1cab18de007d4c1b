//! The RCFFS paper's experiments (Kang, Miller), with nandfs beside RCFFS.
//!
//! YAFFS is not here; its published figures stand in the tables, and figures computed from the pages that it would write. The paper's machine was another one (nandsim in a
//! virtual machine): ratios count, not times. It compressed unknown data with LZO; this compresses with LZ4, and a
//! seventh of the data written here does not compress. The space of table 2 is that of a file written twice in order,
//! for a page cache that holds it sorts the random writes; the time of random writes is without such a cache.

use pumice_media::ChipSpec;

use super::{Experiment, Known, Look, Metric, Point, Points};
use crate::{
    Medium,
    files::yaffs_seconds,
    measured::Figure,
    on_chip::{Damage, System, Task, Work},
};

/// Figure 3.
pub(super) const FIG3: Experiment<'static> = Experiment {
    name: "rcffs-fig3",
    about: "RCFFS paper, figure 3: mount after an unmount, against files of 5 KB",
    x: "files",
    look: Look::Lines,
    metrics: &[Metric::Measured(Figure::Mount)],
    points: Points::OnChip(|| {
        points(
            &PACKED,
            &[0, 1000, 2000, 4000].map(|files| (files.to_string(), Work::Mount { files, bytes: 5000 })),
        )
    }),
    known: || {
        ["0", "1000", "2000", "4000"].map(|x| known("paper: rcffs, below", x, Figure::Mount, 40.0)).to_vec()
    },
};

/// Section 5.1: after a crash.
pub(super) const CRASH: Experiment<'static> = Experiment {
    name: "rcffs-crash",
    about: "RCFFS paper, 5.1: mount after a power cut, by bytes written since the segment began",
    x: "written (KB)",
    look: Look::Lines,
    metrics: &[Metric::Measured(Figure::MountAfterCut), Metric::Measured(Figure::MountReads)],
    points: Points::OnChip(|| {
        let kb = [100_u32, 500, 1000, 1800];
        let cut = |kb: u32| (kb.to_string(), Work::Cut { bytes: u64::from(kb) * 1000 });
        points(&PLAIN, &kb.map(cut))
    }),
    known: || {
        ["100", "500", "1000", "1800"].map(|x| known("paper: rcffs", x, Figure::MountReads, 1024.0)).to_vec()
    },
};

/// Table 2.
pub(super) const TABLE2: Experiment<'static> = Experiment {
    name: "rcffs-table2",
    about: "RCFFS paper, table 2: a file of 51 MB written and read in order and at random places",
    x: "workload",
    look: Look::Bars,
    metrics: &[
        Metric::Measured(Figure::WriteTime),
        Metric::Measured(Figure::ReadTime),
        Metric::Measured(Figure::RandomWriteTime),
        Metric::Measured(Figure::RandomReadTime),
        Metric::Measured(Figure::Space),
    ],
    points: Points::OnChip(|| {
        points(&ALL, &[("large file".to_owned(), Work::Large { bytes: 51 << 20, noise: 600 })])
    }),
    known: || {
        let rows = [
            ("paper: YAFFS", [2.074, 0.012, 0.987, 0.085, 53.6]),
            ("paper: rcffs", [1.643, 0.002, 0.792, 0.168, 20.1]),
            ("paper: rcffs, plain", [2.703, 0.001, 2.155, 0.078, 122.3]),
        ];
        let figures = [
            Figure::WriteTime,
            Figure::ReadTime,
            Figure::RandomWriteTime,
            Figure::RandomReadTime,
            Figure::Space,
        ];
        let row = |(series, row): (&'static str, [f64; 5])| {
            figures
                .into_iter()
                .zip(row)
                .map(move |(figure, value)| known(series, "large file", figure, value))
        };
        let yaffs =
            yaffs(51.0 * 512.0).map(|time| known("YAFFS, computed", "large file", Figure::WriteTime, time));
        rows.into_iter().flat_map(row).chain(yaffs).collect()
    },
};

/// Table 2's last row.
pub(super) const REREAD: Experiment<'static> = Experiment {
    name: "rcffs-reread",
    about: "RCFFS paper, table 2: a file of 51 MB read again, by memory for cached data",
    x: "cache (MiB)",
    look: Look::Lines,
    metrics: &[Metric::Measured(Figure::RereadTime)],
    points: Points::OnChip(|| {
        let work = |mib: usize| Work::Reread { bytes: 51 << 20, cache_bytes: mib << 20 };
        let systems = [System::Rcffs, System::RcffsPlain, System::Nandfs];
        points(&systems, &[2_usize, 128].map(|mib| (mib.to_string(), work(mib))))
    }),
    known: Vec::new,
};

/// Figure 4.
pub(super) const FIG4: Experiment<'static> = Experiment {
    name: "rcffs-fig4",
    about: "RCFFS paper, figure 4: PostMark, 1,000 files and 15,000 transactions",
    x: "workload",
    look: Look::Bars,
    metrics: &[
        Metric::Measured(Figure::TransactionRate),
        Metric::Measured(Figure::YaffsRate),
        Metric::Measured(Figure::Programs),
    ],
    points: Points::OnChip(|| {
        let work = Work::PostMark { files: 1000, transactions: 15_000, sizes: (500, 10_000) };
        points(&ALL, &[("PostMark".to_owned(), work)])
    }),
    known: || {
        let rate = |series, value| known(series, "PostMark", Figure::TransactionRate, value);
        vec![rate("paper: rcffs", 7500.0), rate("paper: YAFFS", 7500.0 / 2.5)]
    },
};

/// Section 5.2: small files.
pub(super) const SMALL: Experiment<'static> = Experiment {
    name: "rcffs-small",
    about: "RCFFS paper, 5.2: 1,000 copies of a file of 5 KB, and an unmount",
    x: "workload",
    look: Look::Bars,
    metrics: &[Metric::Measured(Figure::WriteRate)],
    points: Points::OnChip(|| {
        points(&ALL, &[("copies".to_owned(), Work::Transfer { files: 1000, bytes: 5000 })])
    }),
    known: || {
        let rate = |series, seconds: f64| known(series, "copies", Figure::WriteRate, 5e6 / 1024.0 / seconds);
        // Three pages of data and two headers each.
        let computed = yaffs(5.0).map(|seconds| rate("YAFFS, computed", 1000.0 * seconds));
        [rate("paper: rcffs", 25.779), rate("paper: YAFFS", 26.438)].into_iter().chain(computed).collect()
    },
};

/// Section 5.3.
pub(super) const ERRORS: Experiment<'static> = Experiment {
    name: "rcffs-errors",
    about: "RCFFS paper, 5.3: files lost of 1,000, by the damage to the chip",
    x: "damage",
    look: Look::Bars,
    metrics: &[Metric::Measured(Figure::Lost)],
    points: Points::OnChip(|| {
        let damage = [
            ("nothing", Damage::None),
            ("1,000 bits a block", Damage::Bits),
            ("a page a block", Damage::Dead { pages: 1, blocks: 0 }),
            ("a block of 16", Damage::Dead { pages: 0, blocks: 1 }),
            ("both", Damage::Dead { pages: 1, blocks: 1 }),
        ];
        let work = |(x, damage): (&str, Damage)| (x.to_owned(), Work::Damaged { files: 1000, damage });
        points(&[System::Rcffs, System::Nandfs, System::NandfsParity], &damage.map(work))
    }),
    known: || {
        let none = |x| known("paper: rcffs", x, Figure::Lost, 0.0);
        ["nothing", "1,000 bits a block", "a page a block"].map(none).to_vec()
    },
};

/// Sections 3.2 and 5.3: other K and M.
pub(super) const PARITY: Experiment<'static> = Experiment {
    name: "rcffs-parity",
    about: "RCFFS paper, 3.2: parity pages of an erase block and parity blocks of a segment: files lost of 300, and space",
    x: "K and M",
    look: Look::Bars,
    metrics: &[Metric::Measured(Figure::Lost), Metric::Measured(Figure::Space)],
    points: Points::OnChip(|| {
        let mut all = Vec::new();
        for (pages, blocks) in [(1, 0), (1, 1), (2, 1), (2, 2), (4, 2)] {
            let (k, m) = (u32::from(pages), u32::from(blocks));
            for (series, damage) in [
                ("K pages, M blocks dead", Damage::Dead { pages: k, blocks: m }),
                ("a block more", Damage::Dead { pages: 0, blocks: m + 1 }),
            ] {
                let work = Work::Damaged { files: 300, damage };
                let system = System::RcffsParity(pages, blocks);
                let here = points(&[system], &[(format!("{k} and {m}"), work)]);
                all.extend(here.into_iter().map(|point| Point { series: series.to_owned(), ..point }));
            }
        }
        all
    }),
    known: Vec::new,
};

/// Section 5.3: the time of a repair.
pub(super) const REPAIR: Experiment<'static> = Experiment {
    name: "rcffs-repair",
    about: "RCFFS paper, 5.3: the cost of bringing back a page",
    x: "from",
    look: Look::Bars,
    metrics: &[Metric::Measured(Figure::Repair)],
    points: Points::OnChip(|| {
        let of = |x: &str, in_segment| (x.to_owned(), Work::Repair { in_segment });
        points(&[System::RcffsPlain], &[of("its erase block", false), of("its segment", true)])
    }),
    known: || {
        [("its erase block", 24.7), ("its segment", 57.0)]
            .map(|(x, value)| known("paper: rcffs", x, Figure::Repair, value))
            .to_vec()
    },
};

/// Section 3.2: scrubbing.
pub(super) const SCRUB: Experiment<'static> = Experiment {
    name: "rcffs-scrub",
    about: "RCFFS paper, 3.2: a scrub of 16 MB, by signatures alone and in full",
    x: "scrub",
    look: Look::Bars,
    metrics: &[Metric::Measured(Figure::Scrub)],
    points: Points::OnChip(|| {
        let work = |is_quick| Work::Scrub { files: 1000, is_quick };
        let mut all =
            points(&[System::RcffsPlain, System::NandfsParity], &[("quick".to_owned(), work(true))]);
        all.extend(points(&PLAIN, &[("full".to_owned(), work(false))]));
        all
    }),
    known: Vec::new,
};

/// Section 4: the mu-tree beside nandfs's node table.
pub(super) const INDEX: Experiment<'static> = Experiment {
    name: "rcffs-index",
    about: "RCFFS paper, section 4: the mu-tree beside nandfs's node table, 10,000 inodes, by changes for a sync",
    x: "changes for a sync",
    look: Look::Lines,
    metrics: &[Metric::Measured(Figure::UpdatePrograms), Metric::Measured(Figure::LookupReads)],
    points: Points::OnChip(|| {
        let work = |together: u32| (together.to_string(), Work::Index { files: 10_000, together });
        points(&PACKED, &[1, 10, 100, 500].map(work))
    }),
    known: Vec::new,
};

/// Section 4: the read cache.
pub(super) const CACHE: Experiment<'static> = Experiment {
    name: "rcffs-cache",
    about: "RCFFS paper, section 4: reads for an inode of 10,000, looked up in any order, by pages in the read cache (16 at the least in nandfs)",
    x: "pages",
    look: Look::Lines,
    metrics: &[Metric::Measured(Figure::LookupReads)],
    points: Points::OnChip(|| {
        let work = |pages: usize| Work::Lookups { files: 10_000, cache_bytes: pages * 2048 };
        points(&PACKED, &[10_usize, 100, 1000].map(|pages| (pages.to_string(), work(pages))))
    }),
    known: Vec::new,
};

/// Section 5.2: how well data compresses.
pub(super) const COMPRESS: Experiment<'static> = Experiment {
    name: "rcffs-compress",
    about: "RCFFS paper, 5.2: space and time of a file of 16 MB, by the part of it that does not compress",
    x: "without order (%)",
    look: Look::Lines,
    metrics: &[Metric::Measured(Figure::Space), Metric::Measured(Figure::WriteTime)],
    points: Points::OnChip(|| {
        let work = |percent: usize| Work::Large { bytes: 16 << 20, noise: percent * 4096 / 100 };
        let systems = [System::Rcffs, System::RcffsPlain, System::NandfsParity, System::NandfsBoth];
        points(&systems, &[0_usize, 15, 30, 50, 75, 100].map(|percent| (percent.to_string(), work(percent))))
    }),
    known: Vec::new,
};

/// The paper's chip.
const CHIP: &str = "rcffs-128m";
/// RCFFS compressed and plain, and production as it ships: plain, compressed, with parity, with both.
const ALL: [System; 6] = [
    System::Rcffs,
    System::RcffsPlain,
    System::Nandfs,
    System::NandfsPacked,
    System::NandfsParity,
    System::NandfsBoth,
];
/// The same without compression, or only with it, where it has no part.
const PLAIN: [System; 3] = [System::RcffsPlain, System::Nandfs, System::NandfsParity];
const PACKED: [System; 3] = [System::Rcffs, System::Nandfs, System::NandfsBoth];

/// Seconds of YAFFS on the paper's chip for so many pages.
fn yaffs(pages: f64) -> Option<f64> {
    ChipSpec::named(CHIP).ok().map(|spec| yaffs_seconds(pages, &spec))
}

fn points<const N: usize>(systems: &[System], work: &[(String, Work); N]) -> Vec<Point<Task>> {
    let point = |(system, (x, work)): (System, (String, Work))| {
        let setup = Task { system, chip: CHIP.to_owned(), medium: Medium::default(), work };
        Point { series: system.name(), x, setup }
    };
    systems.iter().flat_map(|system| work.clone().map(|work| (*system, work))).map(point).collect()
}

fn known(series: &'static str, x: &'static str, figure: Figure, value: f64) -> Known {
    Known { series, x, metric: Metric::Measured(figure), value, kept: None }
}
