//! A mail server as filebench has it (varmail).

use pumice_vfs::{FileSystem, Ino};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::{append, make, make_dir, read_all};
use crate::LabError;

/// Mails: a file is removed; one is made, written and fsynced; one is read, appended to and fsynced; one is read.
pub(crate) struct MailServer<'a> {
    fs: &'a dyn FileSystem,
    random: Xoshiro256PlusPlus,
    dirs: Vec<Ino>,
    mails: Vec<(Ino, String, Ino, u64)>,
    made: u32,
}

impl<'a> MailServer<'a> {
    /// Makes so many mails in so many directories.
    pub(crate) fn fill(
        fs: &'a dyn FileSystem,
        mails: u32,
        dirs: u32,
        seed: u64,
    ) -> Result<MailServer<'a>, LabError> {
        let dirs = (0..dirs).map(|dir| make_dir(fs, &format!("dir {dir}"))).collect::<Result<_, _>>()?;
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut server = MailServer { fs, random, dirs, mails: Vec::new(), made: 0 };
        for _ in 0..mails {
            server.create()?;
        }
        Ok(server)
    }

    /// One round; bytes written.
    pub(crate) fn round(&mut self) -> Result<u64, LabError> {
        let at = self.random.random_range(..self.mails.len());
        let (dir, name, ..) = self.mails.swap_remove(at);
        self.fs.unlink(dir, name.as_bytes())?;
        let (ino, mut written) = self.create()?;
        self.fs.fsync(ino, false)?;
        let more = self.size();
        let at = self.random.random_range(..self.mails.len());
        if let Some((_, _, ino, bytes)) = self.mails.get_mut(at) {
            read_all(self.fs, *ino, *bytes)?;
            append(self.fs, *ino, *bytes, more)?;
            self.fs.fsync(*ino, false)?;
            *bytes += more;
            written += more;
        }
        let at = self.random.random_range(..self.mails.len());
        if let Some((_, _, ino, bytes)) = self.mails.get(at) {
            read_all(self.fs, *ino, *bytes)?;
        }
        Ok(written)
    }

    fn create(&mut self) -> Result<(Ino, u64), LabError> {
        let at = self.random.random_range(..self.dirs.len());
        let Some(dir) = self.dirs.get(at).copied() else {
            return Err(LabError::Setup("no directories".into()));
        };
        let (name, bytes) = (self.made.to_string(), self.size());
        let ino = make(self.fs, dir, &name)?;
        append(self.fs, ino, 0, bytes)?;
        self.mails.push((dir, name, ino, bytes));
        self.made += 1;
        Ok((ino, bytes))
    }

    /// 16 KiB on average.
    fn size(&mut self) -> u64 {
        self.random.random_range(1..=32 << 10)
    }
}
