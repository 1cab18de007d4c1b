//! A mounted volume: its parts, and the calls that all of them share. Each concern has a file of its own with a further
//! `impl Volume`.

use alloc::vec::Vec;

use pumice_cleaning::Old;
use pumice_flashlog::Roots;
use pumice_media::AnyChip;
use pumice_vfs::{Clock, Errno, FsError, Result, Timestamp};

use crate::addr::Addr;
use crate::codec::size;
use crate::files::{Files, Pending};
use crate::log::Log;
use crate::names::Names;
use crate::node::{Inode, Node};
use crate::nodes::Nodes;
use crate::pages::{DATA, META, Pages};
use crate::params::Params;
use crate::superblock::Superblock;
use crate::tag::{ChunkKind, Desc};

/// A mounted volume.
pub(crate) struct Volume<'c> {
    pub(crate) log: Log<'c>,
    pub(crate) files: Files,
    pub(crate) names: Names,
}

impl<'c> Volume<'c> {
    /// The parts with nothing in them yet.
    pub(crate) fn empty(
        pages: Pages<'c>,
        params: Params,
        superblock: Superblock,
        roots: Roots,
        clock: Clock,
        budget: usize,
    ) -> Result<Volume<'c>> {
        let files = Files::new(params, &superblock, clock, budget);
        Ok(Volume { log: Log::new(pages, params, superblock, roots)?, files, names: Names::default() })
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.files.clock)()
    }

    /// Notes a change of an inode for fsync.
    pub(crate) fn pend(&mut self, ino: u32) -> &mut Pending {
        self.files.pending.entry(ino).or_default()
    }

    pub(crate) fn inode(&mut self, ino: u32) -> Result<&Inode> {
        self.files.nodes.inode(&mut self.log.pages, ino)
    }

    /// An inode about to be changed in a way that data tags do not tell.
    pub(crate) fn inode_mut(&mut self, ino: u32) -> Result<&mut Inode> {
        self.pend(ino).unlogged = true;
        self.files.nodes.inode_mut(&mut self.log.pages, ino)
    }

    /// Adds a chunk to the log and counts it.
    pub(crate) fn append(&mut self, head: usize, desc: Desc, bytes: &[u8]) -> Result<Addr> {
        let addr = self.log.pages.append(head, desc, bytes)?;
        self.apply_events()?;
        self.log.blocks.add(&mut self.log.pages, addr)?;
        Ok(addr)
    }

    /// Programs the chunks gathered by a head.
    pub(crate) fn program(&mut self, head: usize, commit: Option<Timestamp>) -> Result<()> {
        self.log.pages.program(head, commit)?;
        self.apply_events()
    }

    /// Programs the chunks gathered by all heads.
    pub(crate) fn program_all(&mut self) -> Result<()> {
        (0..self.log.pages.head_count()).try_for_each(|head| self.program(head, None))
    }

    /// Keeps all pages programmed so far from risk, before a promise of nodes that point at them.
    pub(crate) fn keep_written(&mut self) -> Result<()> {
        for head in 0..self.log.pages.head_count() {
            if self.log.pages.is_risky(head) {
                self.program(head, None)?;
            }
        }
        self.log.pages.keep();
        Ok(())
    }

    /// Takes note of events of blocks and leads pointers to chunks that moved.
    pub(crate) fn apply_events(&mut self) -> Result<()> {
        if !self.log.pages.has_events() {
            return Ok(());
        }
        for (desc, from, to) in self.log.blocks.observe(&mut self.log.pages)? {
            if self.live(&desc)? == from {
                self.repoint(&desc, to)?;
                self.log.blocks.add(&mut self.log.pages, to)?;
                self.log.blocks.release(&mut self.log.pages, from)?;
            }
        }
        Ok(())
    }

    /// Counts a chunk off that is needed no more.
    pub(crate) fn release(&mut self, addr: Addr) -> Result<()> {
        self.log.blocks.release(&mut self.log.pages, addr)
    }

    /// The place of the newest chunk of this name; none if there is no such thing any more.
    pub(crate) fn live(&mut self, desc: &Desc) -> Result<Addr> {
        match desc.kind {
            ChunkKind::Data | ChunkKind::Packed => {
                // The id may since belong to an index node.
                let exists = self.files.nodes.addr(&mut self.log.pages, desc.id)?.is_stored()
                    || self.files.nodes.has(desc.id);
                if exists && self.files.nodes.is_inode(&mut self.log.pages, desc.id)? {
                    self.map_get(desc.id, desc.index)
                } else {
                    Ok(Addr::NONE)
                }
            }
            ChunkKind::Node => self.files.nodes.addr(&mut self.log.pages, desc.id),
            // Nobody points at a record: recovery finds it; nor at a rest, which goes with its chunk.
            ChunkKind::Names | ChunkKind::Rest => Ok(Addr::NONE),
            ChunkKind::NodeTable => {
                self.files.nodes.table.addr_of(&mut self.log.pages, level(desc), desc.index)
            }
            ChunkKind::BlockTable => {
                self.log.blocks.table.addr_of(&mut self.log.pages, level(desc), desc.index)
            }
        }
    }

    /// Leads the pointer to a live chunk to its new place.
    pub(crate) fn repoint(&mut self, desc: &Desc, to: Addr) -> Result<()> {
        match desc.kind {
            ChunkKind::Data | ChunkKind::Packed => self.map_put(desc.id, desc.index, to).map(|_| ()),
            ChunkKind::Node => {
                self.files.nodes.set_addr(desc.id, to);
                Ok(())
            }
            ChunkKind::Names | ChunkKind::Rest => Ok(()),
            ChunkKind::NodeTable => {
                self.files.nodes.table.set_addr(&mut self.log.pages, level(desc), desc.index, to)
            }
            ChunkKind::BlockTable => {
                self.log.blocks.table.set_addr(&mut self.log.pages, level(desc), desc.index, to)
            }
        }
    }

    /// Placement's view of a chunk of file data; nothing if there is none.
    fn old(&mut self, addr: Addr) -> Result<Option<Old>> {
        if !addr.is_stored() {
            return Ok(None);
        }
        let usage = self.log.blocks.get(&mut self.log.pages, self.log.params.block_of(addr.page))?;
        let age = self.log.blocks.clock.wrapping_sub(usage.stamp);
        Ok(Some(Old { class: usage.class(), age }).filter(|_| usize::from(usage.head) != META))
    }

    /// The head for a block of a file that replaces the chunk at `old`.
    pub(crate) fn user_head(&mut self, ino: u32, index: u32, old: Addr) -> Result<usize> {
        let old = self.old(old)?;
        Ok(DATA + self.log.placer.user_write(self.log.blocks.clock, (ino, index), old))
    }

    /// Gives up a block of a file or directory, and the chunk with it.
    pub(crate) fn discard_block(&mut self, ino: u32, index: u32, addr: Addr) -> Result<()> {
        if let Some(old) = self.old(addr)? {
            self.log.placer.trimmed(self.log.blocks.clock, (ino, index), old);
        }
        self.release(addr)
    }

    /// Writes one node to the log.
    pub(crate) fn write_node(&mut self, nid: u32) -> Result<()> {
        let Some((bytes, owner)) = self.files.nodes.take_bytes(nid, self.files.packer.usual) else {
            return Ok(());
        };
        let addr = self.append(META, Nodes::desc(nid, owner, bytes.len()), &bytes)?;
        let old = self.files.nodes.addr(&mut self.log.pages, nid)?;
        self.release(old)?;
        self.files.nodes.written(nid, old, addr);
        Ok(())
    }

    /// Adds an inode, born now, and notes that it is new.
    pub(crate) fn add_inode(&mut self, inode: Inode) -> Result<u32> {
        let inode = crate::nodes::inode_node(inode.born_at(self.log.pages.seq));
        let nid = self.files.nodes.add(&mut self.log.pages, inode)?;
        *self.pend(nid) = Pending { unlogged: true, created: true, ..Pending::default() };
        Ok(nid)
    }

    /// Adds an index node.
    pub(crate) fn add_index(&mut self, index: crate::node::Index) -> Result<u32> {
        self.files.nodes.add(&mut self.log.pages, Node::Index(index))
    }

    /// Takes a node away, on the chip too.
    pub(crate) fn remove_node(&mut self, nid: u32) -> Result<()> {
        let addr = self.files.nodes.remove(&mut self.log.pages, nid)?;
        self.release(addr)
    }

    /// Memory besides the caches, in bytes.
    pub(crate) fn fixed_memory(&self) -> usize {
        size_of::<Self>()
            + self.log.pages.memory()
            + self.log.blocks.memory()
            + (self.files.pending.len() + self.files.held.len()) * 16
    }

    /// Memory that waits to be written, in bytes.
    fn unwritten(&self) -> usize {
        let nodes = self.files.nodes.dirty() * (self.log.params.fanout() as usize * 8 + 200);
        let tables = (self.files.nodes.table.overlay.len() + self.log.blocks.table.overlay.len()) * 40;
        nodes + tables + self.files.cache.dirty_bytes()
    }

    /// An eighth of the memory left for droppable data.
    fn share(&self) -> usize {
        self.files.memory.budget.saturating_sub(self.unwritten()).max(self.files.memory.budget / 4) / 8
    }

    /// Brings the caches back into the budget.
    pub(crate) fn trim(&mut self) {
        let share = self.share();
        self.files.nodes.trim(self.files.memory.budget / 8 * 3);
        self.files.nodes.table.trim(share);
        self.log.blocks.table.trim(share);
        self.files.cache.trim(self.files.cache.dirty_bytes() + share * 2);
        self.log.pages.flash.medium.set_kept(share / 2 / self.log.params.payload as usize);
    }

    /// True if some cache holds more droppable data than its share.
    pub(crate) fn is_bloated(&self) -> bool {
        let share = self.share();
        self.files.cache.clean_bytes() > share * 2
            || self.files.nodes.table.cached_bytes() > share
            || self.log.blocks.table.cached_bytes() > share
    }

    /// True if unwritten changes take more than their share of memory.
    pub(crate) fn is_laden(&self) -> bool {
        self.unwritten() > self.files.memory.budget / 4 * 3
    }

    /// The chip, given back.
    pub(crate) fn into_chip(self) -> AnyChip<'c> {
        self.log.pages.flash.medium.into_chip()
    }
}

fn level(desc: &Desc) -> u8 {
    u8::try_from(desc.id).unwrap_or(u8::MAX)
}

/// A 64-bit block index as the 32 bits that pointers and tags hold.
pub(crate) fn block_index(index: u64) -> Result<u32> {
    u32::try_from(index).map_err(|_| FsError::from(Errno::FileTooBig))
}

/// A list of `count` holes.
pub(crate) fn grow_to<T: Clone + Default>(list: &mut Vec<T>, place: u64) {
    let want = size(place) + 1;
    if list.len() < want {
        list.resize(want, T::default());
    }
}
