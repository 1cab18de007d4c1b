//! Volumes of many files and 1.2 GiB that mkfs.f2fs and sload.f2fs made.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use crate::run;

/// The numbers of files.
pub(crate) const COUNTS: [u32; 2] = [20_000, 200_000];
/// Bytes of the volume's files, together.
const BYTES: u64 = 1_288_490_188;
const IMAGE_BYTES: u64 = 3 << 30;
const FILES_PER_DIRECTORY: u32 = 200;

/// The tree and the volume, made once and kept below cargo's target folder.
pub(crate) struct Files {
    pub(crate) count: u32,
    pub(crate) tree: PathBuf,
    pub(crate) image: PathBuf,
}

impl Files {
    pub(crate) fn find_or_make(count: u32) -> Files {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("f2fs-bench-files-{count}"));
        let files = Files { count, tree: folder.join("tree"), image: folder.join("image") };
        if files.image.exists() {
            return files;
        }
        plant(&files.tree, count);
        let making = folder.join("making");
        File::create(&making).unwrap().set_len(IMAGE_BYTES).unwrap();
        run(Command::new("mkfs.f2fs").arg("-q").arg(&making));
        run(Command::new("sload.f2fs").arg("-f").arg(&files.tree).arg(&making));
        fs::rename(&making, &files.image).unwrap();
        files
    }
}

/// Files of all sizes, most of them small.
fn plant(tree: &Path, count: u32) {
    let mut random = fastrand::Rng::with_seed(count.into());
    let weights: Vec<f64> = (0..count).map(|_| random.f64().powi(6)).collect();
    let sum: f64 = weights.iter().sum();
    let mut contents = vec![0; 1 << 20];
    random.fill(&mut contents);
    for (number, weight) in (0..count).zip(weights) {
        let directory = tree.join(format!("d{}", number / FILES_PER_DIRECTORY));
        fs::create_dir_all(&directory).unwrap();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let bytes = (weight / sum * BYTES as f64) as usize;
        let file = directory.join(format!("file-{number}"));
        fs::write(file, &contents[..bytes.min(contents.len())]).unwrap();
    }
}
