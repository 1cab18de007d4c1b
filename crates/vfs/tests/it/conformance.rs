//! The model is put through the suite it is the measure of.

use pumice_knobs::VFS_CALLS;
use pumice_vfs::conformance::{Report, Subject, TestClock, run_random, run_scripted};
use pumice_vfs::model::MemFs;
use pumice_vfs::{FileSystem, Result};

struct Memory(MemFs);

impl Subject for Memory {
    fn fs(&self) -> &dyn FileSystem {
        &self.0
    }

    fn remount(&mut self) -> Result<()> {
        self.0.remount();
        Ok(())
    }
}

fn make(block_bytes: u32, total_bytes: u64) -> impl Fn(&TestClock) -> Box<dyn Subject> {
    move |clock| Box::new(Memory(MemFs::with_size(clock.clock(), block_bytes, total_bytes)))
}

#[test]
fn scripted() {
    run_scripted(&make(4096, 1 << 40)).unwrap();
}

/// Random sequences of up to so many calls, from a usual seed on.
fn random_calls(
    subject: impl Fn(&TestClock) -> Box<dyn Subject>,
    usual: u64,
    sequences: u32,
    calls: usize,
) -> Report {
    let (seed, count) = (VFS_CALLS.first_seed(usual), VFS_CALLS.count());
    let sequences = count.map_or(sequences, |count| u32::try_from(count).unwrap());
    VFS_CALLS.begin(seed);
    let report = run_random(&subject, sequences, calls, seed).unwrap();
    VFS_CALLS.ran(seed..seed + 1, sequences.into());
    report
}

#[test]
fn random() {
    let report = random_calls(make(4096, 1 << 40), 1, 1000, 250);
    assert!(report.ops > 100_000 || !VFS_CALLS.is_usual(), "{report:?}");
    assert_eq!(report.refused, 0);
}

#[test]
fn random_with_other_blocks() {
    random_calls(make(512, 1 << 40), 2, 100, 250);
}

#[test]
fn random_without_space() {
    let report = random_calls(make(4096, 64 * 1024), 3, 100, 500);
    assert!(report.refused > 100 || !VFS_CALLS.is_usual(), "{report:?}");
}
