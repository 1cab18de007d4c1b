//! Sealed files, flags, and directories that ignore case.

use pumice_f2fs::{
    layout::InodeFlags,
    mkfs::{Attributes, EntryId, FormatError, FormatOptions, Size, Tree},
    verity::{HashAlgorithm, Seal},
};
use pumice_vfs::{FileKind, FileSystem, Ino};

use super::{
    Dir, THREADS, compressed, make, mount, options,
    sample::{Sample, plain},
    sound,
};
use crate::common::walk;

/// Every feature that these need, and compression, by which some sealed files are stored.
pub(crate) fn everything(hash: HashAlgorithm, salt: &[u8]) -> FormatOptions {
    let compressed = compressed::options("lz4", 2, false);
    let all = ["extra_attr", "inode_checksum", "compression", "casefold", "verity"];
    let shape = super::with_features(&all).shape;
    let mut compression = compressed.compression;
    if let Some(compression) = &mut compression {
        compression.rule.extensions = vec!["txt".into()];
    }
    FormatOptions { shape, compression, seal: Some(Seal::new(hash, 4096, salt.to_vec())), ..options() }
}

/// Adds sealed files of every height of tree, files and directories with flags, and names that ignore case.
pub(crate) fn add(sample: &mut Sample) {
    let sealed = sample.dir(EntryId::ROOT, "sealed");
    for size in [0, 1, 100, 4096, 4097, 128 * 4096, 128 * 4096 + 1, 3_000_000] {
        let file = sample.full(sealed, &format!("size-{size}"), size);
        sample.tree.attributes_mut(file).unwrap().is_sealed = true;
    }
    let (text, holes) = (
        sample.full(sealed, "compressed.txt", 900_001),
        sample.file(sealed, "holes", 2_000_000, &[300_000..300_005, 1_000_000..1_100_000]),
    );
    for file in [text, holes] {
        sample.tree.attributes_mut(file).unwrap().is_sealed = true;
    }
    let flags = sample.dir(EntryId::ROOT, "flags");
    for (name, flag) in [
        ("immutable", InodeFlags::IMMUTABLE),
        ("append", InodeFlags::APPEND),
        ("nodump", InodeFlags::NODUMP),
        ("noatime", InodeFlags::NOATIME.with(InodeFlags::SYNC)),
    ] {
        let file = sample.full(flags, name, 10);
        sample.tree.attributes_mut(file).unwrap().flags = flag;
    }
    sample.tree.attributes_mut(flags).unwrap().flags = InodeFlags::DIRSYNC;
    let folded = sample.dir(EntryId::ROOT, "Folded");
    sample.tree.attributes_mut(folded).unwrap().flags = InodeFlags::CASEFOLD;
    for number in 0..300 {
        sample.full(folded, &format!("Ünïcode Name {number}"), number % 5);
    }
}

#[test]
fn sealed_files_are_verified_and_flags_and_case_come_back() {
    let dir = Dir::new();
    for (hash, salt) in [(HashAlgorithm::Sha256, &[][..]), (HashAlgorithm::Sha512, &[5; 32])] {
        let path = dir.at("image");
        let mut sample = Sample::everything(false);
        add(&mut sample);
        make(&path, everything(hash, salt), sample.tree, &sample.files, Size::Free(1 << 20)).unwrap();
        sound(&path);
        let fs = mount(&path);
        let records = walk::records(&fs);
        assert!(records.values().all(|record| !record.0.contains_key("read_error")));
        let flags = |path: &str| records[path].0["flags"].as_str().unwrap().to_owned();
        // A small file has 0x10000000 besides: it stands in its inode.
        for (path, wanted) in [
            ("flags/immutable", "0x10000010"),
            ("flags/append", "0x10000020"),
            ("flags/nodump", "0x10000040"),
            ("flags/noatime", "0x10000088"),
            ("flags", "0x10010000"),
            ("Folded", "0x40000000"),
            ("sealed/size-1", "0x100000"),
            ("sealed/compressed.txt", "0x100004"),
        ] {
            assert_eq!(flags(path), wanted, "{path}");
        }
        let folded = fs.lookup(Ino::ROOT, b"Folded").unwrap().ino;
        assert!(fs.lookup(folded, "üNÏCODE nAME 17".as_bytes()).is_ok());
        assert!(fs.lookup(Ino::ROOT, b"folded").is_err());
    }
}

/// Every bit of a sealed file's content counts: one that is changed on the medium is not read.
#[test]
fn a_changed_block_of_a_sealed_file_is_not_read() {
    let dir = Dir::new();
    let path = dir.at("image");
    let mut sample = Sample::new();
    let file = sample.full(EntryId::ROOT, "file", 600_000);
    sample.tree.attributes_mut(file).unwrap().is_sealed = true;
    let options = everything(HashAlgorithm::Sha256, &[]);
    make(&path, options, sample.tree, &sample.files, Size::Free(0)).unwrap();
    let place = {
        let fs = mount(&path);
        let (inode, _) = fs.inode(fs.lookup(Ino::ROOT, b"file").unwrap().ino).unwrap();
        u64::from(inode.extent.addr.0 + 77) * 4096 + 5
    };
    let image = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&image, &[0], place).unwrap();
    drop(image);
    let fs = mount(&path);
    let file = fs.lookup(Ino::ROOT, b"file").unwrap().ino;
    let mut buffer = [0; 4096];
    assert_eq!(fs.read(file, 76 * 4096, &mut buffer).unwrap(), 4096);
    assert!(fs.read(file, 77 * 4096, &mut buffer).is_err());
}

#[test]
fn what_cannot_be_sealed_or_folded_is_refused() {
    let plan = |options: FormatOptions, tree: Tree| {
        let sample = Sample::new();
        pumice_f2fs::mkfs::Plan::new(options, tree, &sample.files, Size::Free(0), THREADS).err()
    };
    let root = |flags: InodeFlags| Tree::new(Attributes { flags, ..plain(FileKind::Dir, 1) });
    let good = everything(HashAlgorithm::Sha256, &[]);
    let bare = FormatOptions { seal: good.seal.clone(), ..options() };
    assert!(matches!(plan(bare, super::root()), Some(FormatError::Needs { needs: "verity", .. })));
    let large =
        FormatOptions { seal: Some(Seal::new(HashAlgorithm::Sha256, 8192, Vec::new())), ..good.clone() };
    assert!(matches!(plan(large, super::root()), Some(FormatError::Seal { bytes: 8192, most: 4096 })));
    let said = plan(options(), root(InodeFlags::CASEFOLD)).unwrap().to_string();
    assert!(said.contains("needs the feature casefold"), "{said}");
    let mut tree = root(InodeFlags::CASEFOLD);
    for name in ["Straße", "other", "STRASSE"] {
        tree.add(EntryId::ROOT, name.as_bytes(), plain(FileKind::Fifo, 1)).unwrap();
    }
    let said = plan(good, tree).unwrap().to_string();
    assert!(said.starts_with("/Stra") && said.contains("another such name"), "{said}");
}
