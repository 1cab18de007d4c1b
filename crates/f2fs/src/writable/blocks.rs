//! Blocks of files and directories as they are now: those that changed wait in memory until they are written.

use std::sync::Arc;

use pumice_vfs::FileKind;

use super::{
    index::{self, Found, Slot},
    nodes::Nodes,
};
use crate::{
    error::{Place, Result, corrupt},
    layout::{Advise, BlockAddr, Extent, Inode, Nid, Summary},
    undo::Tracked,
    volume::Block,
    word::half,
    write::head::Log,
};

/// Blocks and nodes that wait at most.
const WAITING_MAX: usize = 1024;

/// The blocks of all files.
pub(super) struct Blocks {
    nodes: Nodes,
    dirty: Tracked<(Nid, u64), Block>,
}

/// What stands at a block of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Stand {
    /// Nothing.
    Hole,
    /// Nothing, and space is promised.
    Promised,
    /// It waits to be written.
    Waiting(Block),
    /// It is written.
    At(BlockAddr),
}

impl Blocks {
    pub(super) fn new(nodes: Nodes) -> Blocks {
        Blocks { nodes, dirty: Tracked::empty() }
    }

    /// A call begins, which may be taken back as long as it writes nothing to the medium.
    pub(super) fn begin(&mut self) {
        self.nodes.begin();
        self.dirty.begin();
    }

    /// What the call did stays.
    pub(super) fn keep(&mut self) {
        self.nodes.keep();
        self.dirty.keep();
    }

    /// What the call did is undone.
    pub(super) fn take_back(&mut self) {
        self.nodes.take_back();
        self.dirty.take_back();
    }

    /// What stands below.
    pub(super) fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// The same, to write to.
    pub(super) fn nodes_mut(&mut self) -> &mut Nodes {
        &mut self.nodes
    }

    /// Blocks of data that wait to be written.
    pub(super) fn waiting(&self) -> u64 {
        self.dirty.len() as u64
    }

    /// What stands at block `index`, and how many from it on are of the same sort, in a row, at most `most`.
    pub(super) fn stand(&self, inode: &Inode, index: u64, most: u64) -> Result<(Stand, u64)> {
        if let Some(block) = self.dirty.get(&(inode.ino, index)) {
            return Ok((Stand::Waiting(block.clone()), 1));
        }
        let next = self.dirty.range((inode.ino, index)..=(inode.ino, u64::MAX)).next();
        let most = next.map_or(most, |((_, next), _)| most.min(next - index)).max(1);
        let slot = match index::find(&self.nodes, inode, index)? {
            Found::Slot(slot) => slot,
            Found::Missing(blocks) => return Ok((Stand::Hole, blocks.min(most))),
        };
        let addrs = index::get_run(&self.nodes, inode, &slot, most)?;
        debug_assert!(!addrs.is_empty(), "a slot of inode {} has no address", inode.ino.0);
        let first = addrs.first().copied().unwrap_or(BlockAddr::NULL);
        let expected = |ahead: u32| if first.is_block() { first.plus(ahead) } else { Some(first) };
        let same = addrs.iter().zip(0..).take_while(|(addr, ahead)| expected(*ahead) == Some(**addr)).count();
        let stand = match first {
            BlockAddr::NULL => Stand::Hole,
            BlockAddr::NEW => Stand::Promised,
            addr => Stand::At(addr),
        };
        Ok((stand, (same as u64).max(1)))
    }

    /// The bytes of block `index`; `None` if nothing stands there.
    pub(super) fn read(&self, inode: &Inode, index: u64) -> Result<Option<Block>> {
        match self.stand(inode, index, 1)?.0 {
            Stand::Hole | Stand::Promised => Ok(None),
            Stand::Waiting(block) => Ok(Some(block)),
            Stand::At(addr) => self.nodes.writer().read(addr).map(Some),
        }
    }

    /// The bytes of block `index`, to be changed; zeros where nothing stood. The caller puts the inode.
    pub(super) fn edit(&mut self, inode: &mut Inode, index: u64) -> Result<&mut Vec<u8>> {
        let key = (inode.ino, index);
        let block = if let Some(block) = self.dirty.get(&key) {
            block.clone()
        } else {
            let old = self.read(inode, index)?;
            self.promise(inode, index)?;
            old.unwrap_or_else(|| Arc::new(vec![0; self.nodes.size().width()]))
        };
        inode.extent = NO_EXTENT;
        self.nodes.touch();
        Ok(Arc::make_mut(self.dirty.put(key, block)))
    }

    /// Puts a whole block in place of what stands at `index`. The caller puts the inode.
    pub(super) fn put(&mut self, inode: &mut Inode, index: u64, bytes: &[u8]) -> Result<()> {
        debug_assert_eq!(bytes.len(), self.nodes.size().width());
        self.promise(inode, index)?;
        inode.extent = NO_EXTENT;
        self.nodes.touch();
        self.dirty.put((inode.ino, index), Arc::new(bytes.to_vec()));
        Ok(())
    }

    /// Promises block `index` a place, if it has none. The caller puts the inode.
    pub(super) fn promise(&mut self, inode: &mut Inode, index: u64) -> Result<()> {
        let slot = index::make(&mut self.nodes, inode, index)?;
        if index::get(&self.nodes, inode, &slot)? == BlockAddr::NULL {
            self.nodes.writer_mut().promise_data();
            index::set(&mut self.nodes, &slot, BlockAddr::NEW)?;
            inode.blocks += 1;
        }
        Ok(())
    }

    /// Makes a hole of block `index`. The caller puts the inode.
    pub(super) fn punch(&mut self, inode: &mut Inode, index: u64) -> Result<()> {
        self.dirty.remove(&(inode.ino, index));
        let Found::Slot(slot) = index::find(&self.nodes, inode, index)? else { return Ok(()) };
        let addr = index::get(&self.nodes, inode, &slot)?;
        if addr != BlockAddr::NULL {
            self.nodes.writer_mut().release(addr)?;
            index::set(&mut self.nodes, &slot, BlockAddr::NULL)?;
            inode.lose_block()?;
            inode.extent = NO_EXTENT;
        }
        Ok(())
    }

    /// Gives back all blocks from `from` on. The caller puts the inode.
    pub(super) fn cut(&mut self, inode: &mut Inode, from: u64) -> Result<()> {
        let behind = self.dirty.range((inode.ino, from)..=(inode.ino, u64::MAX));
        let behind: Vec<(Nid, u64)> = behind.map(|(key, _)| *key).collect();
        for key in behind {
            self.dirty.remove(&key);
        }
        inode.extent = NO_EXTENT;
        index::cut(&mut self.nodes, inode, from)
    }

    /// Writes what waits if it is much.
    pub(super) fn relieve(&mut self) -> Result<()> {
        if self.dirty.len() > WAITING_MAX || self.nodes.waiting() > WAITING_MAX as u64 {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes what waits: data, and then nodes. Nothing of it counts before the next checkpoint.
    pub(super) fn flush(&mut self) -> Result<()> {
        let mut last: Option<Inode> = None;
        while let Some(((ino, index), block)) = self.dirty.pop_first() {
            let inode = match last.take().filter(|inode| inode.ino == ino) {
                Some(inode) => inode,
                None => self.nodes.inode(ino)?,
            };
            if let Err(error) = self.write(&inode, index, &block) {
                self.dirty.put((ino, index), block);
                return Err(error);
            }
            last = Some(inode);
        }
        self.nodes.flush()
    }

    /// Blocks of a file that wait to be written.
    pub(super) fn waiting_of(&self, ino: Nid) -> usize {
        self.dirty.range((ino, 0)..=(ino, u64::MAX)).count()
    }

    /// Writes what waits of a file: over what stands there, with `in_place`, where anything does.
    pub(super) fn flush_file(&mut self, inode: &Inode, in_place: bool) -> Result<()> {
        let span = (inode.ino, 0)..=(inode.ino, u64::MAX);
        while let Some((key, block)) =
            self.dirty.range(span.clone()).next().map(|(key, block)| (*key, block.clone()))
        {
            self.dirty.remove(&key);
            let (_, index) = key;
            let slot = self.slot(inode, index)?;
            match index::get(&self.nodes, inode, &slot)? {
                addr if in_place && addr.is_block() => self.nodes.writer_mut().overwrite(addr, &block)?,
                _ => self.write(inode, index, &block)?,
            }
        }
        Ok(())
    }

    fn slot(&self, inode: &Inode, index: u64) -> Result<Slot> {
        match index::find(&self.nodes, inode, index)? {
            Found::Slot(slot) => Ok(slot),
            Found::Missing(_) => {
                Err(corrupt(Place::Inode(inode.ino), "no node leads to block", index, 0_u32))
            }
        }
    }

    fn write(&mut self, inode: &Inode, index: u64, block: &[u8]) -> Result<()> {
        let slot = self.slot(inode, index)?;
        let old = index::get(&self.nodes, inode, &slot)?;
        let version = self.nodes.writer().entry(slot.nid)?.version;
        let owner = Summary { nid: slot.nid, version, offset: half(slot.offset) };
        let log = self.log(inode);
        let writer = self.nodes.writer_mut();
        let addr = writer.append_data(log, block, std::iter::once(owner))?;
        writer.release(old)?;
        index::set(&mut self.nodes, &slot, addr)
    }

    /// The log that blocks of a file go to.
    pub(super) fn log(&self, inode: &Inode) -> Log {
        let is_quota = self.nodes.writer().super_block().quota_inodes().contains(&inode.ino);
        match inode.kind {
            FileKind::Dir => Log::HotData,
            _ if is_quota || inode.advise.has(Advise::HOT) => Log::HotData,
            _ if inode.advise.has(Advise::COLD) => Log::ColdData,
            _ => Log::WarmData,
        }
    }
}

/// Blocks that moved are in no extent: the kernel believes what the inode says of them.
pub(super) const NO_EXTENT: Extent = Extent { first: 0, addr: BlockAddr::NULL, blocks: 0 };
