//! The map from a block of a file to its address: through the inode and up to three levels of nodes.

use super::Nodes;
use crate::{
    error::{Error, Place, Result, corrupt},
    layout::{BlockAddr, Inode, InodeFlags, Nid, NodeOffset, Way},
    volume::Node,
};

/// The address at a block of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mapped {
    /// Nothing: reads as zeros.
    Hole,
    /// Space is reserved, nothing written: reads as zeros.
    Reserved,
    /// The first slot of a compressed cluster.
    Compressed,
    /// A block of the main area.
    At(BlockAddr),
}

/// A run of blocks of a file of one sort, in the main area one behind the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The address of the first.
    pub mapped: Mapped,
    /// The number of blocks.
    pub blocks: u64,
}

/// The place where the addresses of a block were found.
enum Found {
    /// A node, from byte `at` on; `left` of them.
    Words { node: Node, at: usize, left: u32 },
    /// The way ends early: so many blocks are a hole.
    Missing(u64),
}

impl Nodes {
    /// Blocks a file of this inode could have.
    pub fn blocks_limit(&self, inode: &Inode) -> u64 {
        let (direct, nids) =
            (u64::from(inode.node_addrs()), u64::from(self.volume.block_size().node_words()));
        u64::from(inode.own_addrs()) + direct * (2 + 2 * nids + nids * nids)
    }

    /// Bytes a file of this inode could have: inside the inode, if its data are there.
    pub fn bytes_limit(&self, inode: &Inode) -> u64 {
        if inode.has_inline_data() {
            return inode.inline_range().len() as u64;
        }
        self.blocks_limit(inode).saturating_mul(self.volume.block_size().bytes_u64())
    }

    /// The run of addresses of the same sort from block `index` of a file on; at most `most` blocks.
    pub fn run_at(&self, inode: &Inode, node: &Node, index: u64, most: u64) -> Result<Run> {
        if inode.flags.has(InodeFlags::DEVICE_ALIAS) {
            return Ok(self.alias_run(inode, index, most));
        }
        match self.find(inode, node, index)? {
            Found::Missing(blocks) => Ok(Run { mapped: Mapped::Hole, blocks: blocks.min(most) }),
            Found::Words { node, at, left } => {
                let most = usize::try_from(most).map_or(left as usize, |most| most.min(left as usize));
                let words = node.block.get(at..at + most * 4).unwrap_or_default();
                self.run_in(inode, words)
            }
        }
    }

    /// The number of unreadable blocks from `index` on that hang from the same damaged node; 1 if the nodes are sound.
    pub(crate) fn damaged_run(&self, inode: &Inode, node: &Node, index: u64) -> u64 {
        let per_node = self.volume.block_size().node_words();
        let Some(way) = Way::to(inode, index, per_node) else { return u64::MAX };
        let levels = way.steps.iter().flatten().count();
        let is_broken = |level: &usize| {
            let mut short = way;
            short.steps.iter_mut().skip(level + 1).for_each(|step| *step = None);
            self.descend(inode, node, &short).is_err()
        };
        (0..levels).find(is_broken).map_or(1, |level| way.missing_below(inode, level, per_node))
    }

    /// The addresses of the `count` blocks from `index` on, which stand in one node: a cluster.
    pub(crate) fn addrs(&self, inode: &Inode, node: &Node, index: u64, count: u32) -> Result<Vec<BlockAddr>> {
        match self.find(inode, node, index)? {
            Found::Missing(_) => Ok(vec![BlockAddr::NULL; count as usize]),
            Found::Words { node, at, left } => {
                let words = node.block.get(at..at + count.min(left) as usize * 4).unwrap_or_default();
                Ok(words.chunks_exact(4).map(word).collect())
            }
        }
    }

    fn find(&self, inode: &Inode, node: &Node, index: u64) -> Result<Found> {
        let per_node = self.volume.block_size().node_words();
        let Some(way) = Way::to(inode, index, per_node) else {
            return Ok(Found::Missing(u64::MAX));
        };
        if way.steps[0].is_none() {
            let at = inode.addrs_at() + way.slot as usize * 4;
            return Ok(Found::Words { node: node.clone(), at, left: inode.own_addrs() - way.slot });
        }
        let direct = way.direct_index(self.volume.block_size());
        if let Some(node) = self.overlay.direct(&self.volume, inode.ino, direct)? {
            let left = inode.node_addrs() - way.slot;
            return Ok(Found::Words { node, at: way.slot as usize * 4, left });
        }
        match self.descend(inode, node, &way)? {
            Ok(node) => {
                let left = inode.node_addrs() - way.slot;
                Ok(Found::Words { node, at: way.slot as usize * 4, left })
            }
            Err(level) => {
                let missing = way.missing_below(inode, level, per_node);
                let next = self.overlay.direct_behind(inode.ino, direct);
                let direct_blocks = u64::from(inode.node_addrs());
                let before = next
                    .map_or(u64::MAX, |next| u64::from(next - direct) * direct_blocks - u64::from(way.slot));
                Ok(Found::Missing(missing.min(before)))
            }
        }
    }

    /// The direct node that block `index` is in, if there is one, and which nodes would have to be made.
    pub(crate) fn node_below(
        &self,
        inode: &Inode,
        node: &Node,
        index: u64,
    ) -> Result<(Option<Node>, Vec<NodeOffset>)> {
        let Some(way) = Way::to(inode, index, self.volume.block_size().node_words()) else {
            return Ok((None, Vec::new()));
        };
        let direct = way.direct_index(self.volume.block_size());
        if let Some(node) = self.overlay.direct(&self.volume, inode.ino, direct)? {
            return Ok((Some(node), Vec::new()));
        }
        match self.descend(inode, node, &way)? {
            Ok(node) => Ok((Some(node), Vec::new())),
            Err(level) => {
                let steps = way.steps.iter().zip(way.offsets).skip(level);
                let made = steps.filter(|(step, _)| step.is_some()).map(|(_, offset)| offset);
                Ok((None, made.collect()))
            }
        }
    }

    /// The last node of the way; `Err` is the step at which the way ends.
    fn descend(&self, inode: &Inode, node: &Node, way: &Way) -> Result<core::result::Result<Node, usize>> {
        let mut nid = Nid::NULL;
        let mut here: Option<Node> = None;
        for (level, (step, offset)) in way.steps.iter().zip(way.offsets).enumerate() {
            let Some(step) = step else { break };
            nid = match &here {
                None => inode.nids(&node.block).get(*step as usize).copied().unwrap_or_default(),
                Some(above) => nid_in(above, *step),
            };
            if nid.is_null() {
                return Ok(Err(level));
            }
            let next = self.node(nid)?;
            if next.footer.ino != inode.ino {
                return Err(corrupt(Place::Node(nid), "the inode is", next.footer.ino.0, inode.ino.0));
            }
            if next.footer.offset != offset {
                return Err(corrupt(
                    Place::Node(nid),
                    "the place in the inode is",
                    next.footer.offset.0,
                    offset.0,
                ));
            }
            here = Some(next);
        }
        here.map(Ok).ok_or_else(|| corrupt(Place::Node(nid), "steps are", 0_u32, 1_u32))
    }

    /// The run that a row of addresses begins with.
    fn run_in(&self, inode: &Inode, words: &[u8]) -> Result<Run> {
        let mut addrs = words.chunks_exact(4).map(word);
        let Some(first) = addrs.next() else { return Ok(Run { mapped: Mapped::Hole, blocks: 1 }) };
        let mapped = self.mapped(inode, first)?;
        let mut blocks = 1;
        match mapped {
            Mapped::Compressed => {}
            Mapped::Hole | Mapped::Reserved => {
                blocks += addrs.take_while(|addr| *addr == first).count() as u64;
            }
            Mapped::At(_) => {
                let mut want = first;
                for addr in addrs {
                    want = BlockAddr(want.0 + 1);
                    if addr != want || !self.volume.is_main(addr) {
                        break;
                    }
                    blocks += 1;
                }
            }
        }
        Ok(Run { mapped, blocks })
    }

    fn mapped(&self, inode: &Inode, addr: BlockAddr) -> Result<Mapped> {
        match addr {
            BlockAddr::NULL => Ok(Mapped::Hole),
            BlockAddr::NEW => Ok(Mapped::Reserved),
            BlockAddr::COMPRESSED => Ok(Mapped::Compressed),
            _ if self.volume.is_main(addr) => Ok(Mapped::At(addr)),
            _ => Err(outside(inode.ino, addr, self.volume.super_block().main_end())),
        }
    }

    /// A file that stands for a device is one extent, which the inode names.
    fn alias_run(&self, inode: &Inode, index: u64, most: u64) -> Run {
        let inside = index.checked_sub(u64::from(inode.extent.first));
        let left = inside.and_then(|inside| u64::from(inode.extent.blocks).checked_sub(inside));
        let addr = inside
            .and_then(|inside| u32::try_from(inside).ok())
            .and_then(|inside| inode.extent.addr.plus(inside))
            .filter(|addr| self.volume.is_main(*addr));
        match (addr, left) {
            (Some(addr), Some(left)) if left > 0 => Run { mapped: Mapped::At(addr), blocks: left.min(most) },
            _ => Run { mapped: Mapped::Hole, blocks: most },
        }
    }
}

fn nid_in(node: &Node, step: u32) -> Nid {
    let at = step as usize * 4;
    node.block.get(at..at + 4).map_or(Nid::NULL, |bytes| Nid(word(bytes).0))
}

pub(crate) fn word(bytes: &[u8]) -> BlockAddr {
    BlockAddr(bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)))
}

pub(crate) fn outside(ino: Nid, addr: BlockAddr, end: u64) -> Error {
    corrupt(Place::Inode(ino), "an address is", addr.0, end)
}
