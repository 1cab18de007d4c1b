//! The kernels with AVX2: sixteen symbols at a time. The rest at the end of a page is done plainly.

#![expect(unsafe_code, reason = "vectors are loaded and stored through pointers")]

use core::arch::x86_64::{
    __m128i, __m256i, _mm_cvtsi128_si32, _mm_loadu_si128, _mm_srli_si128, _mm_xor_si128, _mm256_add_epi16,
    _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_castsi256_si128, _mm256_extracti128_si256,
    _mm256_loadu_si256, _mm256_or_si256, _mm256_set1_epi16, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_slli_epi16, _mm256_srai_epi16, _mm256_srli_epi16, _mm256_storeu_si256, _mm256_xor_si256,
    _mm256_zextsi128_si256,
};

use super::{COLUMN_STRIDE, EXPONENTS, ROW, last_row, plain};
use crate::gf16::{HALF, Multiplier, REDUCTION, power_of_x};

/// Bytes of a vector.
const VECTOR: usize = 32;

#[inline]
#[target_feature(enable = "avx2")]
fn load(from: &[u8; VECTOR]) -> __m256i {
    // SAFETY: 32 bytes can be read there, and need not be aligned.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(into: &mut [u8; VECTOR], vector: __m256i) {
    // SAFETY: 32 bytes can be written there, and need not be aligned.
    unsafe { _mm256_storeu_si256(into.as_mut_ptr().cast(), vector) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn all(symbol: u16) -> __m256i {
    _mm256_set1_epi16(symbol.cast_signed())
}

#[inline]
#[target_feature(enable = "avx2")]
fn times_x(a: __m256i) -> __m256i {
    let carried = _mm256_and_si256(_mm256_srai_epi16::<15>(a), all(REDUCTION));
    _mm256_xor_si256(_mm256_add_epi16(a, a), carried)
}

#[inline]
#[target_feature(enable = "avx2")]
fn over_x(a: __m256i) -> __m256i {
    let carried = _mm256_and_si256(_mm256_srai_epi16::<15>(_mm256_slli_epi16::<15>(a)), all(HALF));
    _mm256_xor_si256(_mm256_srli_epi16::<1>(a), carried)
}

/// The tables of a [`Multiplier`] as vectors.
struct Tables {
    low: [__m256i; 4],
    high: [__m256i; 4],
}

impl Tables {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(factor: &Multiplier) -> Self {
        // Each half of a vector is shuffled for itself.
        // SAFETY: 16 bytes can be read there, and need not be aligned.
        let twice =
            |table: &[u8; 16]| _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(table.as_ptr().cast()) });
        Self { low: factor.low.each_ref().map(twice), high: factor.high.each_ref().map(twice) }
    }

    /// The products of sixteen symbols: a nibble in the low byte of a symbol looks up itself, and zero above it.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn times(&self, a: __m256i) -> __m256i {
        let nibble = all(15);
        let nibbles = [
            _mm256_and_si256(a, nibble),
            _mm256_and_si256(_mm256_srli_epi16::<4>(a), nibble),
            _mm256_and_si256(_mm256_srli_epi16::<8>(a), nibble),
            _mm256_srli_epi16::<12>(a),
        ];
        let (mut low, mut high) = (_mm256_setzero_si256(), _mm256_setzero_si256());
        for ((nibble, low_table), high_table) in nibbles.into_iter().zip(self.low).zip(self.high) {
            low = _mm256_xor_si256(low, _mm256_shuffle_epi8(low_table, nibble));
            high = _mm256_xor_si256(high, _mm256_shuffle_epi8(high_table, nibble));
        }
        _mm256_or_si256(low, _mm256_slli_epi16::<8>(high))
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn add_product(into: &mut [u8], from: &[u8], factor: &Multiplier) {
    let tables = Tables::new(factor);
    let ((places, rest), (others, from_rest)) = (into.as_chunks_mut::<VECTOR>(), from.as_chunks::<VECTOR>());
    for (place, other) in places.iter_mut().zip(others) {
        store(place, _mm256_xor_si256(load(place), tables.times(load(other))));
    }
    plain::add_product(rest, from_rest, factor);
}

#[target_feature(enable = "avx2")]
pub(super) fn scale(into: &mut [u8], factor: &Multiplier) {
    let tables = Tables::new(factor);
    let (places, rest) = into.as_chunks_mut::<VECTOR>();
    for place in places {
        store(place, tables.times(load(place)));
    }
    plain::scale(rest, factor);
}

#[target_feature(enable = "avx2")]
pub(super) fn times_x_and_add(into: &mut [u8], from: &[u8]) {
    let ((places, rest), (others, from_rest)) = (into.as_chunks_mut::<VECTOR>(), from.as_chunks::<VECTOR>());
    for (place, other) in places.iter_mut().zip(others) {
        store(place, _mm256_xor_si256(times_x(load(place)), load(other)));
    }
    plain::times_x_and_add(rest, from_rest);
}

#[target_feature(enable = "avx2")]
pub(super) fn divide_by_two(leading: &mut [u8], other: &mut [u8], page: &[u8]) {
    let (leading, leading_rest) = leading.as_chunks_mut::<VECTOR>();
    let (other, other_rest) = other.as_chunks_mut::<VECTOR>();
    let (page, page_rest) = page.as_chunks::<VECTOR>();
    for ((leading, other), page) in leading.iter_mut().zip(other).zip(page) {
        let fed_back = _mm256_xor_si256(load(leading), load(page));
        let raised = times_x(fed_back);
        store(other, _mm256_xor_si256(load(other), _mm256_xor_si256(fed_back, raised)));
        store(leading, raised);
    }
    plain::divide_by_two(leading_rest, other_rest, page_rest);
}

#[target_feature(enable = "avx2")]
pub(super) fn signature<const N: usize>(page: &[u8]) -> [u16; N] {
    let (rows, rest) = (page.as_chunks::<ROW>().0, last_row(page));
    // Two halves of each row in turn, so that all sums stay in registers.
    let halves = [0, 1].map(|half| {
        let mut sums = [[_mm256_setzero_si256(); 2]; N];
        for row in rows.iter().chain(&rest) {
            let vectors = row.as_chunks::<VECTOR>().0;
            if let Some([first, second]) = vectors.get(2 * half..2 * half + 2) {
                add_row(&mut sums, [load(first), load(second)]);
            }
        }
        sums
    });
    let mut components = [0; N];
    for (((component, [a, b]), [c, d]), folds) in
        components.iter_mut().zip(halves[0]).zip(halves[1]).zip(&FOLDS)
    {
        *component = fold([a, b, c, d], folds);
    }
    components
}

#[inline]
#[target_feature(enable = "avx2")]
fn add_row<const N: usize>(sums: &mut [[__m256i; 2]; N], row: [__m256i; 2]) {
    for (sums, exponent) in sums.iter_mut().zip(EXPONENTS) {
        for (sum, symbols) in sums.iter_mut().zip(row) {
            let raised = match exponent {
                0 => *sum,
                1 => times_x(*sum),
                -1 => over_x(*sum),
                _ => times_x(times_x(*sum)),
            };
            *sum = _mm256_xor_si256(raised, symbols);
        }
    }
}

/// The factors of 32, 16, 8, 4, 2 columns and one column further on, for each component.
static FOLDS: [[Multiplier; 6]; 4] =
    [folds(EXPONENTS[0]), folds(EXPONENTS[1]), folds(EXPONENTS[2]), folds(EXPONENTS[3])];

const fn folds(exponent: i64) -> [Multiplier; 6] {
    let far = exponent * COLUMN_STRIDE;
    [
        Multiplier::new(power_of_x(32 * far)),
        Multiplier::new(power_of_x(16 * far)),
        Multiplier::new(power_of_x(8 * far)),
        Multiplier::new(power_of_x(4 * far)),
        Multiplier::new(power_of_x(2 * far)),
        Multiplier::new(power_of_x(far)),
    ]
}

/// The sum of 64 columns, each times its power, halved six times.
#[inline]
#[target_feature(enable = "avx2")]
fn fold([a, b, c, d]: [__m256i; 4], folds: &[Multiplier; 6]) -> u16 {
    // What the one is multiplied to is the constant.
    let times = |factor: &Multiplier, columns: __m256i| match (factor.low[0][1], factor.high[0][1]) {
        (1, 0) => columns,
        _ => Tables::new(factor).times(columns),
    };
    let [over_half, over_16, over_8, over_4, over_two, over_1] = folds;
    let low = _mm256_xor_si256(a, times(over_half, c));
    let high = _mm256_xor_si256(b, times(over_half, d));
    let sixteen = _mm256_xor_si256(low, times(over_16, high));
    let upper =
        |columns: __m128i, factor| _mm256_castsi256_si128(times(factor, _mm256_zextsi128_si256(columns)));
    let eight =
        _mm_xor_si128(_mm256_castsi256_si128(sixteen), upper(_mm256_extracti128_si256::<1>(sixteen), over_8));
    let four = _mm_xor_si128(eight, upper(_mm_srli_si128::<8>(eight), over_4));
    let two = _mm_xor_si128(four, upper(_mm_srli_si128::<4>(four), over_two));
    let one = _mm_xor_si128(two, upper(_mm_srli_si128::<2>(two), over_1));
    let [first, second, ..] = _mm_cvtsi128_si32(one).to_le_bytes();
    u16::from_le_bytes([first, second])
}
