//! Lost pages of a block, from those that are left and the parity (RCFFS, section 3.1).

use alloc::{vec, vec::Vec};

use crate::{
    CodeError, MOST_PARITY,
    gf16::{Multiplier, inverse, power_of_x, product},
    limits::takes_pages_of,
    parity::roots,
    simd,
};

/// Takes all pages of a block in their order, parity pages last, and gives back those that are lost.
///
/// Memory and work grow with the number of lost pages, not with the block: one page of memory for each.
#[derive(Clone, Debug)]
pub struct Repair {
    page_bytes: usize,
    /// The word at roots of the code: (exponent of x, value). As many as pages may be lost.
    syndromes: Vec<(i64, Vec<u8>)>,
    pushed: usize,
    lost: Vec<usize>,
}

impl Repair {
    /// A repair with `parity_pages`, as the block was made with; up to so many pages may be lost.
    pub fn new(parity_pages: usize, page_bytes: usize) -> Result<Self, CodeError> {
        Self::of_few(parity_pages, parity_pages, page_bytes)
    }

    /// The same where at most `most_lost` pages are lost, which takes less work and memory.
    pub fn of_few(parity_pages: usize, most_lost: usize, page_bytes: usize) -> Result<Self, CodeError> {
        if !(1..=MOST_PARITY).contains(&parity_pages) {
            return Err(CodeError::ParityPages(parity_pages));
        }
        if !takes_pages_of(page_bytes) {
            return Err(CodeError::PageSize(page_bytes));
        }
        // Any roots that follow each other will do; those about x^0 are cheapest.
        let syndromes = roots(most_lost.min(parity_pages));
        Ok(Self {
            page_bytes,
            syndromes: syndromes.map(|root| (root, vec![0; page_bytes])).collect(),
            pushed: 0,
            lost: Vec::new(),
        })
    }

    /// Takes the next page of the block.
    pub fn push(&mut self, page: &[u8]) -> Result<(), CodeError> {
        if page.len() != self.page_bytes {
            return Err(CodeError::Length { found: page.len(), expected: self.page_bytes });
        }
        for (root, sum) in &mut self.syndromes {
            simd::raise_and_add(sum, *root, page);
        }
        self.pushed += 1;
        Ok(())
    }

    /// The next page of the block is lost.
    pub fn push_lost(&mut self) {
        for (root, sum) in &mut self.syndromes {
            simd::scale(sum, &Multiplier::new(power_of_x(*root)));
        }
        self.lost.push(self.pushed);
        self.pushed += 1;
    }

    /// The lost pages with their places in the block, in order.
    ///
    /// # Errors
    /// [`CodeError::Uncorrectable`] where more pages are lost than the code brings back.
    pub fn finish(self) -> Result<Vec<(usize, Vec<u8>)>, CodeError> {
        let count = self.lost.len();
        if count > self.syndromes.len() {
            return Err(CodeError::Uncorrectable);
        }
        let syndromes = self.syndromes.get(..count).unwrap_or_default();
        // Syndrome s is the sum over lost pages p of x^(root_s * power_p) * page.
        let power = |place: &usize| i64::try_from(self.pushed - 1 - place).unwrap_or(0);
        let rows =
            syndromes.iter().map(|(root, _)| self.lost.iter().map(|p| power_of_x(root * power(p))).collect());
        let solved = inverted(rows.collect()).ok_or(CodeError::Uncorrectable)?;
        let page = |row: &Vec<u16>| {
            let mut page = vec![0; self.page_bytes];
            for (factor, (_, sum)) in row.iter().zip(syndromes) {
                simd::add_product(&mut page, sum, &Multiplier::new(*factor));
            }
            page
        };
        Ok(self.lost.iter().copied().zip(solved.iter().map(page)).collect())
    }
}

/// The inverse of a small square matrix, `None` where there is none: Gauss and Jordan.
fn inverted(mut matrix: Vec<Vec<u16>>) -> Option<Vec<Vec<u16>>> {
    let size = matrix.len();
    for (index, row) in matrix.iter_mut().enumerate() {
        row.extend((0..size).map(|column| u16::from(column == index)));
    }
    for column in 0..size {
        let pivot = (column..size).find(|row| matrix.get(*row).and_then(|r| r.get(column)) != Some(&0))?;
        matrix.swap(column, pivot);
        let leading = matrix.get_mut(column)?;
        let factor = inverse(*leading.get(column)?);
        for value in leading.iter_mut() {
            *value = product(*value, factor);
        }
        let leading = leading.clone();
        for (_, row) in matrix.iter_mut().enumerate().filter(|(index, _)| *index != column) {
            let factor = *row.get(column)?;
            row.iter_mut().zip(&leading).for_each(|(value, above)| *value ^= product(factor, *above));
        }
    }
    matrix.into_iter().map(|row| row.get(size..).map(<[u16]>::to_vec)).collect()
}
