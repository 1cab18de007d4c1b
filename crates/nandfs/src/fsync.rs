//! What fsync writes: no more than recovery needs.
//!
//! - Data alone changed: the blocks, each tagged with inode and index; the last page carries the commit mark and
//!   the time. No node is written.
//! - Attributes, inline data, or blocks already written back: the changed nodes of the inode as well, the last
//!   page of nodes carrying the mark.
//! - Names moved, or index nodes changed their parents: a checkpoint.

use pumice_media::Nand;
use pumice_vfs::{FileKind, Result};

use crate::codec::len32;
use crate::error::device;
use crate::log::{DATA, META, SYNC};
use crate::promise::Promised;
use crate::volume::{Pending, Volume};

/// Reads with which recovery reaches an inode: node table twice, node once.
const READS_TO_INODE: u32 = 3;

impl<N: Nand> Volume<N> {
    /// Makes an inode durable.
    pub(crate) fn fsync_node(&mut self, ino: u32) -> Result<()> {
        let kind = self.inode(ino)?.kind;
        if self.read_only || (self.clean && !self.has_changes()) {
            return Ok(());
        }
        let pending = self.pending.get(&ino).copied().unwrap_or_default();
        if kind == FileKind::Dir || pending.needs_checkpoint || self.needs_parent(ino, pending)? {
            return self.sync_all();
        }
        self.make_room(0)?;
        let wrote = match self.write_synced(ino) {
            Ok(wrote) => wrote,
            Err(error) => {
                // What was written so far carries no mark: the next fsync has to tell of it by the nodes.
                self.pend(ino).unlogged = true;
                return Err(error);
            }
        };
        let time = self.inode(ino)?.mtime;
        // Making room may have made a checkpoint, writing may have found more to tell: look again.
        let pending = self.pending.get(&ino).copied().unwrap_or_default();
        // Where a full page has no room to say what the page before promises, the nodes have to tell.
        if pending.unlogged || (wrote && !self.log.can_commit(SYNC)) {
            self.pend(ino).unlogged = true;
            self.program(SYNC, None)?;
            self.program_data_of(ino)?;
            self.commit_nodes(ino)?;
        } else if wrote {
            // Until the mark is there, the nodes have to tell.
            self.pend(ino).unlogged = true;
            self.program(SYNC, Some(time))?;
        } else {
            return Ok(());
        }
        let pending = self.pend(ino);
        pending.unlogged = false;
        if !core::mem::replace(&mut pending.synced, true) {
            self.recovery_reads += READS_TO_INODE;
        }
        self.log.flash.medium.flush().map_err(device)
    }

    /// Writes the changed blocks of an inode; false if there were none.
    fn write_synced(&mut self, ino: u32) -> Result<bool> {
        // An fsync that failed may have left blocks of another inode: a mark counts for one inode's page.
        self.program(SYNC, None)?;
        let mut wrote = false;
        while let Some((owner, index)) = self.cache.next_dirty((ino, 0)) {
            if owner != ino {
                break;
            }
            self.write_back(ino, index, true)?;
            wrote = true;
        }
        Ok(wrote)
    }

    /// True if the name of a new inode can only be told by a checkpoint.
    fn needs_parent(&mut self, ino: u32, pending: Pending) -> Result<bool> {
        if !pending.created {
            return Ok(false);
        }
        let parent = self.inode(ino)?.parent;
        let parent = self.pending.get(&parent).copied().unwrap_or_default();
        Ok(parent.created || parent.needs_checkpoint)
    }

    /// Programs what was written back of an inode and still waits for its page to fill: nodes that are about to
    /// be committed point there.
    fn program_data_of(&mut self, ino: u32) -> Result<()> {
        for head in DATA..self.log.head_count() {
            if self.log.gathers(head, ino) {
                self.program(head, None)?;
            }
        }
        Ok(())
    }

    /// Writes the changed nodes of an inode on pages of their own.
    fn commit_nodes(&mut self, ino: u32) -> Result<()> {
        self.program(META, None)?;
        self.nodes.touch(&mut self.log, ino)?;
        let nids = self.nodes.dirty_nids(Some(ino));
        self.recovery_reads += len32(nids.len());
        let inode = self.inode(ino)?;
        let (time, dir) = (inode.mtime, inode.parent);
        let created = self.pending.get(&ino).is_some_and(|pending| pending.created);
        self.log.promise(Some(if created { Promised::New { dir } } else { Promised::Old }));
        let written = nids.into_iter().try_for_each(|nid| self.write_node(nid));
        let done = written.and_then(|()| self.program(META, Some(time)));
        self.log.promise(None);
        done
    }

    /// True if anything changed since the last checkpoint.
    pub(crate) fn has_changes(&self) -> bool {
        self.nodes.dirty() > 0
            || self.cache.dirty_bytes() > 0
            || self.log.scan_pages() > 0
            || !self.pending.is_empty()
    }

    /// Makes everything durable.
    pub(crate) fn sync_all(&mut self) -> Result<()> {
        if self.read_only || !self.has_changes() {
            return Ok(());
        }
        self.make_room(0)?;
        self.checkpoint(false)
    }
}
