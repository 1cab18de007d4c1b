//! CRC-32 (IEEE 802.3): by `crc32fast` where there is `std`, otherwise by a table of 1 KiB, as firmware has no room for its
//! 16 KiB.

#[cfg(feature = "std")]
pub(crate) use crc32fast::Hasher as Crc;

#[cfg(not(feature = "std"))]
pub(crate) use by_byte::Crc;

#[cfg(any(test, not(feature = "std")))]
mod by_byte {
    /// The polynomial, its bits reversed.
    const POLYNOMIAL: u32 = 0xedb8_8320;

    const TABLE: [u32; 256] = table();

    #[expect(
        clippy::indexing_slicing,
        reason = "made by the compiler, which would refuse a place out of range"
    )]
    const fn table() -> [u32; 256] {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let (mut sum, mut bit) = (byte, 0);
            while bit < 8 {
                sum = if sum & 1 == 0 { sum >> 1 } else { sum >> 1 ^ POLYNOMIAL };
                bit += 1;
            }
            table[byte as usize] = sum;
            byte += 1;
        }
        table
    }

    /// A checksum that is being made.
    #[derive(Clone)]
    pub(crate) struct Crc(u32);

    impl Crc {
        pub(crate) fn new() -> Crc {
            Crc(u32::MAX)
        }

        pub(crate) fn update(&mut self, bytes: &[u8]) {
            for byte in bytes {
                let [low, ..] = self.0.to_le_bytes();
                // The table has a word for each byte.
                let word = TABLE.get(usize::from(low ^ byte)).copied().unwrap_or_default();
                self.0 = self.0 >> 8 ^ word;
            }
        }

        pub(crate) fn finalize(self) -> u32 {
            !self.0
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn both_ways_give_the_same_sum() {
        let mut rng = fastrand::Rng::with_seed(1);
        for length in 0..300 {
            let bytes: alloc::vec::Vec<u8> = (0..length).map(|_| rng.u8(..)).collect();
            let (first, rest) = bytes.split_at(length / 3);
            let (mut plain, mut fast) = (super::by_byte::Crc::new(), super::Crc::new());
            for part in [first, rest] {
                plain.update(part);
                fast.update(part);
            }
            assert_eq!(plain.finalize(), fast.finalize(), "{length} bytes");
        }
    }
}
