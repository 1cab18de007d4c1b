//! The codes that a driver keeps in the spare areas of a chip without ECC of its own, at the places of Linux's MTD and
//! U-Boot.
//!
//! Each step of the page has one code. On pages of 512 bytes and less the codes lie around the bad-block mark (byte 5),
//! and bytes 8 to 15 are free. On larger pages the codes lie at the end of the spare area, the mark in its first two
//! bytes, and the bytes between are free. No code covers the free bytes. An erased page has erased codes, so that a
//! wrong bit in it is corrected, too.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use pumice_ecc::{Bch, CodeError, Hamming, Order, Step, Strength};
use pumice_media::Geometry;

/// A code that software computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SoftwareCode {
    /// One bit in 256 bytes.
    Hamming,
    /// 4 or 8 bits in 512 bytes.
    Bch(Strength),
}

impl SoftwareCode {
    /// Bytes that one code covers.
    pub const fn step_bytes(self) -> usize {
        match self {
            SoftwareCode::Hamming => Step::Bytes256.bytes(),
            SoftwareCode::Bch(_) => Bch::STEP,
        }
    }

    /// Wrong bits that it corrects in each step.
    pub const fn bits(self) -> u32 {
        match self {
            SoftwareCode::Hamming => 1,
            SoftwareCode::Bch(strength) => strength.bits(),
        }
    }

    /// Bytes of a code.
    const fn code_bytes(self) -> usize {
        match self {
            SoftwareCode::Hamming => Hamming::CODE,
            SoftwareCode::Bch(strength) => strength.code_bytes(),
        }
    }
}

/// A code has no room in the spare area, or its steps do not fill the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoRoom {
    /// Bytes of the spare area for codes and bad-block mark; with one more, a byte would be free.
    pub needed: usize,
    /// Bytes that the spare area has.
    pub spare_bytes: usize,
}

impl core::fmt::Display for NoRoom {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let NoRoom { needed, spare_bytes } = self;
        write!(f, "the codes need {needed} of the {spare_bytes} bytes of the spare area, and a free one")
    }
}

impl core::error::Error for NoRoom {}

/// The codes of a page and their places in its raw spare area.
#[derive(Clone, Debug)]
pub struct PageCode {
    code: Code,
    /// The place of each byte of the codes, step by step.
    places: Vec<usize>,
    free: Range<usize>,
    mark: Range<usize>,
    spare_bytes: usize,
}

#[derive(Clone, Debug)]
enum Code {
    Hamming(Hamming),
    Bch(Box<Bch>),
}

impl PageCode {
    /// The codes of a chip's pages.
    ///
    /// # Errors
    /// If they do not fit, or a page is not a whole number of steps.
    pub fn new(code: SoftwareCode, geometry: &Geometry) -> Result<PageCode, NoRoom> {
        let (page, spare_bytes) = (geometry.page_bytes as usize, geometry.spare_bytes as usize);
        let bytes = page.div_ceil(code.step_bytes()) * code.code_bytes();
        let is_small = page <= 512;
        let (mark, free_from) = if is_small { (5..6, 8) } else { (0..2, 2) };
        let needed = if is_small { free_from } else { free_from + bytes };
        let is_whole = page.is_multiple_of(code.step_bytes());
        let fits = if is_small { bytes <= SMALL_PLACES.len() } else { true };
        if !is_whole || !fits || needed >= spare_bytes {
            return Err(NoRoom { needed: if fits { needed } else { free_from + bytes }, spare_bytes });
        }
        let (places, free) = match is_small {
            true => (SMALL_PLACES.iter().copied().take(bytes).collect(), free_from..spare_bytes),
            false => ((spare_bytes - bytes..spare_bytes).collect(), free_from..spare_bytes - bytes),
        };
        let code = match code {
            SoftwareCode::Hamming => Code::Hamming(Hamming { step: Step::Bytes256, order: Order::Linux }),
            SoftwareCode::Bch(strength) => Code::Bch(Box::new(Bch::new(strength))),
        };
        Ok(PageCode { code, places, free, mark, spare_bytes })
    }

    /// The kind and strength of the code.
    pub fn code(&self) -> SoftwareCode {
        match &self.code {
            Code::Hamming(_) => SoftwareCode::Hamming,
            Code::Bch(bch) => SoftwareCode::Bch(bch.strength()),
        }
    }

    /// The bytes of the raw spare area that are free.
    pub fn free(&self) -> Range<usize> {
        self.free.clone()
    }

    /// The bytes of the raw spare area that mark a bad block.
    pub fn mark(&self) -> Range<usize> {
        self.mark.clone()
    }

    /// Writes the codes of a page into its raw spare area.
    ///
    /// # Errors
    /// [`CodeError::Length`] if a buffer is not as long as the chip's.
    pub fn seal(&self, page: &[u8], spare: &mut [u8]) -> Result<(), CodeError> {
        self.check(page, spare)?;
        let mut codes = [0; MOST_CODE];
        for (data, places) in self.steps(page.chunks_exact(self.code().step_bytes())) {
            match &self.code {
                Code::Hamming(hamming) => {
                    let code = hamming.code(data)?;
                    codes.iter_mut().zip(code).for_each(|(to, from)| *to = from);
                }
                Code::Bch(bch) => {
                    let (code, _) = codes.split_at_mut(places.len());
                    bch.encode(data, code)?;
                }
            }
            for (place, byte) in places.iter().zip(codes) {
                *spare.get_mut(*place).ok_or(CodeError::Uncorrectable)? = byte;
            }
        }
        Ok(())
    }

    /// Corrects a page by the codes in its raw spare area. Gives the wrong bits of the worst step.
    ///
    /// # Errors
    /// [`CodeError::Uncorrectable`] if a step has too many wrong bits; the others are corrected all the same.
    /// [`CodeError::Length`] if a buffer is not as long as the chip's.
    pub fn correct(&self, page: &mut [u8], spare: &[u8]) -> Result<u32, CodeError> {
        self.correct_steps(page, spare)?.into_iter().try_fold(0, |worst, step| Ok(worst.max(step?)))
    }

    /// The same with an outcome for each step, in order.
    pub(crate) fn correct_steps(
        &self,
        page: &mut [u8],
        spare: &[u8],
    ) -> Result<Vec<Result<u32, CodeError>>, CodeError> {
        self.check(page, spare)?;
        let mut outcomes = Vec::new();
        let mut codes = [0; MOST_CODE];
        for (data, places) in self.steps(page.chunks_exact_mut(self.code().step_bytes())) {
            for (byte, place) in codes.iter_mut().zip(places) {
                *byte = *spare.get(*place).ok_or(CodeError::Uncorrectable)?;
            }
            let bits = match (&self.code, codes) {
                (Code::Hamming(hamming), [a, b, c, ..]) => hamming.correct(data, [a, b, c]),
                (Code::Bch(bch), mut codes) => bch.correct(data, codes.split_at_mut(places.len()).0),
            };
            outcomes.push(bits);
        }
        Ok(outcomes)
    }

    /// The steps of a page, each with the places of its code.
    fn steps<T>(&self, steps: impl Iterator<Item = T>) -> impl Iterator<Item = (T, &[usize])> {
        steps.zip(self.places.chunks_exact(self.code().code_bytes()))
    }

    fn check(&self, page: &[u8], spare: &[u8]) -> Result<(), CodeError> {
        let whole = self.places.len() / self.code().code_bytes() * self.code().step_bytes();
        for (found, expected) in [(page.len(), whole), (spare.len(), self.spare_bytes)] {
            if found != expected {
                return Err(CodeError::Length { found, expected });
            }
        }
        Ok(())
    }
}

/// The places of the codes of small pages.
const SMALL_PLACES: [usize; 6] = [0, 1, 2, 3, 6, 7];
/// Bytes of the longest code.
const MOST_CODE: usize = 13;
