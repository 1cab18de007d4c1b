//! A directory that is read bit by bit while its entries come and go.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::tools::list;
use crate::{FileSystem, Ino};

/// The entries of the subject's directory handed out so far, and those that the model requires and allows.
pub(super) struct Stream {
    model: Ino,
    subject: Ino,
    cookie: u64,
    /// Names that have been there from the beginning, with one and the same inode.
    stayed: BTreeMap<Vec<u8>, Ino>,
    /// Names that have been there at some time.
    ever: BTreeSet<Vec<u8>>,
    seen: BTreeSet<Vec<u8>>,
}

impl Stream {
    /// `None` if it is no directory.
    pub(super) fn open(model_fs: &dyn FileSystem, model: Ino, subject: Ino) -> Option<Stream> {
        let stayed = current(model_fs, model)?;
        let ever = stayed.keys().cloned().collect();
        Some(Stream { model, subject, cookie: 0, stayed, ever, seen: BTreeSet::new() })
    }

    /// Names may have changed. False if the directory is gone.
    pub(super) fn update(&mut self, model_fs: &dyn FileSystem) -> bool {
        let Some(now) = current(model_fs, self.model) else { return false };
        self.stayed.retain(|name, ino| now.get(name) == Some(ino));
        self.ever.extend(now.into_keys());
        true
    }

    /// Reads up to `count` more entries; true if there may be more.
    pub(super) fn step(&mut self, subject_fs: &dyn FileSystem, count: u8) -> Result<bool, String> {
        let mut taken: Vec<Vec<u8>> = Vec::new();
        let mut refused = false;
        let outcome = subject_fs.readdir(self.subject, self.cookie, &mut |entry| {
            refused = taken.len() == usize::from(count.max(1));
            if !refused {
                taken.push(entry.name.to_vec());
                self.cookie = entry.cookie;
            }
            !refused
        });
        outcome.map_err(|error| format!("readdir behind cookie {}: {error}", self.cookie))?;
        for name in taken {
            if !self.ever.contains(&name) {
                return Err(format!("readdir hands out {}, which never was there", name.escape_ascii()));
            }
            if !self.seen.insert(name.clone()) && self.stayed.contains_key(&name) {
                return Err(format!("readdir hands out {} twice", name.escape_ascii()));
            }
        }
        if !refused && let Some(name) = self.stayed.keys().find(|name| !self.seen.contains(*name)) {
            return Err(format!("readdir leaves out {}, which was there all the time", name.escape_ascii()));
        }
        Ok(refused)
    }
}

fn current(model_fs: &dyn FileSystem, dir: Ino) -> Option<BTreeMap<Vec<u8>, Ino>> {
    let entries = list(model_fs, dir).ok()?;
    Some(entries.into_iter().map(|(name, ino, _)| (name, ino)).collect())
}
