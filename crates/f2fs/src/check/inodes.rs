//! Inodes: their own numbers and flags, their attributes, and their inline contents.

use pumice_vfs::FileKind;

use super::{
    addresses::Addresses,
    codes::Code,
    counts,
    facts::Facts,
    findings::Object,
    links::Links,
    nat::{NatRow, is_zero},
    worker::{LeafRef, Worker},
};
use crate::{
    crc, crypt,
    layout::{
        Features, InlineFlags, Inode, InodeFlags, LEVELS_MAX, NodeOffset, XattrList, XattrSpace,
        bucket_blocks, buckets,
    },
    verity,
    volume::Node,
};

/// The first word of a list of attributes.
const XATTR_MAGIC: [u8; 4] = 0xf2f5_2011_u32.to_le_bytes();

impl Worker<'_> {
    /// An inode's own node.
    pub(super) fn check_inode(&mut self, place: u32, row: &NatRow, block: &[u8], links: &Links) {
        let Some(footer) = self.check_footer(place, row, block) else { return };
        if footer.offset != NodeOffset::INODE {
            self.findings.add(Code::NodePlace, Object::Node(row.nid), || {
                format!("it is an inode, and its footer has place {}", footer.offset.0)
            });
        }
        let features = self.volume.features();
        let inode = match Inode::from_block(row.nid, block, self.volume.block_size(), features) {
            Ok(inode) => inode,
            Err(error) => {
                self.findings.add(Code::Inode, Object::Inode(row.nid), || error.to_string());
                return;
            }
        };
        self.check_checksum(&inode, block);
        self.check_limits(&inode);
        let facts = Facts::new(&inode, features);
        facts.count_blocks(1);
        links.note(place as usize, inode.kind, inode.links);
        let names_nodes = self.note_references(inode.ino, inode.nids(block), inode.xattr_nid);
        self.check_attributes(&inode, block);
        self.check_content(&inode, &facts, row, block);
        if facts.is_directory() || names_nodes || self.table.has_nodes(inode.ino) {
            self.facts.push(facts);
        } else {
            self.close(&facts);
        }
    }

    /// An inode of which all is counted.
    fn close(&mut self, facts: &Facts) {
        counts::check(facts, &mut self.findings);
        self.usage.add(self.volume, facts);
        self.blocks += facts.counted_blocks();
    }

    fn check_checksum(&mut self, inode: &Inode, block: &[u8]) {
        let has_one = self.volume.features().has(Features::INODE_CHECKSUM);
        let Some(extra) = inode.extra.filter(|extra| has_one && extra.has_checksum()) else { return };
        let sum = crc::inode_checksum(self.volume.inode_seed(), inode.ino.0, inode.generation, block);
        if let Some(sum) = sum.filter(|sum| *sum != extra.checksum) {
            self.findings.add(Code::InodeChecksum, Object::Inode(inode.ino), || {
                format!("its checksum is {:#010x}, computed is {sum:#010x}", extra.checksum)
            });
        }
    }

    fn check_attributes(&mut self, inode: &Inode, block: &[u8]) {
        let inline = block.get(inode.xattr_range()).unwrap_or_default();
        if inode.xattr_nid.is_null() && is_zero(inline) {
            return self.check_hidden(inode, &XattrList::default());
        }
        let mut more = None;
        if !inode.xattr_nid.is_null() {
            // A node that cannot be had, or belongs elsewhere, is told where references are.
            let is_own =
                |node: &Node| (node.footer.ino, node.footer.offset) == (inode.ino, NodeOffset::XATTR);
            let Some(node) = self.volume.node(inode.xattr_nid).ok().filter(is_own) else { return };
            more = Some(node.block);
        }
        let more = more.as_ref().and_then(|block| block.get(..self.volume.block_size().node_bytes()));
        let more = more.unwrap_or_default();
        let list = XattrList::new(inline, more);
        let broken = if list.as_bytes().starts_with(&XATTR_MAGIC) {
            list.entries().find_map(Result::err).or_else(|| behind_list(&list))
        } else {
            // Without its first word a list was never written.
            (!is_zero(inline) || !is_zero(more)).then_some(0)
        };
        match broken {
            Some(at) => self.findings.add(Code::Xattr, Object::Inode(inode.ino), || {
                format!("its list of attributes makes no sense from byte {at} on")
            }),
            None => self.check_hidden(inode, &list),
        }
    }

    /// The attributes that encryption and fs-verity need.
    fn check_hidden(&mut self, inode: &Inode, list: &XattrList) {
        let hidden = |space: XattrSpace, name: &[u8]| {
            list.entries().filter_map(Result::ok).find(|entry| entry.space == space && entry.name == name)
        };
        if inode.is_encrypted() {
            let context = hidden(XattrSpace::Encryption, crypt::XATTR_NAME);
            // A cipher that is not known here may be known elsewhere.
            let wrong = match context.map(|entry| crypt::Context::parse(entry.value)) {
                Some(Ok(_) | Err(crypt::CryptError::Unsupported { .. })) => None,
                Some(Err(error)) => Some(error.to_string()),
                None => Some("it is encrypted and has no context".to_owned()),
            };
            if let Some(wrong) = wrong {
                self.findings.add(Code::CryptContext, Object::Inode(inode.ino), || wrong);
            }
        }
        if inode.is_verity() && self.volume.features().has(Features::VERITY) {
            let location = hidden(XattrSpace::Verity, verity::XATTR_NAME);
            let wrong = match location.map(|entry| verity::Location::parse(entry.value, inode.size)) {
                Some(Ok(_)) => {
                    self.left.sealed.push(inode.ino);
                    return;
                }
                Some(Err(error)) => error.to_string(),
                None => "it is sealed and has no descriptor".to_owned(),
            };
            self.findings.add(Code::Verity, Object::Inode(inode.ino), || wrong);
        }
    }

    fn check_content(&mut self, inode: &Inode, facts: &Facts, row: &NatRow, block: &[u8]) {
        if inode.has_inline_data() || inode.has_inline_dentry() {
            return self.check_inline(inode, facts, row, block);
        }
        let width = self.volume.block_size().bytes_u64();
        match inode.kind {
            FileKind::Dir if !inode.size.is_multiple_of(width) => {
                self.findings.add(Code::InodeSize, Object::Inode(inode.ino), || {
                    format!("the directory has {} bytes, which are no whole blocks of {width}", inode.size)
                });
            }
            FileKind::Dir if inode.size / width > blocks_of_levels(inode) => {
                self.findings.add(Code::InodeSize, Object::Inode(inode.ino), || {
                    format!(
                        "the directory has {} bytes, and its {} levels have {} blocks",
                        inode.size,
                        inode.depth,
                        blocks_of_levels(inode)
                    )
                });
            }
            FileKind::Symlink if inode.size == 0 => {
                self.findings.add(Code::InodeSize, Object::Inode(inode.ino), || {
                    "the symbolic link has no bytes".to_owned()
                });
            }
            FileKind::File if inode.size > self.volume.block_size().file_bytes() => {
                self.findings.add(Code::InodeSize, Object::Inode(inode.ino), || {
                    format!("the file has {} bytes, more than its addresses can reach", inode.size)
                });
            }
            FileKind::File if inode.flags.has(InodeFlags::DEVICE_ALIAS) => {
                return self.check_alias(inode, facts);
            }
            FileKind::Dir | FileKind::Symlink | FileKind::File => {}
            // The words of devices are their numbers.
            _ => return,
        }
        let at = inode.addrs_at();
        let words = block.get(at..at + inode.own_addrs() as usize * 4).unwrap_or_default();
        self.check_addresses(&Addresses { facts, row, first: 0, words });
    }

    /// A file that stands for a whole device has all blocks of its extent, and no addresses.
    fn check_alias(&mut self, inode: &Inode, facts: &Facts) {
        for inside in 0..inode.extent.blocks {
            let Some(addr) = inode.extent.addr.plus(inside).filter(|addr| self.volume.is_main(*addr)) else {
                self.findings.add(Code::DataAddress, Object::Inode(inode.ino), || {
                    format!(
                        "block {inside} of its extent from block {} on is not in the main area",
                        inode.extent.addr
                    )
                });
                return;
            };
            self.owners.aliased(addr, inode.ino, &mut self.findings);
            facts.count_blocks(1);
        }
    }

    fn check_inline(&mut self, inode: &Inode, facts: &Facts, row: &NatRow, block: &[u8]) {
        let (data, dentry) = (inode.has_inline_data(), inode.has_inline_dentry());
        let range = inode.inline_range();
        let room = range.len() as u64;
        let bytes = block.get(range).unwrap_or_default();
        let first = block.get(inode.addrs_at()..inode.addrs_at() + 4).unwrap_or_default();
        let is_dir = inode.kind == FileKind::Dir;
        let wrong = if data && dentry {
            Some("it has inline data and an inline directory at once")
        } else if dentry != is_dir || (data && !matches!(inode.kind, FileKind::File | FileKind::Symlink)) {
            Some("its inline contents do not fit its kind")
        } else if data && !is_zero(first) {
            Some("it has inline data and a first address")
        } else if data && inode.kind == FileKind::File && needs_blocks(inode) {
            Some("it has inline data, and is encrypted, sealed or compressed")
        } else if dentry && !is_zero(first) {
            Some("it has an inline directory and a first address")
        } else if data && inode.size > room {
            Some("its inline data are larger than their room")
        } else if data && !inode.inline.has(InlineFlags::DATA_EXIST) && !is_zero(bytes) {
            Some("it has inline data, and the flag says that they are empty")
        } else {
            None
        };
        if let Some(wrong) = wrong {
            self.findings.add(Code::InodeInline, Object::Inode(inode.ino), || wrong.to_owned());
        }
        // Entries are looked at when all inodes are known.
        if facts.inline_entries.is_some() {
            self.leaves.push(LeafRef { directory: facts.ino, addr: row.addr, index: None });
        }
    }
}

/// The first byte that is not zero behind the end of a list of attributes.
fn behind_list(list: &XattrList) -> Option<usize> {
    let bytes = list.as_bytes();
    let behind = bytes.get(list.end()..).unwrap_or_default();
    behind.iter().position(|byte| *byte != 0).map(|at| list.end() + at)
}

/// True if the bytes of a file are not kept as they are.
fn needs_blocks(inode: &Inode) -> bool {
    inode.is_encrypted() || inode.is_verity() || inode.flags.has(InodeFlags::COMPRESSED)
}

/// Blocks that a directory of so many levels can have.
fn blocks_of_levels(inode: &Inode) -> u64 {
    let blocks = |level| buckets(level, inode.dir_level.into()) * bucket_blocks(level);
    (0..inode.depth.min(LEVELS_MAX)).map(blocks).sum()
}
