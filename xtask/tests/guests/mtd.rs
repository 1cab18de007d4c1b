//! Our code for `/dev/mtdN` on a real one: Linux's driver over its simulated chip (nandsim).

use xtask::{Guest, Machine, Report, built, installed};

/// The beginning of each script: `chip` makes /dev/mtd0 anew, and the first failure ends the script.
const PRELUDE: &str = "
set -eu
chip() { rmmod nandsim 2>/dev/null || true; modprobe nandsim bbt=0 \"$@\"; }
nand() { guest-nand /dev/mtd0 \"$@\"; }
# Chips by the bytes of their identification: 512+16, 2048+64, the same with a BCH code.
small() { chip id_bytes=0x20,0x33 overridesize=9 \"$@\"; }
large() { chip id_bytes=0x20,0xa1,0x00,0x15 overridesize=7 \"$@\"; }
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
    guest.add_program(&built("guest-nand").unwrap()).unwrap();
    guest.add_program(&installed("nandwrite").unwrap()).unwrap();
    run(
        &guest,
        "
        for verb in contract contract-before-6.1; do
            small; nand $verb 512+16:32:512 8
            large; nand $verb 2048+64:64:128 38
            large bch=4; nand $verb 2048+64:64:128 34
        done
        small; nand codes hamming
        large; nand codes hamming
        large bch=4; nand codes bch4
        large bch=8; nand codes bch8
        large badblocks=0,7,127; nand bad 0 7 127; nand mark 9; nand bad 0 7 9 127
        small badblocks=3; nand bad 3; nand mark 511; nand bad 3 511
        large weakpages=130:0; nand program-fails 130
        large weakblocks=5:3; nand erase-fails 5 3
        large gravepages=200:4; nand unreadable 200 4
        # Bits fall in one codeword of page 70. A Hamming code may put so many right, wrongly.
        hurt() {
            nand program 70
            head -c 2112 /dev/zero | tr '\\0' '\\377' >/tmp/page
            head -c 24 /dev/zero | dd of=/tmp/page bs=1 seek=$1 conv=notrunc 2>/dev/null
            nandwrite -q -n -o -s $((70 * 2048)) /dev/mtd0 /tmp/page
        }
        for verb in lost lost-before-6.1; do
            large bch=4; hurt 600; nand $verb 70 512 1024
            large bch=8; hurt 1536; nand $verb 70 1536 2048
        done
        small bitflips=1; nand corrects
        large bitflips=1; nand corrects
        ",
    );
}

/// A tree, and the commands for it on each chip.
const TREE: &str = "
rm -rf /tmp/tree /tmp/back; mkdir -p /tmp/tree/deep/er
seq 1 200000 >/tmp/tree/numbers
cp /bin/busybox /tmp/tree/deep/program
ln -s ../../numbers /tmp/tree/deep/er/link; ln /tmp/tree/numbers /tmp/tree/deep/hard
for n in $(seq 1 300); do echo $n >/tmp/tree/deep/er/small-$n; done
same() { rm -rf /tmp/back; pumice get $1 /tree /tmp/back; diff -r /tmp/tree /tmp/back; }
tree() {
    pumice mkfs /dev/mtd0
    pumice put /dev/mtd0 /tmp/tree /
    pumice fsck -n /dev/mtd0
    same /dev/mtd0
}
# Once more over the whole chip, so that blocks are erased and used again.
again() {
    for turn in 1 2 3; do
        pumice rm -r /dev/mtd0 /tree
        pumice put /dev/mtd0 /tmp/tree /
    done
    pumice fsck -n /dev/mtd0
    same /dev/mtd0
}
";

#[test]
fn a_tree_is_kept_on_a_real_device() {
    let Some(machine) = Machine::for_test() else { return };
    let guest = Guest::new(&machine).unwrap();
    guest.add_program(&built("pumice").unwrap()).unwrap();
    run(
        &guest,
        &format!(
            "{TREE}
            small; tree
            large; tree; again
            large bch=4 badblocks=0,2,17,126,127; tree
            large weakblocks=3:2,20:1,21:1,40:3 weakpages=70:1,500:1,1000:2,2000:1; tree; again
            large bitflips=1; tree
            {IN_USE}
            "
        ),
    );
}

/// Devices in the kernel's own use are not written to.
const IN_USE: &str = "
refused() { if pumice mkfs --force /dev/mtd0 2>/tmp/why; then exit 1; fi; grep -F \"$1\" /tmp/why; if grep half /tmp/why; then exit 1; fi; }
large; modprobe ubi mtd=0; refused 'mtd0 cannot be used as a NAND chip: ubi0 of UBI uses it'; rmmod ubi
large; modprobe jffs2; mount -t jffs2 mtd0 /mnt; refused 'the mount at /mnt uses it'; umount /mnt
pumice mkfs --force /dev/mtd0
";

#[test]
fn a_mount_on_a_real_device_survives_a_kill() {
    let Some(machine) = Machine::for_test() else { return };
    let guest = Guest::new(&machine).unwrap();
    guest.add_program(&built("pumice").unwrap()).unwrap();
    guest.add_program(&installed("sync").unwrap()).unwrap();
    run(
        &guest,
        &format!(
            "{TREE}
            modprobe fuse
            large badblocks=9; pumice mkfs /dev/mtd0
            pumice mount --daemon /dev/mtd0 /mnt
            cp -a /tmp/tree /mnt/tree
            find /mnt ! -type l -exec sync {{}} +
            (while :; do cat /bin/busybox; done >/mnt/unfinished) 2>/dev/null & writer=$!
            sleep 1
            kill -9 $(pidof pumice); wait $writer || true; umount -l /mnt
            pumice fsck -n /dev/mtd0
            same /dev/mtd0
            pumice mount --daemon /dev/mtd0 /mnt
            diff -r /tmp/tree /mnt/tree
            if pumice ls /dev/mtd0 2>/tmp/busy; then exit 1; fi
            grep 'in use by process' /tmp/busy
            umount /mnt
            "
        ),
    );
}

/// `go SHAPE CHIP...`: a file system goes from a real chip to a simulated one and back to a fresh real one.
const DUMPS: &str = "
go() {
    shape=$1; shift
    rm -f /tmp/a /tmp/b /tmp/sim
    \"$@\"; tree
    nanddump -q --oob --bb=dumpbad -f /tmp/a /dev/mtd0
    pumice nand import --geometry $shape /tmp/a /tmp/sim
    pumice fsck -n /tmp/sim
    same /tmp/sim
    pumice nand export /tmp/sim /tmp/b
    \"$@\"
    # The driver computes the codes anew, which our dump has not.
    nandwrite -q --oob --skip-all-ff /dev/mtd0 /tmp/b
    pumice fsck -n /dev/mtd0
    same /dev/mtd0
    nanddump -q --oob --bb=dumpbad -f /tmp/b /dev/mtd0
    cmp /tmp/a /tmp/b
}
";

#[test]
fn dumps_of_a_real_chip_and_a_simulated_one_are_the_same() {
    let Some(machine) = Machine::for_test() else { return };
    let guest = Guest::new(&machine).unwrap();
    guest.add_program(&built("pumice").unwrap()).unwrap();
    for name in ["nanddump", "nandwrite"] {
        guest.add_program(&installed(name).unwrap()).unwrap();
    }
    run(
        &guest,
        &format!(
            "{TREE} {DUMPS}
            go 512+16:32:512 small
            go 2048+64:64:128 large
            # A dump tells the bad blocks.
            large badblocks=5,100; tree
            nanddump -q --oob --bb=dumpbad -f /tmp/a /dev/mtd0
            pumice nand import --force --geometry 2048+64:64:128 /tmp/a /tmp/sim
            pumice fsck -n /tmp/sim
            same /tmp/sim
            pumice nand stats /tmp/sim | grep 'bad blocks:  2'
            "
        ),
    );
}
