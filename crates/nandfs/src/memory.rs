//! Memory for caches.

use crate::params::Params;

/// Calls between two looks at the size of the caches.
const TRIM_EVERY: u32 = 256;

/// Log pages that the caches must have room for, and bytes within which that is.
const PAGES_LEAST: usize = 16;
const LEAST: [usize; 2] = [32 << 10, 256 << 10];
/// A piece of a write takes this share of the memory at the most: it stays there until all of it has come.
const PIECE_SHARE: usize = 2;

/// The least memory for caches on a chip of this shape, in bytes.
pub(crate) fn least(params: &Params) -> usize {
    (PAGES_LEAST * params.payload as usize).clamp(LEAST[0], LEAST[1])
}

/// Memory for caches.
pub(crate) struct Memory {
    budget: usize,
    /// Calls so far: not each looks at the size of the caches.
    calls: u32,
}

impl Memory {
    /// So many bytes.
    pub(crate) fn new(budget: usize) -> Memory {
        Memory { budget, calls: 0 }
    }

    /// A call begins; true if it looks at the size of the caches, whatever that is.
    pub(crate) fn begin_call(&mut self) -> bool {
        self.calls = self.calls.wrapping_add(1);
        self.calls.is_multiple_of(TRIM_EVERY)
    }

    /// Bytes of a write that may stay there at once.
    pub(crate) fn piece_most(&self) -> usize {
        self.budget / PIECE_SHARE
    }

    /// All of it, in bytes.
    pub(crate) fn budget(&self) -> usize {
        self.budget
    }
}

#[cfg(test)]
mod tests {
    use alloc::{boxed::Box, format, string::ToString};

    use pumice_media::{ChipSpec, SimChip};
    use pumice_vfs::{Errno, Timestamp};

    use crate::{FormatOptions, MountOptions, NandFs, cache_least, format};

    #[test]
    fn less_than_a_chip_takes_is_refused_by_name() {
        for (name, least) in
            [("scaleffs-256m", 32 << 10), ("slc-4k-8g", 64 << 10), ("tlc-16k-96g", 256 << 10)]
        {
            let mut chip = SimChip::new(&ChipSpec::named(name).unwrap().with_size(1 << 30).unwrap());
            assert_eq!(cache_least(&chip), Ok(least), "{name}");
            format(&mut chip, &FormatOptions::default().with(|it| it.erased = true), &mut |_, _| {}).unwrap();
            let options = MountOptions::new(least - 1, Box::new(Timestamp::default));
            let refusal = NandFs::mount(chip.clone(), options).err().unwrap();
            assert_eq!(refusal.errno(), Errno::Invalid);
            assert!(refusal.to_string().contains(&format!("takes {least} at the least")), "{refusal}");
            NandFs::mount(chip, MountOptions::new(least, Box::new(Timestamp::default))).unwrap();
        }
    }
}
