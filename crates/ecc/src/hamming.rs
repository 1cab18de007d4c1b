//! Hamming codes of NAND flash: three bytes that correct one wrong bit in 256 or 512 bytes.
//!
//! SmartMedia's code, and the one of Linux's MTD (`nand-ecc-sw-hamming`). Each of its bits is a parity, inverted, so that
//! the code of an erased page is erased, too. A pair of bits for each bit of a byte's index says whether the bytes
//! with that bit clear (first) and set (second) have odd parity; three more pairs do so for the bit's place.

use crate::CodeError;

/// The number of bytes that one code covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// 256 bytes, as SmartMedia cards have it.
    Bytes256,
    /// 512 bytes.
    Bytes512,
}

impl Step {
    /// The step in bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Bytes256 => 256,
            Self::Bytes512 => 512,
        }
    }
}

/// The order of the two bytes of parities over bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The parities of the low index bits first, as SmartMedia's specification has it.
    SmartMedia,
    /// The parities of the high index bits first: the default of Linux and of U-Boot.
    Linux,
}

/// A Hamming code over steps of one size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hamming {
    /// The number of bytes that one code covers.
    pub step: Step,
    /// The order of the code's bytes.
    pub order: Order,
}

impl Hamming {
    /// Bytes of a code.
    pub const CODE: usize = 3;

    /// The code of `data`, which is one step long.
    pub fn code(self, data: &[u8]) -> Result<[u8; Self::CODE], CodeError> {
        self.check(data)?;
        Ok(self.arranged(!self.parities(data)))
    }

    /// Corrects `data` by the code stored beside it. Gives the number of wrong bits: 0, or 1, in data or code.
    ///
    /// # Errors
    /// [`CodeError::Uncorrectable`] where at least two bits are wrong. Three or more may pass for one.
    pub fn correct(self, data: &mut [u8], code: [u8; Self::CODE]) -> Result<u32, CodeError> {
        self.check(data)?;
        let found = (!self.gathered(code) ^ self.parities(data)) & self.used();
        // Each parity's two bits differ when one bit of the data is wrong: the index bit is the odd one.
        let pairs = self.used().count_ones() / 2;
        match found.count_ones() {
            0 => Ok(0),
            1 => Ok(1),
            odd if odd == pairs && (found ^ found >> 1) & (self.used() & EVEN) == self.used() & EVEN => {
                let index =
                    (0..12).filter(|bit| found >> (2 * bit + 1) & 1 == 1).fold(0, |sum, bit| sum | 1 << bit);
                let byte = data.get_mut(index >> 3).ok_or(CodeError::Uncorrectable)?;
                *byte ^= 1 << (index & 7);
                Ok(1)
            }
            _ => Err(CodeError::Uncorrectable),
        }
    }

    fn check(self, data: &[u8]) -> Result<(), CodeError> {
        let (found, expected) = (data.len(), self.step.bytes());
        if found == expected { Ok(()) } else { Err(CodeError::Length { found, expected }) }
    }

    /// The parities' bits: three pairs for the bit's place in its byte, then eight or nine for the byte's index.
    const fn used(self) -> u32 {
        match self.step {
            Step::Bytes256 => 0x3f_ffff,
            Step::Bytes512 => 0xff_ffff,
        }
    }

    /// Pair `n` (bits 2 n and 2 n + 1): whether the data's bits with bit n of their index clear, and set, are odd in number.
    /// The index counts bits: three bits for the place in a byte, above them the byte's index.
    fn parities(self, data: &[u8]) -> u32 {
        let (mut all, mut rows) = (0_u8, 0_u32);
        for (index, byte) in (0_u32..).zip(data) {
            all ^= byte;
            rows ^= index & (byte.count_ones() & 1).wrapping_neg();
        }
        let odd = |byte: u8| byte.count_ones() & 1;
        let columns = [(0x55, 0xaa), (0x33, 0xcc), (0x0f, 0xf0)];
        let columns = columns.map(|(clear, set)| odd(all & clear) | odd(all & set) << 1);
        let low = columns.iter().rev().fold(0, |sum, pair| sum << 2 | pair);
        let total = odd(all);
        (0..self.step.bytes().ilog2()).fold(low, |sum, bit| {
            let set = rows >> bit & 1;
            sum | (total ^ set | set << 1) << (6 + 2 * bit)
        })
    }

    /// Puts the parities where the code has them: rows of the low index bits, of the high ones, then the columns, below
    /// which 512 bytes have the ninth index bit and 256 bytes two ones.
    fn arranged(self, parities: u32) -> [u8; Self::CODE] {
        let [first, second, third, _] = (parities >> 6).to_le_bytes();
        let [columns, ..] = (parities << 2 & 0xfc).to_le_bytes();
        let last = columns | third & 3;
        match self.order {
            Order::SmartMedia => [first, second, last],
            Order::Linux => [second, first, last],
        }
    }

    fn gathered(self, code: [u8; Self::CODE]) -> u32 {
        let [a, b, last] = code;
        let (first, second) = match self.order {
            Order::SmartMedia => (a, b),
            Order::Linux => (b, a),
        };
        u32::from(last >> 2) | u32::from_le_bytes([first, second, last & 3, 0]) << 6
    }
}

/// The first bit of each pair.
const EVEN: u32 = 0x55_5555;
