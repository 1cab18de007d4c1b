//! Verbs and options that there are none of.

use super::ground::{Ledger, snapshot};
use crate::common::World;

/// The words, and the one that is named.
pub(crate) const ROWS: &[(&str, &str)] = &[
    ("lss image", "'ls'"),
    ("LS image", "LS"),
    ("image", "image"),
    ("--nope", "--nope"),
    ("--nope ls image", "--nope"),
    ("ls --nope image", "--nope"),
    ("ls -Z image", "-Z"),
    ("ls --jsn image", "'--json'"),
    ("ls", "required"),
    ("ls --json=yes image", "--json"),
    ("ls --json --json image", "--json"),
    ("--json ls --json=1 image", "--json"),
    ("--json mkdir image x", "--json"),
    ("mkdir --json image x", "--json"),
    ("--json put image a b", "--json"),
    ("--json rm image a", "--json"),
    ("--json mount image dir", "--json"),
    ("--json nand create --chip slc-2k-2g x", "--json"),
    ("nand kill --json --page 1 image", "--json"),
    ("--json tar image", "--json"),
    ("--json cat image a", "--json"),
    ("--json get image a", "--json"),
    ("--json mkfs --chip slc-2k-2g x", "--json"),
    ("--json lab run all", "--json"),
    ("ls --dry-run image", "--dry-run"),
    ("cat --force image a", "--force"),
    ("nand nope image", "nope"),
    ("ftl nope image", "nope"),
    ("lab nope", "nope"),
    ("dump image nope", "nope"),
    ("ftl create --chip slc-2k-2g --chip slc-4k-8g new", "--chip"),
    ("ls --cache", "--cache"),
    ("ls --key-file", "--key-file"),
    ("help nope", "nope"),
    ("ls image -- --x", "--x: no such file"),
];

#[test]
fn words_that_there_are_none_of_are_named() {
    let ledger = Ledger::default();
    let world = World::formatted();
    let mut before = snapshot(&world.path("."));
    for (line, says) in ROWS {
        ledger.refuses(&world, line, &[1, 2], &[says]);
        ledger.unchanged(&world, &mut before, line, "/-");
    }
    ledger.close();
}
