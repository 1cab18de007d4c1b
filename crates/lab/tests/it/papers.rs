//! The papers' experiments on file systems: the shape of each, and that a record is made again to the byte.

use std::{collections::BTreeMap, fs};

use pumice_lab::{
    experiment::{Experiment, Known, Line, Metric, Options, Outcome, run},
    measured::Figure,
};
use pumice_media::ChipSpec;

/// The lines of an experiment.
fn lines(name: &str) -> Vec<Line> {
    let dir = tempfile::tempdir().unwrap();
    let experiment = Experiment::named(name).unwrap();
    let options = Options { seeds: 1, traces: "nowhere".into(), fresh: false };
    let lines = run(experiment, &options, dir.path(), &()).unwrap().lines;
    let csv = fs::read_to_string(dir.path().join(format!("{name}.csv"))).unwrap();
    assert_eq!(csv.lines().count(), lines.len() + 1, "{csv}");
    // On record: nothing is run again, and nothing changes.
    let again = run(experiment, &options, dir.path(), &()).unwrap();
    assert_eq!((again.known, &again.lines), (lines.len(), &lines));
    lines
}

/// A metric of a curve, by place.
fn curve(lines: &[Line], series: &str, figure: Figure) -> BTreeMap<String, f64> {
    let of = lines.iter().filter(|line| line.series == series);
    of.map(|line| (line.x.clone(), Metric::Measured(figure).of(&line.outcome).unwrap())).collect()
}

fn least_and_most(curve: &BTreeMap<String, f64>) -> (f64, f64) {
    let (least, most) = (f64::INFINITY, f64::NEG_INFINITY);
    curve.values().fold((least, most), |(least, most), value| (least.min(*value), most.max(*value)))
}

/// Whether a figure is as far from another as a share of it, at most.
#[track_caller]
fn is_near(figure: f64, wanted: f64, share: f64) {
    assert!((figure / wanted - 1.0).abs() < share, "{figure}, {wanted} was wanted");
}

/// ScaleFFS, figures 5 to 7: flat, whatever the size, the content and the files, and below the paper's 7 ms; nandfs is quicker.
#[test]
fn mounts_are_flat() {
    for name in ["scaleffs-fig5", "scaleffs-fig6", "scaleffs-fig7"] {
        let lines = lines(name);
        let [theirs, ours] = ["scaleffs", "nandfs"].map(|series| curve(&lines, series, Figure::Mount));
        let (least, most) = least_and_most(&theirs);
        assert!(most < 7.0 && most - least < 0.5, "{name}: {theirs:?}");
        assert!(theirs.iter().all(|(x, theirs)| ours[x] < *theirs), "{name}: {ours:?} {theirs:?}");
    }
}

/// Section 4.4: the pages to be read grow to 4 MB, then a checkpoint ends it.
#[test]
fn mounts_after_a_power_cut_are_bounded() {
    let curve = curve(&lines("scaleffs-crash"), "scaleffs", Figure::MountAfterCut);
    let (_, most) = least_and_most(&curve);
    assert!(curve["100"] < curve["1000"] && curve["1000"] < curve["2000"] && curve["2000"] < curve["3900"]);
    assert!(curve["9000"] < curve["1000"] && most < 221.0 * 1.15, "{curve:?}");
}

/// Figures 8 and 9.
#[test]
fn transfers_are_near_the_chip() {
    let lines_of = lines("scaleffs-fig8");
    for (metric, paper) in [(Figure::WriteShare, 93.0), (Figure::ReadShare, 90.0)] {
        let [theirs, ours] = ["scaleffs", "nandfs"].map(|series| curve(&lines_of, series, metric)["songs"]);
        assert!(theirs > paper && ours > theirs && ours <= 100.0, "{metric:?}: {theirs}, {ours}");
    }
    let seeks = lines("scaleffs-fig9");
    let [theirs, ours] = ["scaleffs", "nandfs"].map(|series| curve(&seeks, series, Figure::Latency)["film"]);
    // Eight pages at 55.7 us are the least.
    assert!(ours > 0.445 && ours < theirs && theirs < 0.6, "{theirs}, {ours}");
}

/// Tables V and VI, equation 1.
#[test]
fn memory_and_time_are_divided_as_in_the_tables() {
    let memory = curve(&lines("scaleffs-table5"), "scaleffs", Figure::Memory);
    assert!(
        (memory["10"] / 43.0 - 1.0).abs() < 0.15 && (memory["100"] / 410.0 - 1.0).abs() < 0.15,
        "{memory:?}"
    );
    let lines_of = lines("scaleffs-table6");
    for series in ["download", "play", "search"] {
        let share = curve(&lines_of, series, Figure::TimeShare);
        assert!((share.values().sum::<f64>() - 100.0).abs() < 1e-6, "{share:?}");
        let others = share.iter().filter(|(x, _)| !["data", "indirect"].contains(&x.as_str()));
        assert!(
            others.map(|(_, share)| *share).fold(0.0, f64::max) < share["indirect"],
            "{series}: {share:?}"
        );
        let sequential = series != "search";
        assert_eq!(share["data"] > 99.0, sequential, "{series}: {share:?}");
    }
    let years = curve(&lines("scaleffs-equation1"), "scaleffs", Figure::Lifetime);
    is_near(years["100"], 137.0, 0.15);
}

/// ScaleFFS, 4.6: 2.4 ms for an erase block in which nothing is live.
#[test]
fn reclaiming_an_empty_block_costs_little_more_than_its_erase() {
    let table = curve(&lines("scaleffs-reclaim"), "scaleffs", Figure::Reclaim);
    // The erase alone takes 2 ms.
    assert!(table.len() == 1 && table.values().all(|ms| (2.0..2.4 * 1.15).contains(ms)), "{table:?}");
}

/// CAT, table 6: the simulator's figures are the server's. Where hot and cold are told apart the server copies less.
#[test]
fn the_simulator_is_true_of_the_server() {
    let table = lines("cat-table6");
    for name in ["greedy", "cost-benefit", "CAT"] {
        let of = |who: &str, figure| curve(&table, &format!("{name}, {who}"), figure);
        for figure in [Figure::Cleaned, Figure::Copied] {
            let (actual, simulated) = (of("actual", figure), of("simulated", figure));
            assert!(
                (actual["random"] / simulated["random"] - 1.0).abs() < 0.02,
                "{name}, {figure:?}: {actual:?}"
            );
        }
        let (actual, simulated) = (of("actual", Figure::Cleaned), of("simulated", Figure::Cleaned));
        assert!((actual["sequential"] - simulated["sequential"]).abs() < 0.5, "{name}");
        let ratio = actual["locality:90/10"] / simulated["locality:90/10"];
        assert!((0.9..1.02).contains(&ratio), "{name}: {actual:?} {simulated:?}");
    }
}

/// CFFS, table 3 and section 3: a scan grows with the files, stays below the paper's, and reads a few pages more than
/// equation (2), several times less than equation (1).
#[test]
fn a_scan_of_cffs_grows_with_its_files() {
    let table = lines("cffs-table3");
    let [theirs, ours] = ["cffs", "nandfs"].map(|series| curve(&table, series, Figure::Mount));
    assert!(theirs["25"] < theirs["50"] && theirs["50"] < theirs["75"], "{theirs:?}");
    assert!(theirs["75"] < theirs["100"] && theirs["100"] < 593.0 * 1.15, "{theirs:?}");
    let cut = curve(&table, "cffs", Figure::MountAfterCut);
    assert!(cut.iter().all(|(x, cut)| *cut > theirs[x] && *cut < 1000.0), "{cut:?}");
    let (least, most) = least_and_most(&ours);
    assert!(most < 10.0 && most - least < 1.0, "{ours:?}");
    let table = lines("cffs-equations");
    let [read, first, second] = ["cffs", "equation (1), YAFFS", "equation (2), CFFS"]
        .map(|series| curve(&table, series, Figure::MountReads));
    for x in ["25", "50", "75", "100"] {
        assert!(read[x] > second[x] && read[x] * 3.0 < first[x], "{x}: {read:?} {first:?} {second:?}");
    }
}

/// CFFS, tables 4 and 5: where the chip has room nothing is copied, for victims are all dead by then; where it is small
/// as much as in the paper. Pages that are not copied are not programmed either.
#[test]
fn postmark_copies_few_pages() {
    let table = &lines("cffs-table4");
    let [extra, programs] = [Figure::ExtraWrites, Figure::Programs]
        .map(|figure| move |series: &str, x: &str| curve(table, series, figure)[x]);
    for series in ["cffs", "nandfs"] {
        let [large, small] = [64, 22].map(|mb| format!("{series}, {mb} MB"));
        for x in ["1:10", "1:3", "1:2"] {
            assert!(extra(&large, x) == 0.0, "{series}, {x}: {}", extra(&large, x));
            assert!(x == "1:2" || extra(&small, x) == 0.0, "{series}, {x}: {}", extra(&small, x));
        }
    }
    let [large, small] = ["cffs, 64 MB", "cffs, 22 MB"];
    for x in ["1:10", "1:3"] {
        assert!((programs(large, x) - programs(small, x)).abs() < 0.5, "{x}");
    }
    let copied = programs(small, "1:2") - programs(large, "1:2");
    assert!(copied > 0.0 && copied < 0.01 * programs(large, "1:2"), "{copied}");
    is_near(extra(small, "1:2"), 0.12, 0.25);
    is_near(extra("nandfs, 22 MB", "1:2"), 0.3, 0.25);
    is_near(programs(large, "1:2"), 68_689.0, 0.15);
    for x in ["1:10", "1:3", "1:2"] {
        let [theirs, ours] = ["cffs, 64 MB", "nandfs, 64 MB"].map(|series| programs(series, x));
        assert!(ours < theirs && ours > 0.65 * theirs, "{x}: {ours} {theirs}");
    }
}

/// CFFS, figure 4: it goes round the chip, which is larger than PostMark's writes, so no page is programmed twice.
/// nandfs takes blocks again early, but no page many times. Blocks of a disk are something else than pages, and stand
/// by themselves.
#[test]
fn postmark_writes_no_page_often() {
    let table = lines("cffs-fig4");
    let [theirs, ours] = ["cffs", "nandfs"].map(|series| curve(&table, series, Figure::HotShare));
    // A hundredth, rounded up.
    assert!(theirs.len() == 3 && theirs.values().all(|share| (1.0..1.01).contains(share)), "{theirs:?}");
    assert!(ours.len() == 3 && ours.values().all(|share| (1.5..3.0).contains(share)), "{ours:?}");
    let known = (Experiment::named("cffs-fig4").unwrap().known)();
    assert!(known.iter().all(|known| known.metric == Metric::Measured(Figure::HotBlocks)));
    assert!(table.iter().all(|line| Metric::Measured(Figure::HotBlocks).of(&line.outcome).is_none()));
}

/// RCFFS, figure 3 and 5.1: mounts below 40 ms, and after a power cut at most the spare areas of one segment; nandfs is quicker.
#[test]
fn rcffs_mounts_without_a_scan() {
    let table = lines("rcffs-fig3");
    let [theirs, ours] = ["rcffs", "nandfs"].map(|series| curve(&table, series, Figure::Mount));
    assert!(
        least_and_most(&theirs).1 < 40.0 && least_and_most(&ours).1 < least_and_most(&theirs).1,
        "{theirs:?} {ours:?}"
    );
    let table = lines("rcffs-crash");
    let reads = curve(&table, "rcffs, plain", Figure::MountReads);
    assert!(reads["100"] < reads["1800"] && reads["1800"] < 1024.0 * 1.15, "{reads:?}");
}

/// RCFFS, table 2, figure 4 and 5.2: compression wins, plain writing pays for parity; nandfs, which has neither, lies between.
#[test]
fn compression_pays_for_parity() {
    let table = lines("rcffs-table2");
    let of = |figure| {
        ["rcffs", "rcffs, plain", "nandfs"].map(|series| curve(&table, series, figure)["large file"])
    };
    for figure in [Figure::WriteTime, Figure::Space] {
        let [packed, plain, ours] = of(figure);
        assert!(packed < ours && ours < plain, "{figure:?}: {packed} {ours} {plain}");
    }
    let [packed, plain, _] = of(Figure::Space);
    assert!(packed < 20.1 * 1.15 && plain < 122.3, "{packed} {plain}");
    let [packed, plain, _] = of(Figure::WriteTime);
    assert!(packed / plain < 1.643 / 2.703, "{packed} {plain}");
    let table = lines("rcffs-fig4");
    let [packed, plain, _] = ["rcffs", "rcffs, plain", "nandfs"]
        .map(|series| curve(&table, series, Figure::TransactionRate)["PostMark"]);
    assert!(packed > plain, "{packed} {plain}");
    let table = lines("rcffs-small");
    let [packed, plain] =
        ["rcffs", "rcffs, plain"].map(|series| curve(&table, series, Figure::WriteRate)["copies"]);
    assert!(packed > plain, "{packed} {plain}");
}

/// RCFFS, 5.3 and 3.2: nothing is lost. A repair from the segment costs more than one from the block, and both less
/// than in the paper; a scrub by signatures is quicker than one of pages.
#[test]
fn parity_brings_everything_back() {
    let table = lines("rcffs-errors");
    let [theirs, ours] = ["rcffs", "nandfs"].map(|series| curve(&table, series, Figure::Lost));
    assert!(theirs.values().all(|lost| *lost == 0.0), "{theirs:?}");
    assert!(ours["nothing"] == 0.0 && ours["a block of 16"] > 0.0, "{ours:?}");
    let repair = curve(&lines("rcffs-repair"), "rcffs, plain", Figure::Repair);
    let [block, segment] = ["its erase block", "its segment"].map(|x| repair[x]);
    // Of the erase block every other page is read, and of each page at most the spare area too; of the segment then the
    // page at the same place in each of its 16 blocks.
    let times = ChipSpec::named("rcffs-128m").unwrap().timing();
    let [page, spare] =
        [times.read_page_ns, times.read_spare_ns].map(|ns| f64::from(u32::try_from(ns).unwrap()) / 1e6);
    assert!(block >= 63.0 * page && block <= 65.0 * page + 70.0 * spare, "{repair:?}");
    assert!(segment - block >= 15.0 * page && segment - block <= 17.0 * page, "{repair:?}");
    let scrub = curve(&lines("rcffs-scrub"), "rcffs, plain", Figure::Scrub);
    assert!(scrub["quick"] < scrub["full"] / 2.0, "{scrub:?}");
}

/// RCFFS, section 4: an update of the mu-tree writes few pages, and many changes for a sync share them.
#[test]
fn updates_of_the_mu_tree_are_cheap() {
    let table = lines("rcffs-index");
    for series in ["rcffs", "nandfs"] {
        let programs = curve(&table, series, Figure::UpdatePrograms);
        assert!(programs["500"] < programs["10"] && programs["10"] < programs["1"], "{series}: {programs:?}");
        let reads = curve(&table, series, Figure::LookupReads);
        let (least, most) = least_and_most(&reads);
        assert!(least >= 1.0 && most < 2.0, "{series}: {reads:?}");
    }
}

/// F2FS, figure 6: the finer data are sorted, the more segments are whole or nearly empty.
#[test]
fn more_logs_divide_segments_better() {
    let table = lines("f2fs-fig6");
    let figures = [Figure::SegmentsSparse, Figure::SegmentsFull];
    let [sparse, full] = figures.map(|figure| curve(&table, "f2fs", figure));
    assert!(full["2"] <= full["4"] && full["4"] < full["6"], "{full:?}");
    assert!(sparse["2"] < sparse["6"] && sparse["4"] < sparse["6"], "{sparse:?}");
}

/// F2FS, figures 7 and 8: adaptive logging keeps writes few on a full volume, normal logging does not.
#[test]
fn adaptive_logging_writes_less_on_full_volumes() {
    let table = lines("f2fs-fig7");
    let written = |series: &str| curve(&table, series, Figure::Written);
    let (adaptive, normal) = (written("adaptive"), written("normal"));
    assert!(adaptive["97.5"] < adaptive["25"] * 1.5, "{adaptive:?}");
    assert!(normal["97.5"] > adaptive["97.5"] && normal["80"] < normal["97.5"], "{normal:?} {adaptive:?}");
    let in_place = written("adaptive, in place when scarce");
    assert!(in_place["97.5"] <= 1.02 * in_place["25"].max(1.0), "{in_place:?}");
    let table = lines("f2fs-fig8");
    let [adaptive, normal] = ["adaptive", "normal"].map(|series| curve(&table, series, Figure::Written));
    assert!(normal["file server, 94 %"] >= 1.27 * adaptive["file server, 94 %"], "{normal:?} {adaptive:?}");
}

/// F2FS, section 3.2.4: with idle time between runs at least a tenth less is written in them by normal logging.
#[test]
fn idle_time_is_used_for_cleaning() {
    let table = lines("f2fs-idle");
    let [adaptive, normal] = ["adaptive", "normal"].map(|series| curve(&table, series, Figure::Written));
    assert!(normal["idle time"] < 0.9 * normal["nothing"], "{normal:?}");
    // The gain is at most the sections cleaned while users write.
    assert!(normal["idle time"] > adaptive["nothing"], "{normal:?} {adaptive:?}");
    is_near(normal["nothing"], 1.29, 0.1);
    // Adaptive logging cleans nothing in front, so idle time has nothing to gain. A block written twice before a sync
    // is written once, and the nodes that point there with it.
    is_near(adaptive["idle time"], adaptive["nothing"], 0.005);
    is_near(adaptive["nothing"], 0.94, 0.02);
}

/// F2FS, figures 3 and 4, beside Linux's file systems measured on the same disk. It is quicker than ext4 where little
/// is written and waited for, and as quick where much is written in a row; btrfs is the slowest of all where anything
/// is waited for.
#[test]
fn small_durable_writes_are_cheaper_than_on_other_file_systems() {
    for (name, wanted) in [
        ("f2fs-fig3", &[("SQLite insert", 1.8), ("SQLite update", 1.8), ("SQLite delete", 1.8)][..]),
        ("f2fs-fig4", &[("varmail", 1.5), ("oltp", 1.05), ("videoserver", 0.97)][..]),
    ] {
        let time = Metric::Measured(Figure::Time);
        let table = lines(name);
        let ours = curve(&table, "F2FS, Pumice, in place", Figure::Time);
        let known = (Experiment::named(name).unwrap().known)();
        let of = |file_system: &str, x: &str| {
            let found = known
                .iter()
                .find(|known| known.metric == time && known.x == x && known.series.starts_with(file_system));
            found.unwrap().value
        };
        for (x, times) in wanted {
            let ext4 = of("ext4", x);
            assert!(ext4 >= times * ours[*x], "{x}: ext4 {ext4} s, here {} s", ours[*x]);
            assert!(*x == "videoserver" || of("btrfs", x) > ext4, "{x}");
        }
    }
}

/// F2FS, figure 5 and its text: more of its write requests are for 512 KiB than of those of ext4 and btrfs; NILFS2 has
/// most of all. It has no small discards, which most of theirs are. Requests stand in a map.
#[test]
fn few_and_large_requests_to_the_disk() {
    let table = lines("f2fs-fig5");
    let known = (Experiment::named("f2fs-fig5").unwrap().known)();
    let of = |file_system: &str, figure| {
        let is_it = |known: &&Known| {
            known.metric == Metric::Measured(figure) && known.series.starts_with(file_system)
        };
        known.iter().find(is_it).unwrap().value
    };
    for series in ["F2FS, Pumice", "F2FS, Pumice, in place"] {
        let outcome = &table.iter().find(|line| line.series == series).unwrap().outcome;
        let at = |figure| Metric::Measured(figure).of(outcome);
        let large = at(Figure::WritesLarge).unwrap();
        let [ext4, btrfs, nilfs2] = ["ext4", "btrfs", "nilfs2"].map(|name| of(name, Figure::WritesLarge));
        assert!(ext4 < btrfs && btrfs < large && large < nilfs2, "{series}: {large}");
        assert!(at(Figure::DiscardsSmall).is_none_or(|small| small == 0.0), "{series}");
        let [ext4, btrfs] = ["ext4", "btrfs"].map(|name| of(name, Figure::DiscardsSmall));
        assert!(ext4 > 50.0 && btrfs > 50.0, "{ext4} {btrfs}");
    }
    for line in &table {
        let Outcome::Measured(measured) = &line.outcome else { panic!("{}", line.series) };
        let map = measured.map.as_ref().unwrap();
        assert!(map.rows.concat().contains('2') && map.seconds > 0.0, "{}", line.series);
    }
}
