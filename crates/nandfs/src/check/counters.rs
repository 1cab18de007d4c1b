//! The counters of the checkpoint.

use alloc::format;

use super::Check;
use super::blocks::Tally;
use super::known::What;
use crate::files::Files;

impl Check<'_, '_> {
    pub(super) fn counters(&mut self, tally: Option<Tally>) {
        if let Some(tally) = tally {
            self.counter("counter-free", "free erase blocks", self.log.blocks.free(), tally.free);
            self.counter("counter-bad", "bad erase blocks", self.log.blocks.bad(), tally.bad);
        }
        if self.complete {
            let is_inode = |what| matches!(what, What::Inode(_));
            let inodes = self.known.values().filter(|known| is_inode(known.what)).count() as u64;
            let Files { nodes, data_blocks, .. } = &self.files;
            let (counted, blocks, bytes) = (nodes.inodes, *data_blocks, nodes.bytes);
            self.counter("counter-inodes", "inodes", counted, inodes);
            self.counter("counter-data-blocks", "blocks of files", blocks, self.data_blocks);
            self.counter("counter-node-bytes", "bytes of nodes", bytes, self.node_bytes);
        }
    }

    fn counter(&mut self, code: &'static str, what: &str, counted: impl Into<u64>, wanted: impl Into<u64>) {
        let (counted, wanted) = (counted.into(), wanted.into());
        if counted != wanted {
            self.found.add(code, format!("the checkpoint counts {counted} {what}, there are {wanted}"));
        }
    }
}
