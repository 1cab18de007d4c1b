//! The conformance suite on chips of every layout.

use crate::common::{GEOMETRIES, compressed, mount, protected};
use pumice_knobs::NANDFS_CALLS;
use pumice_media::SimChip;
use pumice_nandfs::{Compression, FsyncProtection, NandFs};
use pumice_vfs::conformance::{Subject, TestClock, run_random, run_scripted};
use pumice_vfs::{FileSystem, Result};

const NO_PARITY: (u8, FsyncProtection) = (0, FsyncProtection::AtClose);

struct Mounted {
    fs: Option<NandFs<SimChip>>,
    clock: TestClock,
}

impl Mounted {
    #[allow(clippy::new_ret_no_self, reason = "a subject is a trait object")]
    fn new(geometry: &str, clock: &TestClock, (parity, from): (u8, FsyncProtection)) -> Box<dyn Subject> {
        Mounted::on(protected(geometry, clock.now(), parity, from), clock)
    }

    fn on(chip: SimChip, clock: &TestClock) -> Box<dyn Subject> {
        Box::new(Mounted { fs: Some(mount(chip, clock.clock())), clock: clock.clone() })
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
        run_scripted(&|clock| Mounted::new(geometry, clock, NO_PARITY))
            .unwrap_or_else(|failure| panic!("{geometry}: {failure}"));
    }
}

#[test]
fn with_parity() {
    let (at_close, now) = (FsyncProtection::AtClose, FsyncProtection::Now);
    for (geometry, parity, from) in [
        ("2048+64:16:96", 1, at_close),
        ("512+16:32:1024", 2, at_close),
        ("1024+32:64:256", 8, at_close),
        ("2048+64:16:96", 1, now),
        ("512+16:32:1024", 2, now),
    ] {
        let make = |clock: &TestClock| Mounted::new(geometry, clock, (parity, from));
        run_scripted(&make).unwrap_or_else(|failure| panic!("{geometry}+{parity}: {failure}"));
        run_random(&make, 12, 600, 7).unwrap_or_else(|failure| panic!("{geometry}+{parity}: {failure}"));
    }
}

#[test]
fn with_compression() {
    let zstd = Compression::Zstd(1);
    for (geometry, compression) in [
        ("512+16:32:1024", Compression::Lz4),
        ("2048+64:16:96", Compression::Lz4),
        ("2048+64:64:128", Compression::None),
        ("4096+128:16:80", zstd),
        ("8192+448:32:64", Compression::Lz4),
        ("16384+1952:16:64", zstd),
        ("2048+16:16:128", Compression::Lz4),
    ] {
        let make = |clock: &TestClock| Mounted::on(compressed(geometry, clock.now(), compression), clock);
        let name = format!("{geometry} {compression}");
        run_scripted(&make).unwrap_or_else(|failure| panic!("{name}: {failure}"));
        run_random(&make, 12, 600, 7).unwrap_or_else(|failure| panic!("{name}: {failure}"));
    }
}

#[test]
fn random() {
    let (first, sequences, mut ops) = (NANDFS_CALLS.first_seed(1), NANDFS_CALLS.count().unwrap_or(25), 0);
    for (seed, geometry) in (first..).zip(GEOMETRIES) {
        let make = |clock: &TestClock| Mounted::new(geometry, clock, NO_PARITY);
        let report = run_random(&make, u32::try_from(sequences).unwrap(), 600, seed)
            .unwrap_or_else(|failure| panic!("PUMICE_SEED={first}, {geometry}: {failure}"));
        ops += report.ops;
    }
    let chips = GEOMETRIES.len() as u64;
    NANDFS_CALLS.ran(first..first + chips, sequences * chips);
    assert!(sequences != 60 || ops > 100_000, "only {ops} operations");
}
