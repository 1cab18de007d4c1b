//! The kernels without vectors: the reference.

use super::{COLUMN_STRIDE, COLUMNS, EXPONENTS, ROW, last_row};
use crate::gf16::{Multiplier, over_x, power_of_x, product, times_x};

/// Replaces each symbol of `into` by `change` of it and of the symbol of `from` at its place.
fn each(into: &mut [u8], from: &[u8], change: impl Fn(u16, u16) -> u16) {
    for (place, other) in into.as_chunks_mut::<2>().0.iter_mut().zip(from.as_chunks::<2>().0) {
        *place = change(u16::from_le_bytes(*place), u16::from_le_bytes(*other)).to_le_bytes();
    }
}

pub(super) fn add(into: &mut [u8], from: &[u8]) {
    into.iter_mut().zip(from).for_each(|(place, other)| *place ^= other);
}

pub(super) fn add_product(into: &mut [u8], from: &[u8], factor: &Multiplier) {
    each(into, from, |a, b| a ^ factor.times(b));
}

pub(super) fn scale(into: &mut [u8], factor: &Multiplier) {
    for place in into.as_chunks_mut::<2>().0 {
        *place = factor.times(u16::from_le_bytes(*place)).to_le_bytes();
    }
}

pub(super) fn times_x_and_add(into: &mut [u8], from: &[u8]) {
    each(into, from, |a, b| times_x(a) ^ b);
}

pub(super) fn divide_by_two(leading: &mut [u8], other: &mut [u8], page: &[u8]) {
    add(leading, page);
    each(other, leading, |b, fed_back| b ^ fed_back ^ times_x(fed_back));
    for place in leading.as_chunks_mut::<2>().0 {
        *place = times_x(u16::from_le_bytes(*place)).to_le_bytes();
    }
}

pub(super) fn signature<const N: usize>(page: &[u8]) -> [u16; N] {
    let mut columns = [[0; COLUMNS]; N];
    let rest = last_row(page);
    for row in page.as_chunks::<ROW>().0.iter().chain(&rest) {
        for (sums, exponent) in columns.iter_mut().zip(EXPONENTS) {
            for (sum, symbol) in sums.iter_mut().zip(row.as_chunks::<2>().0) {
                *sum = times_power(*sum, exponent) ^ u16::from_le_bytes(*symbol);
            }
        }
    }
    let mut components = [0; N];
    for ((component, sums), exponent) in components.iter_mut().zip(&columns).zip(EXPONENTS) {
        let column = power_of_x(exponent * COLUMN_STRIDE);
        *component = sums.iter().rev().fold(0, |total, sum| product(total, column) ^ sum);
    }
    components
}

fn times_power(a: u16, exponent: i64) -> u16 {
    match exponent {
        0 => a,
        1 => times_x(a),
        -1 => over_x(a),
        _ => times_x(times_x(a)),
    }
}
