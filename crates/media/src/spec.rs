//! The facts about a chip before it is opened: shape, times, strength of its ECC, layout of its spare area.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::{cmp::Ordering, fmt, ops::Range};

use crate::nand::{Geometry, Timing};
use crate::pairing::Pairing;

/// The error-correcting code of a chip or its controller: how much it corrects, not how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct Ecc {
    /// Data bytes of a codeword; at least 1. The free spare bytes of a page are one codeword more, if the code
    /// covers them.
    pub step_bytes: u32,
    /// Wrong bits that can be put right in each codeword; 0 means that none can.
    pub bits: u32,
    /// False if the free spare bytes are left out, as Linux's Hamming code does: errors there are neither corrected nor
    /// noticed.
    pub covers_spare: bool,
}

impl Ecc {
    /// True if `bits` wrong bits in a codeword ask for a refresh: five eighths of the strength, so that data read once
    /// a week has time to be moved. For codes of one or two bits that is the full strength.
    pub fn wants_refresh(&self, bits: u32) -> bool {
        u64::from(bits) * 8 >= u64::from(self.bits) * 5
    }

    /// The number of the codeword that a byte of a page lies in, free spare bytes behind the data.
    pub(crate) fn codeword(&self, page_bytes: u32, byte: u32) -> u32 {
        if byte < page_bytes { byte / self.step_bytes } else { page_bytes.div_ceil(self.step_bytes) }
    }

    /// The bytes of a codeword of a page, free spare bytes behind the data; none if there is no such codeword.
    pub(crate) fn bytes_of(&self, geometry: &Geometry, codeword: u32) -> Range<usize> {
        let (data, spare) = (geometry.page_bytes, geometry.free_spare_bytes);
        let (start, end) = match codeword.cmp(&data.div_ceil(self.step_bytes)) {
            Ordering::Less => (codeword * self.step_bytes, data.min((codeword + 1) * self.step_bytes)),
            Ordering::Equal => (data, data + spare),
            Ordering::Greater => (0, 0),
        };
        start as usize..end as usize
    }
}

/// A run of free bytes in the raw spare area.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct SpareRange {
    /// First byte, from the start of the spare area.
    pub offset: u32,
    /// Bytes of the run.
    pub bytes: u32,
}

/// The reason why a chip cannot be described so.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SpecError {
    /// No known chip has this name.
    UnknownChip {
        /// The name that was asked for.
        name: String,
        /// The names that are known.
        known: Vec<String>,
    },
    /// The text is no geometry.
    Syntax(String),
    /// The text is no description of a chip; it says where.
    Description(String),
    /// The figures contradict each other or a limit; the text says which.
    Figures(String),
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpecError::UnknownChip { name, known } => {
                write!(f, "unknown chip `{name}` (known: {})", known.join(", "))
            }
            SpecError::Syntax(text) => {
                write!(f, "bad geometry `{text}` (want PAGE+OOB:PAGES:BLOCKS, such as 2048+64:64:1024)")
            }
            SpecError::Description(why) => write!(f, "no description of a chip: {why}"),
            SpecError::Figures(why) => f.write_str(why),
        }
    }
}

impl core::error::Error for SpecError {}

/// A chip's description; always consistent, because only checked constructors make one.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct ChipSpec {
    pub(crate) name: String,
    pub(crate) geometry: Geometry,
    pub(crate) timing: Timing,
    pub(crate) ecc: Ecc,
    pub(crate) free_ranges: Vec<SpareRange>,
    pub(crate) bad_mark_offset: u32,
    pub(crate) endurance_erases: u32,
    pub(crate) pairing: Pairing,
}

impl ChipSpec {
    /// A chip of one's own from `PAGE+OOB:PAGES:BLOCKS`: data bytes of a page, bytes of its spare area, pages of a
    /// block, blocks. Example: `2048+64:64:1024`.
    ///
    /// Everything else is that of a plain SLC part without paired pages. It takes 25 us to read a page or its spare
    /// area, 200 us to program, 2 ms to erase, and stands 100000 erases. Its Hamming code corrects one bit in 256
    /// bytes. The code takes 3 bytes for each 256 at the end of the spare area and the bad-block mark the first 2. The
    /// bytes between are free, and covered by the code. A spare area of up to 16 bytes has the layout of the 512-byte
    /// parts instead: bytes from 8 on are free and the mark is byte 5.
    pub fn parse_geometry(text: &str) -> Result<ChipSpec, SpecError> {
        let syntax = || SpecError::Syntax(text.to_string());
        let number = |field: Option<&str>| field.and_then(|f| f.parse::<u32>().ok()).ok_or_else(syntax);
        let mut fields = text.split(':');
        let (page, spare) = fields.next().and_then(|f| f.split_once('+')).ok_or_else(syntax)?;
        let (page_bytes, spare_bytes) = (number(Some(page))?, number(Some(spare))?);
        let (pages_per_block, blocks) = (number(fields.next())?, number(fields.next())?);
        if fields.next().is_some() {
            return Err(syntax());
        }
        let (free, bad_mark_offset) = default_layout(page_bytes, spare_bytes);
        let geometry =
            Geometry { page_bytes, spare_bytes, free_spare_bytes: free.bytes, pages_per_block, blocks };
        let timing =
            Timing { read_page_ns: 25_000, read_spare_ns: 25_000, program_ns: 200_000, erase_ns: 2_000_000 };
        let spec = ChipSpec {
            name: "custom".to_string(),
            geometry,
            timing,
            ecc: Ecc { step_bytes: 256, bits: 1, covers_spare: true },
            free_ranges: alloc::vec![free],
            bad_mark_offset,
            endurance_erases: 100_000,
            pairing: Pairing::Unpaired,
        };
        spec.check()?;
        Ok(spec)
    }

    /// A chip of one's own from its description as JSON, as it stands in the header of a container
    /// (`docs/chip-container.md`); all figures are checked.
    #[cfg(feature = "std")]
    pub fn from_json(text: &str) -> Result<ChipSpec, SpecError> {
        let spec: ChipSpec =
            serde_json::from_str(text).map_err(|error| SpecError::Description(error.to_string()))?;
        spec.check()?;
        Ok(spec)
    }

    /// The same chip with as many blocks as `bytes` of data need, at least one.
    pub fn with_size(mut self, bytes: u64) -> Result<ChipSpec, SpecError> {
        let blocks = bytes.div_ceil(self.geometry.block_bytes()).max(1);
        self.geometry.blocks = u32::try_from(blocks)
            .map_err(|_| SpecError::Figures(alloc::format!("{blocks} erase blocks are too many")))?;
        self.check()?;
        Ok(self)
    }

    /// The same chip with other times, as when they were measured.
    #[must_use]
    pub fn with_timing(mut self, timing: Timing) -> ChipSpec {
        self.timing = timing;
        self
    }

    /// The same chip with a code that leaves the free spare bytes out.
    #[must_use]
    pub fn with_bare_spare(mut self) -> ChipSpec {
        self.ecc.covers_spare = false;
        self
    }

    /// The same chip with another code, which leaves these bytes of the spare area free.
    pub fn with_ecc(mut self, ecc: Ecc, free: &[SpareRange]) -> Result<ChipSpec, SpecError> {
        self.ecc = ecc;
        self.geometry.free_spare_bytes =
            free.iter().fold(0, |sum: u32, range| sum.saturating_add(range.bytes));
        self.free_ranges = free.to_vec();
        self.check()?;
        Ok(self)
    }

    /// The same chip with its pages paired so.
    pub fn with_pairing(mut self, pairing: Pairing) -> Result<ChipSpec, SpecError> {
        self.pairing = pairing;
        self.check()?;
        Ok(self)
    }

    /// The chip's name; `custom` if its geometry was parsed.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The shape of the chip.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The duration of its operations.
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// The number of wrong bits it corrects.
    pub fn ecc(&self) -> Ecc {
        self.ecc
    }

    /// Codewords of a page, the free spare bytes among them.
    pub fn codewords(&self) -> u32 {
        self.ecc.codeword(self.geometry.page_bytes, u32::MAX) + 1
    }

    /// The places of the free bytes in the raw spare area, ascending; together `free_spare_bytes`.
    pub fn free_ranges(&self) -> &[SpareRange] {
        &self.free_ranges
    }

    /// The byte of the raw spare area of a block's first page that is not 0xFF in a bad block.
    pub fn bad_mark_offset(&self) -> u32 {
        self.bad_mark_offset
    }

    /// Erases that the maker promises for each block.
    pub fn endurance_erases(&self) -> u32 {
        self.endurance_erases
    }

    /// The pages of a block that share cells.
    pub fn pairing(&self) -> Pairing {
        self.pairing
    }

    /// Refuses figures that no chip can have, however the description was made.
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        let g = self.geometry;
        let refuse = |why: String| Err(SpecError::Figures(why));
        if g.page_bytes == 0 || g.pages_per_block == 0 || g.blocks == 0 || self.ecc.step_bytes == 0 {
            return refuse("a chip needs at least one byte in a page, one page and one block".to_string());
        }
        if g.page_bytes > MAX_PAGE_BYTES || g.spare_bytes > MAX_PAGE_BYTES {
            return refuse(alloc::format!("pages of {}+{} bytes are too large", g.page_bytes, g.spare_bytes));
        }
        if g.pages() > u64::from(u32::MAX) || g.pages_per_block > MAX_PAGES_PER_BLOCK {
            return refuse(alloc::format!("{} blocks of {} pages are too many", g.blocks, g.pages_per_block));
        }
        let mut end = 0;
        let mut free = 0;
        for range in &self.free_ranges {
            if u64::from(range.offset) < end {
                return refuse("free ranges of the spare area overlap".to_string());
            }
            end = u64::from(range.offset) + u64::from(range.bytes);
            free += u64::from(range.bytes);
        }
        if end > u64::from(g.spare_bytes) || free != u64::from(g.free_spare_bytes) || free == 0 {
            return refuse(alloc::format!(
                "{free} free bytes up to byte {end} do not fit a spare area of {} bytes with {} free",
                g.spare_bytes,
                g.free_spare_bytes
            ));
        }
        if !self.pairing.fits(g.pages_per_block) {
            let pages = g.pages_per_block;
            return refuse(alloc::format!("blocks of {pages} pages cannot be paired as {:?}", self.pairing));
        }
        if self.bad_mark_offset >= g.spare_bytes {
            return refuse("the bad-block mark lies outside the spare area".to_string());
        }
        Ok(())
    }
}

/// Larger pages than any part has; keeps sums of sizes far from overflow.
const MAX_PAGE_BYTES: u32 = 1 << 20;
/// More pages than any block has.
const MAX_PAGES_PER_BLOCK: u32 = 1 << 16;

/// Free run and bad-mark byte of the layouts that Linux uses for software Hamming codes.
pub(crate) fn default_layout(page_bytes: u32, spare_bytes: u32) -> (SpareRange, u32) {
    if spare_bytes <= 16 {
        return (SpareRange { offset: 8, bytes: spare_bytes.saturating_sub(8) }, 5);
    }
    let code_bytes = page_bytes.div_ceil(256).saturating_mul(3);
    let bytes = spare_bytes.saturating_sub(2).saturating_sub(code_bytes);
    (SpareRange { offset: 2, bytes }, 0)
}
