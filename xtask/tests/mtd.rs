//! Our code for `/dev/mtdN` on a real one: Linux's driver over its simulated chip (nandsim).
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use xtask::{Guest, Machine, Report, built, installed};

/// What each script begins with: `chip` makes /dev/mtd0 anew, and the first failure ends the script.
const PRELUDE: &str = "
set -eu
chip() { rmmod nandsim 2>/dev/null || true; modprobe nandsim bbt=0 \"$@\"; }
nand() { guest-nand /dev/mtd0 \"$@\"; }
# Chips by the bytes of their identification: 512+16, 2048+64, the same with a BCH code.
small() { chip id_bytes=0x20,0x33 overridesize=9 \"$@\"; }
large() { chip id_bytes=0x20,0xa1,0x00,0x15 overridesize=8 \"$@\"; }
";

fn good(report: Report) -> String {
    report.good().unwrap_or_else(|report| panic!("{report}"))
}

fn run(guest: &Guest, script: &str) -> String {
    good(guest.run(&format!("{PRELUDE}\n{script}")).unwrap())
}

#[test]
fn a_real_device_keeps_the_contract_of_a_chip() {
    let Some(machine) = Machine::for_test() else { return };
    let guest = Guest::new(&machine).unwrap();
    guest.add_program(&built("xtask-guest", "guest-nand").unwrap()).unwrap();
    run(
        &guest,
        "
        small; nand contract 512+16:32:512 8
        large; nand contract 2048+64:64:256 38
        large bch=4; nand contract 2048+64:64:256 34
        ",
    );
}
