//! Every section of a volume is emptied by the cleaner, and all files stay.

use std::collections::BTreeSet;

use pumice_f2fs::read_super_block;
use pumice_vfs::{Errno, FileSystem};

use crate::writable::{
    crash::{mount_by, options},
    discards::used,
    disk::SharedDisk,
    power::{Image, Live},
    subject::ours,
    tree::tree,
};

/// Bytes from one block that is written again to the next: several in a section.
const HOLES_APART: usize = 1 << 19;

/// Has every section emptied, those where logs stand, too, in an order by seed. Returns how many were in use.
pub(super) fn move_all(disk: &SharedDisk, seed: u64) -> (SharedDisk, usize) {
    let live = Live::new(Image::of(&disk.bytes_now()));
    let sb = read_super_block(&live).unwrap();
    let (start, len) = (sb.main_start().0 as usize, (sb.raw().segs_per_sec.get() * 512) as usize);
    let in_use = || used(&live).into_iter().map(|block| (block - start) / len).collect::<BTreeSet<usize>>();
    let mut sections: Vec<usize> = in_use().into_iter().collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut sections);
    let fs = mount_by(&live, options()).unwrap();
    let before = tree(&fs);
    for section in &sections {
        let number = u32::try_from(*section).unwrap();
        fs.vacate(&(number..number + 1)).unwrap_or_else(|error| panic!("section {number}: {error}"));
        assert!(!in_use().contains(section), "section {section} is in use");
    }
    fs.unmount().unwrap();
    ours(&live);
    let fs = mount_by(&live, options()).unwrap();
    assert!(tree(&fs) == before);
    // Linux leaves full sections alone.
    for record in before.values() {
        for at in (0..record.bytes().len() as u64).step_by(HOLES_APART) {
            // After some rounds the volume may be full.
            match fs.write(record.ino, at, &[1]) {
                Err(error) if error.errno() == Errno::NoSpace => {}
                written => written.unwrap(),
            }
        }
    }
    fs.unmount().unwrap();
    (SharedDisk::of(4096, live.image().bytes_now()), sections.len())
}
