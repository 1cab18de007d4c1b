//! Every node: it reads, decodes, and is the one that the node table says.

use alloc::{collections::BTreeSet, format, vec::Vec};

use super::Check;
use super::known::{Known, What};
use crate::addr::Addr;
use crate::node::Node;
use crate::nodes::ROOT;

impl Check<'_, '_> {
    pub(super) fn tables_and_nodes(&mut self) {
        let leaves = self.node_table();
        let per_leaf = self.files.nodes.table.per_leaf();
        for leaf in &leaves {
            for slot in 0..per_leaf {
                if let Some(nid) = leaf.checked_mul(per_leaf).and_then(|first| first.checked_add(slot)) {
                    self.node(nid);
                }
            }
        }
        let mut others: BTreeSet<u32> = self.files.nodes.dirty_nids(None).into_iter().collect();
        others.extend(self.files.nodes.table.overlay.keys());
        others.insert(ROOT);
        others.retain(|nid| leaves.binary_search(&(nid / per_leaf)).is_err());
        for nid in others {
            self.node(nid);
        }
        self.done = self.files.nodes.end().into();
    }

    fn node(&mut self, nid: u32) {
        self.files.look(&mut self.log);
        // An unreadable page of the table has been told.
        let Ok(addr) = self.files.nodes.addr(&mut self.log.pages, nid) else { return };
        let in_memory = self.files.nodes.is_dirty(nid);
        if addr == Addr::NONE && !in_memory {
            return;
        }
        if nid < self.files.nodes.end() {
            self.step(1);
        }
        let mut node = self.stored_node(nid, addr);
        if in_memory {
            node = self.files.nodes.current(&mut self.log.pages, nid).ok();
        }
        // The checkpoint's copy is older than the promise.
        if self.files.nodes.is_lost(nid) {
            node = None;
        }
        let next = self.files.nodes.end();
        if nid == 0 || nid >= next {
            self.found.add("node-id", format!("node {nid} exists, ids in use are 1 to {}", next - 1));
        }
        self.complete &= node.is_some();
        self.known.insert(nid, Known::of(node.as_ref()));
    }

    /// The node as it lies on the chip.
    fn stored_node(&mut self, nid: u32, addr: Addr) -> Option<Node> {
        if addr == Addr::NONE {
            return None;
        }
        self.node_bytes += u64::from(addr.len);
        if !self.is_possible(addr) {
            let Addr { page, offset, len } = addr;
            self.found
                .add("node-address", format!("node {nid}: {len} bytes at byte {offset} of log page {page}"));
            return None;
        }
        self.count(addr);
        match self.files.nodes.read_at(&mut self.log.pages, nid, addr, None) {
            Ok(node) => Some(node),
            Err(error) => {
                self.found.add_of("node-unreadable", Some(nid), format!("node {nid}: {error}"));
                None
            }
        }
    }

    /// The ids of all inodes that could be read.
    pub(super) fn inode_ids(&self) -> Vec<u32> {
        let inodes = self.known.iter().filter(|(_, known)| matches!(known.what, What::Inode(_)));
        inodes.map(|(nid, _)| *nid).collect()
    }
}
