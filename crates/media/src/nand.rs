//! The trait of a raw NAND chip, and the words it is spoken in.

use alloc::vec::Vec;
use core::{fmt, ops::Range};

use crate::errno::Errno;
use crate::pairing::Pairing;

/// A page, counted from the start of the chip: block times pages per block, plus page in block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct PageId(pub u32);

/// An erase block, counted from the start of the chip.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct BlockId(pub u32);

/// The shape of a chip. All sizes are in bytes and all counts are at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct Geometry {
    /// Data bytes of a page, without its spare area.
    pub page_bytes: u32,
    /// Bytes of a page's spare area as the chip has them (as `nanddump --oob` shows them).
    pub spare_bytes: u32,
    /// Bytes of the spare area left to the user of [`Nand`]: neither bad-block mark nor ECC.
    pub free_spare_bytes: u32,
    /// Pages of an erase block.
    pub pages_per_block: u32,
    /// Erase blocks of the chip, bad ones included.
    pub blocks: u32,
}

impl Geometry {
    /// Data bytes of an erase block.
    pub fn block_bytes(&self) -> u64 {
        u64::from(self.page_bytes) * u64::from(self.pages_per_block)
    }

    /// Data bytes of the chip.
    pub fn capacity_bytes(&self) -> u64 {
        self.block_bytes() * u64::from(self.blocks)
    }

    /// Pages of the chip.
    pub fn pages(&self) -> u64 {
        u64::from(self.pages_per_block) * u64::from(self.blocks)
    }

    /// The erase block that holds `page`.
    pub fn block_of(&self, page: PageId) -> BlockId {
        BlockId(page.0 / self.pages_per_block)
    }

    /// The place of `page` in its erase block, from 0.
    pub fn index_in_block(&self, page: PageId) -> u32 {
        page.0 % self.pages_per_block
    }

    /// The page at `index` of `block`.
    pub fn page(&self, block: BlockId, index: u32) -> PageId {
        PageId(block.0 * self.pages_per_block + index)
    }
}

/// The duration of each operation, in nanoseconds, transfer included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct Timing {
    /// Read a page with its spare area.
    pub read_page_ns: u64,
    /// Read a spare area alone.
    pub read_spare_ns: u64,
    /// Program a page with its spare area.
    pub program_ns: u64,
    /// Erase a block.
    pub erase_ns: u64,
}

/// The outcome of a read. The data is right in both cases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadOutcome {
    /// No bit was wrong.
    Clean,
    /// ECC put this many wrong bits right (the worst codeword's count); the block should be refreshed soon
    /// if `refresh` is set.
    Corrected {
        /// Wrong bits of the worst codeword.
        bits: u32,
        /// True once the count comes near the limit of the code.
        refresh: bool,
    },
}

/// The operations of the chip since it was opened; snapshots can be subtracted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct NandStats {
    /// Pages read with their data.
    pub page_reads: u64,
    /// Spare areas read alone, bad-block tests included.
    pub spare_reads: u64,
    /// Pages programmed, failed ones included.
    pub programs: u64,
    /// Blocks erased, failed ones included.
    pub erases: u64,
    /// Time the chip was busy by its timing table, in nanoseconds; 0 on real chips.
    pub device_ns: u64,
    /// Calls that broke a rule of NAND: always a bug of the caller.
    pub violations: u64,
}

impl core::ops::Sub for NandStats {
    type Output = NandStats;

    fn sub(self, before: NandStats) -> NandStats {
        NandStats {
            page_reads: self.page_reads - before.page_reads,
            spare_reads: self.spare_reads - before.spare_reads,
            programs: self.programs - before.programs,
            erases: self.erases - before.erases,
            device_ns: self.device_ns - before.device_ns,
            violations: self.violations - before.violations,
        }
    }
}

/// The reason why an operation failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NandError {
    /// More errors than ECC can correct; the buffers hold the chip's bytes.
    Uncorrectable(PageId),
    /// The chip reported that the program failed; the page holds anything, all others are as they were.
    ProgramFailed(PageId),
    /// The chip reported that the erase failed; the block holds anything and should be marked bad.
    EraseFailed(BlockId),
    /// Power is gone: nothing works until the chip is opened again.
    PowerLost,
    /// The call breaks a rule of NAND (order, program twice, out of range, wrong buffer length).
    Violation(&'static str, PageId),
    /// The device or file under the chip failed, with its errno.
    Device(i32),
}

impl NandError {
    /// True if the file or disk that the chip is kept on has no room left.
    pub fn is_host_full(&self) -> bool {
        matches!(self, NandError::Device(errno) if Errno(*errno).is_full())
    }
}

impl fmt::Display for NandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NandError::Uncorrectable(page) => {
                write!(f, "page {} has more wrong bits than ECC can correct", page.0)
            }
            NandError::ProgramFailed(page) => write!(f, "programming page {} failed", page.0),
            NandError::EraseFailed(block) => write!(f, "erasing block {} failed", block.0),
            NandError::PowerLost => write!(f, "the chip has lost power"),
            NandError::Violation(rule, page) => write!(f, "page {}: {rule}", page.0),
            NandError::Device(errno) => write!(f, "device error: {}", Errno(*errno)),
        }
    }
}

impl core::error::Error for NandError {}

/// A raw NAND chip with its ECC: pages are read and programmed, blocks erased.
///
/// One operation is in flight at a time: each call takes the chip for itself and is done when it returns. The rules of
/// power cuts (one operation is hit) hold for such chips only.
///
/// Rules for the caller. A page is programmed at most once between two erases of its block. The pages of a block are
/// programmed in ascending order (gaps are allowed, going back is not). Buffers have exactly the lengths of
/// [`Geometry`] (`page_bytes`, `free_spare_bytes`). A call that breaks a rule does nothing and returns
/// [`NandError::Violation`].
///
/// Power may be cut in the middle of any call. Each call lists its possible effects. Beside the page or block of that
/// call, a cut program may destroy the pages that share its cells ([`Nand::pairing`]), and nothing else: all other
/// pages keep their bytes.
///
/// Bytes that were read once need not be read again: cells lose charge with the years, reading disturbs them, and a cut
/// page may read right for a while. A page beyond correction may be readable at the next try.
pub trait Nand {
    /// The shape of the chip; never changes.
    fn geometry(&self) -> Geometry;

    /// The duration of operations; zeros where nobody knows.
    fn timing(&self) -> Timing;

    /// The pages of a block that share cells; never changes. Where nobody knows, the worst case of such chips.
    fn pairing(&self) -> Pairing;

    /// Reads a page and the free bytes of its spare area. An erased page reads as all ones, clean.
    ///
    /// On [`NandError::Uncorrectable`] the buffers are filled with the chip's bytes; another try may succeed. A cut has
    /// no effect.
    fn read(&mut self, page: PageId, data: &mut [u8], spare: &mut [u8]) -> Result<ReadOutcome, NandError>;

    /// Reads a page like [`Nand::read`], codeword by codeword. Gives the bytes that ECC gives up on as ranges of the
    /// data with the free spare bytes behind it, in order; all others are as they were programmed. A chip that only
    /// knows whole pages gives up on all of it.
    ///
    /// Costs up to a read for each codeword. A cut has no effect.
    fn read_by_codeword(
        &mut self,
        page: PageId,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<Vec<Range<usize>>, NandError> {
        match self.read(page, data, spare) {
            Ok(_) => Ok(Vec::new()),
            Err(NandError::Uncorrectable(_)) => Ok(core::iter::once(0..data.len() + spare.len()).collect()),
            Err(error) => Err(error),
        }
    }

    /// Reads the free bytes of a spare area alone, cheaper than [`Nand::read`]. They are covered by ECC on
    /// most chips but not on all: treat them as a hint until the page is read and checked.
    fn read_spare(&mut self, page: PageId, spare: &mut [u8]) -> Result<ReadOutcome, NandError>;

    /// Programs a page and its spare area in one go.
    ///
    /// Returns once the chip reports success: the bytes will be read back. After [`NandError::ProgramFailed`] the page
    /// holds anything and must not be programmed again. A cut may leave the page erased, complete, or torn: some bits
    /// programmed, or garbage that may not even be correctable. It may look erased and not keep new data, or look
    /// complete and be beyond correction after some reads. The pages that [`Pairing::endangers`] names may be destroyed
    /// with it, as long ago as they were programmed; other pages of the block keep their bytes.
    fn program(&mut self, page: PageId, data: &[u8], spare: &[u8]) -> Result<(), NandError>;

    /// Erases a block: all its pages read as all ones.
    ///
    /// A cut may leave the block as it was, erased, or half erased. Any page of it may hold anything: one that looks
    /// erased may lose new data, at once or after some reads. The caller erases the block again before use.
    fn erase(&mut self, block: BlockId) -> Result<(), NandError>;

    /// True if the block carries a bad-block mark (from the factory or from [`Nand::mark_bad`]).
    fn is_bad(&mut self, block: BlockId) -> Result<bool, NandError>;

    /// Puts the bad-block mark on a block, for good. A cut may leave it unmarked.
    fn mark_bad(&mut self, block: BlockId) -> Result<(), NandError>;

    /// The operations of the chip so far.
    fn stats(&self) -> NandStats;

    /// Makes everything programmed so far outlive a crash of the host (fsync of a container file). Chips
    /// themselves need no such call.
    fn flush(&mut self) -> Result<(), NandError>;

    /// Bytes that the host's disk has left for pages programmed for the first time; none if they cannot run out. Without
    /// room programs fail, so that callers make sure of it before they promise anything.
    fn room(&self) -> Result<Option<u64>, NandError> {
        Ok(None)
    }
}
