//! GF(2^16), the field of signatures and parity.
//!
//! An element is a polynomial over GF(2) of degree below 16, bit i of a `u16` being the coefficient of x^i; products
//! are taken modulo x^16 + x^12 + x^3 + x + 1. That polynomial is primitive: the powers of x are all 65,535 elements but
//! zero. A page is read as symbols of the field, two bytes each, the low byte first.

/// x^16 in terms of lower powers.
pub(crate) const REDUCTION: u16 = 0x100b;
/// 1 / x: (x^16 + x^12 + x^3 + x) / x, with the x^16 that 1 stands for.
pub(crate) const HALF: u16 = 0x8805;
/// The number of powers of x.
const ORDER: i64 = 0xffff;

/// x times `a`.
#[must_use]
pub const fn times_x(a: u16) -> u16 {
    (a << 1) ^ (REDUCTION & (a >> 15).wrapping_neg())
}

/// `a` divided by x.
#[must_use]
pub const fn over_x(a: u16) -> u16 {
    (a >> 1) ^ (HALF & (a & 1).wrapping_neg())
}

/// The product of two elements.
#[must_use]
pub const fn product(a: u16, b: u16) -> u16 {
    let (mut sum, mut term, mut rest) = (0, a, b);
    while rest != 0 {
        sum ^= term & (rest & 1).wrapping_neg();
        term = times_x(term);
        rest >>= 1;
    }
    sum
}

/// x to the power of `exponent`, which may be negative.
#[must_use]
pub const fn power_of_x(exponent: i64) -> u16 {
    let (mut result, mut square, mut rest) = (1, 2, exponent.rem_euclid(ORDER));
    while rest != 0 {
        if rest & 1 == 1 {
            result = product(result, square);
        }
        square = product(square, square);
        rest >>= 1;
    }
    result
}

/// 1 / `a`, or 0 for 0.
#[must_use]
pub const fn inverse(a: u16) -> u16 {
    // a^(2^16 - 2): the product of all a^(2^i), i from 1 to 15.
    let (mut result, mut square, mut step) = (1, a, 1);
    while step < 16 {
        square = product(square, square);
        result = product(result, square);
        step += 1;
    }
    result
}

/// Multiplication by one constant: the products of each value of each of a symbol's four nibbles, low bytes and high
/// bytes apart, as a shuffle of bytes looks them up.
#[derive(Clone, Debug)]
pub(crate) struct Multiplier {
    pub(crate) low: [[u8; 16]; 4],
    pub(crate) high: [[u8; 16]; 4],
}

impl Multiplier {
    /// Tables for products with `constant`.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "bytes are taken out of a symbol, indices are below 64"
    )]
    pub(crate) const fn new(constant: u16) -> Self {
        let mut tables = Self { low: [[0; 16]; 4], high: [[0; 16]; 4] };
        let mut index = 0;
        while index < 64 {
            let (nibble, value) = (index / 16, index % 16);
            let found = product(constant, (value as u16) << (4 * nibble));
            tables.low[nibble][value] = found as u8;
            tables.high[nibble][value] = (found >> 8) as u8;
            index += 1;
        }
        tables
    }

    /// The product of `a` with the constant.
    pub(crate) fn times(&self, a: u16) -> u16 {
        let nibbles = [a & 15, a >> 4 & 15, a >> 8 & 15, a >> 12].map(usize::from);
        let pick = |tables: &[[u8; 16]; 4]| {
            tables
                .iter()
                .zip(nibbles)
                .fold(0, |sum, (table, nibble)| sum ^ table.get(nibble).map_or(0, |byte| *byte))
        };
        u16::from_le_bytes([pick(&self.low), pick(&self.high)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x_is_primitive() {
        let (mut power, mut steps) = (2, 1);
        while power != 1 {
            assert_eq!(over_x(times_x(power)), power);
            power = times_x(power);
            steps += 1;
        }
        assert_eq!(i64::from(steps), ORDER);
    }

    #[test]
    fn products_and_inverses() {
        // Shift and add without reduction, then long division.
        let slow = |a: u16, b: u16| {
            let mut long =
                (0..16).filter(|bit| b >> bit & 1 == 1).fold(0_u32, |sum, bit| sum ^ (u32::from(a) << bit));
            for bit in (16..32).rev() {
                if long >> bit & 1 == 1 {
                    long ^= 0x1_100b << (bit - 16);
                }
            }
            u16::try_from(long).unwrap()
        };
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..10_000 {
            let (a, b) = (rng.u16(..), rng.u16(..));
            assert_eq!(product(a, b), slow(a, b));
            assert_eq!(Multiplier::new(a).times(b), slow(a, b));
            assert_eq!(product(a, inverse(a)), u16::from(a != 0));
            let exponent = rng.i64(-70_000..70_000);
            assert_eq!(product(power_of_x(exponent), power_of_x(-exponent)), 1);
            assert_eq!(power_of_x(exponent + 1), times_x(power_of_x(exponent)));
        }
    }
}
