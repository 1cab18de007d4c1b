//! The files that are read: a tree, and an image of it.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use crate::run;

pub(crate) const BIG_BYTES: u64 = 600 << 20;
pub(crate) const DIRECTORIES: u32 = 200;
pub(crate) const FILES_PER_DIRECTORY: u32 = 200;
pub(crate) const LISTED: u32 = 20_000;
const IMAGE_BYTES: u64 = 2 << 30;

/// The input, kept below cargo's target folder.
pub(crate) struct Input {
    pub(crate) folder: PathBuf,
    pub(crate) tree: PathBuf,
    pub(crate) image: PathBuf,
}

impl Input {
    pub(crate) fn find_or_make() -> Input {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("f2fs-bench");
        let input = Input { tree: folder.join("tree"), image: folder.join("image"), folder };
        if !input.image.exists() {
            input.make();
        }
        input
    }

    fn make(&self) {
        if self.tree.exists() {
            fs::remove_dir_all(&self.tree).unwrap();
        }
        plant(&self.tree);
        let making = self.folder.join("making");
        File::create(&making).unwrap().set_len(IMAGE_BYTES).unwrap();
        run(Command::new("mkfs.f2fs").arg("-q").arg(&making));
        run(Command::new("sload.f2fs").arg("-f").arg(&self.tree).arg(&making));
        // Pages that are not on the disk yet cannot be forgotten.
        run(Command::new("sync").arg("-f").arg(&making));
        fs::rename(&making, &self.image).unwrap();
    }
}

/// One big file, `many` small ones in directories, and a directory with a long `list`.
fn plant(tree: &Path) {
    fs::create_dir_all(tree.join("list")).unwrap();
    let mut big = File::create(tree.join("big")).unwrap();
    let mut state = 1_u64;
    let mut chunk = vec![0; 1 << 20];
    for _ in 0..BIG_BYTES >> 20 {
        for word in chunk.chunks_exact_mut(8) {
            word.copy_from_slice(&next(&mut state).to_le_bytes());
        }
        big.write_all(&chunk).unwrap();
    }
    for path in small_files() {
        let path = tree.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, [b'x'; 100]).unwrap();
    }
    for number in 0..LISTED {
        File::create(tree.join(format!("list/entry-{number}"))).unwrap();
    }
}

pub(crate) fn small_files() -> impl Iterator<Item = PathBuf> {
    (0..DIRECTORIES).flat_map(|directory| {
        (0..FILES_PER_DIRECTORY).map(move |file| format!("many/d{directory}/file-{file}").into())
    })
}

/// The next number of a plain sequence without pattern (Marsaglia's xorshift).
pub(crate) fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}
