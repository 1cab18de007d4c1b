//! Blocks as they were before a repair, to be kept in a file.
//!
//! The file begins with 8 bytes of magic, then the size of a block and the number of blocks, 32 bits each. For each block
//! its address follows, 32 bits, and its bytes. At the end stands the checksum of all of it. Numbers are little-endian.

use std::collections::BTreeMap;

use pumice_media::{BlockDevice, Lba};

use crate::{
    crc,
    error::{Error, Result},
    layout::BlockSize,
    word::word,
};

/// The first bytes of the file; the last is its version.
const MAGIC: [u8; 8] = *b"PUMIUND\x01";

/// Blocks as they were before a repair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Undo {
    block_bytes: u32,
    blocks: BTreeMap<u32, Vec<u8>>,
}

impl Undo {
    pub(super) fn new(size: BlockSize, blocks: BTreeMap<u32, Vec<u8>>) -> Undo {
        Undo { block_bytes: size.bytes(), blocks }
    }

    /// Bytes of a block.
    pub fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    /// Blocks that are kept.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// As a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.block_bytes.to_le_bytes());
        bytes.extend(word(self.blocks.len()).to_le_bytes());
        for (addr, block) in &self.blocks {
            bytes.extend(addr.to_le_bytes());
            bytes.extend(block);
        }
        bytes.extend(crc::checksum(&bytes).to_le_bytes());
        bytes
    }

    /// Takes a file apart; `None` if it is none, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Option<Undo> {
        let (covered, sum) = bytes.split_last_chunk::<4>()?;
        let rest = covered.strip_prefix(&MAGIC)?;
        let (block_bytes, rest) = rest.split_first_chunk::<4>()?;
        let (count, rest) = rest.split_first_chunk::<4>()?;
        let (block_bytes, count) = (u32::from_le_bytes(*block_bytes), u32::from_le_bytes(*count));
        let width = usize::try_from(block_bytes).ok()?.checked_add(4)?;
        let is_whole = rest.len() == width.checked_mul(usize::try_from(count).ok()?)?;
        if crc::checksum(covered) != u32::from_le_bytes(*sum) || !is_whole {
            return None;
        }
        let blocks = rest.chunks_exact(width).filter_map(|entry| {
            let (addr, block) = entry.split_first_chunk::<4>()?;
            Some((u32::from_le_bytes(*addr), block.to_vec()))
        });
        Some(Undo { block_bytes, blocks: blocks.collect() })
    }

    /// Puts the blocks back on a device with blocks of [`Undo::block_bytes`] bytes.
    pub fn put_back(&self, device: &mut dyn BlockDevice) -> Result<()> {
        for (addr, block) in &self.blocks {
            let written = device.write(Lba((*addr).into()), block);
            written.map_err(|error| Error::Write { addr: (*addr).into(), error })?;
        }
        device.flush().map_err(Error::Flush)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_none() {
        let undo = Undo::new(BlockSize::KIB4, [(3, vec![7; 4096]), (9, vec![1; 4096])].into());
        let mut bytes = undo.to_bytes();
        assert_eq!(Undo::from_bytes(&bytes), Some(undo));
        for at in [0, 9, 20, 5000, bytes.len() - 1] {
            bytes[at] ^= 1;
            assert_eq!(Undo::from_bytes(&bytes), None, "byte {at}");
            bytes[at] ^= 1;
        }
        assert_eq!(Undo::from_bytes(&bytes[..bytes.len() - 1]), None);
        assert_eq!(Undo::from_bytes(&[]), None);
    }
}
