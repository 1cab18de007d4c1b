//! The conformance suite on chips of every layout.
#![allow(clippy::unwrap_used, clippy::new_ret_no_self, reason = "a test stops at the first surprise")]

mod common;

use common::{GEOMETRIES, mount, protected};
use pumice_media::SimChip;
use pumice_nandfs::NandFs;
use pumice_vfs::conformance::{Subject, TestClock, run_random, run_scripted};
use pumice_vfs::{FileSystem, Result};

struct Mounted {
    fs: Option<NandFs<SimChip>>,
    clock: TestClock,
}

impl Mounted {
    fn new(geometry: &str, clock: &TestClock, parity_pages: u8) -> Box<dyn Subject> {
        let fs = mount(protected(geometry, clock.now(), parity_pages), clock.clock());
        Box::new(Mounted { fs: Some(fs), clock: clock.clone() })
    }
}

impl Subject for Mounted {
    fn fs(&self) -> &dyn FileSystem {
        self.fs.as_ref().unwrap()
    }

    fn remount(&mut self) -> Result<()> {
        let chip = self.fs.take().unwrap().unmount()?;
        self.fs = Some(mount(chip, self.clock.clock()));
        Ok(())
    }
}

#[test]
fn scripted() {
    for geometry in GEOMETRIES {
        run_scripted(&|clock| Mounted::new(geometry, clock, 0))
            .unwrap_or_else(|failure| panic!("{geometry}: {failure}"));
    }
}

#[test]
fn with_parity() {
    for (geometry, parity) in [("2048+64:16:96", 1), ("512+16:32:1024", 2), ("1024+32:64:256", 8)] {
        let make = |clock: &TestClock| Mounted::new(geometry, clock, parity);
        run_scripted(&make).unwrap_or_else(|failure| panic!("{geometry}+{parity}: {failure}"));
        run_random(&make, 12, 600, 7).unwrap_or_else(|failure| panic!("{geometry}+{parity}: {failure}"));
    }
}

#[test]
fn random() {
    let mut ops = 0;
    for (seed, geometry) in (1..).zip(GEOMETRIES) {
        let report = run_random(&|clock| Mounted::new(geometry, clock, 0), 60, 600, seed)
            .unwrap_or_else(|failure| panic!("{geometry}: {failure}"));
        ops += report.ops;
    }
    assert!(ops > 100_000, "only {ops} operations");
}
