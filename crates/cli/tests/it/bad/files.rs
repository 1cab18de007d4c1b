//! Files that are no images: every verb names their kind.

use std::{
    fs::{self, File},
    os::unix::{
        fs::{FileExt, symlink},
        net::UnixListener,
    },
};

use super::ground::{Ledger, snapshot};
use crate::common::World;

/// The recipe of each.
pub(crate) enum Made {
    /// A magic number at its place, and noise around it.
    Magic(u64, &'static [u8]),
    /// Two of them.
    Magics([(u64, &'static [u8]); 2]),
    /// These bytes, and so many of them.
    Filled(u8, usize),
    Text(&'static str),
    /// A file of the host's, not made here.
    Host,
    Pipe,
    Socket,
    Directory,
    Missing,
    Circle,
    Dangling,
    TooLong,
    Below,
}

use Made::{Filled, Host, Magic, Magics, Text};

/// Each kind, and its message.
pub(crate) const KINDS: &[(&str, Made, &str)] = &[
    ("gzip", Magic(0, b"\x1f\x8b\x08"), "a gzip file; unpack it"),
    ("xz", Magic(0, b"\xfd7zXZ\0"), "an xz file; unpack it"),
    ("zstd", Magic(0, b"\x28\xb5\x2f\xfd"), "a Zstandard file; unpack it"),
    ("bzip2", Magic(0, b"BZh91AY"), "a bzip2 file; unpack it"),
    ("lz4", Magic(0, b"\x04\x22\x4d\x18"), "an LZ4 file"),
    ("lz4-legacy", Magic(0, b"\x02\x21\x4c\x18"), "an LZ4 file"),
    ("lzop", Magic(0, b"\x89LZO\0"), "an lzop file"),
    ("lzip", Magic(0, b"LZIP\x01"), "an lzip file"),
    ("zip", Magic(0, b"PK\x03\x04"), "a zip file; unpack it"),
    ("zip-empty", Magic(0, b"PK\x05\x06"), "a zip file with nothing in it"),
    ("7z", Magic(0, b"7z\xbc\xaf\x27\x1c"), "a 7-Zip file"),
    ("rar", Magic(0, b"Rar!\x1a\x07\x01\0"), "a RAR file"),
    ("tar", Magic(257, b"ustar\0"), "a tar archive; unpack it into a directory"),
    ("cpio", Magic(0, b"070701"), "a cpio archive"),
    (
        "sparse",
        Magic(0, b"\x3a\xff\x26\xed"),
        "an Android sparse image; make it a raw image first, with `simg2img`",
    ),
    ("boot", Magic(0, b"ANDROID!"), "an Android boot image"),
    ("vendor-boot", Magic(0, b"VNDRBOOT"), "an Android boot image"),
    ("super", Magic(4096, b"gDla"), "an Android super image"),
    ("payload", Magic(0, b"CrAU"), "an Android update payload"),
    ("qcow2", Magic(0, b"QFI\xfb\0\0\0\x03"), "a qcow2 image; make it a raw image first, with `qemu-img"),
    ("vmdk", Magic(0, b"KDMV"), "a VMDK image"),
    ("vmdk-text", Magic(0, b"# Disk DescriptorFile\n"), "a VMDK image"),
    ("vdi", Magic(0x40, b"\x7f\x10\xda\xbe"), "a VDI image"),
    ("vhdx", Magic(0, b"vhdxfile"), "a VHDX image"),
    ("vhd", Magic(0, b"conectix"), "a VHD image"),
    ("squashfs", Magic(0, b"hsqs"), "a squashfs image; Linux mounts it"),
    ("cramfs", Magic(0, b"\x45\x3d\xcd\x28"), "a cramfs image"),
    ("romfs", Magic(0, b"-rom1fs-"), "a romfs image"),
    ("erofs", Magic(1024, b"\xe2\xe1\xf5\xe0"), "an EROFS image"),
    ("ubi", Magic(0, b"UBI#\x01"), "a UBI image; attach it with `ubiattach`"),
    ("ubifs", Magic(0, b"\x31\x18\x10\x06"), "a UBIFS image"),
    ("jffs2", Magic(0, b"\x85\x19\x01\xe0"), "a JFFS2 image"),
    ("jffs2-clean", Magic(0, b"\x85\x19\x03\x20"), "a JFFS2 image"),
    ("jffs2-big", Magic(0, b"\x19\x85\x20\x03"), "a JFFS2 image"),
    ("uboot", Magic(0, b"\x27\x05\x19\x56"), "a U-Boot image"),
    ("fit", Magic(0, b"\xd0\x0d\xfe\xed"), "a device tree or FIT image"),
    ("luks", Magic(0, b"LUKS\xba\xbe"), "an encrypted LUKS volume"),
    ("lvm", Magic(512, b"LABELONE"), "an LVM physical volume"),
    ("xfs", Magic(0, b"XFSB"), "an XFS volume; Linux mounts it"),
    ("btrfs", Magic(65_600, b"_BHRfS_M"), "a btrfs volume; Linux mounts it"),
    ("bcachefs", Magic(4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca"), "a bcache or bcachefs device"),
    ("nilfs2", Magic(1030, b"\x34\x34"), "a NILFS2 volume"),
    ("iso", Magic(32_769, b"CD001"), "an ISO 9660 image"),
    ("apfs", Magic(32, b"NXSB"), "an APFS container"),
    ("hfs", Magic(1024, b"H+\0\x04"), "an HFS+ volume"),
    ("exfat", Magic(3, b"EXFAT   "), "an exFAT volume"),
    ("ntfs", Magic(3, b"NTFS    "), "an NTFS volume"),
    ("fat32", Magic(82, b"FAT32   "), "a FAT volume; Linux mounts it"),
    ("fat16", Magic(54, b"FAT16   "), "a FAT volume; Linux mounts it"),
    ("fat12", Magic(54, b"FAT12   "), "a FAT volume; Linux mounts it"),
    ("ext2", Magics([(1080, b"\x53\xef"), (1116, &[0; 8])]), "an ext2 volume; Linux mounts it"),
    (
        "ext3",
        Magics([(1080, b"\x53\xef"), (1116, &[4, 0, 0, 0, 0, 0, 0, 0])]),
        "an ext3 volume; Linux mounts it",
    ),
    (
        "ext4",
        Magics([(1080, b"\x53\xef"), (1116, &[4, 0, 0, 0, 0x40, 0, 0, 0])]),
        "an ext4 volume; Linux mounts it",
    ),
    ("swap", Magic(4086, b"SWAPSPACE2"), "a swap device"),
    (
        "gpt",
        Magics([(512, b"EFI PART"), (510, b"\x55\xaa")]),
        "a disk with a GPT partition table; name one of its partitions",
    ),
    ("gpt-4k", Magic(4096, b"EFI PART"), "a disk with a GPT partition table"),
    (
        "mbr",
        Magics([
            (
                446,
                &[
                    0x80, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                    0, 0, 0, 0, 0, 0,
                ],
            ),
            (510, b"\x55\xaa"),
        ]),
        "a disk with an MBR partition table",
    ),
    (
        "raw-nandfs",
        Magic(0, b"pumicefs"),
        "a raw dump of a chip with nandfs; make a chip container of it with `pumice nand import`",
    ),
    ("elf", Magic(0, b"\x7fELF\x02"), "a program"),
    ("png", Magic(0, b"\x89PNG\r\n\x1a\n"), "a PNG picture"),
    ("jpeg", Magic(0, b"\xff\xd8\xff\xe0"), "a JPEG picture"),
    ("pdf", Magic(0, b"%PDF-1.7"), "a PDF file"),
    ("sqlite", Magic(0, b"SQLite format 3\0"), "an SQLite database"),
    ("script", Text("#!/bin/sh\necho\n"), "a script"),
    ("text", Text("dear all,\n"), "a text file"),
    ("one-byte", Text("x"), "a text file"),
    ("one-zero", Filled(0, 1), "a file that begins with zeros"),
    ("zeros", Filled(0, 1 << 20), "a file that begins with zeros"),
    ("ones", Filled(0xff, 1 << 20), "a file that begins like an erased chip"),
    ("noise", Magic(0, b"\xa5\x5a"), "noise"),
    ("short-noise", Filled(0xa5, 3), "short-noise"),
    ("empty", Filled(0, 0), "empty: is an empty file"),
    ("pipe", Made::Pipe, "pipe: is a pipe, not an image"),
    ("socket", Made::Socket, "socket: is a socket, not an image"),
    ("directory", Made::Directory, "directory: is a directory, not an image"),
    ("/dev/null", Host, "/dev/null: is a character device, but no flash chip"),
    ("/dev/zero", Host, "is a character device, but no flash chip"),
    ("/dev/full", Host, "is a character device, but no flash chip"),
    ("/dev/urandom", Host, "is a character device, but no flash chip"),
    ("/dev/ptmx", Host, "is a character device, but no flash chip"),
    ("/proc/version", Host, "is an empty file"),
    ("missing", Made::Missing, "missing: no such file"),
    ("circle", Made::Circle, "circle: too many levels of symbolic links"),
    ("dangling", Made::Dangling, "dangling: no such file"),
    ("too-long", Made::TooLong, "file name too long"),
    ("text/below", Made::Below, "text/below: not a directory"),
];

/// Every verb that works on an image, `IMAGE` in its place.
const VERBS: &[&str] = &[
    "ls IMAGE",
    "ls --json IMAGE",
    "tree IMAGE",
    "cat IMAGE a",
    "stat IMAGE /",
    "find IMAGE",
    "get IMAGE / out",
    "tar IMAGE",
    "tar IMAGE / -o out.tar",
    "put IMAGE text x",
    "put --dry-run IMAGE text x",
    "mkdir IMAGE a",
    "rm IMAGE a",
    "mv IMAGE a b",
    "ln IMAGE a b",
    "info IMAGE",
    "df IMAGE",
    "fsck IMAGE",
    "scrub IMAGE",
    "mount IMAGE directory",
    "mount --dry-run IMAGE directory",
    "mount --daemon IMAGE directory",
    "nand export IMAGE dump",
    "nand flip --page 0 IMAGE",
    "nand kill --page 0 IMAGE",
    "nand stats IMAGE",
    "ftl info IMAGE",
    "ftl mount IMAGE directory",
    "ftl mount --dry-run IMAGE directory",
    "map IMAGE /",
    "whois IMAGE 1",
    "dump IMAGE sb",
];

fn noise(bytes: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(1);
    (0..bytes).map(|_| random.u8(0xa0..0xf0)).collect()
}

fn make(world: &World, name: &str, made: &Made) {
    let path = world.path(name);
    let with = |magics: &[(u64, &[u8])]| {
        fs::write(&path, noise(80_000)).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        for (at, magic) in magics {
            file.write_all_at(magic, *at).unwrap();
        }
    };
    match made {
        Magic(at, magic) => with(&[(*at, magic)]),
        Magics(magics) => with(magics),
        Filled(byte, count) => fs::write(path, vec![*byte; *count]).unwrap(),
        Text(text) => fs::write(path, text).unwrap(),
        Made::Pipe => rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap(),
        Made::Socket => drop(UnixListener::bind(path).unwrap()),
        Made::Directory => fs::create_dir(path).unwrap(),
        Made::Circle => symlink("circle", path).unwrap(),
        Made::Dangling => symlink("nowhere", path).unwrap(),
        Host | Made::Missing | Made::TooLong | Made::Below => {}
    }
}

fn called(name: &str, made: &Made) -> String {
    if matches!(made, Made::TooLong) { "n".repeat(300) } else { name.to_owned() }
}

#[test]
fn every_verb_says_what_a_file_is() {
    let ledger = Ledger::default();
    let world = World::new();
    for (name, made, _) in KINDS {
        make(&world, name, made);
    }
    let before = snapshot(&world.path("."));
    std::thread::scope(|scope| {
        for part in KINDS.chunks(KINDS.len().div_ceil(3)) {
            let (world, ledger) = (&world, &ledger);
            scope.spawn(move || {
                for (name, made, says) in part {
                    each_verb(ledger, world, &called(name, made), says);
                }
            });
        }
    });
    assert_eq!(snapshot(&world.path(".")), before);
    ledger.close();
}

fn each_verb(ledger: &Ledger, world: &World, image: &str, says: &str) {
    for verb in VERBS {
        ledger.refuses(world, &verb.replace("IMAGE", image), &[1, 8], &[says]);
    }
}
