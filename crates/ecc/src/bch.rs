//! Binary BCH codes over GF(2^13): 4 or 8 wrong bits in 512 bytes, by 7 or 13 bytes of code.
//!
//! The code of Linux's MTD (`nand-ecc-algo = "bch"`): the field's polynomial is x^13 + x^4 + x^3 + x + 1. The first bit
//! of the data is the most significant one of byte 0, and the code's bits are left-aligned behind it.

use alloc::{vec, vec::Vec};

use crate::CodeError;

/// x^13 + x^4 + x^3 + x + 1.
const FIELD: u16 = 0x201b;
/// Elements of the field but zero, and so the longest code word in bits.
const ORDER: u16 = 0x1fff;

/// The number of wrong bits that are corrected, code included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strength {
    /// 4 bits, by 7 bytes.
    Four,
    /// 8 bits, by 13 bytes.
    Eight,
}

impl Strength {
    /// Wrong bits that are corrected.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// Bits of the code, all of which are used: 13 for each bit that is corrected.
    const fn code_bits(self) -> u32 {
        13 * self.bits()
    }

    /// Bytes of the code: 7 or 13.
    #[must_use]
    pub const fn code_bytes(self) -> usize {
        self.code_bits().div_ceil(8) as usize
    }
}

/// A BCH code with its tables (about 50 KiB).
#[derive(Clone, Debug)]
pub struct Bch {
    strength: Strength,
    /// The remainder of each byte, followed by a code's bits; left-aligned.
    remainders: Vec<u128>,
    /// The powers of x, twice over, and their exponents.
    powers: Vec<u16>,
    logarithms: Vec<u16>,
    /// Makes the code of an erased step an erased code.
    mask: u128,
}

impl Bch {
    /// Bytes of data that one code covers.
    pub const STEP: usize = 512;

    /// The code of this strength. The code of [`STEP`](Self::STEP) bytes of ones is all ones, as Linux stores it.
    #[must_use]
    pub fn new(strength: Strength) -> Self {
        let (powers, logarithms) = field();
        let generator = generator(strength, &powers, &logarithms);
        let remainders = (0..=u8::MAX).map(|byte| {
            (0..8).fold(u128::from(byte) << 120, |rest, _| {
                (rest << 1) ^ (generator & (rest >> 127).wrapping_neg())
            })
        });
        let mut code = Self { strength, remainders: remainders.collect(), powers, logarithms, mask: 0 };
        let ones = u128::MAX << (128 - 8 * strength.code_bytes());
        code.mask = code.remainder(&[0xff; Self::STEP]) ^ ones;
        code
    }

    /// The number of bits it corrects.
    #[must_use]
    pub const fn strength(&self) -> Strength {
        self.strength
    }

    /// Writes the code of `data`, of [`STEP`](Self::STEP) bytes, to `code`, of
    /// [`code_bytes`](Strength::code_bytes) bytes.
    pub fn encode(&self, data: &[u8], code: &mut [u8]) -> Result<(), CodeError> {
        self.check(data, code)?;
        let bytes = (self.remainder(data) ^ self.mask).to_be_bytes();
        code.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
        Ok(())
    }

    /// Corrects `data` and `code` where they stand; gives the number of wrong bits.
    ///
    /// # Errors
    /// [`CodeError::Uncorrectable`] where more bits are wrong than the strength says; nothing is changed then. Far more
    /// wrong bits may, rarely, pass for a few.
    pub fn correct(&self, data: &mut [u8], code: &mut [u8]) -> Result<u32, CodeError> {
        self.check(data, code)?;
        let mut stored = [0; 16];
        stored.iter_mut().zip(code.iter()).for_each(|(place, byte)| *place = *byte);
        let used = u128::MAX << (128 - self.strength.code_bits());
        let difference = (self.remainder(data) ^ self.mask ^ u128::from_be_bytes(stored)) & used;
        if difference == 0 {
            return Ok(0);
        }
        let locator = self.locator(&self.syndromes(difference)).ok_or(CodeError::Uncorrectable)?;
        let places = self.wrong_bits(&locator, data.len()).ok_or(CodeError::Uncorrectable)?;
        for bit in &places {
            let (byte, value) = (bit / 8, 0x80 >> (bit % 8));
            let place = match byte.checked_sub(data.len()) {
                None => data.get_mut(byte),
                Some(behind) => code.get_mut(behind),
            };
            *place.ok_or(CodeError::Uncorrectable)? ^= value;
        }
        u32::try_from(places.len()).map_err(|_| CodeError::Uncorrectable)
    }

    fn check(&self, data: &[u8], code: &[u8]) -> Result<(), CodeError> {
        let lengths = [(data.len(), Self::STEP), (code.len(), self.strength.code_bytes())];
        match lengths.into_iter().find(|(found, expected)| found != expected) {
            None => Ok(()),
            Some((found, expected)) => Err(CodeError::Length { found, expected }),
        }
    }

    /// The data's polynomial times x^(bits of the code), modulo the generator; left-aligned.
    fn remainder(&self, data: &[u8]) -> u128 {
        data.iter().fold(0, |rest, byte| {
            let [leading, ..] = u128::to_be_bytes(rest);
            (rest << 8) ^ entry(&self.remainders, usize::from(leading ^ byte))
        })
    }

    fn power(&self, exponent: u32) -> u16 {
        entry(&self.powers, (exponent % u32::from(ORDER)) as usize)
    }

    fn logarithm(&self, a: u16) -> u32 {
        debug_assert_ne!(a, 0, "zero has no logarithm");
        entry(&self.logarithms, usize::from(a)).into()
    }

    fn product(&self, a: u16, b: u16) -> u16 {
        if a == 0 || b == 0 { 0 } else { self.power(self.logarithm(a) + self.logarithm(b)) }
    }

    fn quotient(&self, a: u16, b: u16) -> u16 {
        if a == 0 { 0 } else { self.power(self.logarithm(a) + u32::from(ORDER) - self.logarithm(b)) }
    }

    /// The word at x^1 to x^(2 t): all that is wrong with it stands in the difference of the codes.
    fn syndromes(&self, difference: u128) -> Vec<u16> {
        let code_bits = self.strength.code_bits();
        let at = |exponent: u32| {
            let bits = (0..code_bits).filter(|bit| difference << bit >> 127 == 1);
            bits.fold(0, |sum, bit| sum ^ self.power(exponent * (code_bits - 1 - bit)))
        };
        (1..=2 * self.strength.bits()).map(at).collect()
    }

    /// The polynomial with the inverses of the wrong places as roots: Berlekamp and Massey. `None` if it has a higher
    /// degree than bits can be corrected.
    fn locator(&self, syndromes: &[u16]) -> Option<Vec<u16>> {
        let most = self.strength.bits() as usize;
        let length = syndromes.len() + 2;
        let (mut current, mut before) = (vec![0; length], vec![0; length]);
        *current.first_mut()? = 1;
        *before.first_mut()? = 1;
        let (mut degree, mut last, mut shift) = (0, 1, 1);
        for step in 0..syndromes.len() {
            let terms = current.iter().zip(syndromes.get(..=step)?.iter().rev()).take(degree + 1);
            let wrong = terms.fold(0, |sum, (a, s)| sum ^ self.product(*a, *s));
            if wrong == 0 {
                shift += 1;
                continue;
            }
            let kept = current.clone();
            let factor = self.quotient(wrong, last);
            for (place, old) in current.iter_mut().skip(shift).zip(&before) {
                *place ^= self.product(factor, *old);
            }
            if 2 * degree <= step {
                (degree, before, last, shift) = (step + 1 - degree, kept, wrong, 1);
            } else {
                shift += 1;
            }
        }
        current.truncate(degree + 1);
        (degree <= most && current.last() != Some(&0)).then_some(current)
    }

    /// The wrong bits, counted from the first bit of the data on. `None` where the locator does not have as many roots
    /// within the word as its degree says.
    fn wrong_bits(&self, locator: &[u16], data_bytes: usize) -> Option<Vec<usize>> {
        let bits = 8 * data_bytes + self.strength.code_bits() as usize;
        let last = u32::try_from(bits).ok()? - 1;
        let is_wrong = |bit: &usize| {
            // The place's power is last - bit; its inverse is a root of the locator.
            let exponent = u32::from(ORDER) - (last - u32::try_from(*bit).unwrap_or(0));
            let terms = (0..).zip(locator);
            0 == terms.fold(0, |sum, (power, a)| {
                sum ^ if *a == 0 { 0 } else { self.power(self.logarithm(*a) + exponent * power) }
            })
        };
        let found: Vec<usize> = (0..bits).filter(is_wrong).collect();
        (found.len() + 1 == locator.len()).then_some(found)
    }
}

/// An entry of a table that is as long as its index can be.
fn entry<T: Copy + Default>(table: &[T], index: usize) -> T {
    debug_assert!(index < table.len(), "entry {index} of a table of {}", table.len());
    table.get(index).copied().unwrap_or_default()
}

/// The powers of x and, for each element but zero, the exponent.
fn field() -> (Vec<u16>, Vec<u16>) {
    let mut logarithms = vec![0; usize::from(ORDER) + 1];
    let mut power = 1_u16;
    let powers = (0..ORDER).map(|exponent| {
        let now = power;
        if let Some(place) = logarithms.get_mut(usize::from(now)) {
            *place = exponent;
        }
        power = (now << 1) ^ (FIELD & (now >> 12 & 1).wrapping_neg());
        now
    });
    (powers.collect(), logarithms)
}

/// The product of the minimal polynomials of x^1, x^3, ... x^(2 t - 1), without its leading term; left-aligned.
fn generator(strength: Strength, powers: &[u16], logarithms: &[u16]) -> u128 {
    let product = |a: u16, b: u16| match (logarithms.get(usize::from(a)), logarithms.get(usize::from(b))) {
        (Some(i), Some(j)) if a != 0 && b != 0 => {
            entry(powers, (usize::from(*i) + usize::from(*j)) % usize::from(ORDER))
        }
        _ => 0,
    };
    // Coefficients from the constant on: those of the whole lie in GF(2).
    let mut coefficients = vec![1_u16];
    for odd in (1..2 * strength.bits()).step_by(2) {
        for conjugate in 0..13 {
            let exponent = (odd << conjugate) % u32::from(ORDER);
            let root = entry(powers, exponent as usize);
            let lower = coefficients.iter().map(|c| product(*c, root)).chain([0]);
            let raised = [0].into_iter().chain(coefficients.iter().copied());
            coefficients = lower.zip(raised).map(|(a, b)| a ^ b).collect();
        }
    }
    debug_assert!(coefficients.iter().all(|c| *c < 2), "minimal polynomials have coefficients of GF(2)");
    let without_leading = coefficients.iter().rev().skip(1);
    let bits = without_leading.fold(0_u128, |sum, c| sum << 1 | u128::from(*c));
    bits << (128 - strength.code_bits())
}
