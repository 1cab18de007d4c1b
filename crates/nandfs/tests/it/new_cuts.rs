//! Power cuts that leave what only seems sound, and power cuts that destroy pages written long before: pages that fade
//! after some reads, blocks that look erased and do not hold, paired pages of MLC and TLC.
//!
//! `PUMICE_CUTS=N` makes N cuts of each kind at least, on more chips, with calls made up from seeds that follow each
//! other. `PUMICE_CUT` set to the id that a failure names makes that cut alone.

use crate::cut::runner::{MODES, Plan, SELDOM, chip, replay, spec, tally};
use crate::cut::scenarios::ALL;
use crate::cut::verify::mount;
use pumice_media::{Geometry, Nand, PageId, SimChip};
use pumice_vfs::Errno;
use pumice_vfs::conformance::TestClock;

/// In CI few operations are cut: the scenarios are the same.
const SAMPLED: Plan = Plan { modes: &MODES, budget: 3, every: 31, again: SELDOM };
const CAMPAIGN: Plan = Plan { modes: &MODES, budget: 20, every: 1, again: 7 };

/// The cuts that are asked for in place of those in CI.
fn asked() -> Option<u64> {
    std::env::var("PUMICE_CUTS").ok().and_then(|cuts| cuts.parse().ok())
}

/// What became of the cuts of all scenarios on these chips.
#[derive(Default)]
struct Figures {
    cuts: u64,
    failures: Vec<String>,
}

impl Figures {
    fn play(&mut self, scenario: &str, chip: &str, plan: Plan) {
        let tally = tally(scenario, chip, plan);
        if asked().is_some() {
            println!("{scenario} on {chip}: {} cuts, {} lost something", tally.cuts, tally.failures.len());
            tally.failures.iter().take(3).for_each(|what| println!("    {what}"));
        }
        self.cuts += tally.cuts;
        self.failures.extend(tally.failures);
    }

    /// The scripted scenarios.
    fn play_all(&mut self, chip: &str, plan: Plan) {
        for scenario in ALL.iter().filter(|name| !(**name == "growth" && chip.starts_with("slots"))) {
            self.play(scenario, chip, plan);
        }
    }

    fn nothing_is_lost(&self) {
        println!("{} cuts, {} of them lost what was promised", self.cuts, self.failures.len());
        assert!(self.failures.is_empty(), "{}", self.failures[..self.failures.len().min(3)].join("\n"));
    }
}

/// Cuts all scenarios on `chips`; a campaign goes on with made-up calls on `more` until it has made its cuts.
fn campaign(chips: &[&str], more: &[&str], modes: Plan) {
    if let Ok(case) = std::env::var("PUMICE_CUT") {
        return replay(&case);
    }
    let mut figures = Figures::default();
    let plan = if asked().is_some() { Plan { modes: modes.modes, ..CAMPAIGN } } else { modes };
    for chip in chips {
        figures.play_all(chip, plan);
    }
    let Some(asked) = asked() else { return figures.nothing_is_lost() };
    for round in 0.. {
        if round > 0 && figures.cuts >= asked || !figures.failures.is_empty() {
            break;
        }
        for chip in chips.iter().chain(more) {
            figures.play(&format!("random{round}"), chip, plan);
        }
    }
    figures.nothing_is_lost();
}

#[test]
fn what_seems_sound_and_is_not() {
    let unstable = Plan { modes: &MODES[5..], ..SAMPLED };
    campaign(&["spare", "gang", "page", "slots"], &[], unstable);
}

#[test]
fn paired_pages() {
    let small = ["spare/dist3", "spare/by4", "page/dist3", "slots/dist3"];
    let more = ["mlc/dist3", "tlc/by3", "mlc-8k-64g", "tlc-16k-96g"];
    campaign(&small, &more, SAMPLED);
}

/// A dump of a chip with pairs, written to chips that are said to have others: the volume is refused by name.
#[test]
fn a_volume_for_other_pairs_is_refused() {
    let clock = TestClock::new();
    let Geometry { page_bytes, free_spare_bytes, .. } = chip("spare", &clock).geometry();
    let (mut data, mut spare) = (vec![0; page_bytes as usize], vec![0; free_spare_bytes as usize]);
    for (other, name) in
        [("spare", "no pages that share cells"), ("spare/by4", "word lines of 4"), ("spare/dist3", "")]
    {
        let mut chip = chip("spare/dist3", &clock);
        let mut copy = SimChip::new(&spec(other));
        for page in (0..u32::try_from(chip.geometry().pages()).unwrap()).map(PageId) {
            chip.read(page, &mut data, &mut spare).unwrap();
            if data.iter().chain(&spare).any(|byte| *byte != 0xff) {
                copy.program(page, &data, &spare).unwrap();
            }
        }
        match mount(copy, &clock) {
            Ok(_) => assert_eq!(other, "spare/dist3"),
            Err(error) => {
                let text = error.to_string();
                assert_eq!(error.errno(), Errno::NotSupported, "{text}");
                assert!(!name.is_empty() && text.contains(name) && text.contains("dist3"), "{text}");
            }
        }
    }
}
