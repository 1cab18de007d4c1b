//! Section 3.1, table 1: the end of a segment: the reverse index, the usage of all segments in its high-order bits, and
//! the information of the segment.
//!
//! They lie in the last pages of the last regular block before its parity page. A reverse index entry has 12 bytes: key
//! (8), page in the segment (2), offset (2; 0xffff for nodes, 0xfffe for nodes that are no leaves). Segment usage has a
//! byte a segment: 0 free, 254 cut short by a crash, 255 unusable, otherwise 1/250 of a segment, rounded up. The segment
//! information stands last:
//! - 0: `RCFFSseg`
//! - 8, 12: version, number of the segment written
//! - 16: UUID
//! - 32: label, a length byte and at most 64 bytes
//! - 100: root
//! - 104: time, 8 + 4 bytes
//! - 116: entries of the reverse index
//! - 120, 124: number and list of the next segments
//! - 192: a bit for each page that counts as zeros in parity

use pumice_common::{LABEL_MAX, get_u32, put_u32};
use pumice_vfs::Timestamp;

use crate::layout::{Addr, INFO_BYTES, Layout, REVERSE_BYTES, count, get_u16, get_u64, put_u16, put_u64};

/// The version of the format.
pub const FORMAT_VERSION: u32 = 2;
/// The number of segments chosen in advance (3.3: the next k).
pub(crate) const NEXT: usize = 8;
/// The offset of a node of the mu-tree, which is not a chunk.
pub(crate) const NODE: u16 = u16::MAX;
/// The same of a page with nodes above the leaves alone: nobody counts whether it is live.
pub(crate) const UPPER: u16 = u16::MAX - 1;

/// Segments that are written in the life of a chip.
const SEQUENCE_MAX: u32 = 1 << 31;
const MAGIC: &[u8; 8] = b"RCFFSseg";

/// A reverse index entry: a key and its place in this segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reverse {
    /// The key in the mu-tree; of its nodes the first key of the lowest.
    pub(crate) key: u64,
    /// The page, counted in the segment.
    pub(crate) page: u16,
    /// The offset in it, or [`NODE`], or [`UPPER`].
    pub(crate) offset: u16,
}

/// Reverse index entries as pages.
pub(crate) fn reverse_pages(entries: &[Reverse], page_bytes: usize) -> Vec<Vec<u8>> {
    let each = page_bytes / REVERSE_BYTES;
    let page = |entries: &[Reverse]| {
        let mut bytes = vec![0; page_bytes];
        for (entry, place) in entries.iter().zip(bytes.chunks_exact_mut(REVERSE_BYTES)) {
            put_u64(place, 0, entry.key);
            put_u16(place, 8, entry.page);
            put_u16(place, 10, entry.offset);
        }
        bytes
    };
    entries.chunks(each).map(page).collect()
}

/// The entries of a reverse index page, up to `most`.
pub(crate) fn reverse_entries(page: &[u8], most: usize) -> impl Iterator<Item = Reverse> {
    page.chunks_exact(REVERSE_BYTES).take(most).map(|bytes| Reverse {
        key: get_u64(bytes, 0),
        page: get_u16(bytes, 8),
        offset: get_u16(bytes, 10),
    })
}

/// The segment information.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Info {
    pub(crate) sequence: u32,
    pub(crate) uuid: [u8; 16],
    pub(crate) label: String,
    pub(crate) written: Timestamp,
    /// The root of the mu-tree.
    pub(crate) root: Addr,
    /// The next segments that will be written, in order.
    pub(crate) next: Vec<u32>,
    /// Entries of the reverse index.
    pub(crate) reverse: u32,
    /// Pages of the segment that count as zeros in its parity: never written, torn, or failed.
    pub(crate) void: Vec<bool>,
}

impl Info {
    pub(crate) fn encode(&self, layout: &Layout) -> Vec<u8> {
        let mut bytes = vec![0; layout.page_bytes()];
        bytes[..8].copy_from_slice(MAGIC);
        put_u32(&mut bytes, 8, FORMAT_VERSION);
        put_u32(&mut bytes, 12, self.sequence);
        bytes[16..32].copy_from_slice(&self.uuid);
        bytes[32] = count(self.label.len()).to_le_bytes()[0];
        bytes[33..33 + self.label.len()].copy_from_slice(self.label.as_bytes());
        put_u32(&mut bytes, 100, self.root.0);
        bytes[104..112].copy_from_slice(&self.written.seconds.to_le_bytes());
        put_u32(&mut bytes, 112, self.written.nanos);
        put_u32(&mut bytes, 116, self.reverse);
        put_u32(&mut bytes, 120, count(self.next.len()));
        for (number, segment) in self.next.iter().enumerate() {
            put_u32(&mut bytes, 124 + 4 * number, *segment);
        }
        for (page, _) in self.void.iter().enumerate().filter(|(_, is_void)| **is_void) {
            bytes[INFO_BYTES + page / 8] |= 1 << (page % 8);
        }
        bytes
    }

    /// Reads the information; `None` if it makes no sense. Pages and segments that it names are on the chip.
    pub(crate) fn decode(bytes: &[u8], layout: &Layout) -> Option<Info> {
        if !is_info(bytes) || get_u32(bytes, 8) != FORMAT_VERSION {
            return None;
        }
        let label = bytes.get(33..33 + usize::from(bytes[32]).min(LABEL_MAX))?;
        let next = get_u32(bytes, 120) as usize;
        let seconds = bytes.get(104..112)?.try_into().ok()?;
        let pages = layout.pages_of_segment() as usize;
        let info = Info {
            sequence: get_u32(bytes, 12),
            uuid: bytes.get(16..32)?.try_into().ok()?,
            label: String::from_utf8_lossy(label).into_owned(),
            written: Timestamp {
                seconds: i64::from_le_bytes(seconds),
                nanos: get_u32(bytes, 112) % 1_000_000_000,
            },
            root: Addr(get_u32(bytes, 100)),
            next: (0..next.min(NEXT)).map(|number| get_u32(bytes, 124 + 4 * number)).collect(),
            reverse: get_u32(bytes, 116),
            void: (0..pages).map(|page| bytes[INFO_BYTES + page / 8] >> (page % 8) & 1 == 1).collect(),
        };
        let fits = layout.has(info.root)
            && info.sequence < SEQUENCE_MAX
            && next <= NEXT
            && info.next.iter().all(|segment| *segment < layout.segments())
            && info.reverse < layout.pages_of_segment() * count(layout.page_bytes())
            && layout.summary(info.reverse as usize).is_some();
        fits.then_some(info)
    }
}

/// True of a page of segment information, in any version.
pub(crate) fn is_info(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The use of a segment, as the file system knows it now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    /// Free: nothing in it counts.
    Free,
    /// So many bytes of it are live, about: after a mount the high-order bits are known.
    Live(u64),
    /// A crash cut it short: the cleaner has to count its live bytes.
    CutShort,
    /// It has too few good blocks.
    Bad,
}

impl Use {
    /// Something in it may count.
    pub(crate) fn may_be_live(self) -> bool {
        matches!(self, Use::Live(_) | Use::CutShort)
    }
}

/// The byte of a segment usage node.
pub(crate) fn usage_byte(of: Use, segment_bytes: u64) -> u8 {
    match of {
        Use::Free => 0,
        Use::CutShort => 254,
        Use::Bad => 255,
        Use::Live(bytes) => {
            let part = (bytes * 250).div_ceil(segment_bytes).clamp(1, 250);
            part.to_le_bytes()[0]
        }
    }
}

/// The use that a byte of a segment usage node stands for.
pub(crate) fn usage_of(byte: u8, segment_bytes: u64) -> Use {
    match byte {
        0 => Use::Free,
        254 => Use::CutShort,
        255 => Use::Bad,
        part => Use::Live(u64::from(part) * segment_bytes / 250),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_keeps_the_high_order_bits_and_never_says_free_of_what_is_not() {
        const BYTES: u64 = 2 << 20;
        for live in [0, 1, 8000, 9000, BYTES / 2, BYTES - 1, BYTES] {
            let Use::Live(back) = usage_of(usage_byte(Use::Live(live), BYTES), BYTES) else {
                panic!("{live}");
            };
            assert!((live..=live + BYTES / 125).contains(&back), "{live}: {back}");
        }
        for state in [Use::Free, Use::CutShort, Use::Bad] {
            assert_eq!(usage_of(usage_byte(state, BYTES), BYTES), state);
        }
    }
}
