//! From a block of a file to its address: through the inode and up to three levels of nodes.

use crate::{
    error::{Error, Place, Result, corrupt},
    layout::{BlockAddr, BlockSize, Inode, InodeFlags, Nid, NodeOffset},
    volume::{Node, Volume},
};

/// What stands at a block of a file.
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
    /// What stands at the first.
    pub mapped: Mapped,
    /// How many.
    pub blocks: u64,
}

/// The way from an inode to the addresses of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Way {
    /// Which of the inode's five nodes, and then which entry of each indirect one; unused steps are `None`.
    /// `None` first: the address stands in the inode.
    steps: [Option<u32>; 3],
    /// Which address of the last node.
    slot: u32,
    /// The place of each node on the way.
    offsets: [NodeOffset; 3],
}

impl Way {
    /// Which of the inode's direct nodes is at its end.
    fn direct_index(&self, size: BlockSize) -> u32 {
        let depth = self.steps.iter().flatten().count();
        let last = depth.checked_sub(1).and_then(|at| self.offsets.get(at));
        last.and_then(|offset| offset.direct_index(size)).unwrap_or(u32::MAX)
    }
}

/// Finds the way to block `index`; `None` if no file reaches so far.
fn way(inode: &Inode, index: u64, per_node: u32) -> Option<Way> {
    let (own, direct, nids) =
        (u64::from(inode.own_addrs()), u64::from(inode.node_addrs()), u64::from(per_node));
    let at = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    let made = |steps: [Option<u64>; 3], slot: u64, offsets: [u64; 3]| {
        Some(Way {
            steps: steps.map(|step| step.map(at)),
            slot: at(slot),
            offsets: offsets.map(|offset| NodeOffset(at(offset))),
        })
    };
    if index < own {
        return made([None; 3], index, [0; 3]);
    }
    let index = index - own;
    if index < 2 * direct {
        return made([Some(index / direct), None, None], index % direct, [1 + index / direct, 0, 0]);
    }
    let index = index - 2 * direct;
    let indirect = direct * nids;
    if index < 2 * indirect {
        let (which, inside) = (index / indirect, index % indirect);
        let place = 3 + which * (nids + 1);
        let below = inside / direct;
        return made([Some(2 + which), Some(below), None], inside % direct, [place, place + 1 + below, 0]);
    }
    let index = index - 2 * indirect;
    if index < indirect * nids {
        let (above, inside) = (index / indirect, index % indirect);
        let place = 5 + 2 * nids;
        let middle = place + 1 + above * (nids + 1);
        let below = inside / direct;
        return made(
            [Some(4), Some(above), Some(below)],
            inside % direct,
            [place, middle, middle + 1 + below],
        );
    }
    None
}

/// Where the addresses of a block were found.
enum Found {
    /// In a node, from byte `at` on; `left` of them.
    Words { node: Node, at: usize, left: u32 },
    /// The way ends early: so many blocks are a hole.
    Missing(u64),
}

impl Volume {
    /// Blocks a file of this inode could have.
    pub fn blocks_limit(&self, inode: &Inode) -> u64 {
        let (direct, nids) = (u64::from(inode.node_addrs()), u64::from(self.block_size().node_words()));
        u64::from(inode.own_addrs()) + direct * (2 + 2 * nids + nids * nids)
    }

    /// What stands at block `index` of a file and, of the same sort, behind it; at most `most` blocks.
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
        let per_node = self.block_size().node_words();
        let Some(way) = way(inode, index, per_node) else {
            return Ok(Found::Missing(u64::MAX));
        };
        if way.steps[0].is_none() {
            let at = inode.addrs_at() + way.slot as usize * 4;
            return Ok(Found::Words { node: node.clone(), at, left: inode.own_addrs() - way.slot });
        }
        let direct = way.direct_index(self.block_size());
        if let Some(node) = self.overlay().direct(self, inode.ino, direct)? {
            let left = inode.node_addrs() - way.slot;
            return Ok(Found::Words { node, at: way.slot as usize * 4, left });
        }
        match self.descend(inode, node, &way)? {
            Ok(node) => {
                let left = inode.node_addrs() - way.slot;
                Ok(Found::Words { node, at: way.slot as usize * 4, left })
            }
            Err(level) => {
                let missing = missing(inode, &way, level, per_node);
                let next = self.overlay().direct_behind(inode.ino, direct);
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
        let Some(way) = way(inode, index, self.block_size().node_words()) else {
            return Ok((None, Vec::new()));
        };
        let direct = way.direct_index(self.block_size());
        if let Some(node) = self.overlay().direct(self, inode.ino, direct)? {
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
                    if addr != want || !self.is_main(addr) {
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
            _ if self.is_main(addr) => Ok(Mapped::At(addr)),
            _ => Err(outside(inode.ino, addr, self.super_block().main_end())),
        }
    }

    /// A file that stands for a device is one extent, which the inode names.
    fn alias_run(&self, inode: &Inode, index: u64, most: u64) -> Run {
        let inside = index.checked_sub(u64::from(inode.extent.first));
        let left = inside.and_then(|inside| u64::from(inode.extent.blocks).checked_sub(inside));
        let addr = inside
            .and_then(|inside| u32::try_from(inside).ok())
            .and_then(|inside| inode.extent.addr.plus(inside))
            .filter(|addr| self.is_main(*addr));
        match (addr, left) {
            (Some(addr), Some(left)) if left > 0 => Run { mapped: Mapped::At(addr), blocks: left.min(most) },
            _ => Run { mapped: Mapped::Hole, blocks: most },
        }
    }
}

/// Blocks from the end of the way's `level` on to the end of what would be below it.
fn missing(inode: &Inode, way: &Way, level: usize, per_node: u32) -> u64 {
    let direct = u64::from(inode.node_addrs());
    let nids = u64::from(per_node);
    let step = |at: usize| way.steps.get(at).copied().flatten().map(u64::from);
    // Blocks below the entry that is null, and how far into them the block is.
    let deepest = step(2).map_or(usize::from(step(1).is_some()), |_| 2);
    let mut inside = u64::from(way.slot);
    let mut below = direct;
    for at in (level + 1..=deepest).rev() {
        inside += step(at).unwrap_or(0) * below;
        below *= nids;
    }
    below - inside
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
