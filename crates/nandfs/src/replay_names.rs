//! Records of names, found and replayed.

use pumice_vfs::{Errno, FileKind, Result};

use crate::codec::size;
use crate::dir::print_of;
use crate::ids::FIRST_NID;
use crate::names::{Change, Link, NameRecord};
use crate::nodes::ROOT;
use crate::promise::ID_END;
use crate::tag::{ChunkKind, Tag};
use crate::volume::Volume;

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

impl Volume<'_> {
    /// Makes names, directories and links as a record has them.
    pub(crate) fn replay_names(&mut self, record: &NameRecord) {
        for change in &record.changes {
            if let Err(error) = self.replay_change(change) {
                self.files
                    .losses
                    .add_names(change.dir, [print_of(self.name_hash(&change.name), change.dir); 2]);
                self.files.losses.add_error(change.dir, error);
            }
        }
        for link in &record.links {
            if let Err(error) = self.replay_link(link) {
                self.files.losses.add_error(link.ino, error);
            }
        }
        for directory in &record.directories {
            match self.inode_mut(directory.ino) {
                Ok(inode) if inode.kind == FileKind::Dir => directory.put_in(inode),
                Ok(_) => self.files.losses.add_error(directory.ino, Errno::NotDir.into()),
                Err(error) => self.files.losses.add_error(directory.ino, error),
            }
        }
    }

    fn is_there(&mut self, ino: u32) -> Result<bool> {
        Ok(self.files.nodes.has(ino) || self.files.nodes.addr(&mut self.log.pages, ino)?.is_stored())
    }

    fn replay_change(&mut self, change: &Change) -> Result<()> {
        let Change { dir, name, meaning, .. } = change;
        self.directory(*dir)?;
        self.files.losses.found_name(*dir, print_of(self.name_hash(name), *dir));
        let there = self.dir_find(*dir, name)?;
        let meaning = match *meaning {
            // The page of its node is lost, and with it the old meaning of the name.
            Some((ino, _)) if !self.is_there(ino)? => {
                self.files.losses.add_new(ino, *dir);
                None
            }
            meaning => meaning,
        };
        match (meaning, there) {
            (None, None) => return Ok(()),
            (None, Some(_)) => return self.dir_remove(*dir, name),
            (Some((ino, kind)), None) => self.dir_insert(*dir, name, ino, kind)?,
            (Some((ino, kind)), Some(_)) => self.dir_replace(*dir, name, ino, kind)?,
        }
        if let Some((ino, kind)) = meaning
            && !self.files.nodes.is_lost(ino)
        {
            let inode = self.inode_mut(ino)?;
            inode.name.clone_from(name);
            if inode.kind == kind {
                inode.parent = *dir;
            }
        }
        Ok(())
    }

    fn replay_link(&mut self, link: &Link) -> Result<()> {
        let Link { ino, nlink, ctime, .. } = *link;
        if !may_be_told(ino) || ino == ROOT || !self.is_there(ino)? || self.files.nodes.is_lost(ino) {
            return Ok(());
        }
        match nlink {
            0 => self.destroy(ino),
            nlink => {
                let inode = self.inode_mut(ino)?;
                if inode.kind != FileKind::Dir {
                    (inode.nlink, inode.ctime) = (nlink, ctime);
                }
                Ok(())
            }
        }
    }
}
