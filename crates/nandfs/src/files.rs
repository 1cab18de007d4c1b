//! The files: nodes and blocks in memory, and what is known of them besides.

use hashbrown::HashMap;
use pumice_vfs::Clock;

use crate::block_cache::BlockCache;
use crate::claims::Claims;
use crate::losses::Losses;
use crate::nodes::Nodes;
use crate::packer::Packer;
use crate::params::Params;
use crate::superblock::Superblock;

/// The files.
pub(crate) struct Files {
    /// The key of the hash of names.
    pub(crate) key: [u8; 16],
    pub(crate) nodes: Nodes,
    pub(crate) cache: BlockCache,
    pub(crate) packer: Packer,
    /// Blocks of files and directories, mapped or reserved.
    pub(crate) data_blocks: u64,
    pub(crate) pending: HashMap<u32, Pending>,
    /// Inodes kept alive, with how often.
    pub(crate) held: HashMap<u32, u32>,
    /// Promises of fsync that recovery could not read.
    pub(crate) losses: Losses,
    pub(crate) claims: Claims,
    pub(crate) clock: Clock,
    pub(crate) memory: Memory,
}

/// Memory for caches.
pub(crate) struct Memory {
    /// All of it, in bytes.
    pub(crate) budget: usize,
    /// Calls so far: not each looks at the size of the caches.
    pub(crate) calls: u32,
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
            memory: Memory { budget, calls: 0 },
        }
    }
}
