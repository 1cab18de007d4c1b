//! Pages as they lie on the chip, by the specification and not by the code.

use pumice_media::{BlockId, Nand, SimChip};

use super::Case;

impl Case {
    /// Chip pages of a log page: those that roots are written in, or others.
    pub fn gang(self, roots: bool) -> u32 {
        let bytes = self.spec().geometry().page_bytes;
        if roots { 512_u32.div_ceil(bytes).next_power_of_two() } else { self.block_bytes.div_ceil(bytes) }
    }
}

/// The log page of a chip: as many chip pages as a logical block needs.
pub struct LogPage {
    pub data: Vec<u8>,
    pub spare: Vec<u8>,
}

/// Reads a log page of so many chip pages.
pub fn read(chip: &mut SimChip, block: u32, index: u32, gang: u32) -> LogPage {
    let geometry = chip.geometry();
    let mut page = LogPage { data: Vec::new(), spare: Vec::new() };
    for part in 0..gang {
        let (mut data, mut spare) =
            (vec![0; geometry.page_bytes as usize], vec![0; geometry.free_spare_bytes as usize]);
        let _ = chip.read(geometry.page(BlockId(block), index * gang + part), &mut data, &mut spare);
        page.data.append(&mut data);
        page.spare.append(&mut spare);
    }
    page
}

/// The proof of a block's pages.
#[derive(Clone, Copy)]
pub struct Seal {
    pub tagged: Tagged,
    /// Log pages of a block that are parity: part of each checksum.
    parity: u8,
}

impl Seal {
    /// The seal of the roots, or of other pages.
    pub fn of(case: Case, roots: bool) -> Seal {
        Seal { tagged: Tagged::of(case, roots), parity: if roots { 0 } else { case.parity } }
    }

    /// The checksum of docs/flashlog-spec.md.
    pub fn sum(self, payload: &[u8], block: u32, index: u32, tail: &[u8]) -> [u8; 4] {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(payload);
        hasher.update(&block.to_le_bytes());
        hasher.update(&index.to_le_bytes());
        if self.parity > 0 {
            hasher.update(&u32::from(self.parity).to_le_bytes());
        }
        hasher.update(tail);
        let crc = hasher.finalize();
        if self.parity > 0 { mix(crc).to_le_bytes() } else { crc.to_le_bytes() }
    }

    /// The kind that a page proves to have.
    pub fn kind(self, page: &LogPage, block: u32, index: u32) -> Option<u8> {
        let (payload, mut tag) = self.tagged.parts(page);
        if self.tagged == Tagged::Proof {
            return (1..16).find(|kind| self.sum(&payload, block, index, &[*kind])[..] == tag);
        }
        let stored: Vec<u8> = tag.drain(8..12).collect();
        (self.sum(&payload, block, index, &tag)[..] == stored).then_some(tag[0] & 15)
    }
}

/// The mix of a checksum where there is parity: the last step of `MurmurHash3`.
fn mix(crc: u32) -> u32 {
    let crc = (crc ^ crc >> 16).wrapping_mul(0x85eb_ca6b);
    let crc = (crc ^ crc >> 13).wrapping_mul(0xc2b2_ae35);
    crc ^ crc >> 16
}

/// The check of a header: CRC-8 with the polynomial 0x07.
pub fn check(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ byte, |sum: u8, _| if sum & 0x80 == 0 { sum << 1 } else { (sum << 1) ^ 7 })
    })
}

/// The place of a page's tag.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tagged {
    /// So many bytes of the spare area.
    Spare(usize),
    /// The last twelve bytes of the page: anchors, where the spare area is small.
    Page,
    /// Nowhere: four spare bytes are the proof.
    Proof,
}

impl Tagged {
    /// The tag's place in the roots, or in other pages.
    pub fn of(case: Case, roots: bool) -> Tagged {
        let (geometry, gang) = (case.spec().geometry(), case.gang(roots));
        let bytes = if roots { 12 } else { 24 + 12 * (gang * geometry.page_bytes / case.block_bytes) };
        let fits = geometry.free_spare_bytes >= 8 && gang * geometry.free_spare_bytes >= bytes;
        match roots {
            _ if fits => Tagged::Spare(usize::try_from(bytes).unwrap()),
            true => Tagged::Page,
            false => Tagged::Proof,
        }
    }

    /// The page's payload, and its tag but for the checksum in it; the tag itself.
    pub fn parts(self, page: &LogPage) -> (Vec<u8>, Vec<u8>) {
        match self {
            Tagged::Spare(bytes) => (page.data.clone(), page.spare[..bytes].to_vec()),
            Tagged::Page => {
                let (payload, tag) = page.data.split_at(page.data.len() - 12);
                (payload.to_vec(), tag.to_vec())
            }
            Tagged::Proof => (page.data.clone(), page.spare[..4].to_vec()),
        }
    }
}

/// The kind of the first page of a block that tells one: 14 where records lie, 4 where a checkpoint does.
pub fn block_kind(case: Case, chip: &mut SimChip, block: u32) -> Option<u8> {
    [true, false].into_iter().find_map(|roots| {
        let page = read(chip, block, 0, case.gang(roots));
        Seal::of(case, roots).kind(&page, block, 0)
    })
}
