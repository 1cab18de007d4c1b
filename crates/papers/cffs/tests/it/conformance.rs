//! The conformance suite.

use crate::common::{formatted, mount};
use pumice_cffs::Cffs;
use pumice_knobs::CFFS_CALLS;
use pumice_media::SimChip;
use pumice_vfs::conformance::{Name, Op, Subject, TestClock, checks, run_random_of};
use pumice_vfs::{FileSystem, RenameMode, Result};

/// Chips of both columns of table 1.
const CHIPS: [&str; 2] = ["512+16:32:1024", "2048+64:64:128"];

/// Features that the paper does not have.
const LEFT_OUT: [&str; 22] = [
    // Space is taken when a chunk is written, and nothing can be reserved.
    "reserved space counts as allocated and can be given back",
    // A name has the rest of 256 bytes beside the attributes.
    "names of 255 bytes work, of 256 not",
    // An inode has one name, and its directory is part of it.
    "link adds a name and counts it",
    "link refuses taken names and missing inodes",
    "links share them",
    "link works for every kind but directories",
    "link and unlink set times",
    "content goes with the last name only",
    "two names of one inode are left alone",
    "a replaced file is gone, a replaced link lives on",
    // Two inodes cannot be written at once.
    "exchange of any two kinds",
    // A file has 12 MB (table 1).
    "far offsets work or are too big",
    "a punched range reads as zeros, the rest stays",
    // There are no extended attributes.
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

/// An inode has one name (no links), in the rest of 256 bytes beside the attributes; two inodes cannot be written at
/// once (no exchange); there are no extended attributes.
fn gives(op: &Op) -> bool {
    const LONG: Name = Name(Name::GOOD);
    /// A file of the first chip has 12,224 KiB.
    const FAR: u64 = 12 << 20;
    let end = match op {
        Op::SetAttr { change, .. } => change.size.unwrap_or_default(),
        Op::Write { offset, len, .. } => offset + u64::from(*len),
        Op::Allocate { offset, length, .. } => offset + length,
        _ => 0,
    };
    let is_given = !matches!(
        op,
        Op::Link { .. }
            | Op::SetXattr { .. }
            | Op::Create { name: LONG, .. }
            | Op::Rename { to_name: LONG, .. }
            | Op::Rename { mode: RenameMode::Exchange, .. }
    );
    is_given && end < FAR - (1 << 20)
}

struct Mounted {
    fs: Option<Cffs<SimChip>>,
    clock: TestClock,
}

impl Mounted {
    #[allow(clippy::new_ret_no_self, reason = "a subject is a trait object")]
    fn new(shape: &str, clock: &TestClock) -> Box<dyn Subject> {
        let fs = mount(formatted(shape, clock.now()), clock.clock());
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
    for shape in CHIPS {
        let mut failures = Vec::new();
        for check in checks().iter().filter(|check| !LEFT_OUT.contains(&check.name)) {
            let clock = TestClock::new();
            failures.extend(check.run(Mounted::new(shape, &clock), &clock).err());
        }
        assert!(failures.is_empty(), "{shape}: {failures:#?}");
    }
    let names: Vec<&str> = checks().iter().map(|check| check.name).collect();
    assert!(LEFT_OUT.iter().all(|name| names.contains(name)), "no check of this name");
}

#[test]
fn random() {
    let (first, sequences, mut ops) = (CFFS_CALLS.first_seed(1), CFFS_CALLS.count().unwrap_or(40), 0);
    for (seed, shape) in (first..).zip(CHIPS) {
        let report = run_random_of(
            &|clock| Mounted::new(shape, clock),
            u32::try_from(sequences).unwrap(),
            400,
            seed,
            &gives,
        )
        .unwrap_or_else(|failure| panic!("PUMICE_SEED={first}, {shape}: {failure}"));
        assert_eq!(report.refused, 0, "{shape}: there was room");
        ops += report.ops;
    }
    let chips = CHIPS.len() as u64;
    CFFS_CALLS.ran(first..first + chips, sequences * chips);
    assert!(ops > 10_000 || !CFFS_CALLS.is_usual(), "only {ops} operations");
}
