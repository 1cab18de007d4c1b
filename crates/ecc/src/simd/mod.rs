//! The work on every byte of a page: with AVX2 if the processor has it, plainly otherwise.
//!
//! All pages of one call have the same, even length; the surplus of a longer one is left alone.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod plain;

use crate::gf16::{Multiplier, power_of_x};

#[cfg(target_arch = "x86_64")]
cpufeatures::new!(has_avx2, "avx2");

/// Calls the kernel of this name: the AVX2 form where the processor has it, else the plain one.
macro_rules! dispatch {
    ($name:ident $(::<$generic:tt>)? ($($argument:expr),*)) => {{
        #[cfg(target_arch = "x86_64")]
        if has_avx2::get() {
            #[expect(unsafe_code, reason = "the processor has just been asked for AVX2")]
            // SAFETY: AVX2 is all that the kernels ask for.
            return unsafe { avx2::$name$(::<$generic>)?($($argument),*) };
        }
        plain::$name$(::<$generic>)?($($argument),*)
    }};
}

/// `into` += `from`.
pub(crate) fn add(into: &mut [u8], from: &[u8]) {
    // Compilers make the best of it by themselves.
    plain::add(into, from);
}

/// `into` += `factor` * `from`.
pub(crate) fn add_product(into: &mut [u8], from: &[u8], factor: &Multiplier) {
    debug_assert_eq!(into.len(), from.len());
    dispatch!(add_product(into, from, factor));
}

/// `into` *= `factor`.
pub(crate) fn scale(into: &mut [u8], factor: &Multiplier) {
    dispatch!(scale(into, factor));
}

/// `into` = `into` * x^`exponent` + `from`.
pub(crate) fn raise_and_add(into: &mut [u8], exponent: i64, from: &[u8]) {
    debug_assert_eq!(into.len(), from.len());
    match exponent {
        0 => add(into, from),
        1 => times_x_and_add(into, from),
        exponent => {
            scale(into, &Multiplier::new(power_of_x(exponent)));
            add(into, from);
        }
    }
}

fn times_x_and_add(into: &mut [u8], from: &[u8]) {
    dispatch!(times_x_and_add(into, from));
}

/// One step of a division by y^2 + (1 + x) y + x: the remainder is `leading` y + `other` and becomes
/// `other` y + `leading`.
pub(crate) fn divide_by_two(leading: &mut [u8], other: &mut [u8], page: &[u8]) {
    debug_assert!(leading.len() == page.len() && other.len() == page.len());
    dispatch!(divide_by_two(leading, other, page));
}

/// The first `N` components of the signature of a page, N at most 4.
pub(crate) fn signature<const N: usize>(page: &[u8]) -> [u16; N] {
    dispatch!(signature::<N>(page))
}

/// Symbols in a row of a signature's polynomial.
const COLUMNS: usize = 64;
/// Bytes in such a row.
const ROW: usize = 2 * COLUMNS;
/// The distance between the powers of two columns.
const COLUMN_STRIDE: i64 = 1024;
/// The exponent of x for each component of a signature.
const EXPONENTS: [i64; 4] = [0, 1, -1, 2];

/// The last row of a page that is no whole number of rows, filled up with zeros.
fn last_row(page: &[u8]) -> Option<[u8; ROW]> {
    let (_, rest) = page.as_chunks::<ROW>();
    let mut row = [0; ROW];
    row.get_mut(..rest.len()).filter(|place| !place.is_empty())?.copy_from_slice(rest);
    Some(row)
}

#[cfg(all(feature = "std", target_arch = "x86_64"))]
#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    type Change<'a> = &'a dyn Fn(bool, &mut Vec<u8>, &mut Vec<u8>);

    /// Each kernel against its plain form, over lengths that fill vectors and rows in every way.
    #[test]
    #[expect(unsafe_code, clippy::print_stderr, reason = "the processor is asked for AVX2 first")]
    fn avx2_is_plain() {
        if !has_avx2::get() {
            std::eprintln!("SKIPPED: no AVX2 here");
            return;
        }
        let mut rng = fastrand::Rng::with_seed(7);
        for length in (2..700).step_by(2).chain([2048, 2112, 4096, 16384, 65536]) {
            let mut page = || (0..length).map(|_| rng.u8(..)).collect::<Vec<u8>>();
            let (a, b, c) = (page(), page(), page());
            let factor = Multiplier::new(u16::from_le_bytes([a[0], b[0]]));
            let both = |change: Change<'_>| {
                let forms = [false, true].map(|fast| {
                    let (mut first, mut second) = (a.clone(), b.clone());
                    change(fast, &mut first, &mut second);
                    (first, second)
                });
                assert_eq!(forms[0], forms[1], "{length} bytes");
            };
            // SAFETY: AVX2 is there.
            unsafe {
                both(&|fast, a, _| {
                    if fast { avx2::add_product(a, &c, &factor) } else { plain::add_product(a, &c, &factor) }
                });
                both(&|fast, a, _| if fast { avx2::scale(a, &factor) } else { plain::scale(a, &factor) });
                both(&|fast, a, _| {
                    if fast { avx2::times_x_and_add(a, &c) } else { plain::times_x_and_add(a, &c) }
                });
                both(&|fast, a, b| {
                    if fast { avx2::divide_by_two(a, b, &c) } else { plain::divide_by_two(a, b, &c) }
                });
                assert_eq!(avx2::signature::<2>(&a), plain::signature::<2>(&a), "{length} bytes");
                assert_eq!(avx2::signature::<3>(&a), plain::signature::<3>(&a), "{length} bytes");
                assert_eq!(avx2::signature::<4>(&a), plain::signature::<4>(&a), "{length} bytes");
            }
        }
    }

    /// A signature by its definition: each symbol times its power of x.
    #[test]
    fn signatures_are_polynomials() {
        use crate::gf16::product;
        let mut rng = fastrand::Rng::with_seed(8);
        for length in [2_usize, 126, 128, 130, 512, 2048, 2112, 16384, 65536] {
            let page: Vec<u8> = (0..length).map(|_| rng.u8(..)).collect();
            let rows = length.div_ceil(ROW);
            let sums = EXPONENTS.map(|exponent| {
                page.chunks_exact(2).enumerate().fold(0, |sum, (index, symbol)| {
                    let (row, column) = (index / COLUMNS, index % COLUMNS);
                    let power = COLUMN_STRIDE * i64::try_from(column).unwrap()
                        + i64::try_from(rows - 1 - row).unwrap();
                    sum ^ product(u16::from_le_bytes([symbol[0], symbol[1]]), power_of_x(exponent * power))
                })
            });
            assert_eq!(signature::<4>(&page), sums);
        }
    }
}
