//! The faults of a simulated chip, as data: set it, count it, lift it.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::nand::{BlockId, PageId};

/// The frequency of an event, and the seed that decides its times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct Rate {
    /// Cases in 1 000 000 000, at most all of them.
    pub per_billion: u32,
    /// The same seed gives the same cases for the same calls, in one version of this crate.
    pub seed: u64,
}

const BILLION: u32 = 1_000_000_000;

impl Rate {
    /// Decides one case; `case` tells it from all others.
    pub(crate) fn hits(self, case: u64) -> bool {
        random(self.seed, case).u32(..BILLION) < self.per_billion
    }

    /// Draws how many of `bits` are hit: a binomial number, from trials of about a quarter hit each at most.
    pub(crate) fn draw(self, rng: &mut fastrand::Rng, bits: u32) -> u32 {
        let mean = u64::from(bits) * u64::from(self.per_billion.min(BILLION)); // in billionths
        let trials = (mean / u64::from(BILLION) * 4).max(64);
        let threshold = mean / trials;
        let hits = (0..trials).filter(|_| u64::from(rng.u32(..BILLION)) < threshold).count();
        u32::try_from(hits).unwrap_or(bits).min(bits)
    }
}

/// A generator of its own for one case of one seed.
pub(crate) fn random(seed: u64, case: u64) -> fastrand::Rng {
    fastrand::Rng::with_seed(seed.rotate_left(32) ^ case.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// A bit that reads wrong until its block is erased.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct BitFlip {
    /// The page.
    pub page: PageId,
    /// The bit, from the first of the page's data on, free spare bytes following; bit 0 of a byte first.
    pub bit: u32,
}

/// A part of a page with a code of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct Codeword {
    /// The page.
    pub page: PageId,
    /// Its number in the page, from 0: [`Ecc::step_bytes`](crate::Ecc::step_bytes) of the data each. The free spare
    /// bytes have the number behind the last of those, whether the code covers them or not.
    pub number: u32,
}

/// Blocks wear out after a number of erases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct Endurance {
    /// Erases that still work; the next one and all later ones fail.
    pub erases: u32,
    /// True if programs fail too in a block that was erased so often.
    pub programs_fail: bool,
}

/// Reading a block disturbs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct ReadDisturb {
    /// Reads of a block's pages, spare areas included, that do no harm. They count from the last erase or, if
    /// later, from the moment this fault was set.
    pub harmless_reads: u32,
    /// Each further run of this many reads flips one more bit in each page of the block; 0 counts as 1.
    pub reads_per_flip: u32,
    /// Decides which bits.
    pub seed: u64,
}

/// Cells lose charge while time passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct Retention {
    /// Bits that a page loses in a month, on average, in thousandths; from the moment it was programmed, one by one
    /// after Poisson's law, by the chip's clock.
    pub millibits_per_month: u32,
    /// Decides which bits, and when.
    pub seed: u64,
}

/// The effect of a power cut on the operation it hits.
///
/// The page that is programmed may share its cells with earlier ones ([`Pairing`](crate::Pairing)). All modes but the
/// first two then destroy those in three of four cuts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum CutMode {
    /// The operation had not begun.
    Nothing,
    /// The operation was done, only its answer got lost.
    Complete,
    /// A program stops half way. By the seed, the page looks erased but does not keep new data. Or it holds the first
    /// codewords and ones after them, which reads clean; or it is beyond correction with some bits not yet programmed.
    /// An erase is halved as by [`CutMode::Half`].
    Torn {
        /// Decides between the outcomes.
        seed: u64,
    },
    /// A program leaves noise in data and spare bytes; by the seed it is beyond correction or, worse, reads
    /// clean. An erase is halved as by [`CutMode::Half`].
    Garbage {
        /// Decides between the outcomes.
        seed: u64,
    },
    /// An erase stops half way: by the seed each page is as it was, noise, or looks erased; nothing that is
    /// programmed before the next erase will be kept. A program is torn as by [`CutMode::Torn`].
    Half {
        /// Decides between the outcomes.
        seed: u64,
    },
    /// The page or block seems sound and is not. A program, by the seed: the page is complete and fades after some
    /// reads ([`Faults::fading`]), or is complete and cannot be read at first ([`Faults::stuttering`]), or looks erased
    /// and new data there fades. An erase: the block looks erased, and all that is programmed there before the next
    /// erase reads right at first and then fades.
    Unstable {
        /// Decides between the outcomes.
        seed: u64,
    },
}

/// A cut that is still to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct PowerCut {
    /// Operations that are still done, counted as [`SimChip::operations`](crate::SimChip::operations) does;
    /// the next one is hit.
    pub after_operations: u64,
    /// The effect on the operation that is hit.
    pub mode: CutMode,
}

/// All that goes wrong with a chip; nothing by default. A field can be emptied at any time: that lifts the
/// fault.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "std", serde(default))]
pub struct Faults {
    /// Blocks bad from the factory: marked, unreadable, and every program or erase of them fails.
    pub factory_bad: BTreeSet<BlockId>,
    /// Share of all blocks that is bad from the factory, beside the listed ones.
    pub factory_bad_rate: Option<Rate>,
    /// Pages that cannot be programmed.
    pub program_fails: BTreeSet<PageId>,
    /// Share of programs that fail.
    pub program_fail_rate: Option<Rate>,
    /// Blocks that cannot be erased.
    pub erase_fails: BTreeSet<BlockId>,
    /// Share of erases that fail.
    pub erase_fail_rate: Option<Rate>,
    /// The lifetime of blocks.
    pub endurance: Option<Endurance>,
    /// Pages beyond correction, each until its block is erased.
    pub unreadable: BTreeSet<PageId>,
    /// Codewords beyond correction, each until its block is erased.
    pub dead_codewords: BTreeSet<Codeword>,
    /// Pages that read right so many more times, and are beyond correction then, each until its block is erased.
    pub fading: BTreeMap<PageId, u32>,
    /// Pages that are beyond correction so many more times, and read right then.
    pub stuttering: BTreeMap<PageId, u32>,
    /// Share of reads that find a page beyond correction although it is not: another try may succeed.
    pub read_fail_rate: Option<Rate>,
    /// Single wrong bits, each until its block is erased. Those in the spare area get past a code that leaves it out
    /// ([`Ecc::covers_spare`](crate::Ecc::covers_spare)).
    pub flips: BTreeSet<BitFlip>,
    /// Share of bits that reads wrong, other ones at each read: noise.
    pub read_flip_rate: Option<Rate>,
    /// Bits that change because time passes.
    pub retention: Option<Retention>,
    /// Bits that change because their block is read.
    pub read_disturb: Option<ReadDisturb>,
    /// The next power cut.
    pub power_cut: Option<PowerCut>,
}

impl Faults {
    /// No faults at all.
    pub fn none() -> Faults {
        Faults::default()
    }

    /// True if nothing is set to go wrong.
    pub fn is_none(&self) -> bool {
        *self == Faults::default()
    }

    /// True if the block is bad from the factory.
    pub fn is_factory_bad(&self, block: BlockId) -> bool {
        self.factory_bad.contains(&block)
            || self.factory_bad_rate.is_some_and(|rate| rate.hits(u64::from(block.0)))
    }
}

/// The number of faults that have struck since the chip was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct FaultCounts {
    /// Programs that failed.
    pub program_failures: u64,
    /// Erases that failed.
    pub erase_failures: u64,
    /// Reads that ECC put right.
    pub corrected_reads: u64,
    /// Wrong bits seen by reads, corrected or not.
    pub flipped_bits: u64,
    /// Reads beyond correction, of damaged pages too.
    pub uncorrectable_reads: u64,
    /// Reads that failed and may succeed at another try; they count as uncorrectable, too.
    pub passing_failures: u64,
    /// Programs of pages or blocks that looked erased and were not: the data is lost, at once or after some reads.
    pub spoiled_programs: u64,
    /// Pages destroyed because a power cut hit a page that shares their cells.
    pub paired_losses: u64,
    /// Power cuts.
    pub power_cuts: u64,
}
