//! All knobs.

use crate::knob::{Form, Knob};

macro_rules! knobs {
    ($($knob:ident: $form:expr, $usual:literal, $purpose:literal;)*) => {
        $(#[doc = $purpose]
        pub const $knob: Knob = Knob {
            name: concat!("PUMICE_", stringify!($knob)),
            form: $form,
            purpose: $purpose,
            usual: $usual,
        };)*

        /// All knobs.
        pub const KNOBS: [Knob; [$(stringify!($knob)),*].len()] = [$($knob),*];
    };
}

knobs! {
    SEED: Form::Seed, "each campaign's own", "The first seed of a campaign; its size says how many follow.";
    PART: Form::Part, "all of it", "Which part of a campaign that is run whole.";
    CUT: Form::Name, "all cuts", "One power cut of nandfs again, by the id that a failure names.";
    LIVES: Form::Count, "each campaign's own", "How often a chip is used and cut or hurt, for each seed.";
    SPACE_CHIP: Form::Name, "all chips", "The chip of the campaigns on space of nandfs.";
    CUTS: Form::AllOrCount, "a sample", "Power cuts: every operation in every mode, or so many at least of those that are drawn.";
    TORTURE: Form::Count, "8", "Chips of nandfs with power cuts, again and again.";
    AGES: Form::Count, "12 of 40 sessions", "Volumes of nandfs and disks that live for years.";
    B3: Form::OneOf(&["3", "4"]), "1, 2, and of 3 a sample", "The length of sequences of calls of which all are played.";
    PAGES: Form::All, "a sample", "Pages that are made bad, one at a time.";
    PARITY: Form::Count, "4 to 8", "Chips that are hurt as much as parity can bear.";
    YEARS: Form::OneOf(&["10"]), "months, on small chips", "Years on the shelf and of wear, on larger chips.";
    SPACE: Form::Count, "1 or 2", "Rounds on each chip that is nearly full.";
    FUZZ_CASES: Form::Count, "32 to 60", "Damages of each image or layout.";
    HOSTILE: Form::Count, "4 to 30", "Damages of each volume that is then served or written to.";
    DAMAGES: Form::Count, "124 or 62", "Members of F2FS's structures that are damaged, one at a time.";
    BYTES: Form::AllOrCount, "a sample", "Bytes of metadata of F2FS that are changed: all, or all from this number of the list of blocks on.";
    RANDOM: Form::Count, "each test's own", "Sequences of random calls, or rounds of random data.";
    FULL: Form::Count, "1", "Volumes of the papers' file systems that are nearly full.";
    ERRORS: Form::Count, "3 or 4", "Campaigns of wrong bits, lost pages and lost blocks of rcffs.";
    F2FS_CASES: Form::Count, "1 or 3", "Sequences of random calls on each shape of F2FS.";
    F2FS_CUTS: Form::Count, "100 or 300", "States that a power cut leaves of F2FS.";
    F2FS_FULL: Form::Count, "1", "Sequences on each sort of F2FS volume that is nearly full.";
    F2FS_FULL_CUTS: Form::Count, "6 to 60", "States that a power cut leaves of F2FS while sections are cleaned.";
    F2FS_FULL_FAULTS: Form::Count, "6 or 12", "Reads and writes that fail while sections of F2FS are cleaned.";
    F2FS_FAULTS: Form::All, "a sample", "Reads and writes of F2FS that fail, one at a time.";
    F2FS_CRASHED: Form::Count, "4", "Volumes that lost power and that Linux rolls forward.";
    F2FS_PACE: Form::Count, "1000", "Files made with fsync, to see the most that one call writes to F2FS.";
    F2FS_LINUX_PACE: Form::Count, "none", "The same by Linux.";
    GOLDEN: Form::Path, "beside the checkout", "The directory of volumes that Linux and newer f2fs-tools made.";
    NO_GUESTS: Form::Switch, "booted where QEMU is", "Leave out tests that boot Linux in QEMU, as `make quick` does.";
    BLESS: Form::Switch, "compared only", "Write down the present results, in place of comparing them with the old ones.";
    RECORDS: Form::Path, "made by one seed", "The directory of records by which the papers' statements are judged.";
    RAN: Form::Path, "nowhere", "The file to which each campaign adds its runs.";
}
