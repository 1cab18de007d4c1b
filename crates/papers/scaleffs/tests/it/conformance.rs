//! The conformance suite.

use crate::common::{formatted, mount};
use pumice_knobs::SCALEFFS_CALLS;
use pumice_media::SimChip;
use pumice_scaleffs::ScaleFs;
use pumice_vfs::conformance::{Subject, TestClock, checks, run_random};
use pumice_vfs::{FileSystem, Result};

/// Erase blocks of 16 KiB of the chips under test.
const BLOCKS: [u32; 2] = [1024, 4096];

/// The feature that the paper does not have: space is taken when a block is written, and nothing can be reserved.
const LEFT_OUT: [&str; 1] = ["reserved space counts as allocated and can be given back"];

struct Mounted {
    fs: Option<ScaleFs<SimChip>>,
    clock: TestClock,
}

impl Mounted {
    #[allow(clippy::new_ret_no_self, reason = "a subject is a trait object")]
    fn new(blocks: u32, clock: &TestClock) -> Box<dyn Subject> {
        let fs = mount(formatted(blocks, clock.now()), clock.clock());
        Box::new(Mounted { fs: Some(fs), clock: clock.clone() })
    }
}

impl Subject for Mounted {
    fn fs(&self) -> &dyn FileSystem {
        self.fs.as_ref().unwrap()
    }

    fn remount(&mut self) -> Result<()> {
        let chip = self.fs.take().unwrap().unmount()?;
        assert_eq!(pumice_media::Nand::stats(&chip).violations, 0);
        self.fs = Some(mount(chip, self.clock.clock()));
        Ok(())
    }
}

#[test]
fn scripted() {
    for blocks in BLOCKS {
        let mut failures = Vec::new();
        for check in checks().iter().filter(|check| !LEFT_OUT.contains(&check.name)) {
            let clock = TestClock::new();
            failures.extend(check.run(Mounted::new(blocks, &clock), &clock).err());
        }
        assert!(failures.is_empty(), "{blocks}: {failures:#?}");
    }
    let names: Vec<&str> = checks().iter().map(|check| check.name).collect();
    assert!(LEFT_OUT.iter().all(|name| names.contains(name)), "no check of this name");
}

#[test]
fn random() {
    let (first, sequences, mut ops) = (SCALEFFS_CALLS.first_seed(1), SCALEFFS_CALLS.count().unwrap_or(40), 0);
    for (seed, blocks) in (first..).zip(BLOCKS) {
        let report =
            run_random(&|clock| Mounted::new(blocks, clock), u32::try_from(sequences).unwrap(), 400, seed)
                .unwrap_or_else(|failure| panic!("PUMICE_SEED={first}, {blocks}: {failure}"));
        assert_eq!(report.refused, 0, "{blocks}: there was room");
        ops += report.ops;
    }
    let chips = BLOCKS.len() as u64;
    SCALEFFS_CALLS.ran(first..first + chips, sequences * chips);
    assert!(ops > 10_000 || !SCALEFFS_CALLS.is_usual(), "only {ops} operations");
}
