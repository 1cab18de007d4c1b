//! The conformance suite on chips of every layout.
#![allow(clippy::unwrap_used, clippy::new_ret_no_self, reason = "a test stops at the first surprise")]

mod common;

use common::{GEOMETRIES, formatted, mount};
use pumice_media::SimChip;
use pumice_nandfs::NandFs;
use pumice_vfs::conformance::{Subject, TestClock, run_random, run_scripted};
use pumice_vfs::{FileSystem, Result};

struct Mounted {
    fs: Option<NandFs<SimChip>>,
    clock: TestClock,
}

impl Mounted {
    fn new(geometry: &str, clock: &TestClock) -> Box<dyn Subject> {
        let fs = mount(formatted(geometry, clock.now()), clock.clock());
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
        run_scripted(&|clock| Mounted::new(geometry, clock))
            .unwrap_or_else(|failure| panic!("{geometry}: {failure}"));
    }
}

#[test]
fn random() {
    let mut ops = 0;
    for (seed, geometry) in (1..).zip(GEOMETRIES) {
        let report = run_random(&|clock| Mounted::new(geometry, clock), 60, 600, seed)
            .unwrap_or_else(|failure| panic!("{geometry}: {failure}"));
        ops += report.ops;
    }
    assert!(ops > 100_000, "only {ops} operations");
}
