//! Error correction in software, as a layer over a chip that has none.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use pumice_ecc::CodeError;
use pumice_media::{BlockId, Geometry, Nand, NandError, NandStats, PageId, Pairing, ReadOutcome, Timing};

use crate::Result;
use crate::page_code::{NoRoom, PageCode, SoftwareCode};

/// A chip without ECC, with the codes of a [`PageCode`] computed here.
///
/// The chip behind it shows every byte of its raw spare area but the bad-block mark as free, in their order, and
/// reads wrong bits as they are (whether it reports them or not). Costs nothing of the chip's time; the time of the
/// processor goes into [`Nand::read`] and [`Nand::program`].
///
/// The free bytes that are left are not covered, as Linux has it: [`crate::Medium`] proves them by other means.
///
/// ```
/// use pumice_flashlog::{SoftwareCode, SoftwareEcc};
/// use pumice_media::{BitFlip, ChipSpec, Ecc, Nand, PageId, ReadOutcome, SimChip, SpareRange};
///
/// let bare = ChipSpec::parse_geometry("2048+64:64:8").unwrap();
/// let none = Ecc { step_bytes: 2048, bits: 0, covers_spare: false };
/// let bare = bare.with_ecc(none, &[SpareRange { offset: 2, bytes: 62 }]).unwrap();
/// let mut chip = SoftwareEcc::new(SimChip::new(&bare), SoftwareCode::Hamming).unwrap();
/// chip.program(PageId(0), &[7; 2048], &[1; 38]).unwrap();
/// chip.chip_mut().faults_mut().flips.insert(BitFlip { page: PageId(0), bit: 100 });
///
/// let (mut data, mut spare) = ([0; 2048], [0; 38]);
/// let found = chip.read(PageId(0), &mut data, &mut spare).unwrap();
/// assert_eq!((data, spare), ([7; 2048], [1; 38]));
/// assert_eq!(found, ReadOutcome::Corrected { bits: 1, refresh: true });
/// ```
pub struct SoftwareEcc<N> {
    chip: N,
    code: PageCode,
    /// The raw spare area of one page.
    raw: Vec<u8>,
    /// The bytes of it that the chip shows.
    shown: Vec<u8>,
}

/// The reason that a chip cannot take software ECC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SoftwareEccError {
    /// The codes do not fit.
    NoRoom(NoRoom),
    /// The chip keeps bytes of its spare area to itself.
    Hidden {
        /// Bytes that it shows.
        free: u32,
        /// Bytes that it would have to show: all but the bad-block mark.
        wanted: u32,
    },
}

impl core::fmt::Display for SoftwareEccError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            SoftwareEccError::NoRoom(error) => error.fmt(f),
            SoftwareEccError::Hidden { free, wanted } => {
                write!(f, "the chip shows {free} bytes of its spare area; software ECC needs {wanted}")
            }
        }
    }
}

impl core::error::Error for SoftwareEccError {}

impl<N: Nand> SoftwareEcc<N> {
    /// The chip with its codes.
    ///
    /// # Errors
    /// If the codes do not fit, or the chip does not show its spare area.
    pub fn new(chip: N, code: SoftwareCode) -> Result<SoftwareEcc<N>, SoftwareEccError> {
        let geometry = chip.geometry();
        let code = PageCode::new(code, &geometry).map_err(SoftwareEccError::NoRoom)?;
        let raw = vec![0xff; geometry.spare_bytes as usize];
        let shown = vec![0xff; raw.len() - code.mark().len()];
        let (free, wanted) = (geometry.free_spare_bytes, shown.len());
        if free as usize != wanted {
            let wanted = u32::try_from(wanted).unwrap_or(geometry.spare_bytes);
            return Err(SoftwareEccError::Hidden { free, wanted });
        }
        Ok(SoftwareEcc { chip, code, raw, shown })
    }

    /// The chip behind it.
    pub fn chip(&self) -> &N {
        &self.chip
    }

    /// The same, to be used.
    pub fn chip_mut(&mut self) -> &mut N {
        &mut self.chip
    }

    /// Refuses a buffer for free bytes that has another length.
    fn check(&self, page: PageId, spare: &[u8]) -> Result<()> {
        match spare.len() == self.code.free().len() {
            true => Ok(()),
            false => Err(NandError::Violation("wrong buffer length", page)),
        }
    }

    /// Lays the shown bytes out at their places in the raw spare area.
    fn spread(&mut self) {
        let mark = self.code.mark();
        let places = self.raw.iter_mut().enumerate().filter(|(at, _)| !mark.contains(at));
        places.zip(&self.shown).for_each(|((_, to), from)| *to = *from);
    }

    /// The other way.
    fn gather(&mut self) {
        let mark = self.code.mark();
        let places = self.raw.iter().enumerate().filter(|(at, _)| !mark.contains(at));
        self.shown.iter_mut().zip(places).for_each(|(to, (_, from))| *to = *from);
    }

    /// Reads a page and its raw spare area as they are.
    fn read_raw(&mut self, page: PageId, data: &mut [u8], spare: &mut [u8]) -> Result<()> {
        self.check(page, spare)?;
        as_it_is(self.chip.read(page, data, &mut self.shown))?;
        self.spread();
        self.copy_free(spare);
        Ok(())
    }

    fn copy_free(&self, spare: &mut [u8]) {
        let free = self.raw.iter().skip(self.code.free().start);
        spare.iter_mut().zip(free).for_each(|(to, from)| *to = *from);
    }
}

/// A read of a chip without ECC, right or wrong, with or without a report.
fn as_it_is(outcome: Result<ReadOutcome>) -> Result<()> {
    match outcome {
        Ok(_) | Err(NandError::Uncorrectable(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

impl<N: Nand> Nand for SoftwareEcc<N> {
    fn geometry(&self) -> Geometry {
        let free = self.code.free();
        let free_spare_bytes = u32::try_from(free.len()).unwrap_or(u32::MAX);
        debug_assert!(free_spare_bytes < u32::MAX);
        Geometry { free_spare_bytes, ..self.chip.geometry() }
    }

    fn timing(&self) -> Timing {
        self.chip.timing()
    }

    fn pairing(&self) -> Pairing {
        self.chip.pairing()
    }

    fn read(&mut self, page: PageId, data: &mut [u8], spare: &mut [u8]) -> Result<ReadOutcome> {
        self.read_raw(page, data, spare)?;
        match self.code.correct(data, &self.raw) {
            Ok(0) => Ok(ReadOutcome::Clean),
            Ok(bits) => {
                let refresh = bits * 8 >= self.code.code().bits() * 5;
                Ok(ReadOutcome::Corrected { bits, refresh })
            }
            Err(CodeError::Uncorrectable) => Err(NandError::Uncorrectable(page)),
            Err(_) => Err(NandError::Violation("wrong buffer length", page)),
        }
    }

    fn read_by_codeword(
        &mut self,
        page: PageId,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<Vec<Range<usize>>> {
        self.read_raw(page, data, spare)?;
        let step = self.code.code().step_bytes();
        let outcomes = self.code.correct_steps(data, &self.raw);
        let outcomes = outcomes.map_err(|_| NandError::Violation("wrong buffer length", page))?;
        let numbered = outcomes.iter().enumerate().filter(|(_, outcome)| outcome.is_err());
        Ok(numbered.map(|(number, _)| number * step..(number + 1) * step).collect())
    }

    fn read_spare(&mut self, page: PageId, spare: &mut [u8]) -> Result<ReadOutcome> {
        self.check(page, spare)?;
        as_it_is(self.chip.read_spare(page, &mut self.shown))?;
        self.spread();
        self.copy_free(spare);
        Ok(ReadOutcome::Clean)
    }

    fn program(&mut self, page: PageId, data: &[u8], spare: &[u8]) -> Result<()> {
        self.check(page, spare)?;
        self.raw.fill(0xff);
        let free = self.raw.iter_mut().skip(self.code.free().start);
        free.zip(spare).for_each(|(to, from)| *to = *from);
        let sealed = self.code.seal(data, &mut self.raw);
        sealed.map_err(|_| NandError::Violation("wrong buffer length", page))?;
        self.gather();
        self.chip.program(page, data, &self.shown)
    }

    fn erase(&mut self, block: BlockId) -> Result<()> {
        self.chip.erase(block)
    }

    fn is_bad(&mut self, block: BlockId) -> Result<bool> {
        self.chip.is_bad(block)
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<()> {
        self.chip.mark_bad(block)
    }

    fn stats(&self) -> NandStats {
        self.chip.stats()
    }

    fn room(&self) -> Result<Option<u64>> {
        self.chip.room()
    }

    fn flush(&mut self) -> Result<()> {
        self.chip.flush()
    }
}
