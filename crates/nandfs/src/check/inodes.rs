//! Inodes: content, counts and extended attributes.

use alloc::format;

use pumice_vfs::FileKind;

use super::Check;
use super::known::What;
use super::maps::Tally;
use crate::node::{Body, Inode, Node};
use crate::nodes::ORPHANS;
use crate::xattr_list;

/// The longest list of attributes that is read; none of this length can be made in practice.
const ATTRIBUTES_MAX: u64 = 64 << 20;

impl Check<'_, '_> {
    pub(super) fn inodes(&mut self) {
        let start = self.done;
        for ino in self.inode_ids() {
            self.files.look(&mut self.log);
            if let Ok(Node::Inode(inode)) = self.files.nodes.current(&mut self.log.pages, ino) {
                self.inode(ino, &inode);
            }
            self.done = self.done.max(start + u64::from(ino.min(self.files.nodes.end())).saturating_sub(1));
            self.step(1);
        }
        self.done = start + u64::from(self.files.nodes.end());
    }

    fn inode(&mut self, ino: u32, inode: &Inode) {
        let mut tally = Tally::of(ino, inode);
        match &inode.body {
            Body::Inline(bytes) => self.inline(ino, inode, bytes),
            Body::Mapped(map) => self.map(map, &mut tally),
        }
        self.data_blocks += tally.mapped;
        if tally.whole && tally.mapped != u64::from(inode.blocks) {
            let text = format!("inode {ino} counts {} blocks, {} are mapped", inode.blocks, tally.mapped);
            self.found.add("inode-blocks", text);
        }
        if inode.kind == FileKind::Dir {
            self.directory(ino, inode, tally);
            self.report.directories += u64::from(ino != ORPHANS);
        }
        self.attributes(ino, inode);
    }

    fn inline(&mut self, ino: u32, inode: &Inode, bytes: &[u8]) {
        if inode.kind == FileKind::Dir {
            return;
        }
        self.report.data_bytes += bytes.len() as u64;
        let room = Inode::inline_room(&self.params);
        if bytes.len() as u64 > inode.size || inode.size > room as u64 {
            let text = format!(
                "inode {ino} holds {} bytes itself, its length is {}, at most {room} fit",
                bytes.len(),
                inode.size
            );
            self.found.add("inode-size", text);
        }
    }

    /// Checks that extended attributes decode; those outside the inode belong to it alone.
    fn attributes(&mut self, ino: u32, inode: &Inode) {
        let hidden = inode.xattr_ino;
        if hidden == 0 {
            return self.attribute_list(ino, &inode.xattr);
        }
        let text = |what: &str| format!("attributes of inode {ino} in inode {hidden}: {what}");
        let Some(known) = self.known.get_mut(&hidden) else {
            return self.found.add("xattr-missing", text("there is no such inode"));
        };
        known.refs += 1;
        known.attribute_of = ino;
        match known.what {
            What::Damaged => return,
            What::Inode(FileKind::File) if known.refs > 1 => {
                return self.found.add("xattr-shared", text("another inode has them too"));
            }
            What::Inode(FileKind::File) => {}
            what => {
                return self.found.add("xattr-missing", text(&format!("it is of another kind, {what:?}")));
            }
        }
        let length = self.files.inode(&mut self.log, hidden).map_or(0, |inode| inode.size);
        if length > ATTRIBUTES_MAX {
            self.found.add("xattr-damaged", text(&format!("{length} bytes, at most {ATTRIBUTES_MAX}")));
        } else if let Ok(bytes) = self.files.xattr_bytes(&mut self.log, ino) {
            self.attribute_list(ino, &bytes);
        }
    }

    fn attribute_list(&mut self, ino: u32, bytes: &[u8]) {
        if xattr_list::decode(bytes).is_none() {
            let text = format!("{} bytes of extended attributes of inode {ino} do not decode", bytes.len());
            self.found.add("xattr-damaged", text);
        }
    }
}
