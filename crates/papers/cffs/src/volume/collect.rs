//! Section 2.4: garbage collection, when a block has only dead pages, or when few blocks are free.
//!
//! Live inode pages go to other inode-stored blocks as they are, live data pages to other data blocks, with a new inode for
//! each file they belong to. Nothing that an inode on the chip needs is erased before its successor is written.

use std::collections::BTreeMap;

use pumice_common::Inodes;
use pumice_vfs::{Errno, FsError, Result};

use super::{KEEP, Volume};
use crate::index::Change;
use crate::layout::Addr;
use crate::spare::{self, Kind, Mark};
use crate::usage::{Role, State};

impl Volume<'_> {
    /// Sees to it that so many pages of data and index, and of inodes, can be written.
    pub(super) fn make_room(&mut self, data: u32, inodes: u32) -> Result<()> {
        // A block is collected once for each page that was written since the last time, at the most.
        let most = self.layout().blocks().saturating_mul(2);
        for _ in 0..most {
            if self.fits(data, inodes, KEEP) {
                return Ok(());
            }
            if !self.collect()? {
                break;
            }
        }
        if self.fits(data, inodes, 1) {
            return Ok(());
        }
        Err(FsError::new(Errno::NoSpace, "collection finds nothing to free".into()))
    }

    /// Collects a block; false if there is none, or no room to begin.
    fn collect(&mut self) -> Result<bool> {
        let before = self.store.written();
        let usage = &self.store.usage;
        let live = |block: &u32| usage.live_in(*block);
        let any = usage.victim(None);
        // Each live page of data may need an index page and an inode.
        let fits = |block: &u32| {
            usage.state(*block) == State::Used(Role::Inode) || self.fits(2 * live(block) + 2, live(block), 0)
        };
        let Some(victim) = any.filter(fits).or_else(|| usage.victim(Some(Role::Inode))) else {
            return Ok(false);
        };
        match usage.state(victim) {
            State::Used(Role::Inode) => self.collect_inodes(victim)?,
            _ => self.collect_data(victim)?,
        }
        self.store.count_copied(before);
        if self.store.usage.is_empty(victim) {
            self.emptied.push(victim);
        } else {
            // The rest cannot be moved.
            self.store.usage.stick(victim);
        }
        self.sweep()?;
        Ok(true)
    }

    fn live_pages(&self, block: u32) -> Vec<Addr> {
        let layout = self.layout();
        let pages = (0..layout.pages()).map(|index| layout.addr(block, index));
        pages.filter(|at| self.store.usage.is_live(*at)).collect()
    }

    fn collect_inodes(&mut self, block: u32) -> Result<()> {
        for at in self.live_pages(block) {
            let raw = self.store.flash().read_raw(at)?;
            let mark = spare::decode(raw.spare).filter(|mark| raw.readable && mark.kind.is_inode());
            // An unreadable page stays, and its block with it.
            let Some(mark) = mark else { continue };
            let is_removed = self.removed.get(&mark.ino) == Some(&at);
            // Older pages in this block need it elsewhere: the power may go in the middle of the erase.
            if is_removed && self.store.usage.copies(mark.ino) <= 1 {
                self.removed.remove(&mark.ino);
                self.store.usage.kill(at);
                continue;
            }
            if !is_removed
                && self.tree.get(mark.ino).is_none_or(|node| node.at != at || node.time != mark.number)
            {
                continue;
            }
            let to = self.store.append(mark, &raw.data)?;
            if is_removed {
                self.removed.insert(mark.ino, to);
            } else {
                self.tree.set_place(mark.ino, to, mark.number);
            }
            self.store.usage.kill(at);
        }
        Ok(())
    }

    fn collect_data(&mut self, block: u32) -> Result<()> {
        let mut files: BTreeMap<u32, Vec<(Mark, Addr, Vec<u8>)>> = BTreeMap::new();
        for at in self.live_pages(block) {
            let raw = self.store.flash().read_raw(at)?;
            let mark = if raw.readable { spare::proved(raw.spare, &raw.data) } else { None };
            // A page that proves nothing stays, and its block with it.
            if let Some(mark) = mark.filter(|mark| !mark.kind.is_inode()) {
                files.entry(mark.ino).or_default().push((mark, at, raw.data));
            }
        }
        for (ino, pages) in files {
            if let Err(error) = self.move_pages(ino, &pages) {
                // A file that is damaged elsewhere cannot be written anew.
                if error.errno() != Errno::Io || !self.is_damaged(ino) {
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// True if the inode or a part of its index cannot be read.
    fn is_damaged(&mut self, ino: u32) -> bool {
        let Ok(inode) = self.inode(ino) else { return true };
        let mut lost = false;
        self.index_of(ino, &inode).walk(&mut self.store, &mut |_, _, _| {}, &mut |_| lost = true);
        lost
    }

    fn move_pages(&mut self, ino: u32, pages: &[(Mark, Addr, Vec<u8>)]) -> Result<()> {
        let mut inode = self.inode(ino)?;
        let mut index = self.index_of(ino, &inode);
        let mut change = Change::default();
        let mut moved = false;
        let mut work = || {
            for (mark, at, bytes) in pages {
                if mark.kind != Kind::Data {
                    moved |= index.renew(&mut self.store, *mark, *at)?;
                } else if index.get(&mut self.store, mark.number)? == *at {
                    let to = self.store.append(*mark, bytes)?;
                    change.fresh.push(to);
                    index.set(&mut self.store, &mut change, mark.number, to)?;
                    change.dead.push(*at);
                    moved = true;
                }
            }
            index.write(&mut self.store, &mut change).map(drop)
        };
        let mut done = work();
        if done.is_ok() && moved {
            inode.class = index.class();
            inode.entries = index.into_entries();
            done = self.put_inode(&mut change, ino, &inode);
        }
        let gone = if done.is_ok() { change.dead } else { change.fresh };
        for at in gone {
            self.kill(at);
        }
        done
    }

    /// Erases the blocks that became empty.
    pub(super) fn sweep(&mut self) -> Result<()> {
        while let Some(block) = self.emptied.pop() {
            if !self.store.usage.is_empty(block) {
                continue;
            }
            for ino in self.store.reclaim(block)? {
                if self.store.usage.copies(ino) <= 1
                    && let Some(at) = self.removed.remove(&ino)
                {
                    self.kill(at);
                }
            }
        }
        Ok(())
    }
}
