//! Cleaning meets what is left of an inode whose id belongs to something else by now.

use crate::common::{formatted, mount};
use pumice_vfs::{FileKind, FileSystem, Ino, NewNode, Timestamp};

const FILE: NewNode<'_> = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };

#[test]
fn ids_of_files_come_back_as_index_nodes() {
    let fs = mount(formatted("2048+64:64:128", Timestamp::default()), Box::new(Timestamp::default));
    let block = u64::from(fs.info().unwrap().block_bytes);
    // Files that live and files that die share their erase blocks.
    for n in 0..800u32 {
        let file = fs.create(Ino::ROOT, format!("{n}").as_bytes(), &FILE).unwrap().ino;
        fs.write(file, 0, &[1; 3000]).unwrap();
    }
    fs.sync().unwrap();
    for n in (0..800).filter(|n| n % 2 == 0) {
        fs.unlink(Ino::ROOT, format!("{n}").as_bytes()).unwrap();
    }
    fs.sync().unwrap();
    let large = fs.create(Ino::ROOT, b"large", &FILE).unwrap().ino;
    for n in 0..90 {
        fs.write(large, n * 250 * block, &[2; 10]).unwrap();
    }
    fs.sync().unwrap();
    // What is left of the chip is filled and written over here and there: every block is cleaned in its turn.
    let busy = fs.create(Ino::ROOT, b"busy", &FILE).unwrap().ino;
    let count = fs.space().unwrap().free_bytes * 8 / 10 / block;
    for n in 0..count {
        fs.write(busy, n * block, &vec![3; usize::try_from(block).unwrap()]).unwrap();
    }
    for n in 0..4 * count {
        fs.write(busy, n * 7 % count * block, &vec![4; usize::try_from(block).unwrap()]).unwrap();
    }
    fs.sync().unwrap();
}
