//! Block maps: index nodes hang together, and every chunk that they lead to is there.

use alloc::{format, vec::Vec};

use pumice_vfs::FileKind;

use super::Check;
use super::known::{Place, What};
use crate::addr::Addr;
use crate::node::{IndexBody, Inode, Map, Node};
use crate::pointers::{self, MAX_ODD};

/// The sums of a walk over a block map.
pub(super) struct Tally {
    pub(super) ino: u32,
    is_dir: bool,
    size: u64,
    /// Blocks mapped or reserved.
    pub(super) mapped: u64,
    /// The whole map could be read.
    pub(super) whole: bool,
    /// The blocks of a directory.
    pub(super) buckets: Vec<u32>,
}

impl Tally {
    pub(super) fn of(ino: u32, inode: &Inode) -> Tally {
        let is_dir = inode.kind == FileKind::Dir;
        Tally { ino, is_dir, size: inode.size, mapped: 0, whole: true, buckets: Vec::new() }
    }
}

impl Check<'_, '_> {
    pub(super) fn map(&mut self, map: &Map, tally: &mut Tally) {
        self.pointers(tally.ino, 0, &map.direct, tally);
        let shape = self.files.shape();
        for (child, nid) in (0..).zip(&map.children) {
            let (start, height) = shape.child_start(map.class, child);
            self.index(*nid, start, height, tally);
        }
    }

    /// Walks an index node that must have this height, and its children.
    fn index(&mut self, nid: u32, start: u64, height: u8, tally: &mut Tally) {
        if nid == 0 {
            return;
        }
        if !self.is_index_of(nid, height, tally.ino) {
            (tally.whole, self.complete) = (false, false);
            return;
        }
        let Ok(Node::Index(index)) = self.files.nodes.current(&mut self.log.pages, nid) else {
            (tally.whole, self.complete) = (false, false);
            return;
        };
        match &index.body {
            IndexBody::Blocks(blocks) => self.pointers(nid, start, blocks, tally),
            IndexBody::Nodes { children, .. } => {
                let span = self.files.shape().span(height - 1);
                for (slot, child) in (0..).zip(children) {
                    let start = start.saturating_add(span.saturating_mul(slot));
                    self.index(*child, start, height - 1, tally);
                }
            }
        }
    }

    /// Counts a pointer to an index node; true if the node there may be walked.
    fn is_index_of(&mut self, nid: u32, height: u8, ino: u32) -> bool {
        let Some(known) = self.known.get_mut(&nid) else {
            self.found.add("index-missing", format!("inode {ino} leads to node {nid}, which does not exist"));
            return false;
        };
        known.refs += 1;
        let refs = known.refs;
        match known.what {
            What::Damaged => {
                self.places.insert(nid, Place::Map { ino });
                false
            }
            What::Inode(_) => {
                self.found.add("index-kind", format!("inode {ino} leads to node {nid}, which is an inode"));
                false
            }
            What::Index { owner, height: found } => {
                if owner != ino {
                    let text = format!("node {nid} belongs to inode {owner}, inode {ino} leads to it");
                    self.found.add("index-owner", text);
                }
                if found != height {
                    let text = format!("node {nid} of inode {ino} has height {found}, wanted {height}");
                    self.found.add("index-height", text);
                }
                if refs > 1 {
                    self.found.add("index-shared", format!("{refs} places lead to node {nid}"));
                }
                found == height && refs == 1
            }
        }
    }

    fn pointers(&mut self, nid: u32, start: u64, list: &[Addr], tally: &mut Tally) {
        let odd = pointers::odd(list, &self.params);
        if odd > MAX_ODD && !self.params.packs {
            self.found
                .add("map-odd", format!("node {nid} has {odd} pointers in long form, at most {MAX_ODD}"));
        }
        for (block, addr) in (start..).zip(list) {
            if *addr != Addr::NONE {
                tally.mapped += u64::from(self.params.charge(*addr));
                self.pointer(block, *addr, tally);
            }
        }
    }

    fn pointer(&mut self, block: u64, addr: Addr, tally: &mut Tally) {
        let ino = tally.ino;
        let Some(index) = u32::try_from(block).ok().filter(|index| *index < u32::MAX) else {
            return self
                .found
                .add("data-address", format!("inode {ino} maps block {block}, behind the last one"));
        };
        if tally.is_dir {
            tally.buckets.push(index);
        }
        if addr == Addr::RESERVED {
            return;
        }
        let Addr { page, offset, len } = addr;
        if !self.is_possible(addr) {
            let text =
                format!("block {index} of inode {ino}: {len} bytes at byte {offset} of log page {page}");
            return self.found.add("data-address", text);
        }
        self.count(addr);
        let full = self.params.block;
        if u32::from(len) > full || (tally.is_dir && u32::from(len) != full) {
            let text = format!("block {index} of inode {ino} has {len} bytes, a block has {full}");
            self.found.add("data-length", text);
        }
        if !tally.is_dir {
            self.report.data_bytes += u64::from(len);
            if block * u64::from(full) >= tally.size {
                let text = format!("block {index} of inode {ino} is behind the end, byte {}", tally.size);
                self.found.add("data-beyond-end", text);
            }
        }
        if let Err(error) = self.files.prove_block(&mut self.log, addr, ino, index) {
            let text = format!("block {index} of inode {ino}: {error}");
            self.found.add_of("data-unreadable", Some(ino), text);
        }
    }
}
