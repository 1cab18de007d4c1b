//! Section 2.1: the inode, a page of its own: 256 bytes of attributes with name and parent, then the index entries.
//!
//! A page begins with `cffs` (4 bytes) and the CRC-32 of the page without these four bytes (4). Mode, user, group, device,
//! generation and parent follow from 8, 4 bytes each. Then come length (8, at 32), pages that belong to it (4, at 40),
//! class (1, at 44), length of the name (45), and 1 if it is gone (46). Access, modification, change and birth have 8 + 4
//! bytes each from 48. Inode number and time of the mark stand at 96 and 100 once more, the name at 104 to 255. From 256
//! on there are (page - 256) / 4 index entries: 64 of 512 bytes, 448 of 2 KiB.

use core::ops::{Deref, DerefMut};

use pumice_common::{Attributes, get_time, get_u32, put_time, put_u32};
use pumice_vfs::{Attr, FileKind};

use crate::layout::{Addr, Class, Layout, METADATA_BYTES, get_addrs, put_addrs};
use crate::spare::{Kind, Mark};

const MAGIC: usize = 0;
const SUM: usize = 4;
const MODE: usize = 8;
const UID: usize = 12;
const GID: usize = 16;
const RDEV: usize = 20;
const GENERATION: usize = 24;
const PARENT: usize = 28;
const SIZE: usize = 32;
const PAGES: usize = 40;
const CLASS: usize = 44;
const NAME_BYTES: usize = 45;
const REMOVED: usize = 46;
const TIMES: usize = 48;
const INO: usize = 96;
const TIME: usize = 100;
const NAME: usize = 104;
/// Bytes of a name: the rest of 256 beside the attributes.
pub(crate) const NAME_MAX: usize = METADATA_BYTES - NAME;
const MAGIC_VALUE: u32 = u32::from_le_bytes(*b"cffs");

/// An inode.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inode {
    pub(crate) attributes: Attributes,
    pub(crate) generation: u32,
    pub(crate) parent: u32,
    /// Pages of data and of the index, itself not.
    pub(crate) pages: u32,
    pub(crate) class: Class,
    pub(crate) name: Vec<u8>,
    /// The index entries.
    pub(crate) entries: Vec<Addr>,
}

impl Deref for Inode {
    type Target = Attributes;

    fn deref(&self) -> &Attributes {
        &self.attributes
    }
}

impl DerefMut for Inode {
    fn deref_mut(&mut self) -> &mut Attributes {
        &mut self.attributes
    }
}

impl Inode {
    /// Reads an inode page with its mark; `None` if it does not prove itself.
    pub(crate) fn decode(page: &[u8], mark: Mark, layout: &Layout) -> Option<Inode> {
        debug_assert_eq!(page.len(), layout.page_bytes(), "a page of another length");
        if get_u32(page, MAGIC) != MAGIC_VALUE || get_u32(page, SUM) != sum(page) {
            return None;
        }
        let kind = if page[REMOVED] == 1 { Kind::Removed } else { Kind::Inode };
        if mark != (Mark { kind, ino: get_u32(page, INO), number: get_u32(page, TIME) }) {
            return None;
        }
        let mode = get_u32(page, MODE);
        let name_bytes = usize::from(page[NAME_BYTES]);
        let size = u64::from(get_u32(page, SIZE)) | u64::from(get_u32(page, SIZE + 4)) << 32;
        let inode = Inode {
            attributes: Attributes {
                kind: FileKind::from_mode(mode)?,
                perm: mode & 0o7777,
                uid: get_u32(page, UID),
                gid: get_u32(page, GID),
                rdev: get_u32(page, RDEV),
                size,
                times: [0, 1, 2, 3].map(|number| get_time(page, TIMES + 12 * number)),
            },
            generation: get_u32(page, GENERATION),
            parent: get_u32(page, PARENT),
            pages: get_u32(page, PAGES),
            class: match page[CLASS] {
                1 => Class::Direct,
                2 => Class::Indirect,
                _ => return None,
            },
            name: page.get(NAME..NAME + name_bytes).filter(|_| name_bytes <= NAME_MAX)?.to_vec(),
            entries: get_addrs(&page[METADATA_BYTES..]),
        };
        (size <= layout.size_max()).then_some(inode)
    }

    /// The page, which repeats its mark's contents.
    pub(crate) fn encode(&self, mark: Mark) -> Vec<u8> {
        let mut page = vec![0; METADATA_BYTES];
        let words = [
            (MAGIC, MAGIC_VALUE),
            (MODE, self.kind.mode_bits() | self.perm),
            (UID, self.uid),
            (GID, self.gid),
            (RDEV, self.rdev),
            (GENERATION, self.generation),
            (PARENT, self.parent),
            (PAGES, self.pages),
            (INO, mark.ino),
            (TIME, mark.number),
        ];
        for (at, value) in words {
            put_u32(&mut page, at, value);
        }
        page[SIZE..SIZE + 8].copy_from_slice(&self.size.to_le_bytes());
        page[CLASS] = self.class as u8;
        page[REMOVED] = u8::from(mark.kind == Kind::Removed);
        debug_assert!(self.name.len() <= NAME_MAX, "a name of {} bytes", self.name.len());
        page[NAME_BYTES] = self.name.len().to_le_bytes()[0];
        page[NAME..NAME + self.name.len()].copy_from_slice(&self.name);
        for (number, time) in self.times.iter().enumerate() {
            put_time(&mut page, TIMES + 12 * number, *time);
        }
        page.extend(put_addrs(&self.entries));
        let proof = sum(&page);
        put_u32(&mut page, SUM, proof);
        page
    }

    /// As callers of the file system see it.
    pub(crate) fn attr(&self, ino: u32, nlink: u32, page_bytes: usize) -> Attr {
        self.attributes.attr(ino, nlink, u64::from(self.pages) * page_bytes as u64, self.generation)
    }
}

/// CRC-32 of the page without the field that holds it.
fn sum(page: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&page[..SUM]);
    sum.update(&page[SUM + 4..]);
    sum.finalize()
}
