//! The shape of a volume, derived from the shape of its chip.
//!
//! A *log page* is a superpage, the unit that the log reads and programs: one chip page, or several small ones with
//! room for a tag in their spare areas together. ScaleFFS (3.2) combines two 512-byte pages in the same way.

use alloc::{format, string::String};

pub(crate) use pumice_flashlog::ANCHOR_BLOCKS;
use pumice_flashlog::{MOST_PARITY, SIGNATURE_BYTES, Shape, Skips, TagPlace};
use pumice_media::{Geometry, Pairing};
use pumice_vfs::{Errno, FsError, Result};

use crate::addr::Addr;
use crate::codec::len32;
use crate::protection::FsyncProtection;
use crate::tag::{BODY_BYTES, DESC_BYTES, Layout, ROOMY_BYTES, Room, TAG_BYTES, TAIL_BYTES};

/// Largest payload that still lets one node, table page or checkpoint stand for many files.
const NODE_BYTES_MAX: u32 = 4096;

/// Log pages of an erase block that hold chunks, at the least.
const PAGES_LEAST: u32 = 4;

/// A file block where blocks may be compressed, in bytes.
const CLUSTER: u32 = 4096;
/// Bytes in which the space of such blocks is counted.
const UNIT: u32 = 64;
/// Chunks of a log page.
const CHUNKS_MOST: u32 = 254;

/// Heads besides those for data.
const OTHER_HEADS: u32 = 2;
/// Blocks at a time that could not be ended; their parity has copies until they are empty.
const FAILED_BLOCKS: u32 = 2;
/// Erase blocks that copies of all parity may take: a checkpoint names them.
const COPY_BLOCKS_MOST: u32 = 3;

/// All sizes that follow from the geometry. Nothing here is read from the chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Params {
    /// The shape for the medium.
    pub(crate) shape: Shape,
    /// Bytes of a log page that hold chunks.
    pub(crate) payload: u32,
    /// The places of a tag's parts.
    pub(crate) tags: Layout,
    /// The cost of passing over log pages that share cells with promised ones.
    pub(crate) skips: Skips,
    /// Log pages of an erase block that hold chunks: all but those for parity.
    pub(crate) pages_per_block: u32,
    /// Erase blocks of the chip.
    pub(crate) blocks: u32,
    /// Logical block of a file, in bytes.
    pub(crate) block: u32,
    /// Logical blocks that fit in a log page.
    pub(crate) slots: u32,
    /// Largest node, and the size of every table page, in bytes.
    pub(crate) node: u32,
    /// Erase blocks that copies of the parity of all blocks that are being filled take; 0 if there are none.
    pub(crate) copy_blocks: u32,
    /// Blocks of files may be compressed: chunks of any length lie back to back, from page to page.
    pub(crate) packs: bool,
}

impl Params {
    /// The shape for a chip. `None` if it is too small for the file system: no superpage of up to 8 pages reaches 2
    /// KiB, a block has fewer than 4 log pages, or there are fewer than 40 blocks. `None` also if an erase block has
    /// 256 MiB or more.
    pub(crate) fn of(geometry: &Geometry) -> Option<Params> {
        let (page, spare) = (geometry.page_bytes, geometry.free_spare_bytes);
        let fits = |gang: &u32| Shape::tag_fits(geometry, *gang, BODY_BYTES) && page * gang >= 2048;
        let in_spare = [1, 2, 4, 8].into_iter().find(fits);
        let in_page = [1, 2, 4, 8].into_iter().find(|gang| page * gang >= 2048);
        let (gang, place) = match (in_spare, in_page) {
            (Some(gang), _) if page * gang <= 4096 || gang == 1 => (gang, TagPlace::Spare),
            (_, Some(gang)) => (gang, TagPlace::Page),
            _ => return None,
        };
        let pages_per_block = geometry.pages_per_block / gang;
        Shape::of_anchors(geometry)?;
        if pages_per_block < PAGES_LEAST || geometry.blocks < 40 || page * gang > 0xffff {
            return None;
        }
        geometry.blocks.checked_mul(geometry.pages_per_block)?;
        // The block table counts the live bytes of an erase block in 28 bits.
        if geometry.block_bytes() >= 1 << 28 {
            return None;
        }
        let tags = match place {
            TagPlace::Page => Layout::in_page(page * gang),
            TagPlace::Spare | TagPlace::Proof => Layout::in_spare(page * gang, spare * gang),
        };
        let Layout { payload, block, slots, .. } = tags;
        let shape = Shape::new(geometry, gang, place, tags.body_bytes());
        Some(Params {
            shape,
            skips: shape.skips(),
            tags,
            payload,
            pages_per_block,
            blocks: geometry.blocks,
            block,
            slots,
            node: payload.min(NODE_BYTES_MAX),
            copy_blocks: 0,
            packs: false,
        })
    }

    /// The same for a chip with this pairing of pages.
    pub(crate) fn with_pairing(self, pairing: Pairing) -> Params {
        let shape = self.shape.with_pairing(pairing);
        Params { shape, skips: shape.skips(), ..self }
    }

    /// The same with the last log pages of each erase block kept for parity; an error with the reason if that is
    /// impossible.
    pub(crate) fn with_parity(self, parity: u8) -> Result<Params> {
        let refuse = |why: &str| {
            let text = format!("{parity} parity pages: {why}");
            Err(FsError::new(Errno::NotSupported, text))
        };
        if parity == 0 {
            return Ok(self);
        }
        if usize::from(parity) > MOST_PARITY {
            return refuse(&format!("an erase block has at most {MOST_PARITY}"));
        }
        if self.shape.is_paired() {
            return refuse(
                "pages of this chip share cells, and programming parity puts earlier pages at risk",
            );
        }
        let left = self.pages_per_block.checked_sub(parity.into()).filter(|left| *left >= PAGES_LEAST);
        let params = self.with_signatures();
        match params.shape.with_parity(parity.into()).zip(left) {
            Some((shape, left)) => {
                Ok(Params { shape, skips: shape.skips(), pages_per_block: left, ..params })
            }
            None => refuse(&format!("too many for {} log pages in an erase block", self.pages_per_block)),
        }
    }

    /// The same with tags that leave room for a signature in the spare area, if any do.
    fn with_signatures(self) -> Params {
        let room = len32(self.shape.spare_bytes()).checked_sub(len32(SIGNATURE_BYTES));
        let fits = |spare: &u32| *spare >= TAG_BYTES && self.shape.tag_place() == TagPlace::Spare;
        let Some(spare) = room.filter(fits) else { return self };
        let tags = Layout::in_spare(self.payload, spare);
        if tags.slots != self.slots {
            return self;
        }
        Params { shape: self.shape.with_body(tags.body_bytes()), tags, ..self }
    }

    /// The same with open blocks protected from the given moment on: those of `data_heads` heads and those of nodes and
    /// fsync.
    pub(crate) fn protected(self, parity: u8, from: FsyncProtection, data_heads: u8) -> Result<Params> {
        let params = self.with_parity(parity)?;
        if from == FsyncProtection::AtClose {
            return Ok(params);
        }
        let refuse = |why: String| {
            let text = format!("fsync protection `{from}` with {parity} parity pages: {why}");
            Err(FsError::new(Errno::NotSupported, text))
        };
        if parity == 0 {
            return refuse("there is no parity to be copied".into());
        }
        let (copied, room) = (u32::from(data_heads) + OTHER_HEADS + FAILED_BLOCKS, params.shape.copies());
        if room * COPY_BLOCKS_MOST < copied {
            return refuse(format!("an erase block has room for {room} of {copied} copies"));
        }
        Ok(Params { copy_blocks: copied.div_ceil(room), ..params })
    }

    /// The same where blocks of files may be compressed.
    pub(crate) fn packing(self) -> Result<Params> {
        let refuse = |why: &str| Err(FsError::new(Errno::NotSupported, format!("compression: {why}")));
        if self.shape.is_paired() {
            return refuse("pages of this chip share cells, and no chunk may go on behind pages left out");
        }
        if self.block_payload() < 2 * CLUSTER {
            return refuse("the chip's erase blocks are too small");
        }
        let slots = (self.payload / CLUSTER).max(1);
        Ok(Params { packs: true, block: CLUSTER, slots, ..self })
    }

    /// Entries of an index node, and of an inode: two index nodes share 2 KiB, or one page, however scattered their blocks.
    pub(crate) fn fanout(&self) -> u32 {
        (self.node / 2 - 24) / if self.packs { 8 } else { 4 }
    }

    /// Bytes that the pointer of a block may take in the end, with the waste of packing its node.
    pub(crate) fn share_of_node(&self) -> u32 {
        self.node.div_ceil(self.fanout()) + 1
    }

    /// The charge of a block's pointer in the sums of its inode and of the volume: a block or, on a volume with
    /// compression, units of [`Params::unit`] bytes of all that the block takes.
    pub(crate) fn charge(&self, addr: Addr) -> u32 {
        match addr {
            Addr::NONE => 0,
            _ if !self.packs => 1,
            Addr { page: 0, .. } => self.charge_of(self.block),
            addr => self.charge_of(addr.len.into()),
        }
    }

    fn charge_of(&self, len: u32) -> u32 {
        (len + DESC_BYTES + self.share_of_node()).div_ceil(UNIT)
    }

    /// Bytes of one unit of [`Params::charge`].
    pub(crate) fn unit(&self) -> u32 {
        if self.packs { UNIT } else { self.block }
    }

    /// The largest sum of charges that a chip can bring about.
    pub(crate) fn charge_most(&self) -> u64 {
        match self.packs {
            true => u64::from(self.pages()) * u64::from(2 * self.payload / UNIT),
            false => self.slots_of_chip(),
        }
    }

    /// More blocks of files than the chip can hold, reserved ones included.
    pub(crate) fn blocks_most(&self) -> u64 {
        let chunks = if self.packs { CHUNKS_MOST } else { self.slots };
        u64::from(self.pages()) * u64::from(chunks)
    }

    /// Payload bytes of an erase block that blocks of files can fill: if they lie back to back, one may find no room at
    /// the end.
    pub(crate) fn usable_payload(&self) -> u32 {
        match self.packs {
            true => self.block_payload() - self.block - DESC_BYTES,
            false => self.pages_per_block * self.slots * self.block,
        }
    }

    /// The erase block of a log page.
    pub(crate) fn block_of(&self, page: u32) -> u32 {
        page / self.pages_per_block
    }

    /// The log page at `index` of an erase block.
    pub(crate) fn page(&self, block: u32, index: u32) -> u32 {
        block * self.pages_per_block + index
    }

    /// Log pages of the chip.
    pub(crate) fn pages(&self) -> u32 {
        self.blocks.saturating_mul(self.pages_per_block)
    }

    /// Blocks of files that the chip could hold.
    pub(crate) fn slots_of_chip(&self) -> u64 {
        u64::from(self.pages()) * u64::from(self.slots)
    }

    /// Payload bytes of an erase block.
    pub(crate) fn block_payload(&self) -> u32 {
        self.pages_per_block * self.payload
    }
}

impl Layout {
    fn in_page(bytes: u32) -> Layout {
        let payload = bytes - TAG_BYTES - ROOMY_BYTES;
        Layout { spare_descs: 0, room: Room::Own, payload, block: payload, slots: 1 }
    }

    /// The layout for log pages of `payload` bytes with `spare` free bytes beside them. The promise of the page before
    /// has bytes of its own unless blocks of files, which must tile a page together with their descriptors, need them.
    fn in_spare(payload: u32, spare: u32) -> Layout {
        let free = spare - TAG_BYTES;
        let slots = (payload / 4096).clamp(1, free / DESC_BYTES + 1);
        let block = match payload / slots {
            large @ 4096.. => large & !4095,
            small => small,
        };
        let (room, spare_descs) = match free.checked_sub(ROOMY_BYTES + (slots - 1) * DESC_BYTES) {
            Some(_) => (Room::Own, (free - ROOMY_BYTES) / DESC_BYTES),
            None if free % DESC_BYTES >= TAIL_BYTES => (Room::Tail, free / DESC_BYTES),
            None => (Room::None, free / DESC_BYTES),
        };
        Layout { spare_descs, room, payload, block, slots }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(page: u32, spare: u32) -> Geometry {
        Geometry {
            page_bytes: page,
            spare_bytes: 2 * spare,
            free_spare_bytes: spare,
            pages_per_block: 64,
            blocks: 100,
        }
    }

    #[test]
    fn small_pages_gang_up_until_their_spare_areas_hold_a_tag() {
        let params = Params::of(&geometry(512, 8)).unwrap();
        assert_eq!(
            (params.shape.parts(), params.shape.tag_place(), params.payload, params.block),
            (4, TagPlace::Spare, 2048, 2048)
        );
    }

    #[test]
    fn a_chip_with_on_die_ecc_keeps_the_tag_in_the_page() {
        let params = Params::of(&geometry(2048, 4)).unwrap();
        assert_eq!(
            (params.shape.parts(), params.shape.tag_place(), params.payload, params.block),
            (1, TagPlace::Page, 2006, 2006)
        );
    }

    #[test]
    fn parity_takes_pages_of_each_block() {
        let params = Params::of(&geometry(2048, 38)).unwrap();
        assert_eq!(params.with_parity(0).unwrap(), params);
        let with = params.with_parity(2).unwrap();
        assert_eq!((with.pages_per_block, with.shape.pages(), with.page(1, 0)), (62, 62, 62));
        assert_eq!((with.node, with.payload, with.block), (params.node, params.payload, params.block));
        let few = Params::of(&Geometry { pages_per_block: 5, ..geometry(2048, 38) }).unwrap();
        assert!(few.with_parity(1).is_ok() && few.with_parity(2).is_err() && params.with_parity(9).is_err());
        let paired = params.with_pairing(Pairing::WordLine { pages: 4 });
        assert!(format!("{}", paired.with_parity(1).unwrap_err()).contains("share cells"));
    }

    #[test]
    fn blocks_that_may_be_compressed_have_one_size_on_every_chip() {
        for (page, spare) in [(512, 8), (2048, 4), (2048, 38), (4096, 64), (16384, 50), (16384, 96)] {
            let plain = Params::of(&geometry(page, spare)).unwrap();
            let params = plain.packing().unwrap();
            assert_eq!((params.block, params.payload, params.node), (4096, plain.payload, plain.node));
            assert!(params.usable_payload() < params.block_payload());
            let whole = Addr { page: 9000, offset: 0, len: 4096 };
            assert_eq!(params.charge(whole), params.charge(Addr::RESERVED));
            assert!(params.charge(Addr { len: 1000, ..whole }) * params.unit() < 1100);
            assert_eq!(plain.charge(Addr { len: 1000, ..whole }), 1);
        }
        let paired = Params::of(&geometry(2048, 38)).unwrap().with_pairing(Pairing::WordLine { pages: 4 });
        assert!(format!("{}", paired.packing().unwrap_err()).contains("share cells"));
    }

    #[test]
    fn large_pages_hold_several_blocks() {
        let params = Params::of(&geometry(16384, 96)).unwrap();
        assert_eq!((params.slots, params.block, params.node), (4, 4096, 4096));
        let params = Params::of(&geometry(16384, 50)).unwrap();
        assert_eq!((params.slots, params.block), (2, 8192));
    }
}
