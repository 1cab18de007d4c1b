//! A mounted volume: its parts, and the calls that all of them share. Each concern has a file of its own with a further
//! `impl Volume`.

use alloc::vec::Vec;

use hashbrown::HashMap;
use pumice_cleaning::Old;
use pumice_flashlog::{Patrol, Roots, Rounds};
use pumice_media::AnyChip;
use pumice_vfs::{Errno, FsError, Result, Timestamp};

use crate::addr::Addr;
use crate::block_cache::BlockCache;
use crate::blocks::Blocks;
use crate::checkpoint_record::Limits;
use crate::claims::Claims;
use crate::codec::size;
use crate::leveler::Leveler;
use crate::log::{DATA, Log, META};
use crate::losses::Losses;
use crate::moving::Cleaner;
use crate::names::Names;
use crate::node::{Inode, Node};
use crate::nodes::Nodes;
use crate::packer::Packer;
use crate::params::{ANCHOR_BLOCKS, Params};
use crate::placing::Placer;
use crate::superblock::Superblock;
use crate::tag::{ChunkKind, Desc};
use pumice_vfs::Clock;

/// The changes of an inode since the last checkpoint, as far as fsync must know.
#[expect(clippy::struct_excessive_bools, reason = "five independent facts")]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Pending {
    /// A change that the tags of data written by fsync do not tell.
    pub(crate) unlogged: bool,
    /// A change that only a checkpoint can make durable.
    pub(crate) needs_checkpoint: bool,
    /// The inode is newer than the checkpoint.
    pub(crate) created: bool,
    /// The log has the inode, and promised it.
    pub(crate) logged: bool,
    /// Recovery will have to load the inode.
    pub(crate) synced: bool,
}

/// A mounted volume.
pub(crate) struct Volume<'c> {
    pub(crate) params: Params,
    pub(crate) limits: Limits,
    /// Most blocks in the window: recovery takes a look at each.
    pub(crate) window_max: usize,
    pub(crate) superblock: Superblock,
    pub(crate) roots: Roots,
    pub(crate) log: Log<'c>,
    pub(crate) blocks: Blocks,
    pub(crate) nodes: Nodes,
    pub(crate) cache: BlockCache,
    pub(crate) placer: Placer,
    pub(crate) clock: Clock,
    pub(crate) read_only: bool,
    /// Memory for caches, in bytes.
    pub(crate) budget: usize,
    /// The newest checkpoint on the chip says that nothing follows it.
    pub(crate) clean: bool,
    pub(crate) checkpoints: u64,
    /// Blocks of files and directories, mapped or reserved.
    pub(crate) data_blocks: u64,
    /// The next place of the search for free blocks.
    pub(crate) cursor: u32,
    pub(crate) pending: HashMap<u32, Pending>,
    /// Inodes kept alive, with how often.
    pub(crate) held: HashMap<u32, u32>,
    /// Chip reads that recovery would need for the writes of fsync since the last checkpoint.
    pub(crate) recovery_reads: u32,
    /// The limit of these, kept by a checkpoint in time.
    pub(crate) recovery_limit: u32,
    pub(crate) calls: u32,
    pub(crate) cleaner: Cleaner,
    /// Promises of fsync that recovery could not read.
    pub(crate) losses: Losses,
    pub(crate) claims: Claims,
    pub(crate) packer: Packer,
    pub(crate) names: Names,
    pub(crate) patrol: Patrol,
    pub(crate) leveler: Leveler,
    pub(crate) life: Life,
}

/// Whether the chip can still be written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Life {
    Lasting,
    /// Too few good blocks are left.
    Over,
    /// Likewise, and no checkpoint has what was changed since the last one.
    CutShort,
}

/// Device time that recovery may take to look at the blocks of the window, in nanoseconds.
const WINDOW_NS: u64 = 6_000_000;
/// Device time that recovery may take to read the writes of fsync, in nanoseconds.
const RECOVERY_NS: u64 = 10_000_000;

impl<'c> Volume<'c> {
    /// The parts with nothing in them yet.
    pub(crate) fn empty(
        log: Log<'c>,
        params: Params,
        superblock: Superblock,
        roots: Roots,
        clock: Clock,
        budget: usize,
    ) -> Result<Volume<'c>> {
        let policies = superblock.policies;
        let usual = superblock.compression.unwrap_or_default();
        let victim = policies.victim(&params)?;
        let leveler = Leveler::new(policies.swap(superblock.endurance)?);
        let recovery_limit =
            RECOVERY_NS.checked_div(log.flash.medium.page_read_ns()).unwrap_or(600).clamp(32, 2048);
        Ok(Volume {
            params,
            limits: Limits::of(&params),
            window_max: size(WINDOW_NS.checked_div(log.flash.medium.peek_ns()).unwrap_or(240))
                .clamp(64, 1024),
            superblock,
            roots,
            blocks: Blocks::new(params, victim),
            nodes: Nodes::new(params, budget),
            cache: BlockCache::new(params.block as usize),
            placer: Placer::new(&policies, &params),
            log,
            clock,
            read_only: false,
            budget,
            clean: false,
            checkpoints: 0,
            data_blocks: 0,
            cursor: ANCHOR_BLOCKS,
            pending: HashMap::new(),
            held: HashMap::new(),
            recovery_reads: 0,
            recovery_limit: u32::try_from(recovery_limit).unwrap_or(600),
            calls: 0,
            cleaner: Cleaner::default(),
            losses: Losses::default(),
            claims: Claims::default(),
            packer: Packer::new(usual),
            names: Names::default(),
            patrol: Patrol::resume(Rounds::default()),
            leveler,
            life: Life::Lasting,
        })
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Notes a change of an inode for fsync.
    pub(crate) fn pend(&mut self, ino: u32) -> &mut Pending {
        self.pending.entry(ino).or_default()
    }

    pub(crate) fn inode(&mut self, ino: u32) -> Result<&Inode> {
        self.nodes.inode(&mut self.log, ino)
    }

    /// An inode about to be changed in a way that data tags do not tell.
    pub(crate) fn inode_mut(&mut self, ino: u32) -> Result<&mut Inode> {
        self.pend(ino).unlogged = true;
        self.nodes.inode_mut(&mut self.log, ino)
    }

    /// Adds a chunk to the log and counts it.
    pub(crate) fn append(&mut self, head: usize, desc: Desc, bytes: &[u8]) -> Result<Addr> {
        let addr = self.log.append(head, desc, bytes)?;
        self.apply_events()?;
        self.blocks.add(&mut self.log, addr)?;
        Ok(addr)
    }

    /// Programs the chunks gathered by a head.
    pub(crate) fn program(&mut self, head: usize, commit: Option<Timestamp>) -> Result<()> {
        self.log.program(head, commit)?;
        self.apply_events()
    }

    /// Programs the chunks gathered by all heads.
    pub(crate) fn program_all(&mut self) -> Result<()> {
        (0..self.log.head_count()).try_for_each(|head| self.program(head, None))
    }

    /// Keeps all pages programmed so far from risk, before a promise of nodes that point at them.
    pub(crate) fn keep_written(&mut self) -> Result<()> {
        for head in 0..self.log.head_count() {
            if self.log.is_risky(head) {
                self.program(head, None)?;
            }
        }
        self.log.keep();
        Ok(())
    }

    /// Takes note of events of blocks and leads pointers to chunks that moved.
    pub(crate) fn apply_events(&mut self) -> Result<()> {
        if !self.log.has_events() {
            return Ok(());
        }
        for (desc, from, to) in self.blocks.observe(&mut self.log)? {
            if self.live(&desc)? == from {
                self.repoint(&desc, to)?;
                self.blocks.add(&mut self.log, to)?;
                self.blocks.release(&mut self.log, from)?;
            }
        }
        Ok(())
    }

    /// Counts a chunk off that is needed no more.
    pub(crate) fn release(&mut self, addr: Addr) -> Result<()> {
        self.blocks.release(&mut self.log, addr)
    }

    /// The place of the newest chunk of this name; none if there is no such thing any more.
    pub(crate) fn live(&mut self, desc: &Desc) -> Result<Addr> {
        match desc.kind {
            ChunkKind::Data | ChunkKind::Packed => {
                // The id may since belong to an index node.
                let exists = self.nodes.addr(&mut self.log, desc.id)?.is_stored() || self.nodes.has(desc.id);
                if exists && self.nodes.is_inode(&mut self.log, desc.id)? {
                    self.map_get(desc.id, desc.index)
                } else {
                    Ok(Addr::NONE)
                }
            }
            ChunkKind::Node => self.nodes.addr(&mut self.log, desc.id),
            // Nobody points at a record: recovery finds it; nor at a rest, which goes with its chunk.
            ChunkKind::Names | ChunkKind::Rest => Ok(Addr::NONE),
            ChunkKind::NodeTable => self.nodes.table.addr_of(&mut self.log, level(desc), desc.index),
            ChunkKind::BlockTable => self.blocks.table.addr_of(&mut self.log, level(desc), desc.index),
        }
    }

    /// Leads the pointer to a live chunk to its new place.
    pub(crate) fn repoint(&mut self, desc: &Desc, to: Addr) -> Result<()> {
        match desc.kind {
            ChunkKind::Data | ChunkKind::Packed => self.map_put(desc.id, desc.index, to).map(|_| ()),
            ChunkKind::Node => {
                self.nodes.set_addr(desc.id, to);
                Ok(())
            }
            ChunkKind::Names | ChunkKind::Rest => Ok(()),
            ChunkKind::NodeTable => self.nodes.table.set_addr(&mut self.log, level(desc), desc.index, to),
            ChunkKind::BlockTable => self.blocks.table.set_addr(&mut self.log, level(desc), desc.index, to),
        }
    }

    /// Placement's view of a chunk of file data; nothing if there is none.
    fn old(&mut self, addr: Addr) -> Result<Option<Old>> {
        if !addr.is_stored() {
            return Ok(None);
        }
        let usage = self.blocks.get(&mut self.log, self.params.block_of(addr.page))?;
        let age = self.blocks.clock.wrapping_sub(usage.stamp);
        Ok(Some(Old { class: usage.class(), age }).filter(|_| usize::from(usage.head) != META))
    }

    /// The head for a block of a file that replaces the chunk at `old`.
    pub(crate) fn user_head(&mut self, ino: u32, index: u32, old: Addr) -> Result<usize> {
        let old = self.old(old)?;
        Ok(DATA + self.placer.user_write(self.blocks.clock, (ino, index), old))
    }

    /// Gives up a block of a file or directory, and the chunk with it.
    pub(crate) fn discard_block(&mut self, ino: u32, index: u32, addr: Addr) -> Result<()> {
        if let Some(old) = self.old(addr)? {
            self.placer.trimmed(self.blocks.clock, (ino, index), old);
        }
        self.release(addr)
    }

    /// Writes one node to the log.
    pub(crate) fn write_node(&mut self, nid: u32) -> Result<()> {
        let Some((bytes, owner)) = self.nodes.take_bytes(nid, self.packer.usual) else { return Ok(()) };
        let addr = self.append(META, Nodes::desc(nid, owner, bytes.len()), &bytes)?;
        let old = self.nodes.addr(&mut self.log, nid)?;
        self.release(old)?;
        self.nodes.written(nid, old, addr);
        Ok(())
    }

    /// Adds an inode, born now, and notes that it is new.
    pub(crate) fn add_inode(&mut self, inode: Inode) -> Result<u32> {
        let inode = crate::nodes::inode_node(inode.born_at(self.log.seq));
        let nid = self.nodes.add(&mut self.log, inode)?;
        *self.pend(nid) = Pending { unlogged: true, created: true, ..Pending::default() };
        Ok(nid)
    }

    /// Adds an index node.
    pub(crate) fn add_index(&mut self, index: crate::node::Index) -> Result<u32> {
        self.nodes.add(&mut self.log, Node::Index(index))
    }

    /// Takes a node away, on the chip too.
    pub(crate) fn remove_node(&mut self, nid: u32) -> Result<()> {
        let addr = self.nodes.remove(&mut self.log, nid)?;
        self.release(addr)
    }

    /// Memory besides the caches, in bytes.
    pub(crate) fn fixed_memory(&self) -> usize {
        size_of::<Self>()
            + self.log.memory()
            + self.blocks.memory()
            + (self.pending.len() + self.held.len()) * 16
    }

    /// Memory that waits to be written, in bytes.
    fn unwritten(&self) -> usize {
        let nodes = self.nodes.dirty() * (self.params.fanout() as usize * 8 + 200);
        let tables = (self.nodes.table.overlay.len() + self.blocks.table.overlay.len()) * 40;
        nodes + tables + self.cache.dirty_bytes()
    }

    /// An eighth of the memory left for droppable data.
    fn share(&self) -> usize {
        self.budget.saturating_sub(self.unwritten()).max(self.budget / 4) / 8
    }

    /// Brings the caches back into the budget.
    pub(crate) fn trim(&mut self) {
        let share = self.share();
        self.nodes.trim(self.budget / 8 * 3);
        self.nodes.table.trim(share);
        self.blocks.table.trim(share);
        self.cache.trim(self.cache.dirty_bytes() + share * 2);
        self.log.flash.medium.set_kept(share / 2 / self.params.payload as usize);
    }

    /// True if some cache holds more droppable data than its share.
    pub(crate) fn is_bloated(&self) -> bool {
        let share = self.share();
        self.cache.clean_bytes() > share * 2
            || self.nodes.table.cached_bytes() > share
            || self.blocks.table.cached_bytes() > share
    }

    /// True if unwritten changes take more than their share of memory.
    pub(crate) fn is_laden(&self) -> bool {
        self.unwritten() > self.budget / 4 * 3
    }

    /// The chip, given back.
    pub(crate) fn into_chip(self) -> AnyChip<'c> {
        self.log.flash.medium.into_chip()
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
