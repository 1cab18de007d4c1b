//! All campaigns.

use crate::{
    campaign::{Campaign, Rounds, Tests},
    knobs::{
        AGES, B3, BYTES, CUTS, DAMAGES, ERRORS, F2FS_CASES, F2FS_CRASHED, F2FS_CUTS, F2FS_FAULTS, F2FS_FULL,
        F2FS_FULL_CUTS, F2FS_FULL_FAULTS, FULL, FUZZ_CASES, HOSTILE, PAGES, PARITY, RANDOM, SPACE, TORTURE,
        YEARS,
    },
};

macro_rules! campaigns {
    ($($campaign:ident = $name:literal {
        $program:ident: $($names:literal),+;
        $size:ident of $of:literal, such as $longer:literal;
        $rounds:ident($count:literal) $(, again: $again:literal)?
    })*) => {
        $(#[doc = $name]
        pub const $campaign: Campaign = Campaign {
            name: $name,
            tests: Tests { program: stringify!($program), names: &[$($names),+] },
            size: $size,
            of: $of,
            longer: $longer,
            again: concat!($($again)?),
            rounds: Rounds::$rounds($count),
        };)*

        /// All campaigns.
        pub const CAMPAIGNS: [Campaign; [$($name),*].len()] = [$($campaign),*];
    };
}

campaigns! {
    FLASHLOG_PARITY = "flashlog: pages that parity brings back" {
        flashlog: "parity::as_many_pages", "parity::copies_bring_back_what";
        RANDOM of "choices of lost pages for each layout", such as "4000";
        Seeds(100)
    }
    MEDIA_STORES = "media: chips in memory and in files, random calls" {
        media: "stores::memory_and_file", "stores::a_clone";
        RANDOM of "sequences of calls", such as "6000";
        Seeds(200)
    }
    MEDIA_HOSTS = "media: power cuts of a container's host" {
        media: "host_cut::what_was_flushed";
        RANDOM of "runs of 240 cuts", such as "400";
        Seeds(40)
    }
    FTL_HOSTS = "ftl: power cuts of a container's host" {
        ftl: "host_cut::";
        RANDOM of "runs on each layout", such as "50";
        Seeds(4)
    }
    CLEANING_SELECTORS = "cleaning: fast forms of policies and plain ones" {
        cleaning: "selectors::";
        RANDOM of "sequences of events for each policy", such as "20000";
        Seeds(1000)
    }
    VFS_CALLS = "vfs: the model against its own suite" {
        vfs: "conformance::random";
        RANDOM of "sequences of 250 calls", such as "10000";
        Seeds(200)
    }
    NANDFS_CUTS = "nandfs: power cuts in every operation" {
        nandfs: "power_cut::";
        CUTS of "operations, in every mode", such as "all";
        Parts(120), again: "`PUMICE_CUT=` the id that the failure names"
    }
    NANDFS_SCRIPTED_CUTS = "nandfs: cuts after which pages only seem sound, paired pages" {
        nandfs: "new_cuts::scripted";
        CUTS of "operations, in every mode", such as "all";
        Parts(60), again: "`PUMICE_CUT=` the id that the failure names"
    }
    NANDFS_RANDOM_CUTS = "nandfs: the same with random calls, on chips that are sold, too" {
        nandfs: "new_cuts::random";
        CUTS of "cuts of each kind at least", such as "200000";
        Seeds(2000), again: "`PUMICE_CUT=` the id that the failure names"
    }
    NANDFS_TORTURE = "nandfs: random calls, cut again and again" {
        nandfs: "torture::";
        TORTURE of "chips, of 60 lives or `PUMICE_LIVES`", such as "500";
        Seeds(2)
    }
    NANDFS_SERIES = "nandfs: power cuts in series, of pages that fade" {
        nandfs: "series::";
        CUTS of "series of two to four cuts", such as "200000";
        Seeds(2000)
    }
    NANDFS_REPAIR_CUTS = "nandfs: power cuts of repairs and scrubs" {
        nandfs: "cut_repair::";
        CUTS of "damaged volumes, each cut a dozen times", such as "1000";
        Seeds(100)
    }
    NANDFS_DEAD_BLOCKS = "nandfs: dead erase blocks of volumes that lost their power" {
        nandfs: "dead_block::";
        RANDOM of "volumes, each block and each two pages of them", such as "400";
        Seeds(100)
    }
    NANDFS_VERSIONS = "nandfs: blocks written over with a version each, while cleaning never rests" {
        nandfs: "versions::";
        RANDOM of "lives of 15,000 writes", such as "700";
        Seeds(6)
    }
    NANDFS_HOSTS = "nandfs: power cuts of a container's host" {
        nandfs: "host_cut::";
        RANDOM of "rounds of six scenarios on four layouts", such as "100";
        Seeds(7)
    }
    NANDFS_LIVES = "nandfs: lives of years, with boots, cuts in series, repairs and scrubs" {
        nandfs: "lives::";
        AGES of "lives of 520 sessions or `PUMICE_LIVES`", such as "1000";
        Seeds(1)
    }
    NANDFS_BOUNDED = "nandfs: short sequences of calls with every cut" {
        nandfs: "bounded::longer";
        B3 of "calls", such as "3";
        Parts(1200), again: "the failure names calls and cut"
    }
    NANDFS_PAGES = "nandfs: bad pages and spare bits, behind every cut, too" {
        nandfs: "bad_pages::";
        PAGES of "pages", such as "all";
        Parts(1200), again: "the failure names page and bit"
    }
    NANDFS_PARITY = "nandfs: harm that parity bears" {
        nandfs: "parity::as_many";
        PARITY of "chips, of `PUMICE_LIVES`", such as "200";
        Seeds(2)
    }
    NANDFS_YEARS = "nandfs: years on the shelf and of wear" {
        nandfs: "health::decay::a_full", "health::reads::a_file", "health::wear::a_chip";
        YEARS of "years, on larger chips", such as "10";
        Parts(32)
    }
    NANDFS_SPACE = "nandfs: space when nearly full" {
        nandfs: "space_campaign::";
        SPACE of "rounds of each kind on each chip, or on `PUMICE_SPACE_CHIP`", such as "56";
        Seeds(1)
    }
    NANDFS_DAMAGE = "nandfs: damaged images" {
        nandfs: "fuzz::damaged", "fuzz::promises";
        FUZZ_CASES of "damages of each image", such as "2000";
        Seeds(50)
    }
    NANDFS_CALLS = "nandfs: random calls against the model" {
        nandfs: "conformance::random";
        RANDOM of "sequences of 600 calls on each chip", such as "2000";
        Seeds(10)
    }
    FTL_CUTS = "ftl: power cuts in every operation" {
        ftl: "power_cut::every_operation", "power_cut::pages_that_share_cells";
        CUTS of "operations, in every mode", such as "all";
        Parts(1200), again: "the failure names layout, operation and mode"
    }
    FTL_SERIES = "ftl: power cuts in series, of pages that fade" {
        ftl: "series::";
        CUTS of "series of two to four cuts", such as "200000";
        Seeds(2000)
    }
    FTL_LIVES = "ftl: lives of years, with starts, cuts in series, repairs and scrubs" {
        ftl: "lives::";
        AGES of "lives of 520 sessions or `PUMICE_LIVES`", such as "1000";
        Seeds(1)
    }
    FTL_DEAD_BLOCKS = "ftl: dead erase blocks of disks that lost their power" {
        ftl: "dead_block::";
        RANDOM of "disks, each block and each two pages of them", such as "400";
        Seeds(100)
    }
    FTL_VERSIONS = "ftl: blocks written over with a value each, while cleaning never rests" {
        ftl: "versions::";
        RANDOM of "lives of 100,000 writes", such as "100";
        Seeds(8)
    }
    FTL_RANDOM_CUTS = "ftl: paired pages, on chips that are sold, too" {
        ftl: "power_cut::pages_that_share_cells";
        CUTS of "cuts at least", such as "30000";
        Seeds(500)
    }
    FTL_PAGES = "ftl: bad pages and spare bits" {
        ftl: "bad_pages::";
        PAGES of "pages", such as "all";
        Parts(120), again: "the failure names page and bit"
    }
    FTL_PARITY = "ftl: harm that parity bears" {
        ftl: "parity::as_many";
        PARITY of "chips, of `PUMICE_LIVES`", such as "200";
        Seeds(2)
    }
    FTL_YEARS = "ftl: years on the shelf" {
        ftl: "health::a_full_disk", "health::what_is_read";
        YEARS of "years, on larger chips", such as "10";
        Parts(32)
    }
    FTL_SPACE = "ftl: space when nearly full, with cuts, too" {
        ftl: "space_campaign::";
        SPACE of "rounds of each kind on each chip or layout", such as "20";
        Seeds(1)
    }
    FTL_DAMAGE = "ftl: damaged chips, served, checked and repaired" {
        ftl: "damage::damage_ends";
        FUZZ_CASES of "damages of each layout", such as "2000";
        Seeds(50)
    }
    FTL_CALLS = "ftl: random operations against the model" {
        ftl: "model::any_steps";
        RANDOM of "sequences of up to 250 operations", such as "2000";
        Seeds(50)
    }
    F2FS_CALLS = "f2fs: random calls against the model" {
        f2fs: "writable::random";
        F2FS_CASES of "sequences of up to 2,000 calls on each shape, of three sizes", such as "250";
        Seeds(1)
    }
    F2FS_COMPRESSED = "f2fs: compressed files, random calls" {
        f2fs: "writable::compressed::random";
        F2FS_CASES of "sequences by each method", such as "100";
        Seeds(1)
    }
    F2FS_LOCKED = "f2fs: encrypted files, without their key and with it, beside Linux" {
        f2fs: "writable::locked::random";
        F2FS_CASES of "rounds of 200 calls", such as "30";
        Seeds(1)
    }
    F2FS_STATES = "f2fs: power cuts" {
        f2fs: "writable::crash::a_power_cut_leaves", "writable::discards::a_power_cut";
        F2FS_CUTS of "states of each kind", such as "1000";
        Seeds(100)
    }
    F2FS_CUT_RECOVERIES = "f2fs: power cuts while a mount rolls forward, again and again" {
        f2fs: "writable::crash::recovery::";
        F2FS_CUTS of "states at least", such as "1000";
        Seeds(100)
    }
    F2FS_LIVES = "f2fs: lives of years, with power cuts, other ways to mount, and volumes that are emptied" {
        f2fs: "writable::lives::";
        AGES of "lives of 520 sessions or `PUMICE_LIVES`", such as "100";
        Seeds(1)
    }
    F2FS_FULL_STATES = "f2fs: power cuts while sections are cleaned" {
        f2fs: "writable::crash::a_power_cut_while", "writable::crash::ahead::";
        F2FS_FULL_CUTS of "states of each kind", such as "1000";
        Seeds(6)
    }
    F2FS_NEARLY_FULL = "f2fs: nearly full" {
        f2fs: "writable::full::adaptive_logging", "writable::full::normal_logging",
            "writable::full::larger_sections", "writable::full::in_place", "writable::full::fewer_logs",
            "writable::full::compressed";
        F2FS_FULL of "sequences on each sort of volume", such as "100";
        Seeds(1)
    }
    F2FS_CLEANING_FAULTS = "f2fs: reads and writes that fail while sections are cleaned" {
        f2fs: "writable::full::a_failed";
        F2FS_FULL_FAULTS of "faults of each kind", such as "100";
        Seeds(6)
    }
    F2FS_ALL_FAULTS = "f2fs: reads and writes that fail, one at a time" {
        f2fs: "writable::faults::";
        F2FS_FAULTS of "reads and writes", such as "all";
        Parts(8), again: "the failure names read or write"
    }
    F2FS_ROLLED = "f2fs: volumes that lost power, rolled forward by Linux" {
        f2fs: "writable::kernel::linux_rolls";
        F2FS_CRASHED of "volumes, 100 to a boot", such as "2000";
        Seeds(20)
    }
    F2FS_MOVED = "f2fs: volumes that Linux writes to, with every section moved before" {
        f2fs: "writable::kernel::linux_takes";
        RANDOM of "rounds of a boot each on four volumes", such as "10";
        Seeds(1)
    }
    F2FS_CHECKED = "f2fs: damages under the check" {
        f2fs: "check::random::random_damage";
        FUZZ_CASES of "damages of each volume", such as "2000";
        Seeds(60)
    }
    F2FS_READ = "f2fs: damages under the reader" {
        f2fs: "damage::";
        FUZZ_CASES of "damages of each volume", such as "2000";
        Seeds(60)
    }
    F2FS_INJECTED = "f2fs: members that are wrong, compared with `fsck.f2fs` and the kernel" {
        f2fs: "check::inject::";
        DAMAGES of "members", such as "1000";
        Seeds(62)
    }
    F2FS_REPAIRED = "f2fs: members that are wrong, repaired, beside `fsck.f2fs -y`" {
        f2fs: "repair::campaign::";
        DAMAGES of "members", such as "1000";
        Seeds(31)
    }
    F2FS_CUT_REPAIRS = "f2fs: power cuts of repairs" {
        f2fs: "repair::cuts::a_repair";
        DAMAGES of "damaged volumes, each cut a dozen times", such as "1000";
        Seeds(20)
    }
    F2FS_BYTES = "f2fs: each byte of metadata changed" {
        every_byte: "every_byte_may_be_wrong";
        BYTES of "bytes; with `--release` some minutes", such as "all";
        Parts(60), again: "`PUMICE_BYTES=` the number of the list that the failure names, to go on from there"
    }
    F2FS_HOSTILE = "f2fs: damages that are written to" {
        f2fs: "check::mounted::damaged_volumes";
        HOSTILE of "damages of each volume", such as "600";
        Seeds(30)
    }
    SCALEFFS_CUTS = "scaleffs: power cuts in random workloads" {
        scaleffs: "power_cut::";
        RANDOM of "workloads", such as "100";
        Seeds(2)
    }
    SCALEFFS_LIVES = "scaleffs: lives of years, with power cuts, blocks that grow bad, and volumes that are emptied" {
        scaleffs: "lives::";
        AGES of "lives of 520 sessions or `PUMICE_LIVES`", such as "100";
        Seeds(1)
    }
    SCALEFFS_CALLS = "scaleffs: random calls against the model" {
        scaleffs: "conformance::random";
        RANDOM of "sequences of 400 calls on each chip", such as "1000";
        Seeds(10)
    }
    SCALEFFS_FULL = "scaleffs: nearly full, with power cuts, too" {
        scaleffs: "full::";
        FULL of "volumes of each kind", such as "100";
        Seeds(1)
    }
    CFFS_CUTS = "cffs: power cuts in random workloads" {
        cffs: "power_cut::";
        RANDOM of "workloads", such as "100";
        Seeds(2)
    }
    CFFS_LIVES = "cffs: lives of years, with power cuts, blocks that grow bad, and volumes that are emptied" {
        cffs: "lives::";
        AGES of "lives of 520 sessions or `PUMICE_LIVES`", such as "100";
        Seeds(1)
    }
    CFFS_CALLS = "cffs: random calls against the model" {
        cffs: "conformance::random";
        RANDOM of "sequences of 400 calls on each chip", such as "1000";
        Seeds(10)
    }
    CFFS_FULL = "cffs: nearly full, with power cuts, too" {
        cffs: "full::";
        FULL of "volumes of each kind", such as "100";
        Seeds(1)
    }
    RCFFS_CUTS = "rcffs: power cuts in random workloads" {
        rcffs: "power_cut::";
        RANDOM of "workloads", such as "100";
        Seeds(2)
    }
    RCFFS_LIVES = "rcffs: lives of years, with power cuts, blocks that grow bad, and volumes that are emptied" {
        rcffs: "lives::";
        AGES of "lives of 520 sessions or `PUMICE_LIVES`", such as "100";
        Seeds(1)
    }
    RCFFS_CALLS = "rcffs: random calls against the model" {
        rcffs: "conformance::random";
        RANDOM of "sequences of 400 calls on each chip", such as "1000";
        Seeds(10)
    }
    RCFFS_FULL = "rcffs: nearly full, with power cuts, too" {
        rcffs: "full::";
        FULL of "volumes of each kind", such as "100";
        Seeds(1)
    }
    RCFFS_ERRORS = "rcffs: wrong bits, lost pages and lost blocks" {
        rcffs: "errors::a_thousand", "errors::as_many", "errors::wrong_bits";
        ERRORS of "campaigns of each kind", such as "100";
        Seeds(1)
    }
    CLI_FILES = "cli: fsx, and calls that it does not make, on mounts" {
        cli: "e2e::fsx::", "e2e::zero_range::";
        RANDOM of "operations on a file", such as "1000000";
        Seeds(5000)
    }
    CLI_HOSTS = "cli: power cuts of the host under a mount" {
        cli: "e2e::host_cut::a";
        RANDOM of "runs of twelve steps, on a container and on an F2FS image", such as "100";
        Seeds(2)
    }
    CLI_SLURM = "cli: parts of a sweep as an array of Slurm" {
        cli: "sweeps::slurm_itself";
        RANDOM of "sweeps", such as "10";
        Seeds(1)
    }
    CLI_HOSTILE = "cli: hostile images through every verb and a mount" {
        cli: "hostile::";
        HOSTILE of "images of each file system", such as "200";
        Seeds(5)
    }
}
