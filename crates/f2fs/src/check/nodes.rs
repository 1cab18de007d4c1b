//! The nodes themselves: each agrees with the NAT, and with its pointers.

use super::{
    addresses::Addresses,
    codes::Code,
    facts::{Facts, Inodes},
    findings::Object,
    nat::NatRow,
    worker::{Reference, Worker},
};
use crate::layout::{Nid, NodeFooter, NodeOffset};

impl Worker<'_> {
    /// The footer of a node, if it is the one that the NAT has at this place in its table.
    pub(super) fn check_footer(&mut self, place: u32, row: &NatRow, block: &[u8]) -> Option<NodeFooter> {
        let footer = NodeFooter::of(block)?;
        if footer.nid != row.nid || footer.ino != row.ino {
            self.findings.add(Code::NodeFooter, Object::Node(row.nid), || {
                format!(
                    "block {} is node {} of inode {}, and the NAT has it as node {} of inode {}",
                    row.addr, footer.nid, footer.ino, row.nid, row.ino
                )
            });
            return None;
        }
        self.owners.node(row.addr, row.nid, row.version, &mut self.findings);
        if !row.is_inode() {
            self.left.footers.push((place, footer.offset.0));
        }
        Some(footer)
    }

    /// A node that is no inode's own.
    pub(super) fn check_node(&mut self, place: u32, row: &NatRow, block: &[u8], inodes: &Inodes<'_>) {
        let Some(footer) = self.check_footer(place, row, block) else { return };
        let Some(facts) = inodes.find(row.ino) else { return };
        facts.count_blocks(1);
        if footer.offset == NodeOffset::XATTR {
            return;
        }
        let words = block.get(..self.volume.block_size().node_bytes()).unwrap_or_default();
        if let Some(index) = footer.offset.direct_index(self.volume.block_size()) {
            self.check_direct(row, facts, index, words);
        } else if footer.offset == NodeOffset::INODE {
            self.findings.add(Code::NodePlace, Object::Node(row.nid), || {
                format!("its footer makes it the inode itself, which is node {}", row.ino)
            });
        } else {
            self.check_indirect(row, footer.offset.0, words);
        }
    }

    fn check_direct(&mut self, row: &NatRow, facts: &Facts, index: u32, words: &[u8]) {
        let first = u64::from(facts.own_addrs) + u64::from(index) * u64::from(facts.node_addrs);
        let words = words.get(..facts.node_addrs as usize * 4).unwrap_or_default();
        self.check_addresses(&Addresses { facts, row, first, words });
    }

    /// An indirect node: the first or second of direct nodes, the one of indirect nodes, or one of those.
    fn check_indirect(&mut self, row: &NatRow, offset: u32, words: &[u8]) {
        let per_node = self.volume.block_size().node_words();
        let is_double = offset == 5 + 2 * per_node;
        for (at, word) in (0..).zip(words.chunks_exact(4)) {
            let to = Nid(word.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)));
            if to.is_null() {
                continue;
            }
            let step = if is_double { at * (per_node + 1) } else { at };
            self.left.references.push(Reference {
                from: row.nid,
                to,
                ino: row.ino,
                offset: offset + 1 + step,
            });
        }
    }

    /// The five nodes that an inode names, and the one of its attributes; true if it names any.
    pub(super) fn note_references(&mut self, ino: Nid, nids: [Nid; 5], xattr: Nid) -> bool {
        let before = self.left.references.len();
        let per_node = self.volume.block_size().node_words();
        let offsets = [1, 2, 3, 4 + per_node, 5 + 2 * per_node];
        let named = nids.into_iter().zip(offsets).chain([(xattr, NodeOffset::XATTR.0)]);
        let references = named.filter(|(to, _)| !to.is_null());
        self.left.references.extend(references.map(|(to, offset)| Reference { from: ino, to, ino, offset }));
        self.left.references.len() > before
    }
}
