//! A simulated host with power failures, in memory.

use std::boxed::Box;
use std::collections::BTreeSet;
use std::io::{self, Error, ErrorKind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::vec;
use std::vec::Vec;

use crate::container::{self, Layout};
use crate::error::MediaError;
use crate::file_store::ChipFile;
use crate::host::{HostFile, Session};
use crate::memory::Memory;
use crate::spec::ChipSpec;

/// The unit of a host's disk.
const SECTOR: usize = 512;

/// The name for messages.
const HOST: &str = "host";

/// The usual unit of a host's cache.
const PAGE: usize = 4096;

/// A file of a host, in memory, that shows the possible effects of a power cut on it. Clones are the same file.
#[derive(Clone, Debug, Default)]
pub struct SimHost(Arc<Mutex<State>>);

/// The bytes on the disk, and the writes since, in their order.
#[derive(Clone, Debug, Default)]
struct Disk {
    synced: Vec<u8>,
    writes: Vec<(usize, Vec<u8>)>,
}

#[derive(Debug, Default)]
struct State {
    now: Vec<u8>,
    disk: Disk,
    /// As it was before the last sync.
    before_sync: Disk,
    syncs: u64,
    session: u64,
    /// Syncs fail, and their data is lost.
    is_failing: bool,
    room: Option<Room>,
}

/// The space of a disk for a file with holes.
#[derive(Debug)]
struct Room {
    /// The pages of the file that have space.
    taken: BTreeSet<usize>,
    /// Bytes left for others.
    left: u64,
}

impl SimHost {
    /// A file that holds these bytes, synced.
    pub fn new(bytes: Vec<u8>) -> SimHost {
        let disk = Disk { synced: bytes.clone(), writes: Vec::new() };
        let state = State { now: bytes, before_sync: disk.clone(), disk, ..State::default() };
        SimHost(Arc::new(Mutex::new(state)))
    }

    /// The container of a fresh chip.
    pub fn container(spec: &ChipSpec) -> Result<SimHost, MediaError> {
        let bytes = Layout::new(&spec.geometry()).file_bytes();
        let host = SimHost::new(vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)]);
        container::write_slot(&host, Path::new(HOST), 0, &Memory::default())?;
        container::write_header(&host, Path::new(HOST), spec)?;
        host.sync_data().map_err(MediaError::io("sync", Path::new(HOST)))?;
        Ok(host)
    }

    /// Opens the container that lies in it.
    pub fn open(&self) -> Result<ChipFile, MediaError> {
        ChipFile::open_on(Box::new(self.clone()), Path::new(HOST), false)
    }

    /// A reader's view of the file.
    pub fn bytes(&self) -> Vec<u8> {
        self.state().now.clone()
    }

    /// Syncs so far.
    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// Makes every later sync fail.
    pub fn fail_syncs(&self) {
        self.state().is_failing = true;
    }

    /// Leaves the disk so many bytes for pages of the file that hold nothing so far.
    pub fn leave_room(&self, left: u64) {
        let mut state = self.state();
        let is_taken = |page: &[u8]| page.iter().any(|byte| *byte != 0);
        let before = state.room.take().map(|room| room.taken);
        let find = |now: &[u8]| {
            now.chunks(PAGE).zip(0..).filter(|(page, _)| is_taken(page)).map(|(_, at)| at).collect()
        };
        let taken = before.unwrap_or_else(|| find(&state.now));
        state.room = Some(Room { taken, left });
    }

    /// The contents of the disk if the power failed now, one possibility for each seed. Every page, or every sector, is
    /// as it was at a moment of its own since the last sync, or as it was then or is now.
    #[must_use]
    pub fn after_cut(&self, seed: u64) -> SimHost {
        let state = self.state();
        state.disk.after_cut(seed, state.session)
    }

    /// The same if the power failed in the last sync.
    #[must_use]
    pub fn after_cut_in_sync(&self, seed: u64) -> SimHost {
        let state = self.state();
        state.before_sync.after_cut(seed, state.session)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    /// Takes the pages for a write; an error if there is no room for them.
    fn take(&mut self, place: &core::ops::Range<usize>) -> io::Result<()> {
        let pages = place.start / PAGE..place.end.div_ceil(PAGE);
        let fresh: Vec<usize> = pages.filter(|page| !self.taken.contains(page)).collect();
        let left = self.left.checked_sub(fresh.len() as u64 * PAGE as u64);
        self.left = left.ok_or(Error::from_raw_os_error(libc::ENOSPC))?;
        self.taken.extend(fresh);
        Ok(())
    }
}

impl Disk {
    fn after_cut(&self, seed: u64, session: u64) -> SimHost {
        let mut rng = fastrand::Rng::with_seed(seed);
        let unit = if rng.bool() { PAGE } else { SECTOR };
        let is_moment_free = rng.bool();
        let count = self.writes.len();
        let mut bytes = self.synced.clone();
        let moments: Vec<usize> = (0..bytes.len().div_ceil(unit))
            .map(|_| if is_moment_free { rng.usize(..=count) } else { count * usize::from(rng.bool()) })
            .collect();
        for (number, (start, written)) in self.writes.iter().enumerate() {
            let mut at = *start;
            while at < start + written.len() {
                let end = (start + written.len()).min((at / unit + 1) * unit);
                let is_kept = moments.get(at / unit).is_some_and(|moment| number < *moment);
                if let Some(place) = bytes.get_mut(at..end).filter(|_| is_kept) {
                    place.copy_from_slice(written.get(at - start..end - start).unwrap_or(&[]));
                }
                at = end;
            }
        }
        let after = SimHost::new(bytes);
        after.state().session = session + 1;
        after
    }
}

fn place(at: u64, bytes: usize) -> io::Result<core::ops::Range<usize>> {
    let start = usize::try_from(at).map_err(|_| Error::from(ErrorKind::UnexpectedEof))?;
    Ok(start..start.saturating_add(bytes))
}

impl HostFile for SimHost {
    fn session(&self) -> Session {
        Session(u128::from(self.state().session + 1).to_le_bytes())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.state().now.len() as u64)
    }

    fn read_exact_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let state = self.state();
        let found = state.now.get(place(at, bytes.len())?).ok_or(ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(found);
        Ok(())
    }

    fn room(&self) -> io::Result<Option<u64>> {
        let state = self.state();
        let missing = |room: &Room| (state.now.len().div_ceil(PAGE) - room.taken.len()) as u64 * PAGE as u64;
        Ok(state.room.as_ref().filter(|room| room.left < missing(room)).map(|room| room.left))
    }

    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut state = self.state();
        let place = place(at, bytes.len())?;
        if let Some(room) = &mut state.room {
            room.take(&place)?;
        }
        state.now.get_mut(place.clone()).ok_or(ErrorKind::StorageFull)?.copy_from_slice(bytes);
        state.disk.writes.push((place.start, bytes.to_vec()));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state();
        state.syncs += 1;
        if state.is_failing {
            // As Linux does: the cache is called clean, and nobody is told again.
            return Err(Error::from_raw_os_error(libc::EIO));
        }
        state.before_sync = state.disk.clone();
        let Disk { synced, writes } = &mut state.disk;
        for (start, written) in writes.drain(..) {
            if let Some(place) = synced.get_mut(start..start + written.len()) {
                place.copy_from_slice(&written);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_synced_stays_and_the_rest_is_of_some_moment() {
        let host = SimHost::new(vec![0; 4 * PAGE]);
        host.write_all_at(&[1; 9000], 100).unwrap();
        host.sync_data().unwrap();
        host.write_all_at(&[2; 2 * PAGE], 0).unwrap();
        host.write_all_at(&[3; SECTOR], 0).unwrap();
        let mut met = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let bytes = host.after_cut(seed).bytes();
            assert!((bytes[0] == 0 && bytes[100] == 1) || [2, 3].contains(&bytes[0]), "{}", bytes[0]);
            assert!(bytes[2 * PAGE..9100].iter().all(|byte| *byte == 1));
            met.insert((bytes[0], bytes[PAGE], bytes[PAGE + SECTOR]));
        }
        assert!(met.contains(&(0, 1, 1)) && met.contains(&(3, 2, 2)) && met.contains(&(2, 1, 2)), "{met:?}");
        host.fail_syncs();
        assert!(host.sync_data().is_err());
        assert_eq!((host.syncs(), host.bytes()[0]), (2, 3));
        assert!(host.write_all_at(&[0; 2], 4 * PAGE as u64 - 1).is_err());
    }
}
