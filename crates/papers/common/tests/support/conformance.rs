//! The conformance suite, but for features that a paper does not have.

use pumice_knobs::Campaign;
use pumice_media::{Nand, SimChip};
use pumice_vfs::conformance::{Op, Subject, TestClock, checks, run_random_of};
use pumice_vfs::{FileSystem, Result};

use super::{Fs, try_mount};

struct Tried<S: super::Subject> {
    fs: Option<Fs<S>>,
    clock: TestClock,
}

impl<S: super::Subject> Tried<S> {
    fn mount(chip: SimChip, clock: &TestClock) -> Fs<S> {
        try_mount::<S, _>(chip, clock.clock()).unwrap()
    }
}

fn tried<S: super::Subject + 'static>(subject: &S, clock: &TestClock) -> Box<dyn Subject> {
    let fs = Tried::<S>::mount(subject.formatted(clock.now()), clock);
    Box::new(Tried::<S> { fs: Some(fs), clock: clock.clone() })
}

impl<S: super::Subject> Subject for Tried<S> {
    fn fs(&self) -> &dyn FileSystem {
        self.fs.as_ref().unwrap()
    }

    fn remount(&mut self) -> Result<()> {
        let chip = self.fs.take().unwrap().unmount()?;
        assert_eq!(chip.stats().violations, 0);
        assert_eq!(S::check(chip.clone()).unwrap().findings, []);
        self.fs = Some(Self::mount(chip, &self.clock));
        Ok(())
    }
}

/// The scripted checks, on each chip.
pub(crate) fn scripted<S: super::Subject + 'static>(chips: &[S], left_out: &[&str]) {
    for chip in chips {
        let mut failures = Vec::new();
        for check in checks().iter().filter(|check| !left_out.contains(&check.name)) {
            let clock = TestClock::new();
            failures.extend(check.run(tried(chip, &clock), &clock).err());
        }
        assert!(failures.is_empty(), "{}: {failures:#?}", chip.name());
    }
    let names: Vec<&str> = checks().iter().map(|check| check.name).collect();
    assert!(left_out.iter().all(|name| names.contains(name)), "no check of this name");
}

/// Random calls of those that the paper gives, against the model, on each chip.
pub(crate) fn random<S: super::Subject + 'static>(
    chips: &[S],
    campaign: &Campaign,
    usual: u64,
    gives: &dyn Fn(&Op) -> bool,
) {
    let (first, sequences, mut ops) = (campaign.first_seed(1), campaign.count().unwrap_or(usual), 0);
    for (seed, chip) in (first..).zip(chips) {
        let what = format!("PUMICE_SEED={first}, {}", chip.name());
        let sequences = u32::try_from(sequences).unwrap();
        let report = run_random_of(&|clock| tried(chip, clock), sequences, 400, seed, gives)
            .unwrap_or_else(|failure| panic!("{what}: {failure}"));
        assert_eq!(report.refused, 0, "{what}: there was room");
        ops += report.ops;
    }
    let chips = chips.len() as u64;
    campaign.ran(first..first + chips, sequences * chips);
    assert!(ops > 10_000 || !campaign.is_usual(), "only {ops} operations");
}
