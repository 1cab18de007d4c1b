//! The promises of fsync since the last checkpoint, made a part of the volume: found by [`crate::recovery`], counted
//! here.

use pumice_vfs::FileKind;

use super::{
    blocks::{Blocks, NO_EXTENT},
    directory,
    index::{self, Found},
    tree::Tree,
};
use crate::{
    error::{Error, Result},
    layout::{BlockAddr, Inode, Nid, NodeOffset, Summary},
    nodes::{Nodes as Recovered, word},
    recovery::BrokenPromise,
    volume::Block,
    word::half,
};

/// Takes over everything that differs from the checkpoint. Inodes that lost their last name by it are orphans then.
pub(super) fn replay(tree: &mut Tree, found: &Recovered) -> Result<()> {
    run(tree, found, None)
}

/// The same on a volume under repair: blocks that cannot be taken over are holes, and are told.
pub(super) fn replay_sound(tree: &mut Tree, found: &Recovered) -> Result<Vec<BrokenPromise>> {
    let mut broken = Vec::new();
    run(tree, found, Some(&mut broken))?;
    Ok(broken)
}

fn run(tree: &mut Tree, found: &Recovered, mut broken: Option<&mut Vec<BrokenPromise>>) -> Result<()> {
    let blocks = tree.blocks_mut();
    blocks.nodes_mut().writer_mut().withhold(&found.chain_blocks()?)?;
    let inos: Vec<Nid> = found.overlay().inodes.keys().copied().collect();
    let mut known = Vec::new();
    for ino in inos {
        let (new, node) = found.inode(ino)?;
        let is_known = blocks.nodes().has_inode(ino)?;
        known.push((new, node.block, is_known));
    }
    // Numbers first: nodes that are made on the way must not get those of inodes.
    for (new, _, _) in known.iter().filter(|(_, _, is_known)| !is_known) {
        blocks.nodes_mut().claim_inode(new.ino, new.kind == FileKind::Dir)?;
    }
    // Blocks are given up before others are taken over: a block may have gone from one file to another.
    for (new, block, _) in known.iter().filter(|(_, _, is_known)| *is_known) {
        Replay { blocks, found, broken: None }.give_up(new, block)?;
    }
    for (new, block, is_known) in &known {
        let broken = broken.as_deref_mut();
        Replay { blocks, found, broken }.take_over(new, block, *is_known)?;
    }
    blocks.nodes_mut().writer_mut().step_aside()?;
    for (new, _, _) in known.iter().filter(|(new, _, _)| new.links == 0) {
        check_empty(tree.blocks(), new)?;
        tree.set_orphan(new.ino);
    }
    Ok(())
}

/// A directory that lost its name to a file took everything in it along, and that cannot have been promised.
fn check_empty(blocks: &Blocks, inode: &Inode) -> Result<()> {
    if inode.kind == FileKind::Dir && !directory::is_empty(blocks, &blocks.nodes().inode(inode.ino)?)? {
        let ino = inode.ino;
        return Err(Error::Unsupported(format!(
            "cannot be written to: a promise of fsync has the name of directory {ino}, which is not empty"
        )));
    }
    Ok(())
}

struct Replay<'a> {
    blocks: &'a mut Blocks,
    found: &'a Recovered,
    /// Blocks that cannot be taken over are told here, and are holes then.
    broken: Option<&'a mut Vec<BrokenPromise>>,
}

impl Replay<'_> {
    /// Direct nodes that differ: the number of each among the inode's, and its addresses.
    fn direct(&self, inode: &Inode) -> Result<Vec<(u64, Vec<BlockAddr>)>> {
        let (volume, ino) = (self.found.volume(), inode.ino);
        let span = self.found.overlay().direct.range((ino, 0)..=(ino, u32::MAX));
        span.map(|((_, index), block)| {
            let first = u64::from(inode.own_addrs()) + u64::from(*index) * u64::from(inode.node_addrs());
            Ok((first, words(&block.bytes(volume)?, 0, inode.node_addrs())))
        })
        .collect()
    }

    /// Gives back the blocks that an inode has no more.
    fn give_up(&mut self, new: &Inode, block: &Block) -> Result<()> {
        let mut old = self.blocks.nodes().inode(new.ino)?;
        if new.has_inline_data() && !old.has_inline_data() {
            self.blocks.cut(&mut old, 0)?;
            return self.blocks.nodes_mut().put(&old);
        }
        let before = own_words(&old, &self.blocks.nodes().inode_block(old.ino)?);
        self.release(&before, &own_words(new, block))?;
        for (first, after) in self.direct(new)? {
            let Found::Slot(slot) = index::find(self.blocks.nodes(), &old, first)? else { continue };
            let before = words(&self.blocks.nodes().peek(slot.nid)?, 0, old.node_addrs());
            self.release(&before, &after)?;
        }
        Ok(())
    }

    fn release(&mut self, before: &[BlockAddr], after: &[BlockAddr]) -> Result<()> {
        for (at, addr) in before.iter().enumerate() {
            if after.get(at) != Some(addr) {
                self.blocks.nodes_mut().writer_mut().release(*addr)?;
            }
        }
        Ok(())
    }

    /// Makes an inode, and the nodes below it, as they were found.
    fn take_over(&mut self, new: &Inode, block: &Block, is_known: bool) -> Result<()> {
        let ino = new.ino;
        let old = is_known.then(|| self.blocks.nodes().inode(ino)).transpose()?;
        let before = match &old {
            Some(old) => own_words(old, &self.blocks.nodes().inode_block(ino)?),
            None => Vec::new(),
        };
        let mut inode = new.clone();
        inode.blocks = old.as_ref().map_or(1, |old| old.blocks);
        inode.xattr_nid = old.as_ref().map_or(Nid::NULL, |old| old.xattr_nid);
        inode.extent = NO_EXTENT;
        self.blocks.nodes_mut().fill_inode(ino, block)?;
        self.count(&mut inode, ino, &before, &own_words(new, block))?;
        for (first, after) in self.direct(new)? {
            self.direct_node(&mut inode, first, &after)?;
        }
        self.attributes(&mut inode)?;
        self.leaves(&mut inode)?;
        self.blocks.nodes_mut().count_inode(old.as_ref(), &inode)
    }

    fn direct_node(&mut self, inode: &mut Inode, first: u64, after: &[BlockAddr]) -> Result<()> {
        let slot = index::make(self.blocks.nodes_mut(), inode, first)?;
        let before = words(&self.blocks.nodes().peek(slot.nid)?, 0, inode.node_addrs());
        let bytes = after.iter().flat_map(|addr| addr.0.to_le_bytes());
        let place = self.blocks.nodes_mut().edit(slot.nid)?;
        place.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        self.count(inode, slot.nid, &before, after)
    }

    /// Counts blocks that node `nid` has now, and did not have before.
    fn count(
        &mut self,
        inode: &mut Inode,
        nid: Nid,
        before: &[BlockAddr],
        after: &[BlockAddr],
    ) -> Result<()> {
        let version = self.blocks.nodes().writer().entry(nid)?.version;
        let used = |addrs: &[BlockAddr]| addrs.iter().filter(|addr| **addr != BlockAddr::NULL).count() as u64;
        inode.blocks = (inode.blocks + used(after)).saturating_sub(used(before));
        let mut adopted = Vec::new();
        for ((at, addr), offset) in after.iter().enumerate().zip(0_u32..) {
            if before.get(at) == Some(addr) {
                continue;
            }
            match *addr {
                BlockAddr::NULL => {}
                BlockAddr::NEW | BlockAddr::COMPRESSED => {
                    self.blocks.nodes_mut().writer_mut().promise_data(1);
                }
                addr => adopted.push((addr, Summary { nid, version, offset: half(offset) })),
            }
        }
        let log = self.blocks.log(inode);
        if self.broken.is_none() {
            return self.blocks.nodes_mut().writer_mut().adopt(log, &adopted);
        }
        for (addr, owner) in adopted {
            match self.blocks.nodes_mut().writer_mut().adopt(log, &[(addr, owner)]) {
                Err(error @ Error::Corrupt(_)) => self.hole(inode, owner, &error)?,
                done => done?,
            }
        }
        Ok(())
    }

    /// Makes a hole of the address that owns a block.
    fn hole(&mut self, inode: &mut Inode, owner: Summary, why: &Error) -> Result<()> {
        if let Some(broken) = &mut self.broken {
            let what = format!("address {} of node {} is a hole now: {why}", owner.offset, owner.nid);
            broken.push(BrokenPromise::of(inode.ino, what));
        }
        let start = if owner.nid == inode.ino { inode.addrs_at() } else { 0 };
        let node = self.blocks.nodes_mut().edit(owner.nid)?;
        let word = node.iter_mut().skip(start + usize::from(owner.offset) * 4);
        word.zip(BlockAddr::NULL.0.to_le_bytes()).for_each(|(to, from)| *to = from);
        inode.lose_block()
    }

    fn attributes(&mut self, inode: &mut Inode) -> Result<()> {
        let Some(addr) = self.found.overlay().xattrs.get(&inode.ino) else { return Ok(()) };
        let block = self.found.volume().block(*addr)?;
        let nodes = self.blocks.nodes_mut();
        if inode.xattr_nid.is_null() {
            inode.xattr_nid = nodes.make(inode, NodeOffset::XATTR)?;
            inode.blocks += 1;
        } else {
            nodes.read(inode.xattr_nid, inode.ino, NodeOffset::XATTR)?;
        }
        nodes.fill_xattrs(inode.xattr_nid, &block)
    }

    fn leaves(&mut self, inode: &mut Inode) -> Result<()> {
        let ino = inode.ino;
        self.blocks.digests().forget_all_of(ino);
        for ((_, index), block) in self.found.overlay().leaves.range((ino, 0)..=(ino, u64::MAX)) {
            let bytes = block.bytes(self.found.volume())?;
            self.blocks.put(inode, *index, &bytes)?;
        }
        Ok(())
    }
}

/// The addresses in an inode, if its words are addresses.
fn own_words(inode: &Inode, block: &[u8]) -> Vec<BlockAddr> {
    if !inode.has_addrs() {
        return Vec::new();
    }
    words(block, inode.addrs_at(), inode.own_addrs())
}

fn words(block: &[u8], at: usize, count: u32) -> Vec<BlockAddr> {
    let bytes = block.get(at..at + count as usize * 4);
    debug_assert!(bytes.is_some(), "words behind the end of a node");
    bytes.unwrap_or_default().chunks_exact(4).map(word).collect()
}
