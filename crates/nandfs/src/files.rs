//! The files: nodes and blocks in memory, and what is known of them besides.

use hashbrown::HashMap;
use pumice_vfs::{Clock, Result, Timestamp};

use crate::block_cache::BlockCache;
use crate::claims::Claims;
use crate::log::Log;
use crate::losses::Losses;
use crate::memory::Memory;
use crate::node::{Inode, Node};
use crate::nodes::Nodes;
use crate::packer::Packer;
use crate::params::Params;
use crate::superblock::Superblock;

/// The files.
pub(crate) struct Files {
    pub(crate) params: Params,
    /// The key of the hash of names.
    pub(crate) key: [u8; 16],
    pub(crate) nodes: Nodes,
    pub(crate) cache: BlockCache,
    pub(crate) packer: Packer,
    /// Blocks of files and directories, mapped or reserved.
    pub(crate) data_blocks: u64,
    pending: HashMap<u32, Pending>,
    /// Inodes kept alive, with how often.
    held: HashMap<u32, u32>,
    /// Promises of fsync that recovery could not read.
    pub(crate) losses: Losses,
    pub(crate) claims: Claims,
    clock: Clock,
    pub(crate) memory: Memory,
}

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

impl Files {
    /// A volume without files.
    pub(crate) fn new(params: Params, superblock: &Superblock, clock: Clock, budget: usize) -> Files {
        Files {
            params,
            key: superblock.uuid,
            nodes: Nodes::new(params, budget),
            cache: BlockCache::new(params.block as usize),
            packer: Packer::new(superblock.compression.unwrap_or_default()),
            data_blocks: 0,
            pending: HashMap::new(),
            held: HashMap::new(),
            losses: Losses::default(),
            claims: Claims::default(),
            clock,
            memory: Memory::new(budget),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Notes a change of an inode for fsync.
    pub(crate) fn pend(&mut self, ino: u32) -> &mut Pending {
        self.pending.entry(ino).or_default()
    }

    /// The changes of an inode for fsync, if there are any.
    pub(crate) fn pending(&self, ino: u32) -> Option<Pending> {
        self.pending.get(&ino).copied()
    }

    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Forgets the changes of an inode that is gone.
    pub(crate) fn forget(&mut self, ino: u32) {
        self.pending.remove(&ino);
    }

    /// A checkpoint has all changes.
    pub(crate) fn settle(&mut self) {
        self.pending.clear();
    }

    /// Keeps an inode alive.
    pub(crate) fn hold(&mut self, ino: u32) {
        *self.held.entry(ino).or_default() += 1;
    }

    pub(crate) fn is_held(&self, ino: u32) -> bool {
        self.held.contains_key(&ino)
    }

    /// Ends a hold of an inode; the number left, or `None` if there was none.
    pub(crate) fn end_one_hold(&mut self, ino: u32) -> Option<u32> {
        let count = self.held.get_mut(&ino)?;
        *count -= 1;
        let left = *count;
        if left == 0 {
            self.held.remove(&ino);
        }
        Some(left)
    }

    pub(crate) fn end_all_holds(&mut self) {
        self.held.clear();
    }

    /// Bytes of memory that changes and holds take.
    pub(crate) fn noted_memory(&self) -> usize {
        (self.pending.len() + self.held.len()) * 16
    }

    /// True if there is such a node.
    pub(crate) fn exists(&mut self, log: &mut Log<'_>, nid: u32) -> Result<bool> {
        Ok(self.nodes.has(nid) || self.nodes.addr(&mut log.pages, nid)?.is_stored())
    }

    pub(crate) fn inode(&mut self, log: &mut Log<'_>, ino: u32) -> Result<&Inode> {
        self.nodes.inode(&mut log.pages, ino)
    }

    /// An inode about to be changed in a way that data tags do not tell.
    pub(crate) fn inode_mut(&mut self, log: &mut Log<'_>, ino: u32) -> Result<&mut Inode> {
        self.pend(ino).unlogged = true;
        self.nodes.inode_mut(&mut log.pages, ino)
    }

    /// Adds an inode, born now, and notes that it is new.
    pub(crate) fn add_inode(&mut self, log: &mut Log<'_>, inode: Inode) -> Result<u32> {
        let inode = crate::nodes::inode_node(inode.born_at(log.pages.medium().seq()));
        let nid = self.nodes.add(&mut log.pages, inode)?;
        *self.pend(nid) = Pending { unlogged: true, created: true, ..Pending::default() };
        Ok(nid)
    }

    /// Adds an index node.
    pub(crate) fn add_index(&mut self, log: &mut Log<'_>, index: crate::node::Index) -> Result<u32> {
        self.nodes.add(&mut log.pages, Node::Index(index))
    }

    /// Takes a node away, on the chip too.
    pub(crate) fn remove_node(&mut self, log: &mut Log<'_>, nid: u32) -> Result<()> {
        let addr = self.nodes.remove(&mut log.pages, nid)?;
        log.release(addr)
    }
}
