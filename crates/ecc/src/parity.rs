//! Parity pages: a Reed-Solomon code over GF(2^16), made page by page (RCFFS, sections 2.1 and 3.1).
//!
//! The pages of a block in their order, parity pages last, are the coefficients of a polynomial, the highest power
//! first, at each symbol's place. The code's words are the multiples of g(y) = (y - x^b) ... (y - x^(b + k - 1)), with
//! b = -((k - 1) / 2), so that the coefficients of g are short. Parity is the remainder of a division by g, which goes
//! on page by page and needs k pages of memory, however long the block grows; a block may end after any page. Any k
//! pages of the word, parity or not, follow from all others.

use alloc::{vec, vec::Vec};

use crate::{
    CodeError, MOST_PARITY,
    gf16::{Multiplier, power_of_x, product},
    limits::takes_pages_of,
    simd,
};

/// The exponents of x at which every word of a code with `pages` parity pages is zero.
pub(crate) fn roots(pages: usize) -> impl Iterator<Item = i64> {
    debug_assert!((1..=MOST_PARITY).contains(&pages) || pages == 0);
    let first = -(i64::try_from(pages).unwrap_or(0) - 1) / 2;
    (first..).take(pages)
}

/// Makes the parity pages of a block while its pages are written.
#[derive(Clone, Debug)]
pub struct Parity {
    page_bytes: usize,
    /// The remainder so far, in a ring: the coefficient of y^i is page (`newest` + k - i - 1) mod k.
    remainder: Vec<Vec<u8>>,
    newest: usize,
    /// The coefficients of g but the leading one, from y^0.
    generator: Vec<Multiplier>,
}

impl Parity {
    /// A code with `pages` parity pages of `page_bytes` bytes each.
    pub fn new(pages: usize, page_bytes: usize) -> Result<Self, CodeError> {
        if !(1..=MOST_PARITY).contains(&pages) {
            return Err(CodeError::ParityPages(pages));
        }
        if !takes_pages_of(page_bytes) {
            return Err(CodeError::PageSize(page_bytes));
        }
        let generator = generator(pages).into_iter().map(Multiplier::new).collect();
        Ok(Self { page_bytes, remainder: vec![vec![0; page_bytes]; pages], newest: 0, generator })
    }

    /// Takes the next page of the block. Costs k products a symbol; one XOR for k = 1, about six for k = 2.
    pub fn push(&mut self, page: &[u8]) -> Result<(), CodeError> {
        if page.len() != self.page_bytes {
            return Err(CodeError::Length { found: page.len(), expected: self.page_bytes });
        }
        let (before, rest) = self.remainder.split_at_mut(self.newest);
        let Some((leading, after)) = rest.split_first_mut() else { return Err(CodeError::Uncorrectable) };
        match (before, after, self.generator.as_slice()) {
            ([], [], _) => simd::add(leading, page),
            ([other], [], _) | ([], [other], _) => simd::divide_by_two(leading, other, page),
            (before, after, generator) => {
                simd::add(leading, page);
                // The ring from behind the leading page on holds y^(k-2) ... y^0, which become y^(k-1) ... y^1.
                for (lower, factor) in after.iter_mut().chain(before).zip(generator.iter().skip(1).rev()) {
                    simd::add_product(lower, leading, factor);
                }
                if let Some(last) = generator.first() {
                    simd::scale(leading, last);
                }
            }
        }
        self.newest = (self.newest + 1) % self.remainder.len();
        Ok(())
    }

    /// The parity pages of the pushed pages, in the order in which they stand behind the block's pages.
    pub fn pages(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let pages = self.remainder.len();
        (0..pages)
            .filter_map(move |place| self.remainder.get((self.newest + place) % pages).map(Vec::as_slice))
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// Begins another block.
    pub fn clear(&mut self) {
        self.remainder.iter_mut().for_each(|page| page.fill(0));
        self.newest = 0;
    }
}

/// The coefficients of g(y) but the leading one, from y^0.
fn generator(pages: usize) -> Vec<u16> {
    let mut coefficients = vec![1];
    for root in roots(pages) {
        let root = power_of_x(root);
        // (y + root) times what there is.
        let lower = coefficients.iter().map(|c| product(*c, root)).chain([0]);
        let raised = [0].into_iter().chain(coefficients.iter().copied());
        coefficients = lower.zip(raised).map(|(a, b)| a ^ b).collect();
    }
    coefficients.truncate(pages);
    coefficients
}
