//! Tests common to a disk in a file and one on a device.

use std::{os::unix::fs::MetadataExt, path::Path};

use pumice_media::{BlockDevice, BlockError, FileDisk, Lba};

/// Discarded blocks take no room in the file any more and read as zeros, and nothing else changes.
pub(crate) fn frees_what_is_discarded(mut disk: FileDisk, path: &Path) {
    disk.write(Lba(0), &vec![7; 64 * 4096]).unwrap();
    disk.flush().unwrap();
    let before = std::fs::metadata(path).unwrap();
    disk.discard(Lba(16), 32).unwrap();
    disk.discard(Lba(3), 0).unwrap();
    assert!(matches!(disk.discard(Lba(60), 5), Err(BlockError::OutOfRange { .. })));
    let after = std::fs::metadata(path).unwrap();
    assert_eq!((after.len(), before.blocks() - after.blocks()), (before.len(), 32 * 8));
    let mut block = [1; 4096];
    for (lba, byte) in [(15, 7), (16, 0), (47, 0), (48, 7)] {
        disk.read(Lba(lba), &mut block).unwrap();
        assert!(block.iter().all(|found| *found == byte), "block {lba}");
    }
}
