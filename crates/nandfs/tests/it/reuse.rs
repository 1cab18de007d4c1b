//! Cleaning meets leftovers of an inode with an id that belongs to something else by now.

use std::collections::BTreeMap;

use crate::common::{formatted, mount};
use pumice_media::Nand;
use pumice_vfs::conformance::{list, read_file};
use pumice_vfs::{FileKind, FileSystem, Ino, NewNode, Timestamp};

const FILE: NewNode<'_> = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };

/// Index nodes of the large file are as far apart as this, in blocks.
const FAR: usize = 250;

/// Files, their right contents, and a count of the writes: no two writes write the same.
struct Written<'a> {
    fs: &'a dyn FileSystem,
    files: BTreeMap<String, Vec<u8>>,
    writes: u64,
}

impl Written<'_> {
    fn create(&mut self, name: &str) -> Ino {
        self.files.insert(name.to_owned(), Vec::new());
        self.fs.create(Ino::ROOT, name.as_bytes(), &FILE).unwrap().ino
    }

    fn write(&mut self, name: &str, file: Ino, offset: usize, bytes: usize) {
        self.writes += 1;
        let mut content = vec![0; bytes];
        fastrand::Rng::with_seed(self.writes).fill(&mut content);
        self.fs.write(file, offset as u64, &content).unwrap();
        let all = self.files.get_mut(name).unwrap();
        all.resize(all.len().max(offset + bytes), 0);
        all[offset..offset + bytes].copy_from_slice(&content);
    }

    fn unlink(&mut self, name: &str) {
        self.fs.unlink(Ino::ROOT, name.as_bytes()).unwrap();
        self.files.remove(name);
    }
}

#[track_caller]
fn holds(fs: &dyn FileSystem, files: &BTreeMap<String, Vec<u8>>) {
    let mut names: Vec<_> = list(fs, Ino::ROOT).unwrap().into_iter().map(|(name, ..)| name).collect();
    names.sort_unstable();
    assert!(names.iter().eq(files.keys().map(String::as_bytes)), "{names:?}");
    for (name, want) in files {
        let found = read_file(fs, name).unwrap();
        assert_eq!(found.len(), want.len(), "{name}");
        let differs = found.iter().zip(want).position(|(found, want)| found != want);
        assert_eq!(differs, None, "{name}: the first byte that differs");
    }
}

#[test]
fn ids_of_files_come_back_as_index_nodes() {
    let fs = mount(formatted("2048+64:64:128", Timestamp::default()), Box::new(Timestamp::default));
    let block = fs.info().unwrap().block_bytes as usize;
    let mut written = Written { fs: &fs, files: BTreeMap::new(), writes: 0 };
    // Files that live and files that die share their erase blocks.
    for n in 0..800 {
        let name = n.to_string();
        let file = written.create(&name);
        written.write(&name, file, 0, 3000);
    }
    fs.sync().unwrap();
    (0..800).step_by(2).for_each(|n| written.unlink(&n.to_string()));
    fs.sync().unwrap();
    let large = written.create("large");
    (0..90).for_each(|n| written.write("large", large, n * FAR * block, 10));
    fs.sync().unwrap();
    // The rest of the chip is filled and written over here and there: every block is cleaned in its turn.
    let busy = written.create("busy");
    let count = usize::try_from(fs.space().unwrap().free_bytes).unwrap() * 8 / 10 / block;
    (0..count).for_each(|n| written.write("busy", busy, n * block, block));
    (0..4 * count).for_each(|n| written.write("busy", busy, n * 7 % count * block, block));
    fs.sync().unwrap();
    let files = written.files;
    holds(&fs, &files);
    let chip = fs.unmount().unwrap();
    // As many blocks as the chip has were erased, so those of the first files were cleaned.
    assert!(chip.stats().erases > 128, "{:?}", chip.stats());
    holds(&mount(chip, Box::new(Timestamp::default)), &files);
}
