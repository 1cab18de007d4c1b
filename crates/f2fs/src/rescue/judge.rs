//! Whether the blocks of a file that was deleted are still its own.

use crate::{
    error::Result,
    fs::F2fs,
    layout::{BlockAddr, Inode, Nid, Summary},
    nodes::Mapped,
    volume::Node,
};

/// The blocks of a deleted file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Blocks {
    /// Those that the SSA still gives to the file.
    pub(super) own: u64,
    /// Those that others have, or that hold nothing but zeros, as after a discard.
    pub(super) foreign: u64,
    /// A node or attribute is not there.
    pub(super) is_broken: bool,
}

/// Looks at every block of an inode of `size` bytes that was deleted.
///
/// Time: one read of the file.
pub(super) fn judge(fs: &F2fs, inode: &Inode, node: &Node, size: u64) -> Blocks {
    let mut blocks = Blocks::default();
    let attributes = fs.nodes().xattrs(inode, node);
    let is_whole =
        attributes.is_ok() && (!inode.has_addrs() || look(fs, (inode, node), size, &mut blocks).is_ok());
    blocks.is_broken = !is_whole;
    blocks
}

fn look(fs: &F2fs, (inode, node): (&Inode, &Node), size: u64, blocks: &mut Blocks) -> Result<()> {
    let end = size.div_ceil(fs.volume().block_size().bytes_u64()).min(fs.nodes().blocks_limit(inode));
    let mut index = 0;
    while index < end {
        let run = fs.nodes().run_at(inode, node, index, end - index)?;
        if let Mapped::At(first) = run.mapped {
            let (nid, slot) = owner(fs, inode, node, index)?;
            for (inside, offset) in (0..run.blocks).zip(0_u32..) {
                let place = first.plus(offset).zip(slot.checked_add(inside));
                let is_own = place.is_some_and(|(addr, slot)| is_own(fs, addr, nid, slot));
                if is_own { blocks.own += 1 } else { blocks.foreign += 1 }
            }
        }
        index = index.saturating_add(run.blocks.max(1));
    }
    Ok(())
}

/// The node that has the address of a block of a file, and the number there.
fn owner(fs: &F2fs, inode: &Inode, node: &Node, index: u64) -> Result<(Nid, u64)> {
    let Some(behind) = index.checked_sub(inode.own_addrs().into()) else {
        return Ok((node.footer.nid, index));
    };
    let (below, _) = fs.nodes().node_below(inode, node, index)?;
    let nid = below.map_or(Nid::NULL, |node| node.footer.nid);
    Ok((nid, behind % u64::from(inode.node_addrs())))
}

/// True if the SSA gives a block to an address of a node as it was before its number was given up, and the block is not
/// in use and holds something.
fn is_own(fs: &F2fs, addr: BlockAddr, nid: Nid, slot: u64) -> bool {
    let volume = fs.volume();
    let (Ok(entry), Ok(Some(summary)), Ok(false)) =
        (volume.stored_nat_entry(nid), volume.summary(addr), volume.is_valid(addr))
    else {
        return false;
    };
    // A number that is given up counts one more.
    let version = entry.version.wrapping_sub(1);
    let wanted = u16::try_from(slot).map(|offset| Summary { nid, version, offset });
    let mut block = vec![0; volume.block_size().width()];
    let is_read = volume.read_blocks(addr, &mut block).is_ok();
    wanted == Ok(summary) && is_read && block.iter().any(|byte| *byte != 0)
}
