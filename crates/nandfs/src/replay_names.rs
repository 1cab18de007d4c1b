//! Records of names, found and replayed.

use pumice_vfs::{Errno, FileKind, Result};

use crate::codec::size;
use crate::dir::print_of;
use crate::files::Files;
use crate::ids::FIRST_NID;
use crate::log::Log;
use crate::names::{Change, Link, NameRecord};
use crate::nodes::ROOT;
use crate::promise::ID_END;
use crate::tag::{ChunkKind, Tag};

/// True if a record may name such an inode, which is not hidden.
fn may_be_told(ino: u32) -> bool {
    ino == ROOT || (FIRST_NID..ID_END).contains(&ino)
}

/// The record of names in a page, with its place among those of one fsync; none if there is none, or it makes no sense.
pub(crate) fn names_in(tag: &Tag, payload: &[u8]) -> Option<(NameRecord, u32)> {
    let (offset, desc) = tag.chunks().find(|(_, desc)| desc.kind == ChunkKind::Names)?;
    let (start, len) = (size(offset.into()), size(desc.len.into()));
    let record = NameRecord::decode(payload.get(start..start + len)?)?;
    let dirs = record.changes.iter().map(|change| change.dir);
    let is_sound = record.ids().chain(dirs).all(may_be_told);
    is_sound.then_some((record, desc.index))
}

impl Files {
    /// Makes names, directories and links as a record has them.
    pub(crate) fn replay_names(&mut self, log: &mut Log<'_>, record: &NameRecord) {
        for change in &record.changes {
            if let Err(error) = self.replay_change(log, change) {
                self.losses.add_names(change.dir, [print_of(self.name_hash(&change.name), change.dir); 2]);
                self.losses.add_error(change.dir, error);
            }
        }
        for link in &record.links {
            if let Err(error) = self.replay_link(log, link) {
                self.losses.add_error(link.ino, error);
            }
        }
        for directory in &record.directories {
            match self.inode_mut(log, directory.ino) {
                Ok(inode) if inode.kind == FileKind::Dir => directory.put_in(inode),
                Ok(_) => self.losses.add_error(directory.ino, Errno::NotDir.into()),
                Err(error) => self.losses.add_error(directory.ino, error),
            }
        }
    }

    fn replay_change(&mut self, log: &mut Log<'_>, change: &Change) -> Result<()> {
        let Change { dir, name, meaning, .. } = change;
        self.directory(log, *dir)?;
        self.losses.found_name(*dir, print_of(self.name_hash(name), *dir));
        let there = self.dir_find(log, *dir, name)?;
        let meaning = match *meaning {
            // The page of its node is lost, and with it the old meaning of the name.
            Some((ino, _)) if !self.exists(log, ino)? => {
                self.losses.add_new(ino, *dir);
                None
            }
            meaning => meaning,
        };
        match (meaning, there) {
            (None, None) => return Ok(()),
            (None, Some(_)) => return self.dir_remove(log, *dir, name),
            (Some((ino, kind)), None) => self.dir_insert(log, (*dir, name), (ino, kind))?,
            (Some((ino, kind)), Some(_)) => self.dir_replace(log, (*dir, name), (ino, kind))?,
        }
        if let Some((ino, kind)) = meaning
            && !self.nodes.is_lost(ino)
        {
            let inode = self.inode_mut(log, ino)?;
            inode.name.clone_from(name);
            if inode.kind == kind {
                inode.parent = *dir;
            }
        }
        Ok(())
    }

    fn replay_link(&mut self, log: &mut Log<'_>, link: &Link) -> Result<()> {
        let Link { ino, nlink, ctime, .. } = *link;
        if !may_be_told(ino) || ino == ROOT || !self.exists(log, ino)? || self.nodes.is_lost(ino) {
            return Ok(());
        }
        match nlink {
            0 => self.destroy(log, ino),
            nlink => {
                let inode = self.inode_mut(log, ino)?;
                if inode.kind != FileKind::Dir {
                    (inode.nlink, inode.ctime) = (nlink, ctime);
                }
                Ok(())
            }
        }
    }
}
