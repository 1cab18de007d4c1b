//! The model is put through the suite it is the measure of.

use pumice_vfs::conformance::{Subject, TestClock, run_random, run_scripted};
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

#[test]
fn random() {
    let report = run_random(&make(4096, 1 << 40), 1000, 250, 1).unwrap();
    assert!(report.ops > 100_000, "{report:?}");
    assert_eq!(report.refused, 0);
}

#[test]
fn random_with_other_blocks() {
    run_random(&make(512, 1 << 40), 100, 250, 2).unwrap();
}

#[test]
fn random_without_space() {
    let report = run_random(&make(4096, 64 * 1024), 100, 500, 3).unwrap();
    assert!(report.refused > 100, "{report:?}");
}
