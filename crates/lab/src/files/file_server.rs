//! A file server as filebench has it, on a volume that stays full to a given part.

use pumice_vfs::{FileSystem, Ino};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::{append, make};
use crate::LabError;

/// Bytes that are added to a file.
const MORE: u64 = 16 << 10;
/// Blocks of a file at most when it is made: 128 KiB on average.
const BLOCKS_MAX: u64 = 64;
const BLOCK: u64 = 4096;

/// Makes, removes and appends to whole files of 128 KiB on average.
pub(crate) struct FileServer<'a> {
    fs: &'a dyn FileSystem,
    random: Xoshiro256PlusPlus,
    files: Vec<(u32, Ino, u64)>,
    made: u32,
    /// Bytes that may be used, and bytes in use: a block for each file, and its contents. The file system's own figure
    /// of its space may come late.
    most: u64,
    used: u64,
}

impl<'a> FileServer<'a> {
    /// Fills so many thousandths of an empty volume.
    pub(crate) fn fill(
        fs: &'a dyn FileSystem,
        per_mille: u64,
        seed: u64,
    ) -> Result<FileServer<'a>, LabError> {
        FileServer::fill_bytes(fs, fs.space()?.free_bytes * per_mille / 1000, seed)
    }

    /// Fills so many bytes.
    pub(crate) fn fill_bytes(
        fs: &'a dyn FileSystem,
        most: u64,
        seed: u64,
    ) -> Result<FileServer<'a>, LabError> {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut server = FileServer { fs, random, files: Vec::new(), made: 0, most, used: 0 };
        while server.used < most {
            server.create()?;
        }
        Ok(server)
    }

    /// Goes on until so many blocks more are written by users.
    pub(crate) fn go_on(&mut self, blocks: u64) -> Result<u64, LabError> {
        let mut asked = 0;
        while asked < blocks {
            let is_full = self.used >= self.most;
            asked += match self.random.random_range(0..6) {
                _ if is_full => self.remove()?,
                0 | 1 => self.remove()?,
                2 | 3 => self.create()?,
                _ => self.append()?,
            };
        }
        Ok(asked)
    }

    fn create(&mut self) -> Result<u64, LabError> {
        let blocks = self.random.random_range(1..BLOCKS_MAX);
        let ino = make(self.fs, Ino::ROOT, &self.made.to_string())?;
        append(self.fs, ino, 0, blocks * BLOCK)?;
        self.files.push((self.made, ino, blocks * BLOCK));
        self.made += 1;
        self.used += (blocks + 1) * BLOCK;
        Ok(blocks)
    }

    fn append(&mut self) -> Result<u64, LabError> {
        let at = self.random.random_range(..self.files.len());
        let Some((_, ino, bytes)) = self.files.get_mut(at) else { return Ok(0) };
        append(self.fs, *ino, *bytes, MORE)?;
        *bytes += MORE;
        self.used += MORE;
        Ok(MORE / BLOCK)
    }

    fn remove(&mut self) -> Result<u64, LabError> {
        let (name, _, bytes) = self.files.swap_remove(self.random.random_range(..self.files.len()));
        self.fs.unlink(Ino::ROOT, name.to_string().as_bytes())?;
        self.used -= bytes + BLOCK;
        Ok(0)
    }
}
