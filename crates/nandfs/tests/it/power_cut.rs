//! Power cuts after every operation of scripted workloads. The allowed trees stand in `cut/contract.rs`, the making and
//! the replay of cuts in `cut/runner.rs`.

use crate::cut::runner::cut_everywhere;

/// Operations of a scenario that are cut in each mode, spread evenly; the others are cut in one.
const BUDGET: u64 = 100;

/// The same where erase blocks have parity pages.
const BUDGET_OF_PARITY: u64 = 12;

/// The same where blocks of files are compressed.
const BUDGET_OF_COMPRESSION: u64 = 12;

#[test]
fn with_parity() {
    for (scenario, chip) in [
        ("names", "spare+1"),
        ("appends", "gang+1"),
        ("newfiles", "inpage+2"),
        ("growth", "spare+2"),
        ("full", "spare+1"),
        ("remounts", "inpage+1"),
        ("saves", "gang+2"),
        ("names", "spare+1now"),
        ("appends", "gang+2now"),
        ("full", "spare+1now"),
        ("remounts", "spare+2now"),
        ("saves", "inpage+1now"),
    ] {
        cut_everywhere(scenario, chip, BUDGET_OF_PARITY);
    }
}

#[test]
fn with_compression() {
    for (scenario, chip) in [
        ("appends", "spare@lz4"),
        ("newfiles", "slots@zstd"),
        ("growth", "gang@lz4"),
        ("full", "spare@zstd"),
        ("remounts", "page@lz4"),
        ("space", "slots@lz4"),
        ("bigdir", "spare@lz4"),
        ("tree", "gang@lz4"),
        ("saves", "slots@lz4"),
        ("appends", "gang+2now@lz4"),
        ("growth", "spare+1@lz4"),
        ("full", "inpage+1now@lz4"),
    ] {
        cut_everywhere(scenario, chip, BUDGET_OF_COMPRESSION);
    }
}

macro_rules! scenarios {
    ($($test:ident: $scenario:literal on $($chip:ident),+;)*) => {
        $(mod $test {
            $(#[test]
            fn $chip() {
                super::cut_everywhere($scenario, stringify!($chip), super::BUDGET);
            })+
        })*
    };
}

scenarios! {
    names: "names" on spare, gang, page, slots;
    appends: "appends" on spare, gang, page, slots;
    new_files: "newfiles" on spare, gang, page, slots;
    growth: "growth" on spare, gang, page;
    big_directory: "bigdir" on spare, gang, page, slots;
    full: "full" on spare, gang, page, slots;
    remounts: "remounts" on spare, gang, page, slots;
    space: "space" on spare, gang, page, slots;
    tree: "tree" on spare, gang, page, slots;
    saves: "saves" on spare, gang, page, slots;
}
