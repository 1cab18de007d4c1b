//! The repair: what is damaged is put right, and found right by a second check; what was undamaged is equal.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use pumice_f2fs::{
    F2fs, MountOptions,
    check::{Code, check},
    crypt::Keyring,
    repair::{Extent, Repair, Undo, plan},
};
use pumice_media::{BlockDevice, BlockError, BlockShape, Lba, ReadAt};
use pumice_vfs::Timestamp;

use crate::{
    check::{
        damages::DAMAGES,
        patient::{BLOCK, Patient},
    },
    common::{image::Golden, manifest::Record, walk},
};

/// A disk in memory that loses power after some writes. Copies are of the same disk.
#[derive(Clone)]
pub(crate) struct Medium(Arc<Mutex<State>>);

struct State {
    bytes: Vec<u8>,
    /// Writes that are still made.
    left: usize,
}

impl Medium {
    pub(crate) fn new(bytes: Vec<u8>) -> Medium {
        Medium(Arc::new(Mutex::new(State { bytes, left: usize::MAX })))
    }

    pub(crate) fn of(disk: &dyn ReadAt) -> Medium {
        let mut bytes = vec![0; usize::try_from(disk.bytes()).unwrap()];
        disk.read_at(0, &mut bytes).unwrap();
        Medium::new(bytes)
    }

    pub(crate) fn now(&self) -> Vec<u8> {
        self.0.lock().unwrap().bytes.clone()
    }

    /// Power fails after so many writes.
    fn cut_after(&self, left: usize) {
        self.0.lock().unwrap().left = left;
    }

    fn shape(&self) -> BlockShape {
        BlockShape { block_bytes: 4096, blocks: ReadAt::bytes(self) / BLOCK as u64 }
    }
}

impl ReadAt for Medium {
    fn bytes(&self) -> u64 {
        self.0.lock().unwrap().bytes.len() as u64
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<(), BlockError> {
        let (at, blocks) = (usize::try_from(at).unwrap(), self.shape().blocks);
        let state = self.0.lock().unwrap();
        let part = state.bytes.get(at..at + buffer.len());
        buffer.copy_from_slice(part.ok_or(BlockError::OutOfRange { first: Lba(0), count: 0, blocks })?);
        Ok(())
    }
}

impl BlockDevice for Medium {
    fn block_bytes(&self) -> u32 {
        self.shape().block_bytes
    }

    fn blocks(&self) -> u64 {
        self.shape().blocks
    }

    fn read(&mut self, first: Lba, buffer: &mut [u8]) -> Result<(), BlockError> {
        self.read_at(first.0 * BLOCK as u64, buffer)
    }

    fn write(&mut self, first: Lba, buffer: &[u8]) -> Result<(), BlockError> {
        let mut state = self.0.lock().unwrap();
        state.left = state.left.checked_sub(1).ok_or(BlockError::PowerLost)?;
        let at = usize::try_from(first.0).unwrap() * BLOCK;
        state.bytes[at..at + buffer.len()].copy_from_slice(buffer);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), BlockError> {
        Ok(())
    }

    fn discard(&mut self, _: Lba, _: u64) -> Result<(), BlockError> {
        Ok(())
    }
}

pub(crate) fn planned(medium: &Medium, extent: Extent) -> Repair {
    plan(Box::new(medium.clone()), extent, 2, &mut |_, _| ()).unwrap()
}

pub(crate) fn findings(medium: &Medium) -> Vec<String> {
    let report = check(vec![Box::new(medium.clone())], 2, &mut |_, _| ()).unwrap();
    let told = report.findings.iter();
    told.map(|finding| format!("{}: {}: {}", finding.code.name(), finding.object, finding.detail)).collect()
}

/// Everything that can be reached, by path.
pub(crate) fn tree(medium: &Medium) -> BTreeMap<String, Record> {
    let options =
        MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover: Some(Timestamp::default()) };
    walk::records(&F2fs::mount(vec![Box::new(medium.clone())], options).unwrap())
}

/// Codes of what can be derived from the rest.
const DERIVED: [Code; 20] = [
    Code::SuperBlock,
    Code::SuperBlockCopy,
    Code::SuperBlockErrors,
    Code::CheckpointPassedOver,
    Code::CheckpointNumbers,
    Code::CheckpointFlag,
    Code::CheckpointValidBlocks,
    Code::CheckpointValidNodes,
    Code::CheckpointValidInodes,
    Code::CheckpointFreeSegments,
    Code::LogSegment,
    Code::LogSegmentKind,
    Code::LogNextBlock,
    Code::LogAllocation,
    Code::NatBits,
    Code::SitCount,
    Code::SitKind,
    Code::SitMissing,
    Code::SitExtra,
    Code::SsaKind,
];

/// The first run mends, the second finds nothing, and every file is as it was.
#[test]
fn what_can_be_derived_is_mended() {
    let mut images = BTreeMap::new();
    let mut wrong = Vec::new();
    for (code, name, damage) in DAMAGES.iter().filter(|(code, ..)| DERIVED.contains(code)) {
        let (image, sound) = images.entry(*name).or_insert_with(|| {
            let image = Arc::new(Golden::of_kind(name).bytes());
            let sound = tree(&Medium::new(image.to_vec()));
            (image, sound)
        });
        let mut patient = Patient::new(image);
        damage(&mut patient);
        let mut medium = Medium::of(&patient.disk);
        let damaged = medium.now();
        let repair = planned(&medium, Extent::All);
        let undo = repair.undo().unwrap();
        let fixes = repair.fixes().len();
        repair.commit().unwrap();
        let left = findings(&medium);
        if !left.is_empty() || fixes == 0 {
            wrong.push(format!("{} on {name}: {left:?}", code.name()));
            continue;
        }
        assert_eq!(tree(&medium), *sound, "{}", code.name());
        assert!(planned(&medium, Extent::All).is_empty(), "{}: a second repair", code.name());
        Undo::from_bytes(&undo.to_bytes()).unwrap().put_back(&mut medium).unwrap();
        assert!(medium.now() == damaged, "{}: it is not taken back", code.name());
    }
    assert!(wrong.is_empty(), "{} are not mended: {wrong:#?}", wrong.len());
}

/// Power fails after each write of a repair: the next repair makes all well.
#[test]
fn a_repair_outlives_power_cuts() {
    for (code, name, damage) in DAMAGES.iter().filter(|(code, ..)| {
        [Code::SitExtra, Code::LogSegment, Code::SuperBlock, Code::CheckpointPassedOver].contains(code)
    }) {
        let image = Arc::new(Golden::of_kind(name).bytes());
        let sound = tree(&Medium::new(image.to_vec()));
        let mut patient = Patient::new(&image);
        damage(&mut patient);
        let medium = Medium::of(&patient.disk);
        let blocks = planned(&medium, Extent::All).blocks();
        for left in 0..blocks {
            let cut = Medium::new(medium.now());
            let repair = planned(&cut, Extent::All);
            cut.cut_after(left);
            repair.commit().unwrap_err();
            cut.cut_after(usize::MAX);
            planned(&cut, Extent::All).commit().unwrap();
            assert_eq!(findings(&cut), [""; 0], "{} cut after {left} writes", code.name());
            if left % 5 == 0 {
                assert_eq!(tree(&cut), sound, "{} cut after {left} writes", code.name());
            }
        }
    }
}
