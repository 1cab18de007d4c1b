//! Nodes that will be wanted soon, read in runs: most inodes of a directory stand beside each other.

use std::sync::Arc;

use super::Volume;
use crate::layout::{BlockAddr, Nid};

/// Blocks of a run at most.
const RUN_MAX: u32 = 128;
/// Blocks that nobody wants between two that are: reading them along costs less than another read.
const GAP_MAX: u32 = 8;

impl Volume {
    /// Brings the nodes of these numbers into the cache. Unreadable ones are left to their own readers.
    pub(crate) fn read_ahead(&self, nids: &[Nid]) {
        let wanted = nids.iter().filter_map(|nid| self.nat_entry(*nid).ok());
        let wanted = wanted.map(|entry| entry.addr).filter(|addr| self.is_main(*addr));
        let mut addrs: Vec<BlockAddr> = wanted.filter(|addr| self.cache.get(*addr).is_none()).collect();
        addrs.sort_unstable();
        let mut rest = addrs.as_slice();
        while let Some(first) = rest.first() {
            let is_near = |pair: &[BlockAddr]| match pair {
                [one, other] => other.0 - one.0 <= GAP_MAX && other.0 - first.0 < RUN_MAX,
                _ => false,
            };
            let count = 1 + rest.windows(2).take_while(|pair| is_near(pair)).count();
            let (run, later) = rest.split_at(count);
            self.read_run(run);
            rest = later;
        }
    }

    /// Reads from the first to the last of these blocks at once, and keeps them.
    fn read_run(&self, run: &[BlockAddr]) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return };
        let width = self.block_size().width();
        let mut bytes = vec![0; (last.0 - first.0 + 1) as usize * width];
        if self.read_blocks(*first, &mut bytes).is_err() {
            return;
        }
        for addr in run {
            let at = (addr.0 - first.0) as usize * width;
            if let Some(block) = bytes.get(at..at + width) {
                self.cache.put(*addr, &Arc::new(block.to_vec()));
            }
        }
    }
}
