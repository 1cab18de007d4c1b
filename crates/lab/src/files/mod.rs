//! Workloads of files, on any file system. Everything random in them is drawn from the seed that they are given.

mod calls;
mod database;
mod file_server;
mod iozone;
mod mail_server;
mod population;
mod postmark;
mod script;
mod transactions;
mod video_server;

pub(crate) use script::{POSTMARK_BYTES, POSTMARKS};
pub use script::{Script, Work};

pub(crate) use file_server::FileServer;
pub(crate) use mail_server::MailServer;
pub(crate) use population::Population;
pub(crate) use postmark::{PostMark, yaffs_seconds};

use std::sync::LazyLock;

use pumice_vfs::{FileKind, FileSystem, Ino, NewNode};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use crate::LabError;

/// Bytes that programs read and write at a time.
pub(crate) const STEP: usize = 64 << 10;
/// Bytes of a read at a random place.
pub(crate) const SEEK: usize = 4 << 10;
/// The seed of the contents, which are the same in every run.
const CONTENT_SEED: u64 = 1;

/// Makes a file of so many bytes in the root directory.
pub(crate) fn write(fs: &dyn FileSystem, number: u32, bytes: u64) -> Result<Ino, LabError> {
    let ino = make(fs, Ino::ROOT, &format!("file {number}"))?;
    append(fs, ino, 0, bytes)?;
    Ok(ino)
}

/// Makes an empty file.
pub(crate) fn make(fs: &dyn FileSystem, dir: Ino, name: &str) -> Result<Ino, LabError> {
    let new = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };
    Ok(fs.create(dir, name.as_bytes(), &new)?.ino)
}

/// Makes a directory in the root directory.
pub(crate) fn make_dir(fs: &dyn FileSystem, name: &str) -> Result<Ino, LabError> {
    let new = NewNode { kind: FileKind::Dir, perm: 0o755, uid: 0, gid: 0, rdev: 0, target: b"" };
    Ok(fs.create(Ino::ROOT, name.as_bytes(), &new)?.ino)
}

/// The bytes of one write. A seventh of each 4 KiB does not compress. So LZ4 and LZO make a fifth of it, file system
/// overhead included, as of the files that the RCFFS paper measured (table 2).
pub(crate) static CONTENT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    const NOISE: usize = 600;
    let mut part = vec![0xa5; STEP];
    let mut random = Xoshiro256PlusPlus::seed_from_u64(CONTENT_SEED);
    for block in part.chunks_mut(SEEK) {
        let (noise, _) = block.split_at_mut(NOISE);
        random.fill(noise);
    }
    part
});

/// Writes so many bytes from `offset` on.
pub(crate) fn append(fs: &dyn FileSystem, ino: Ino, offset: u64, bytes: u64) -> Result<(), LabError> {
    for at in (0..bytes).step_by(STEP) {
        let length = usize::try_from(bytes - at).map_or(STEP, |left| left.min(STEP));
        let (now, _) = CONTENT.split_at(length);
        fs.write(ino, offset + at, now)?;
    }
    Ok(())
}

/// Reads a file from its beginning, at most `most` bytes.
pub(crate) fn read(fs: &dyn FileSystem, number: u32, most: u64) -> Result<(), LabError> {
    let attr = fs.lookup(Ino::ROOT, format!("file {number}").as_bytes())?;
    read_all(fs, attr.ino, attr.size.min(most))
}

/// Reads so many bytes from the beginning of a file.
pub(crate) fn read_all(fs: &dyn FileSystem, ino: Ino, bytes: u64) -> Result<(), LabError> {
    let mut part = vec![0; usize::try_from(bytes).map_or(STEP, |bytes| bytes.min(STEP))];
    for at in (0..bytes).step_by(STEP) {
        fs.read(ino, at, &mut part)?;
    }
    Ok(())
}

/// Reads at so many random places of the file of number 0, which has so many bytes.
pub(crate) fn seek(fs: &dyn FileSystem, bytes: u64, reads: u32, seed: u64) -> Result<(), LabError> {
    let ino = fs.lookup(Ino::ROOT, b"file 0")?.ino;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut part = vec![0; SEEK];
    for _ in 0..reads {
        fs.read(ino, random.random_range(0..bytes / SEEK as u64) * SEEK as u64, &mut part)?;
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "for the eye")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}
