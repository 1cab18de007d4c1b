//! Wrong bits of one read, and their outcome under ECC.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::spec::Ecc;

/// The wrong bits of a page, numbered from its first data bit, spare bytes following.
#[derive(Default)]
pub(super) struct WrongBits {
    bits: BTreeSet<u32>,
}

impl WrongBits {
    /// Adds a bit; one that is added twice is right again, as on the chip.
    pub(super) fn flip(&mut self, bit: u32) {
        if !self.bits.remove(&bit) {
            self.bits.insert(bit);
        }
    }

    /// Adds a bit that stays wrong however often it is added.
    pub(super) fn lose(&mut self, bit: u32) {
        self.bits.insert(bit);
    }

    /// Adds `count` bits of a page of `page_bits`, drawn from `rng`.
    pub(super) fn scatter(&mut self, rng: &mut fastrand::Rng, count: u32, page_bits: u32) {
        for _ in 0..count.min(page_bits) {
            self.flip(rng.u32(..page_bits));
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.bits.len() as u64
    }

    /// Corrects each codeword that can be corrected and flips the wrong bits of the others in the buffers, and those
    /// of the spare bytes where no code covers them. Gives the wrong bits of the worst of the corrected ones, and the
    /// numbers of those beyond correction. With an empty `data` only the spare bytes are judged.
    pub(super) fn judge(
        &self,
        ecc: Ecc,
        page_bytes: u32,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> (u32, Vec<u32>) {
        let (mut worst, mut lost) = (0, Vec::new());
        let bits: Vec<u32> = self.bits.iter().copied().collect();
        let number = |bit: &u32| ecc.codeword(page_bytes, bit / 8);
        for word in bits.chunk_by(|a, b| number(a) == number(b)) {
            let Some(first) = word.first() else { continue };
            let in_data = first / 8 < page_bytes;
            if in_data && data.is_empty() {
                continue;
            }
            let wrong = u32::try_from(word.len()).unwrap_or(u32::MAX);
            let is_covered = in_data || ecc.covers_spare;
            if is_covered && wrong <= ecc.bits {
                worst = worst.max(wrong);
                continue;
            }
            if is_covered {
                lost.push(number(first));
            }
            for bit in word {
                flip_in(data, spare, page_bytes, *bit);
            }
        }
        (worst, lost)
    }
}

fn flip_in(data: &mut [u8], spare: &mut [u8], page_bytes: u32, bit: u32) {
    let byte = bit / 8;
    let place = match byte.checked_sub(page_bytes) {
        None => data.get_mut(byte as usize),
        Some(at) => spare.get_mut(at as usize),
    };
    if let Some(place) = place {
        *place ^= 1 << (bit % 8);
    }
}
