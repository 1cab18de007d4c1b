//! The choice of blocks to compress, and of the method: the mount's, or the file's own. A file that did not compress so
//! far is tried less often. Blocks that are about to be written are compressed ahead, on all cores.

use alloc::{collections::BTreeMap, vec::Vec};
#[cfg(feature = "std")]
use std::thread::Builder;

use hashbrown::HashMap;

use crate::pack::{Compression, pack};

/// Blocks in a row that did not compress; after these only some are tried.
const HARD: u8 = 4;
/// One in so many blocks of such a file is tried.
const SELDOM: u32 = 16;
/// The most files with notes.
const FILES_MOST: usize = 1024;
/// Blocks that take as long to compress as a thread takes to start.
#[cfg(feature = "std")]
const FEW: usize = 8;
/// Blocks that are compressed ahead.
pub(crate) const AHEAD: usize = 64;

/// A block to be compressed: inode, index, how, content.
pub(crate) type Job = ((u32, u32), Compression, Vec<u8>);

/// Notes on the files that are written.
#[derive(Default)]
pub(crate) struct Packer {
    /// The compression of blocks of files that do not say.
    pub(crate) usual: Compression,
    /// Blocks of a file in a row that did not compress.
    misses: HashMap<u32, u8>,
    /// Blocks compressed ahead; none of one that does not compress.
    ahead: BTreeMap<(u32, u32), Option<Vec<u8>>>,
}

impl Packer {
    pub(crate) fn new(usual: Compression) -> Packer {
        Packer { usual, ..Packer::default() }
    }

    /// True if a block may be worth the try.
    pub(crate) fn may_pack(&self, ino: u32, index: u32) -> bool {
        let misses = self.misses.get(&ino).copied().unwrap_or_default();
        misses < HARD || index.is_multiple_of(SELDOM)
    }

    /// A block compressed, if that is worth it.
    pub(crate) fn pack(
        &mut self,
        (ino, index): (u32, u32),
        how: Compression,
        content: &[u8],
    ) -> Option<Vec<u8>> {
        if let Some(packed) = self.ahead.remove(&(ino, index)) {
            return packed;
        }
        if how == Compression::None || !self.may_pack(ino, index) {
            return None;
        }
        let packed = pack(how, content);
        self.learn(ino, packed.is_some());
        packed
    }

    fn learn(&mut self, ino: u32, is_packed: bool) {
        if is_packed {
            self.misses.remove(&ino);
            return;
        }
        if self.misses.len() >= FILES_MOST {
            self.misses.clear();
        }
        let misses = self.misses.entry(ino).or_default();
        *misses = misses.saturating_add(1);
    }

    /// Compresses blocks that are written next.
    pub(crate) fn pack_ahead(&mut self, jobs: &[Job]) {
        for ((place, ..), packed) in jobs.iter().zip(pack_all(jobs)) {
            self.learn(place.0, packed.is_some());
            self.ahead.insert(*place, packed);
        }
    }

    /// Forgets blocks that were compressed ahead and not written.
    pub(crate) fn drop_ahead(&mut self) {
        self.ahead.clear();
    }
}

/// Each block compressed, if that is worth it.
#[cfg(feature = "std")]
fn pack_all(jobs: &[Job]) -> Vec<Option<Vec<u8>>> {
    let one = |(_, how, content): &Job| pack(*how, content);
    let cores = std::thread::available_parallelism().map_or(1, core::num::NonZero::get);
    let share = jobs.len().div_ceil(cores);
    if cores == 1 || jobs.len() < FEW {
        return jobs.iter().map(one).collect();
    }
    std::thread::scope(|scope| {
        let all = move |part: &[Job]| part.iter().map(one).collect::<Vec<_>>();
        let spawn = |part| (part, Builder::new().spawn_scoped(scope, move || all(part)));
        let workers: Vec<_> = jobs.chunks(share).map(spawn).collect();
        let done = workers.into_iter().flat_map(|(part, worker)| match worker {
            Ok(worker) => worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // The host has no thread left.
            Err(_) => all(part),
        });
        done.collect()
    })
}

/// Each block compressed, if that is worth it.
#[cfg(not(feature = "std"))]
fn pack_all(jobs: &[Job]) -> Vec<Option<Vec<u8>>> {
    jobs.iter().map(|(_, how, content)| pack(*how, content)).collect()
}

#[cfg(test)]
mod tests {
    use alloc::{format, vec};

    use super::*;

    #[test]
    fn ahead_is_the_same_as_at_once() {
        let jobs: Vec<Job> = (0..50)
            .map(|n| ((7, n), Compression::Lz4, format!("line {n}; ").repeat(300).into_bytes()))
            .collect();
        let (mut ahead, mut at_once) = (Packer::default(), Packer::default());
        ahead.pack_ahead(&jobs);
        for (place, how, content) in &jobs {
            let packed = ahead.pack(*place, *how, content);
            assert!(packed.is_some());
            assert_eq!(packed, at_once.pack(*place, *how, content));
        }
    }

    #[test]
    fn a_file_of_noise_is_tried_less_often() {
        let mut packer = Packer::default();
        let mut number = 1_u32;
        let mut noise = || {
            number = number.wrapping_mul(0x9E37_79B1).rotate_left(7) ^ 5;
            number.to_le_bytes()[0]
        };
        let noise: Vec<u8> = (0..4096).map(|_| noise()).collect();
        let mut tried = 0;
        for index in 0..64 {
            tried += u32::from(packer.may_pack(3, index));
            assert_eq!(packer.pack((3, index), Compression::Lz4, &noise), None);
        }
        assert_eq!(tried, u32::from(HARD) + 64 / SELDOM - 1);
        assert!(packer.may_pack(4, 1), "other files are another matter");
        assert!(packer.pack((3, 64), Compression::Lz4, &vec![0; 4096]).is_some());
        assert!(packer.may_pack(3, 65), "a file that compresses again is tried again");
    }
}
