//! Block devices keep their contract.

use pumice_media::{BlockDevice, BlockError, FileDisk, Lba, MediaError, MemDisk, ReadAt};

const BLOCK: usize = 512;

fn keeps_the_contract(disk: &mut impl BlockDevice) {
    assert_eq!((disk.block_bytes(), disk.blocks()), (512, 100));
    let mut got = vec![1; BLOCK * 3];
    disk.read(Lba(97), &mut got).unwrap();
    assert_eq!(got, vec![0; BLOCK * 3]);
    let two: Vec<u8> = (0..BLOCK * 2).map(|i| (i % 251).to_le_bytes()[0]).collect();
    disk.write(Lba(98), &two).unwrap();
    disk.flush().unwrap();
    disk.read(Lba(97), &mut got).unwrap();
    assert_eq!((&got[..BLOCK], &got[BLOCK..]), (&[0; BLOCK][..], &two[..]));
    disk.write(Lba(98), &[9; BLOCK]).unwrap();
    disk.read(Lba(98), &mut got[..BLOCK]).unwrap();
    assert_eq!(got[..BLOCK], [9; BLOCK]);
    disk.read(Lba(0), &mut []).unwrap();

    let beyond = |first, count| Err(BlockError::OutOfRange { first: Lba(first), count, blocks: 100 });
    assert_eq!(disk.read(Lba(98), &mut got), beyond(98, 3));
    assert_eq!(disk.write(Lba(u64::MAX), &two), beyond(u64::MAX, 2));
    assert_eq!(disk.discard(Lba(1), 100), beyond(1, 100));
    assert_eq!(disk.read(Lba(0), &mut got[1..]), Err(BlockError::Length { bytes: 1535, block_bytes: 512 }));
    disk.discard(Lba(99), 1).unwrap();
    disk.read(Lba(98), &mut got[..BLOCK]).unwrap();
    assert_eq!(got[..BLOCK], [9; BLOCK], "beside a discard");
}

#[test]
fn in_memory() {
    keeps_the_contract(&mut MemDisk::new(512, 100));
    let boxed: Box<dyn BlockDevice + Send> = Box::new(MemDisk::new(512, 100));
    keeps_the_contract(&mut { boxed });
    keeps_the_contract(&mut MemDisk::new(512, 100).clone());
}

#[test]
fn in_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk");
    keeps_the_contract(&mut FileDisk::create(&path, 512, 100, false).unwrap());
    assert!(matches!(FileDisk::create(&path, 512, 100, false), Err(MediaError::Exists(_))));
    let mut disk = FileDisk::open(&path, 512, true).unwrap();
    assert!(matches!(FileDisk::open(&path, 512, false), Err(MediaError::Busy { .. })));
    let mut got = [0; BLOCK];
    disk.read(Lba(98), &mut got).unwrap();
    assert_eq!(got, [9; BLOCK]);
    assert_eq!(disk.write(Lba(0), &got), Err(BlockError::ReadOnly));
    assert_eq!(disk.discard(Lba(0), 1), Err(BlockError::ReadOnly));
    assert_eq!(FileDisk::open(&path, 4096, true).unwrap().blocks(), 12, "the remainder is not shown");
}

/// Bytes in memory can be read from anywhere, and not beyond their end.
#[test]
fn bytes_are_a_disk_to_read() {
    let bytes: Vec<u8> = (0..100).collect();
    assert_eq!(bytes.bytes(), 100);
    let mut got = [0; 3];
    bytes.read_at(97, &mut got).unwrap();
    assert_eq!(got, [97, 98, 99]);
    for at in [98, 100, u64::MAX] {
        let beyond = Err(BlockError::OutOfRange { first: Lba(at), count: 3, blocks: 100 });
        assert_eq!(bytes.read_at(at, &mut got), beyond);
    }
}

/// A failure of the file has the system's number, and one without a number is EIO; some mean that there is no room.
#[test]
fn failures_of_the_file_have_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk");
    let mut disk = FileDisk::create(&path, 512, 100, false).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
    assert_eq!(disk.read(Lba(0), &mut [0; BLOCK]), Err(BlockError::Device(5)));
    let is_full = |errno| BlockError::Device(errno).is_host_full();
    assert!(is_full(28) && is_full(122) && !is_full(5) && !is_full(0));
    assert!(!BlockError::Full.is_host_full());
}

#[test]
fn a_discard_makes_a_hole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk");
    crate::common::frees_what_is_discarded(FileDisk::create(&path, 4096, 64, false).unwrap(), &path);
}
