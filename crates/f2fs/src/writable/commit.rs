//! One state of the volume after the other: room for what is to come, and checkpoints.

use super::{content, tree::Tree, usage::KINDS};
use crate::{
    error::{Error, Place, Result, corrupt},
    layout::Nid,
    write::{pack::Reserve, quota_file::QuotaFile},
};
use pumice_vfs::Errno;

/// Free segments that a call must leave: one that takes up room, and one that gives it back.
const SPARE: u64 = 8;
const SPARE_LAST: u64 = 2;
/// Blocks and nodes that a checkpoint may need for quota files.
const FOR_QUOTA: u64 = 16;

/// What a call may take up at most.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Need {
    /// Blocks and nodes that the volume has more of then.
    pub(super) more: u64,
    /// Blocks that are written anew.
    pub(super) data: u64,
    /// Nodes that are written anew.
    pub(super) nodes: u64,
}

/// A volume, and what its checkpoints keep.
pub(super) struct Commit {
    tree: Tree,
    reserve: Reserve,
    /// How often something had been changed at the last checkpoint.
    committed: u64,
}

impl Commit {
    pub(super) fn new(tree: Tree, reserve: Reserve) -> Commit {
        Commit { tree, reserve, committed: 0 }
    }

    /// The tree.
    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The same, to write to.
    pub(super) fn tree_mut(&mut self) -> &mut Tree {
        &mut self.tree
    }

    /// How often anything was changed.
    pub(super) fn changes(&self) -> u64 {
        self.tree.blocks().nodes().changes()
    }

    /// Blocks that users can have, and those that they have.
    pub(super) fn blocks(&self) -> (u64, u64) {
        (self.reserve.users, self.tree.blocks().nodes().writer().blocks())
    }

    /// Sees to it that a call has room: by a checkpoint, if that gives some back. [`Errno::NoSpace`] otherwise.
    pub(super) fn make_room(&mut self, need: Need, elapsed: u64) -> Result<()> {
        self.tree.blocks_mut().relieve()?;
        let (users, used) = self.blocks();
        let numbers = self.tree.blocks().nodes().writer().free_numbers();
        if need.more > 0 && (used + need.more > users || need.nodes > numbers) {
            return Err(Error::Errno(Errno::NoSpace));
        }
        if self.has_room(need) {
            return Ok(());
        }
        self.commit(elapsed)?;
        if self.has_room(need) { Ok(()) } else { Err(Error::Errno(Errno::NoSpace)) }
    }

    /// True if a call has room without a checkpoint.
    pub(super) fn has_room(&self, need: Need) -> bool {
        let blocks = self.tree.blocks();
        let (free, [data, nodes]) = blocks.nodes().writer().room();
        let wanted_data = blocks.waiting() + need.data + FOR_QUOTA;
        // A block that moves has the node changed that leads to it.
        let wanted_nodes = blocks.nodes().waiting() + blocks.waiting() + need.nodes + need.data + FOR_QUOTA;
        let segments = |wanted: u64, there: u64| wanted.saturating_sub(there).div_ceil(512);
        let spare = if need.more > 0 { SPARE } else { SPARE_LAST };
        segments(wanted_data, data) + segments(wanted_nodes, nodes) + spare <= u64::from(free)
    }

    /// Makes what is now the state of the volume, if it is another than before. `elapsed` are the seconds that the volume
    /// was mounted in its life.
    pub(super) fn commit(&mut self, elapsed: u64) -> Result<()> {
        if self.changes() == self.committed { Ok(()) } else { self.write(elapsed, false) }
    }

    /// The same; it says that nothing is written behind it.
    pub(super) fn close(&mut self, elapsed: u64) -> Result<()> {
        let is_clean = self.tree.blocks().nodes().writer().is_clean();
        if self.changes() == self.committed && is_clean { Ok(()) } else { self.write(elapsed, true) }
    }

    fn write(&mut self, elapsed: u64, is_clean: bool) -> Result<()> {
        self.tree.blocks_mut().nodes_mut().writer_mut().set_time(elapsed);
        for (kind, file) in (0..KINDS).zip(self.tree.blocks().nodes().usage().files()) {
            if !file.is_null() {
                self.write_usage(kind, file)?;
            }
        }
        self.tree.blocks_mut().flush()?;
        let (orphans, reserve) = (self.tree.orphans(), self.reserve);
        let nodes = self.tree.blocks_mut().nodes_mut();
        nodes.writer_mut().commit(elapsed, &orphans, reserve, is_clean)?;
        nodes.committed();
        self.committed = self.changes();
        Ok(())
    }

    /// Brings a quota file up to date.
    fn write_usage(&mut self, kind: usize, file: Nid) -> Result<()> {
        let blocks = self.tree.blocks_mut();
        let changes = blocks.nodes_mut().usage_mut().take(kind);
        if changes.is_empty() {
            return Ok(());
        }
        let mut inode = blocks.nodes().inode(file)?;
        // A file that claims more than the volume has is not read into memory.
        let sb = blocks.nodes().writer().super_block();
        let most =
            u64::from(sb.main_segments()) * u64::from(sb.blocks_per_segment()) * sb.block().bytes_u64();
        let size = usize::try_from(inode.size).ok().filter(|_| inode.size <= most);
        let too_long = || corrupt(Place::Inode(file), "bytes of a quota file are", inode.size, most);
        let mut bytes = vec![0; size.ok_or_else(too_long)?];
        content::read(blocks, &inode, 0, &mut bytes)?;
        let broken =
            || corrupt(Place::Inode(file), "a quota file makes no sense; its bytes are", inode.size, 0_u32);
        let mut quota = QuotaFile::parse(kind, &bytes).ok_or_else(broken)?;
        for (id, (inodes, bytes)) in changes {
            quota.change(id, inodes, bytes);
        }
        let bytes = quota.to_bytes();
        content::write(blocks, &mut inode, 0, &bytes)?;
        content::set_size(blocks, &mut inode, bytes.len() as u64)?;
        blocks.nodes_mut().put(&inode)
    }
}
