//! The way from an inode to a block of its file, through up to three levels of nodes.

use super::{BlockSize, Inode, NodeOffset};
use crate::word::word;

/// The way from an inode to the address of a block of its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// The number among the inode's five nodes, and then the entry of each indirect one; unused steps are `None`.
    /// `None` first: the address stands in the inode.
    pub steps: [Option<u32>; 3],
    /// The number among the last node's addresses.
    pub slot: u32,
    /// The place of each node on the way.
    pub offsets: [NodeOffset; 3],
}

impl Way {
    /// The way to block `index`; `None` if no file reaches so far. `per_node` is how many words a node has.
    pub fn to(inode: &Inode, index: u64, per_node: u32) -> Option<Way> {
        let (own, direct, nids) =
            (u64::from(inode.own_addrs()), u64::from(inode.node_addrs()), u64::from(per_node));
        let at = |value: u64| word(value);
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
            return made(
                [Some(2 + which), Some(below), None],
                inside % direct,
                [place, place + 1 + below, 0],
            );
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

    /// The number among the inode's direct nodes of the one at its end.
    pub fn direct_index(&self, size: BlockSize) -> u32 {
        let depth = self.steps.iter().flatten().count();
        let last = depth.checked_sub(1).and_then(|at| self.offsets.get(at));
        last.and_then(|offset| offset.direct_index(size)).unwrap_or(u32::MAX)
    }

    /// Blocks from this one on to the end of the part below step `level`, if the way ends because that node is missing.
    pub fn missing_below(&self, inode: &Inode, level: usize, per_node: u32) -> u64 {
        let direct = u64::from(inode.node_addrs());
        let nids = u64::from(per_node);
        let step = |at: usize| self.steps.get(at).copied().flatten().map(u64::from);
        // Blocks below the entry that is null, and how far into them the block is.
        let deepest = step(2).map_or(usize::from(step(1).is_some()), |_| 2);
        let mut inside = u64::from(self.slot);
        let mut below = direct;
        for at in (level + 1..=deepest).rev() {
            inside += step(at).unwrap_or(0) * below;
            below *= nids;
        }
        below - inside
    }
}
