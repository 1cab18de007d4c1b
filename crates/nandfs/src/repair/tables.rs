//! Both tables, counted anew from the nodes that stay.

use alloc::{format, vec::Vec};

use pumice_vfs::Result;

use super::scan::{Scan, Write};
use super::work::Repair;
use crate::blocks::{State, Usage};
use crate::files::Files;
use crate::log::Log;
use crate::node::Node;
use crate::nodes::NODE_ROOTS;
use crate::pages::{ROOT_HEAD, Spare};
use crate::params::ANCHOR_BLOCKS;
use crate::survey::Record;
use crate::table::Table;
use crate::tag::ChunkKind;

impl Files {
    /// Replays the writes of fsync behind the nodes that were found.
    pub(super) fn replay_writes(&mut self, log: &mut Log<'_>, scan: &Scan) {
        let (writes, commits) = scan.newer_writes();
        for Write { page, tag, lengths } in writes {
            self.replay_record(log, &Record { page, tag, lengths, names: None }, &commits);
        }
    }
}

impl Repair<'_> {
    /// Makes both tables anew, and the window. Nothing was written so far, and writes from here on go to blocks that
    /// hold nothing.
    pub(super) fn count_blocks(&mut self) -> Result<()> {
        self.nodes_that_stay()?;
        let usages = self.usages()?;
        let free: Vec<u32> =
            (0..).zip(&usages).filter(|(_, usage)| usage.is_free()).map(|(block, _)| block).collect();
        let params = &self.log.params;
        let read = self.scan.iter().flat_map(Scan::needed).map(|page| params.block_of(page)).collect();
        let most = self.log.reach.window_most().min(self.log.recorded.limits().window_words / 2);
        let order = self.before.order(&free, &read, most);
        self.log.blocks.count_anew(usages);
        self.log.pages.set_window(order.into_iter().map(|block| Spare { block, erased: false }));
        core::mem::take(&mut self.unguarded).into_iter().try_for_each(|block| self.log.distrust(block))
    }

    fn nodes_that_stay(&mut self) -> Result<()> {
        let (mut inodes, mut bytes) = (0, 0);
        let table = Table::new(ChunkKind::NodeTable, self.log.params.node, NODE_ROOTS);
        self.files.nodes.table = table;
        for (nid, addr) in core::mem::take(&mut self.nodes) {
            if !self.tree.live.contains(&nid) {
                self.files.nodes.forget(nid);
                continue;
            }
            self.files.nodes.set_addr(nid, addr);
            bytes += u64::from(addr.len);
            self.count(addr);
            let node = self.files.nodes.current(&mut self.log.pages, nid)?;
            inodes += u64::from(matches!(node, Node::Inode(_)));
        }
        let nodes = &mut self.files.nodes;
        (nodes.inodes, nodes.bytes) = (inodes, bytes);
        self.files.data_blocks = self.mapped;
        Ok(())
    }

    /// The use of each erase block.
    fn usages(&mut self) -> Result<Vec<Usage>> {
        let mut usages = Vec::new();
        let mut unknown = 0;
        for (block, valid) in (0..).zip(self.live.clone()) {
            let known = self.log.usage(block);
            unknown += u32::from(known.is_err());
            // Ages and wear of blocks that the table does not tell of are not known any more.
            let mut usage = known.unwrap_or(Usage { stamp: self.log.blocks.clock(), ..Usage::default() });
            let is_root = self.log.roots.holds(block) || self.log.pages.holds_copies(block);
            usage.state = match usage.state {
                _ if self.log.pages.is_bad(block)? && valid == 0 => State::Bad,
                _ if block < ANCHOR_BLOCKS => State::Anchor,
                State::Failing => State::Failing,
                _ if valid > 0 || is_root => State::Used,
                // A page that only seemed erased may be among those that could not be read.
                _ => State::Dirty,
            };
            if is_root {
                usage.head = ROOT_HEAD;
            }
            usages.push(Usage { valid, ..usage });
        }
        if unknown > 0 {
            self.tell("table-page", format!("the block table has lost {unknown} entries: counted anew"));
        }
        for head in 0..self.log.pages.head_count() {
            self.log.pages.resume(head, None);
        }
        Ok(usages)
    }
}
