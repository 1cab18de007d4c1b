//! The conformance suite.

use crate::common::{mount, small};
use pumice_knobs::RCFFS_CALLS;
use pumice_media::SimChip;
use pumice_rcffs::{FormatOptions, Rcffs, format};
use pumice_vfs::conformance::{Op, Subject, TestClock, checks, run_random_of};
use pumice_vfs::{FileSystem, Result};

/// Chips, and parity pages, parity blocks, compression.
const CHIPS: [(&str, u32, u32, bool); 3] =
    [("2048+64:64:256", 1, 1, true), ("2048+64:16:512", 2, 0, false), ("4096+224:32:256", 1, 2, true)];

/// Features that the paper does not have.
const LEFT_OUT: [&str; 11] = [
    // Space is taken when a chunk is written, and nothing can be reserved.
    "reserved space counts as allocated and can be given back",
    // There are no extended attributes.
    "links share them",
    "reading sets no time",
    "set, get, list and remove",
    "every kind of inode has them",
    "setting by mode",
    "names and namespaces",
    "values of any size",
    "many on one inode",
    "they set ctime alone",
    "a held file lives on without a name",
];

/// There are no extended attributes.
fn gives(op: &Op) -> bool {
    !matches!(op, Op::SetXattr { .. })
}

struct Mounted {
    fs: Option<Rcffs<SimChip>>,
    clock: TestClock,
}

impl Mounted {
    #[allow(clippy::new_ret_no_self, reason = "a subject is a trait object")]
    fn new((shape, k, m, compress): (&str, u32, u32, bool), clock: &TestClock) -> Box<dyn Subject> {
        let options = FormatOptions { parity_pages: k, parity_blocks: m, compress, ..small(clock.now()) };
        let chip = format(crate::common::chip(shape), &options).unwrap();
        Box::new(Mounted { fs: Some(mount(chip, clock.clock())), clock: clock.clone() })
    }
}

impl Subject for Mounted {
    fn fs(&self) -> &dyn FileSystem {
        self.fs.as_ref().unwrap()
    }

    fn remount(&mut self) -> Result<()> {
        let chip = self.fs.take().unwrap().unmount()?;
        assert_eq!(pumice_media::Nand::stats(&chip).violations, 0);
        assert_eq!(pumice_rcffs::check(chip.clone()).unwrap().findings, []);
        self.fs = Some(mount(chip, self.clock.clock()));
        Ok(())
    }
}

#[test]
fn scripted() {
    for shape in CHIPS {
        let mut failures = Vec::new();
        for check in checks().iter().filter(|check| !LEFT_OUT.contains(&check.name)) {
            let clock = TestClock::new();
            failures.extend(check.run(Mounted::new(shape, &clock), &clock).err());
        }
        assert!(failures.is_empty(), "{shape:?}: {failures:#?}");
    }
    let names: Vec<&str> = checks().iter().map(|check| check.name).collect();
    assert!(LEFT_OUT.iter().all(|name| names.contains(name)), "no check of this name");
}

#[test]
fn random() {
    let (first, sequences, mut ops) = (RCFFS_CALLS.first_seed(1), RCFFS_CALLS.count().unwrap_or(30), 0);
    for (seed, shape) in (first..).zip(CHIPS) {
        let report = run_random_of(
            &|clock| Mounted::new(shape, clock),
            u32::try_from(sequences).unwrap(),
            400,
            seed,
            &gives,
        )
        .unwrap_or_else(|failure| panic!("PUMICE_SEED={first}, {shape:?}: {failure}"));
        assert_eq!(report.refused, 0, "{shape:?}: there was room");
        ops += report.ops;
    }
    let chips = CHIPS.len() as u64;
    RCFFS_CALLS.ran(first..first + chips, sequences * chips);
    assert!(ops > 10_000 || !RCFFS_CALLS.is_usual(), "only {ops} operations");
}
