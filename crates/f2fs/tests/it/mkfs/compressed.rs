//! Volumes with compressed files.

use std::collections::BTreeMap;

use pumice_f2fs::{
    CompressionRule,
    compress::Method,
    layout::{BlockSize, InlineFlags, Inode, InodeFlags},
    mkfs::{Compression, EntryId, FormatError, FormatOptions, Shape, Size},
};
use pumice_vfs::FileSystem;

use super::{Dir, THREADS, make, mount, sample::Sample, sound, with_features};
use crate::common::walk;

/// All files compressed by a method.
pub(crate) fn options(method: &str, log_blocks: u8, release: bool) -> FormatOptions {
    let rule = CompressionRule {
        method: Method::parse(method).unwrap(),
        log_blocks,
        checksum: log_blocks.is_multiple_of(2),
        extensions: vec!["*".into()],
        not: vec!["raw".into()],
    };
    let compression = Compression { rule, release };
    let features = ["extra_attr", "inode_checksum", "compression", "quota_ino"];
    FormatOptions { compression: Some(compression), ..with_features(&features) }
}

/// Files that compress well, in part and not at all, and those that are not to be compressed.
pub(crate) fn add(sample: &mut Sample) {
    let dir = sample.dir(EntryId::ROOT, "more");
    sample.noise(dir, "noise", 1_200_000);
    sample.full(dir, "text.txt", 3_000_001);
    sample.full(dir, "text.raw", 200_000);
    sample.full(dir, "text.db", 200_000);
    // Clusters with holes in them stay as they are.
    let ranges: Vec<_> = (0..20).map(|at| at * 90_000..at * 90_000 + 70_000).collect();
    sample.file(dir, "in part", 2_000_000, &ranges);
}

/// Contents by path.
fn contents(path: &std::path::Path) -> BTreeMap<String, Option<String>> {
    let hash = |record: &super::Record| {
        assert!(!record.0.contains_key("read_error"), "{:?}", record.0);
        record.0.get("sha256").map(ToString::to_string)
    };
    walk::records(&mount(path)).iter().map(|(path, record)| (path.clone(), hash(record))).collect()
}

fn inode(path: &std::path::Path, names: &[&str]) -> Inode {
    let fs = mount(path);
    let found =
        names.iter().fold(pumice_vfs::Ino::ROOT, |dir, name| fs.lookup(dir, name.as_bytes()).unwrap().ino);
    fs.inode(found).unwrap().0
}

fn sample() -> Sample {
    let mut sample = Sample::everything(false);
    add(&mut sample);
    sample
}

#[test]
fn every_method_keeps_what_went_in() {
    let dir = Dir::new();
    let plain = dir.at("plain");
    let made = sample();
    make(&plain, super::options(), made.tree, &made.files, Size::Free(1 << 20)).unwrap();
    let mut wanted = contents(&plain);
    let blocks = inode(&plain, &["more", "text.txt"]).blocks;
    for (method, log_blocks) in
        [("lz4", 2), ("lz4:9", 3), ("zstd", 4), ("zstd:22", 8), ("lzo", 5), ("lzo-rle", 2)]
    {
        for release in [false, true] {
            let path = dir.at("image");
            let made = sample();
            let options = options(method, log_blocks, release);
            make(&path, options, made.tree, &made.files, Size::Free(1 << 20)).unwrap();
            sound(&path);
            let found = contents(&path);
            wanted.entry("lost+found".into()).and_modify(|_| ());
            assert!(found == wanted, "{method}");
            let text = inode(&path, &["more", "text.txt"]);
            assert!(text.flags.has(InodeFlags::COMPRESSED));
            let saved = text.extra.unwrap().saved_blocks;
            assert_eq!(text.inline.has(InlineFlags::RELEASED), release);
            if release {
                assert!(saved == 0 && text.blocks < blocks * 9 / 10, "{method}: {} of {blocks}", text.blocks);
            } else {
                assert!(saved > blocks / 10 && text.blocks >= blocks, "{method}: {saved} of {blocks}");
            }
            for (names, is_compressed) in [
                (["more", "noise"], true),
                (["more", "text.raw"], false),
                (["more", "text.db"], false),
                (["sizes", "size-100"], false),
                (["sizes", "size-4096"], false),
                (["sizes", "size-1000001"], log_blocks < 8),
            ] {
                let found = inode(&path, &names);
                assert_eq!(found.flags.has(InodeFlags::COMPRESSED), is_compressed, "{names:?}");
            }
            let noise = inode(&path, &["more", "noise"]);
            assert!(noise.extra.unwrap().saved_blocks == 0 && !noise.inline.has(InlineFlags::RELEASED));
        }
    }
}

#[test]
fn larger_blocks_are_compressed() {
    let dir = Dir::new();
    let path = dir.at("image");
    let options = options("lz4", 3, false);
    let shape = Shape { block: BlockSize::from_log2(14).unwrap(), ..options.shape };
    let made = sample();
    make(&path, FormatOptions { shape, ..options }, made.tree, &made.files, Size::Free(1 << 20)).unwrap();
    let report = pumice_f2fs::check::check(vec![super::open(&path)], 2, &mut |_, _| ()).unwrap();
    assert_eq!(report.count, 0);
    assert!(inode(&path, &["more", "text.txt"]).extra.unwrap().saved_blocks > 0);
}

/// One thread or seven, and whoever is faster: the same bytes.
#[test]
fn threads_leave_no_trace() {
    let dir = Dir::new();
    let build = |name: &str, threads: usize, release: bool| {
        let path = dir.at(name);
        let made = sample();
        let threads = threads.try_into().unwrap();
        let options = options("zstd:3", 3, release);
        super::make_by(&path, options, made.tree, &made.files, Size::Free(0), threads).unwrap();
        std::fs::read(path).unwrap()
    };
    for release in [false, true] {
        let first = build("first", 1, release);
        for threads in [2, 3, 7] {
            assert!(first == build("other", threads, release), "{threads}");
        }
    }
}

/// The smallest volume is smaller by the room given back, and no segment less would do.
#[test]
fn a_smaller_volume_holds_what_is_given_back() {
    let dir = Dir::new();
    let path = dir.at("image");
    let build = |release: bool, size: Size| {
        let mut sample = Sample::new();
        for number in 0..10 {
            sample.full(EntryId::ROOT, &format!("file{number}"), 3 << 20);
        }
        make(&path, options("zstd", 4, release), sample.tree, &sample.files, size)
    };
    let bytes = |release: bool| {
        build(release, Size::Free(0)).unwrap();
        sound(&path);
        let bytes = std::fs::metadata(&path).unwrap().len();
        let smaller = build(release, Size::Bytes(bytes - (2 << 20)));
        assert!(matches!(smaller, Err(FormatError::Full { .. })), "{smaller:?}");
        bytes
    };
    let (kept, given) = (bytes(false), bytes(true));
    assert!(given < kept * 8 / 10, "{given} of {kept}");
}

#[test]
fn what_cannot_be_compressed_is_refused() {
    let plan = |options: FormatOptions| {
        let made = Sample::new();
        pumice_f2fs::mkfs::Plan::new(options, made.tree, &made.files, Size::Free(0), THREADS).err()
    };
    let good = options("lz4", 2, false);
    let bare = FormatOptions { compression: good.compression.clone(), ..super::options() };
    assert!(matches!(plan(bare), Some(FormatError::Needs { needs: "compression", .. })));
    let large = options("lz4", 9, false);
    assert!(matches!(plan(large), Some(FormatError::Cluster { log_blocks: 9 })));
}
