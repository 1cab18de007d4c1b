//! F2FS: volumes that cannot be made, images that are damaged, numbers and names that are not in them.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
};

use super::ground::{Ledger, snapshot};
use crate::common::World;

/// The words behind `mkfs -t f2fs`, and the one that is named.
pub(crate) const MADE: &[(&str, &str)] = &[
    ("--size 0 new", "--size"),
    ("--size 1M new", "1048576 bytes are too few"),
    ("--size 10M new", "10485760 bytes are too few"),
    ("--size 17T new", "18691697672192 bytes"),
    ("--size 16E new", "16E"),
    ("--size x new", "`x`"),
    ("new", "such as --size 64M"),
    ("--size auto --free 16E new", "16E"),
    ("--size auto --free 17T new", "bytes"),
    ("--size 64M --free 1M new", "--free"),
    ("--free x new", "`x`"),
    ("--size 64M -b 1k new", "invalid block size `1k` (want 4k, 8k or 16k)"),
    ("--size 64M -b 32k new", "`32k`"),
    ("--size 64M -b x new", "`x`"),
    ("--size 64M -s 0 new", "0 segments"),
    ("--size 64M -s 99999 new", "too few"),
    ("--size 64M -s 4294967295 new", "4294967295"),
    ("--size 64M -s 4294967296 new", "4294967296"),
    ("--size 64M -s x new", "`x`"),
    ("--size 64M -z 0 new", "0 segments"),
    ("--size 64M -s 65536 -z 65536 new", "4294967296 segments"),
    ("--size 64M -o 0 new", "invalid percentage `0` (want 0.01 to 90)"),
    ("--size 64M -o 91 new", "`91`"),
    ("--size 64M -o nan new", "`nan`"),
    ("--size 64M -o x% new", "`x%`"),
    ("--size 64M -o -5 new", "`-5`"),
    ("--size 64M --nodes x new", "`x`"),
    ("--size 64M --nodes 99999999999 new", "99999999999 nodes"),
    ("--size 64M -e toolongextension new", "toolongextension"),
    ("--size 64M -e ,, new", "extension \"\""),
    ("--size 64M -E EXTENSIONS new", "extensions are too many"),
    ("--size 64M -O nope new", "unknown feature `nope`"),
    ("--size 64M -O , new", "unknown feature ``"),
    ("--size 64M -O blkzoned new", "blkzoned"),
    ("--size 64M -O readonly new", "unknown feature `readonly`"),
    ("--size 64M -O compression new", "needs extra_attr"),
    ("--size 64M -C utf16 new", "utf16"),
    ("--size 64M --ignore-case new", "--encoding"),
    ("--size 64M --dir-level 32 new", "32"),
    ("--size 64M --dir-level -1 new", "`-1`"),
    ("--size 64M --owner 0 new", "UID:GID"),
    ("--size 64M --owner a:b new", "invalid user `a`"),
    ("--size 64M --owner 0:b new", "invalid group `b`"),
    ("--size 64M --owner 4294967296:0 new", "4294967296"),
    ("--size 64M -R 0: new", "invalid group ``"),
    ("--size 64M -T x new", "`x`"),
    ("--size 64M -T 99999999999999999999 new", "99999999999999999999"),
    ("--size 64M --seed -1 new", "`-1`"),
    ("--size 64M -U x new", "x"),
    ("--size 64M -l LABEL512 new", "a label of 512 UTF-16 units"),
    ("--size 64M -c other new", "-c"),
    ("--size 64M -m new", "-m"),
    ("--size 64M -g ios new", "ios"),
    ("--size 64M -a 2 new", "-a <0|1>"),
    ("--size 64M -d x new", "`x`"),
    ("--size 64M -w 3000 new", "3000"),
    ("--size 64M -w 8k new", "8k"),
    ("--size 64M --discard 2 new", "2"),
    ("--size 64M -i --nodes 5 new", "--nodes"),
    ("--size 64M -r --seed 5 new", "--seed"),
    ("--size 64M -S 64M new", "-S"),
    ("--free 1M -S 64M new", "-S"),
    ("-S 0 new", "`0`"),
    ("--size auto -i new", "-i needs --size"),
    ("--size 64M -O ro,quota new", "quota_ino"),
    ("--size 18M -O ro new", "too few"),
    ("--size 64M --manifest none new", "none: no such file"),
    ("--size 64M --manifest dir new", "dir: not a regular file"),
    ("--size 64M --manifest pipe new", "pipe: not a regular file"),
    ("--size 64M --manifest /dev/zero new", "/dev/zero: not a regular file"),
    ("--size 64M --manifest text new", "text: line 1"),
    ("--size 64M --manifest card new", "card"),
    ("--size 64M --fs-config none new", "none: no such file"),
    ("--size 64M --fs-config pipe new", "pipe: not a regular file"),
    ("--size 64M --fs-config text new", "text: line 1"),
    ("--size 64M --file-contexts none new", "none: no such file"),
    ("--size 64M --file-contexts pipe new", "pipe: not a regular file"),
    ("--size 64M --file-contexts text new", "text: line 1"),
    ("--size 64M --mount-point /system new", "--file-contexts"),
    ("--size 64M --from none new", "none: no such file"),
    ("--size 64M --from pipe new", "pipe: neither a directory nor a tar archive"),
    ("--size 64M --from /dev/zero new", "/dev/zero: neither a directory nor a tar archive"),
    ("--size 64M --from text new", "text: not a tar archive; it is a text file"),
    ("--size 64M --from card new", "card: not a tar archive; it is an F2FS volume"),
    ("--size 64M --from packed new", "packed: not a tar archive; it is a gzip file; unpack it first"),
    ("--size 64M --from noise new", "noise: not a tar archive"),
    ("--size 64M --from halftar new", "halftar"),
    ("--size 46M --from large new", "large"),
    ("--size 64M --chip slc-2k-2g new", "--chip"),
    ("--size 64M --geometry 2048+64:64:64 new", "--geometry"),
    ("--size 64M card", "card: exists already; use --force"),
    ("card", "card: exists already; use --force"),
    ("--dry-run --size 64M card", "card: exists already; use --force"),
    ("--size 64M dir", "dir: is a directory"),
    ("--size 64M pipe", "pipe: neither a file nor a disk"),
    ("--size 64M /dev/null", "/dev/null: neither a file nor a disk"),
    ("--size 64M none/new", "none/new: no such file"),
];

/// Words that are for F2FS, given to another file system.
pub(crate) const FOREIGN: &[(&str, &str)] = &[
    ("--free 1M", "--free"),
    ("-b 4k", "--block-size"),
    ("-s 1", "--section-segments"),
    ("-z 1", "--zone-sections"),
    ("-o 5", "--overprovision"),
    ("--nodes 5", "--nodes"),
    ("-e jpg", "--cold-extensions"),
    ("-E db", "--hot-extensions"),
    ("-O encrypt", "--features"),
    ("-C utf8", "--encoding"),
    ("--dir-level 1", "--dir-level"),
    ("--owner 0:0", "--owner"),
    ("--manifest text", "--manifest"),
    ("--sparse", "--sparse"),
    ("--fs-config text", "--fs-config"),
    ("--file-contexts text", "--file-contexts"),
    ("-q", "--quiet"),
    ("-a 1", "-a"),
    ("-c x", "-c"),
    ("-d 1", "-d"),
    ("-g android", "-g"),
    ("-i", "-i"),
    ("-H", "-H"),
    ("-m", "-m"),
    ("-r", "-r"),
    ("-S 64M", "-S"),
    ("-w 512", "--sector-size"),
    ("--discard 1", "--discard"),
    ("-R 0:0", "--root-owner"),
    ("-T 5", "--time"),
    ("--seed 5", "--seed"),
    ("--compress-algorithm lz4", "--compress-algorithm"),
    ("--threads 2", "--threads"),
    ("--verity x", "--verity"),
];

/// The damage to an image.
pub(crate) enum Damage {
    Cut(u64),
    /// Bytes at places.
    Over(&'static [(u64, &'static [u8])]),
}

use Damage::{Cut, Over};

/// The beginnings of the two super blocks, the checkpoints and the NAT.
const SB: u64 = 1024;
const SB_COPY: u64 = 4096 + 1024;
const PACKS: [u64; 2] = [2 << 20, 4 << 20];
const BLANK: &[u8] = &[0; 4096];
/// The place of the features' bits in a super block.
const FEATURES: u64 = 2180;

/// Each damage, and the message of all verbs.
pub(crate) const DAMAGES: &[(Damage, &str)] = &[
    (Cut(1536), "super block: the image ends at byte 1536"),
    (Cut(4096), "cut short: 4096 of"),
    (Cut(8192), "cut short: 8192 of"),
    (Cut(1 << 20), "cut short: 1048576 of"),
    (Cut(2 << 20), "cut short: 2097152 of"),
    (
        Over(&[(SB, BLANK.split_at(3072).0), (SB_COPY, BLANK.split_at(3072).0)]),
        "a file that begins with zeros",
    ),
    (Over(&[(SB + 16, &[0xff; 4]), (SB_COPY + 16, &[0xff; 4])]), "log2 of the block size is 4294967295"),
    (Over(&[(SB + 16, &[0; 4]), (SB_COPY + 16, &[0; 4])]), "log2 of the block size is 0"),
    (Over(&[(SB + 20, &[0; 4]), (SB_COPY + 20, &[0; 4])]), "log2 of blocks in a segment is 0"),
    (Over(&[(SB + 72, &[0; 200]), (SB_COPY + 72, &[0; 200])]), "super block: "),
    (
        Over(&[(SB + FEATURES, &[0, 0, 0, 0x80]), (SB_COPY + FEATURES, &[0, 0, 0, 0x80])]),
        "a newer version is needed",
    ),
    (Over(&[(PACKS[0], BLANK), (PACKS[1], BLANK)]), "checkpoint pack 1: "),
];

/// Verbs that read, `IMAGE` in its place.
const READERS: &[&str] = &[
    "ls IMAGE",
    "tree IMAGE",
    "cat IMAGE file",
    "stat IMAGE /",
    "find IMAGE",
    "get IMAGE / out",
    "tar IMAGE",
    "info IMAGE",
    "df IMAGE",
    "mount IMAGE dir",
    "map IMAGE /",
    "whois IMAGE 9000",
    "dump IMAGE sb",
];

/// Paths that are not in a sound image, and commands that are not for F2FS.
pub(crate) const ROWS: &[(&str, &str)] = &[
    ("cat card none", "none: no such file"),
    ("cat card dir", "dir: is a directory"),
    ("ls card file/x", "file/x: not a directory"),
    ("stat card none", "none: no such file"),
    ("find card none", "none: no such file"),
    ("get card none", "none: no such file"),
    ("get card file text", "text: exists already; use --force"),
    ("get card dir none/x", "no such file"),
    ("tar card none", "none: no such file"),
    ("tar card / -o text", "text: exists already; use --force"),
    ("map card none", "none: no such file"),
    ("map card file/x", "not a directory"),
    ("map card", "required"),
    ("whois card 4294967296", "4294967296"),
    ("dump card node 99999999", "no node 99999999: the volume has nodes 1 to"),
    ("dump card nat 99999999", "no node 99999999: the volume has nodes 1 to"),
    ("dump card nat 1 99999999", "the volume has nodes 1 to"),
    ("dump card nat 0", "no node 0: the volume has nodes 1 to"),
    ("dump card nat 0 0", "0"),
    ("dump card sit 9999", "no segment 9999: the volume has segments 0 to"),
    ("dump card sit 0 99999999", "the volume has segments 0 to"),
    ("dump card ssa 9999", "no segment 9999: the volume has segments 0 to"),
    ("dump card dentry none", "none: no such file"),
    ("dump card dentry file", "file: not a directory"),
    ("dump card nope", "nope"),
    ("--key-file none ls card", "none: no such file"),
    ("--key-file text ls card", "text: a master key has"),
    ("--key-file dir ls card", "dir: is a directory"),
    ("--key-file pipe ls card", "pipe: a master key has 0 bytes"),
    ("mount card none", "none: no such directory"),
    ("mount -o nope card dir", "nope"),
    ("mkfs card", "card"),
    ("mkfs --chip slc-2k-2g card", "exists already; use --force"),
    ("nand stats card", "card is not a chip container; it is an F2FS volume"),
    ("nand flip --page 0 card", "card is not a chip container"),
    ("nand age card 1d", "card is not a chip container"),
    ("nand wear --erases 1 card", "card is not a chip container"),
    ("nand disturb --fail 1 card", "card is not a chip container"),
    ("nand cut --after 1 card", "card is not a chip container"),
    ("nand export card out", "card is not a chip container"),
    ("ftl info card", "card is not a chip container"),
    ("ftl mount card dir", "card is not a chip container"),
];

fn world() -> World {
    let world = World::new();
    fs::create_dir_all(world.path("tree/dir")).unwrap();
    fs::write(world.path("tree/file"), "content").unwrap();
    fs::create_dir(world.path("dir")).unwrap();
    fs::write(world.path("text"), "plain text\n").unwrap();
    fs::write(world.path("packed"), b"\x1f\x8b\x08 and so on").unwrap();
    fs::write(world.path("noise"), [0xa5; 5000]).unwrap();
    fs::create_dir(world.path("large")).unwrap();
    let large = File::create(world.path("large/file")).unwrap();
    large.write_all_at(&vec![0xa5; 60 << 20], 0).unwrap();
    let mut tar = vec![0; 512];
    let mut header = tar::Header::new_gnu();
    header.set_path("file").unwrap();
    header.set_size(5000);
    header.set_cksum();
    tar.copy_from_slice(header.as_bytes());
    fs::write(world.path("halftar"), tar).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, world.path("pipe"), rustix::fs::Mode::RWXU).unwrap();
    world.say("mkfs -t f2fs --from tree --free 16M card").good();
    world
}

/// Runs a table; nothing in the directory may change.
fn refused(rows: &[(&str, &str)], ending: &str, before: &str) {
    let ledger = Ledger::default();
    let world = world();
    let mut shot = snapshot(&world.path("."));
    let extensions: Vec<_> = (100..200).map(|number| number.to_string()).collect();
    for (words, says) in rows {
        let line = format!("{before}{words}{ending}");
        let line = line.replace("LABEL512", &"l".repeat(512)).replace("EXTENSIONS", &extensions.join(","));
        ledger.refuses(&world, &line, &[1, 2], &[says]);
        ledger.unchanged(&world, &mut shot, &line, "/-");
    }
    ledger.close();
}

#[test]
fn volumes_that_cannot_be_made_are_refused() {
    refused(MADE, "", "mkfs -t f2fs ");
}

#[test]
fn words_of_f2fs_are_not_passed_over_elsewhere() {
    refused(FOREIGN, " new", "mkfs --chip slc-2k-2g --size 16M ");
}

#[test]
fn what_is_not_in_a_volume_is_named() {
    refused(ROWS, "", "");
}

#[test]
fn damaged_volumes_are_named() {
    let ledger = Ledger::default();
    let world = world();
    for (damage, says) in DAMAGES {
        fs::copy(world.path("card"), world.path("bad")).unwrap();
        let file = File::options().write(true).open(world.path("bad")).unwrap();
        match damage {
            Cut(at) => file.set_len(*at).unwrap(),
            Over(places) => places.iter().for_each(|(at, bytes)| file.write_all_at(bytes, *at).unwrap()),
        }
        let mut before = snapshot(&world.path("."));
        for verb in READERS {
            let line = verb.replace("IMAGE", "bad");
            ledger.refuses(&world, &line, &[1], &["bad", says]);
            ledger.unchanged(&world, &mut before, &line, "/-");
        }
    }
    ledger.close();
}

/// A time before 1970 is a number like another.
#[test]
fn a_volume_may_be_older_than_time() {
    let world = world();
    world.say("mkfs -t f2fs --size 64M -T -86400 new").good();
    assert!(world.say("stat new /").good().contains("1969-12-31"));
}
