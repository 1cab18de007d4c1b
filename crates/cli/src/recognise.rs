//! Recognises files that are not images of ours by their magic numbers, and suggests what to do with them.

use std::{
    fs::File,
    io,
    os::unix::fs::{FileExt, FileTypeExt, MetadataExt},
    path::Path,
};

use crate::failure::{Failure, Outcome};

/// Refuses a path that cannot hold an image, without opening it: opening a pipe would wait for its other end.
pub(crate) fn admit(path: &Path) -> Outcome {
    let Ok(found) = std::fs::metadata(path) else { return Ok(()) };
    let kind = found.file_type();
    let what = if kind.is_dir() {
        "is a directory, not an image"
    } else if kind.is_fifo() {
        "is a pipe, not an image; write its bytes to a file first"
    } else if kind.is_socket() {
        "is a socket, not an image"
    } else if kind.is_char_device() && rustix::fs::major(found.rdev()) != MTD_MAJOR {
        "is a character device, but no flash chip (want /dev/mtdN)"
    } else if kind.is_file() && found.len() == 0 {
        "is an empty file"
    } else {
        return Ok(());
    };
    Err(Failure::new(format!("{}: {what}", path.display())))
}

/// Refuses an output path that no regular file can replace.
pub(crate) fn admit_output(path: &Path) -> Outcome {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(Failure::new(format!("{}: is a directory", path.display()))),
        Ok(found) if !found.is_file() => {
            Err(Failure::new(format!("{}: is not a regular file, and stays as it is", path.display())))
        }
        _ => Ok(()),
    }
}

/// Linux's major number of MTD character devices.
const MTD_MAJOR: u32 = 90;

/// Bytes from the start of a file in which all magic numbers lie.
const HEAD: usize = 68 << 10;

/// A kind of file: the place of its magic number, its name, and a hint.
struct Kind {
    at: usize,
    magic: &'static [u8],
    name: &'static str,
    hint: &'static str,
}

const fn kind(at: usize, magic: &'static [u8], name: &'static str, hint: &'static str) -> Kind {
    Kind { at, magic, name, hint }
}

const UNPACK: &str = "unpack it first";
const LINUX: &str = "Linux mounts it";
const PLAIN: &str = "make it a raw image first, with `qemu-img convert -O raw`";
const PARTITIONS: &str =
    "name one of its partitions; `losetup --partscan --find --show` makes devices of them";
const RAW_DUMP: &str = "make a chip container of it with `pumice nand import`";

/// Longer magic numbers come first, and kinds that may be inside another come last.
const KINDS: &[Kind] = &[
    kind(0, b"\x1f\x8b", "a gzip file", UNPACK),
    kind(0, b"\xfd7zXZ\0", "an xz file", UNPACK),
    kind(0, b"\x28\xb5\x2f\xfd", "a Zstandard file", UNPACK),
    kind(0, b"BZh", "a bzip2 file", UNPACK),
    kind(0, b"\x04\x22\x4d\x18", "an LZ4 file", UNPACK),
    kind(0, b"\x02\x21\x4c\x18", "an LZ4 file", UNPACK),
    kind(0, b"\x89LZO", "an lzop file", UNPACK),
    kind(0, b"LZIP", "an lzip file", UNPACK),
    kind(0, b"PK\x03\x04", "a zip file", UNPACK),
    kind(0, b"PK\x05\x06", "a zip file with nothing in it", ""),
    kind(0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip file", UNPACK),
    kind(0, b"Rar!\x1a\x07", "a RAR file", UNPACK),
    kind(257, b"ustar", "a tar archive", "unpack it into a directory, and give that to `pumice mkfs --from`"),
    kind(0, b"070701", "a cpio archive", UNPACK),
    kind(0, b"\x3a\xff\x26\xed", "an Android sparse image", "make it a raw image first, with `simg2img`"),
    kind(0, b"ANDROID!", "an Android boot image", ""),
    kind(0, b"VNDRBOOT", "an Android boot image", ""),
    kind(4096, b"gDla", "an Android super image", "take its partitions out first, with `lpunpack`"),
    kind(0, b"CrAU", "an Android update payload", "take its images out first, with `payload-dumper-go`"),
    kind(0, b"QFI\xfb", "a qcow2 image", PLAIN),
    kind(0, b"KDMV", "a VMDK image", PLAIN),
    kind(0, b"# Disk DescriptorFile", "a VMDK image", PLAIN),
    kind(0x40, b"\x7f\x10\xda\xbe", "a VDI image", PLAIN),
    kind(0, b"vhdxfile", "a VHDX image", PLAIN),
    kind(0, b"conectix", "a VHD image", PLAIN),
    kind(0, b"hsqs", "a squashfs image", LINUX),
    kind(0, b"\x45\x3d\xcd\x28", "a cramfs image", LINUX),
    kind(0, b"-rom1fs-", "a romfs image", LINUX),
    kind(1024, b"\xe2\xe1\xf5\xe0", "an EROFS image", LINUX),
    kind(0, b"UBI#", "a UBI image", "attach it with `ubiattach`"),
    kind(1024, b"\x10\x20\xf5\xf2", "an F2FS volume", ""),
    kind(0, b"\x31\x18\x10\x06", "a UBIFS image", LINUX),
    kind(0, b"\x85\x19\x01\xe0", "a JFFS2 image", LINUX),
    kind(0, b"\x85\x19\x03\x20", "a JFFS2 image", LINUX),
    kind(0, b"\x19\x85\x20\x03", "a JFFS2 image", LINUX),
    kind(0, b"\x27\x05\x19\x56", "a U-Boot image", ""),
    kind(0, b"\xd0\x0d\xfe\xed", "a device tree or FIT image", ""),
    kind(0, b"LUKS\xba\xbe", "an encrypted LUKS volume", "open it with `cryptsetup open`"),
    kind(512, b"LABELONE", "an LVM physical volume", "name one of its logical volumes"),
    kind(0, b"XFSB", "an XFS volume", LINUX),
    kind(65_600, b"_BHRfS_M", "a btrfs volume", LINUX),
    kind(4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca", "a bcache or bcachefs device", LINUX),
    kind(1030, b"\x34\x34", "a NILFS2 volume", LINUX),
    kind(32_769, b"CD001", "an ISO 9660 image", LINUX),
    kind(32, b"NXSB", "an APFS container", ""),
    kind(1024, b"H+\0\x04", "an HFS+ volume", LINUX),
    kind(3, b"EXFAT   ", "an exFAT volume", LINUX),
    kind(3, b"NTFS    ", "an NTFS volume", LINUX),
    kind(82, b"FAT32   ", "a FAT volume", LINUX),
    kind(54, b"FAT16   ", "a FAT volume", LINUX),
    kind(54, b"FAT12   ", "a FAT volume", LINUX),
    kind(4086, b"SWAPSPACE2", "a swap device", ""),
    kind(0, b"pumicefs", "a raw dump of a chip with nandfs", RAW_DUMP),
    kind(0, b"PUMICHIP", "a chip container", "read it with `pumice info`, or `pumice ftl info`"),
    kind(512, b"EFI PART", "a disk with a GPT partition table", PARTITIONS),
    kind(4096, b"EFI PART", "a disk with a GPT partition table", PARTITIONS),
    kind(0, b"\x7fELF", "a program (ELF)", ""),
    kind(0, b"\x89PNG\r\n", "a PNG picture", ""),
    kind(0, b"\xff\xd8\xff", "a JPEG picture", ""),
    kind(0, b"%PDF-", "a PDF file", ""),
    kind(0, b"SQLite format 3\0", "an SQLite database", ""),
    kind(0, b"#!", "a script", ""),
];

/// The kind of the file at `path`, and a hint if one helps; nothing if the kind is unknown.
pub(crate) fn recognise(path: &Path) -> Option<String> {
    let head = head(path).ok()?;
    let (name, hint) = known(&head).or_else(|| uniform(&head))?;
    Some(if hint.is_empty() { name.to_owned() } else { format!("{name}; {hint}") })
}

fn head(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let mut head = vec![0; HEAD];
    let mut filled = 0;
    while let Some(rest) = head.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, filled as u64)? {
            0 => break,
            got => filled += got,
        }
    }
    head.truncate(filled);
    Ok(head)
}

fn known(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let found = KINDS.iter().find(|kind| holds(head, kind.at, kind.magic));
    found.map(|kind| (kind.name, kind.hint)).or_else(|| ext(head)).or_else(|| master_boot_record(head))
}

fn holds(head: &[u8], at: usize, magic: &[u8]) -> bool {
    head.get(at..).is_some_and(|rest| rest.starts_with(magic))
}

/// The super block of ext2, ext3 and ext4 is one; features tell them apart.
fn ext(head: &[u8]) -> Option<(&'static str, &'static str)> {
    const JOURNAL: u8 = 0x04;
    const EXTENTS: u8 = 0x40;
    if !holds(head, 1080, b"\x53\xef") {
        return None;
    }
    let has = |at: usize, flag: u8| head.get(at).is_some_and(|byte| byte & flag != 0);
    let name = if has(1120, EXTENTS) {
        "an ext4 volume"
    } else if has(1116, JOURNAL) {
        "an ext3 volume"
    } else {
        "an ext2 volume"
    };
    Some((name, LINUX))
}

/// A boot sector with four sensible partition entries: each is active or not, and one at least is used.
fn master_boot_record(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let entries: Vec<&[u8]> = head.get(446..510)?.chunks_exact(16).collect();
    let makes_sense = entries.iter().all(|entry| matches!(entry.first(), Some(0 | 0x80)));
    let is_used = entries.iter().any(|entry| entry.get(4).is_some_and(|kind| *kind != 0));
    let is_one = holds(head, 510, b"\x55\xaa") && makes_sense && is_used;
    is_one.then_some(("a disk with an MBR partition table", PARTITIONS))
}

/// Files that begin with one byte over and over, and text.
fn uniform(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let all = |wanted: u8| head.iter().all(|byte| *byte == wanted);
    if all(0) {
        Some(("a file that begins with zeros", ""))
    } else if all(0xff) {
        Some(("a file that begins like an erased chip (0xff)", RAW_DUMP))
    } else if std::str::from_utf8(head).is_ok_and(|text| !text.contains('\0')) {
        Some(("a text file", ""))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_own_magic() {
        for kind in KINDS {
            let mut head = vec![0xa5; HEAD];
            let end = kind.at + kind.magic.len();
            assert!(end <= HEAD, "{}", kind.name);
            head[kind.at..end].copy_from_slice(kind.magic);
            assert_eq!(known(&head).map(|found| found.0), Some(kind.name));
            assert_eq!(known(&head[..end - 1]), None, "{}", kind.name);
        }
    }

    #[test]
    fn noise_is_of_no_kind() {
        let noise: Vec<u8> =
            (0..70_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        assert_eq!(known(&noise[..HEAD]).or_else(|| uniform(&noise[..HEAD])), None);
    }
}
