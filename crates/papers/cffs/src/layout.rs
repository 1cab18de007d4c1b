//! Table 1: sizes of pages, inodes and files.
//!
//! All numbers of the format are little-endian. The first good block is the `InodeMapBlock`, the second the record. The
//! others hold inodes, or data and index pages, never both; or they are free (2.1). The chip needs pages of 512 to 4096
//! bytes, a power of two, with 8 free spare bytes, and 32 to 65,536 erase blocks of 8 pages or more. A file has 95.5 KB
//! in class 1 and 12,224 KB in class 2 at most on the paper's chip.

use pumice_common::get_u32;
use pumice_media::{Geometry, PageId};
use pumice_vfs::{Errno, FsError, Result};

/// Bytes of an inode page that are no index entries.
pub(crate) const METADATA_BYTES: usize = 256;
/// Free spare bytes that a page must have.
pub(crate) const SPARE_BYTES: usize = 8;
/// An inode's number has 20 bits in the spare area.
pub(crate) const INODES: u32 = 1 << 20;
/// A chunk's number has three bytes there.
const CHUNKS: u32 = 1 << 24;

/// The place of a page: counted through the chip.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Addr(pub(crate) u32);

impl Addr {
    /// A hole.
    pub(crate) const NONE: Addr = Addr(u32::MAX);
}

/// The two ways to use the index entries of an inode (2.1, figure 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// Direct, the last entry indirect.
    Direct = 1,
    /// Indirect, the last entry double indirect.
    Indirect = 2,
}

/// All sizes that follow from the chip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    geometry: Geometry,
}

impl Layout {
    /// The layout on a chip; refuses one that the paper's inodes do not fit.
    pub(crate) fn new(geometry: Geometry) -> Result<Layout> {
        let refuse = |why: String| Err(FsError::new(Errno::NotSupported, why));
        let (bytes, spare) = (geometry.page_bytes, geometry.free_spare_bytes);
        if !(512..=4096).contains(&bytes) || !bytes.is_power_of_two() || (spare as usize) < SPARE_BYTES {
            return refuse(format!(
                "cffs puts an inode into a page of 512 to 4096 bytes with {SPARE_BYTES} free spare bytes; this \
                 chip's pages have {bytes} and {spare}"
            ));
        }
        let (pages, blocks) = (geometry.pages_per_block, geometry.blocks);
        if pages < 8 || !(32..=1 << 16).contains(&blocks) || geometry.pages() >= u64::from(u32::MAX) {
            return refuse(format!(
                "cffs wants 32 to 65536 erase blocks of 8 pages or more (a block's number has two bytes); this \
                 chip has {blocks} of {pages}"
            ));
        }
        Ok(Layout { geometry })
    }

    /// Bytes of a page, which are those of a chunk of a file.
    pub(crate) fn page_bytes(&self) -> usize {
        self.geometry.page_bytes as usize
    }

    /// Free spare bytes of a page.
    pub(crate) fn spare_bytes(&self) -> usize {
        self.geometry.free_spare_bytes as usize
    }

    /// Pages of an erase block.
    pub(crate) fn pages(&self) -> u32 {
        self.geometry.pages_per_block
    }

    /// Erase blocks.
    pub(crate) fn blocks(&self) -> u32 {
        self.geometry.blocks
    }

    /// Index entries of an inode: 64 in a page of 512 bytes, 448 in one of 2 KiB.
    pub(crate) fn entries(&self) -> u32 {
        (self.geometry.page_bytes - 256) / 4
    }

    /// Addresses in an index page.
    pub(crate) fn pointers(&self) -> u32 {
        self.geometry.page_bytes / 4
    }

    /// Chunks that a file of a class may have.
    pub(crate) fn chunks(&self, class: Class) -> u32 {
        let (entries, pointers) = (self.entries() - 1, self.pointers());
        match class {
            Class::Direct => entries + pointers,
            Class::Indirect => (entries * pointers + pointers * pointers).min(CHUNKS),
        }
    }

    /// Bytes that a file may have.
    pub(crate) fn size_max(&self) -> u64 {
        u64::from(self.chunks(Class::Indirect)) * u64::from(self.geometry.page_bytes)
    }

    /// A page of an erase block.
    pub(crate) fn addr(&self, block: u32, index: u32) -> Addr {
        Addr(block * self.pages() + index)
    }

    /// The erase block of a page.
    pub(crate) fn block_of(&self, addr: Addr) -> u32 {
        addr.0 / self.pages().max(1)
    }

    /// True if the chip has such a page.
    pub(crate) fn has(&self, addr: Addr) -> bool {
        u64::from(addr.0) < self.geometry.pages()
    }

    /// The chip's name for a page.
    pub(crate) fn page(addr: Addr) -> PageId {
        PageId(addr.0)
    }
}

/// All addresses that bytes hold.
pub(crate) fn get_addrs(bytes: &[u8]) -> Vec<Addr> {
    (0..bytes.len() / 4).map(|number| Addr(get_u32(bytes, number * 4))).collect()
}

/// The bytes of addresses.
pub(crate) fn put_addrs(addrs: &[Addr]) -> Vec<u8> {
    addrs.iter().flat_map(|addr| addr.0.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_media::ChipSpec;

    /// Table 1.
    #[test]
    fn file_sizes_are_the_papers() {
        for (chip, entries, first, second) in
            [("512+16:32:4096", 64, 96 << 10, 12 << 20), ("2048+64:64:1024", 448, 1916 << 10, 960 << 20)]
        {
            let layout = Layout::new(ChipSpec::parse_geometry(chip).unwrap().geometry()).unwrap();
            assert_eq!(layout.entries(), entries);
            for (class, paper) in [(Class::Direct, first), (Class::Indirect, second)] {
                let bytes = u64::from(layout.chunks(class)) * layout.page_bytes() as u64;
                assert!(bytes.abs_diff(paper) * 100 < paper, "{chip} {class:?}: {bytes}, {paper}");
            }
        }
    }
}
