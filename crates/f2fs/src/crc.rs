//! The checksum of F2FS: CRC-32 (polynomial 0xEDB88320, reflected) that begins with a seed and is not inverted.

use crc32fast::Hasher;

/// The seed of all checksums but those of inodes and quota files: the magic number of the super block.
pub const MAGIC_SEED: u32 = 0xF2F5_2010;

/// The place of an inode block's checksum, in bytes from its start.
pub const INODE_CHECKSUM_OFFSET: usize = 368;

/// The checksum of `bytes`, continued from `seed`: one part after the other gives that of the whole.
///
/// The library's checksum is inverted before and after; inverting both ends once more leaves the bare register.
pub fn crc32(seed: u32, bytes: &[u8]) -> u32 {
    let mut hasher = Hasher::new_with_initial(!seed);
    hasher.update(bytes);
    !hasher.finalize()
}

/// The checksum of super blocks, checkpoints, journals and compressed clusters.
pub fn checksum(bytes: &[u8]) -> u32 {
    crc32(MAGIC_SEED, bytes)
}

/// The seed of a volume's inode checksums, from its UUID.
pub fn inode_seed(uuid: &[u8; 16]) -> u32 {
    crc32(u32::MAX, uuid)
}

/// The checksum of an inode: over its number, its generation and the whole block with the checksum's own four bytes
/// taken as zero. `None` if the block is too short to hold one.
pub fn inode_checksum(seed: u32, ino: u32, generation: u32, block: &[u8]) -> Option<u32> {
    let (before, rest) = block.split_at_checked(INODE_CHECKSUM_OFFSET)?;
    let (_, after) = rest.split_at_checked(4)?;
    let crc = crc32(seed, &ino.to_le_bytes());
    let crc = crc32(crc, &generation.to_le_bytes());
    let crc = crc32(crc, before);
    let crc = crc32(crc, &[0; 4]);
    Some(crc32(crc, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, bit by bit.
    fn slow(seed: u32, bytes: &[u8]) -> u32 {
        bytes.iter().fold(seed, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
        })
    }

    #[test]
    fn agrees_with_the_definition() {
        let bytes: Vec<u8> = (0..=250).cycle().step_by(7).take(5000).collect();
        for length in [0, 1, 4, 15, 16, 64, 127, 4096, 5000] {
            assert_eq!(checksum(&bytes[..length]), slow(MAGIC_SEED, &bytes[..length]), "{length} bytes");
        }
        assert_eq!(!crc32(u32::MAX, b"123456789"), 0xCBF4_3926, "the check value of CRC-32");
    }

    #[test]
    fn parts_make_the_whole() {
        let whole = crc32(7, b"flash friendly");
        assert_eq!(crc32(crc32(7, b"flash "), b"friendly"), whole);
    }

    #[test]
    fn an_inode_checksum_leaves_itself_out() {
        let mut block = vec![0x5a; 4096];
        let seed = inode_seed(&[3; 16]);
        let first = inode_checksum(seed, 4, 9, &block).unwrap();
        block[INODE_CHECKSUM_OFFSET..INODE_CHECKSUM_OFFSET + 4].copy_from_slice(&first.to_le_bytes());
        assert_eq!(inode_checksum(seed, 4, 9, &block), Some(first));
        block[4095] ^= 1;
        assert_ne!(inode_checksum(seed, 4, 9, &block), Some(first));
        assert_ne!(inode_checksum(seed, 5, 9, &block), inode_checksum(seed, 4, 9, &block));
        assert_eq!(inode_checksum(seed, 4, 9, &block[..370]), None);
    }
}
