//! Power cuts after which pages only seem sound, and power cuts that destroy pages written long before. Pages fade
//! after some reads, blocks look erased and do not hold, pages of MLC and TLC are paired.
//!
//! `PUMICE_CUTS=all` cuts every operation of the scripted scenarios in every mode. `PUMICE_CUTS=N` makes N cuts of each
//! kind at least on calls made up from seeds, on more chips. `PUMICE_CUT` set to the id that a failure names makes that
//! cut alone.

use crate::cut::runner::{MODES, Plan, SELDOM, chip, replay, spec, tally};
use crate::cut::scenarios::ALL;
use crate::cut::shared::Shared;
use crate::cut::step::{Held, Step};
use crate::cut::verify::{mount, settle, verify};
use pumice_knobs::{CUT, NANDFS_RANDOM_CUTS, NANDFS_SCRIPTED_CUTS};
use pumice_media::{CutMode, Geometry, Nand, PageId, SimChip};
use pumice_vfs::Errno;
use pumice_vfs::conformance::TestClock;

/// Few operations are cut where nothing else is asked for: the scenarios are the same.
const SAMPLED: Plan = Plan { modes: &MODES, budget: 3, every: 31, again: SELDOM };
const CAMPAIGN: Plan = Plan { modes: &MODES, budget: 20, every: 1, again: 7 };

const FADING: &[&str] = &["spare", "gang", "page", "slots"];
const PAIRED: &[&str] = &["spare/dist3", "spare/by4", "page/dist3", "slots/dist3"];
/// Those of chips that are sold among them.
const MORE_PAIRED: &[&str] = &["mlc/dist3", "tlc/by3", "mlc-8k-64g", "tlc-16k-96g"];

/// The tally of the cuts of all scenarios on these chips.
#[derive(Default)]
struct Figures {
    cuts: u64,
    failures: Vec<String>,
}

impl Figures {
    fn play(&mut self, scenario: &str, chip: &str, plan: Plan) {
        let tally = tally(scenario, chip, plan);
        println!("{scenario} on {chip}: {} cuts, {} lost something", tally.cuts, tally.failures.len());
        tally.failures.iter().take(3).for_each(|what| println!("    {what}"));
        self.cuts += tally.cuts;
        self.failures.extend(tally.failures);
    }

    fn nothing_is_lost(&self) {
        println!("{} cuts, {} of them broke a promise", self.cuts, self.failures.len());
        assert!(self.failures.is_empty(), "{}", self.failures[..self.failures.len().min(3)].join("\n"));
    }
}

/// Cuts the scripted scenarios on `chips`.
fn scripted(chips: &[&str], modes: &'static [(char, CutMode)]) {
    if let Some(case) = CUT.text() {
        return replay(&case);
    }
    let mut figures = Figures::default();
    // Where all operations are cut, more of the starts behind them are.
    let again = NANDFS_SCRIPTED_CUTS.whole().map_or(SAMPLED.again, |_| CAMPAIGN.again);
    for chip in chips {
        for scenario in ALL.iter().filter(|name| !(**name == "growth" && chip.starts_with("slots"))) {
            figures.play(scenario, chip, Plan { modes, again, ..SAMPLED });
        }
    }
    NANDFS_SCRIPTED_CUTS.ran_part(figures.cuts);
    figures.nothing_is_lost();
}

/// Cuts calls that are made up from seeds, on one of the chips, or on all of them until there are as many cuts as are
/// asked for.
fn random(chips: &[&str], modes: &'static [(char, CutMode)]) {
    if let Some(case) = CUT.text() {
        return replay(&case);
    }
    let (mut figures, first) = (Figures::default(), NANDFS_RANDOM_CUTS.first_seed(0));
    let asked = NANDFS_RANDOM_CUTS.count();
    let (chips, plan) = if asked.is_some() { (chips, CAMPAIGN) } else { (&chips[..1], SAMPLED) };
    let mut next = first;
    while next == first || asked.is_some_and(|asked| figures.cuts < asked) && figures.failures.is_empty() {
        for chip in chips {
            figures.play(&format!("random{next}"), chip, Plan { modes, ..plan });
        }
        next += 1;
    }
    NANDFS_RANDOM_CUTS.ran(first..next, figures.cuts);
    figures.nothing_is_lost();
}

#[test]
fn scripted_calls_and_what_seems_sound_and_is_not() {
    scripted(FADING, &MODES[5..]);
}

#[test]
fn scripted_calls_on_paired_pages() {
    scripted(PAIRED, &MODES);
}

#[test]
fn random_calls_and_what_seems_sound_and_is_not() {
    random(FADING, &MODES[5..]);
}

#[test]
fn random_calls_on_paired_pages() {
    random(&[PAIRED, MORE_PAIRED].concat(), &MODES);
}

/// A block that was taken before others and not yet written to is erased by the mount; the power goes in that erase.
#[test]
fn a_cut_erase_in_front_of_written_blocks_is_no_loss() {
    replay("full:page/dist3:1001:c:0:h");
}

/// A whole word line is torn, so that no page of its block tells anything, and one of them can be read again later. Its
/// number must not be that of the checkpoint that the mount began, or it counts as a record behind that.
#[test]
fn numbers_of_pages_torn_together_are_not_given_again() {
    for second in ["3:c", "3:u", "4:n"] {
        replay(&format!("remounts:spare/by4:224:u:{second}"));
    }
}

/// Operations of an unmount that write its record, twice, and an anchor.
const LAST: u64 = 14;

/// The unmount is cut, and the sync after it, which repeats the clean checkpoint and takes blocks for it that it erases.
/// The next one reads the torn page of the unmount otherwise, and does not look for room: it must not trust these blocks.
#[test]
fn a_cut_repeat_of_a_clean_checkpoint_leaves_doubted_blocks() {
    let (mut twice, name) = (0, "page");
    let clock = TestClock::new();
    let mut chip = chip(name, &clock);
    for round in 0..24 {
        let fading = CutMode::Unstable { seed: round as u64 };
        let fs = mount(chip.clone(), &clock).unwrap();
        Step::Create(format!("/file {round}")).apply(&fs, round, &mut Held::new()).unwrap();
        let after = fs.unmount().unwrap();
        let operations = after.operations() - chip.operations();
        for cut in operations.saturating_sub(LAST)..operations {
            let shared = Shared::new(chip.clone());
            shared.0.lock().unwrap().cut_after(cut, fading);
            let fs = mount(shared.clone(), &clock);
            let made = fs.and_then(|fs| {
                Step::Create(format!("/file {round}")).apply(&fs, round, &mut Held::new())?;
                fs.unmount()
            });
            assert!(made.is_err());
            for second in 0..4 {
                let shared = Shared::new(shared.copy());
                shared.0.lock().unwrap().power_on();
                shared.0.lock().unwrap().cut_after(second, fading);
                if settle(shared.clone(), &TestClock::new()).is_ok() {
                    break;
                }
                twice += 1;
                shared.0.lock().unwrap().power_on();
                let done = verify(shared.copy(), &|_| Ok(()));
                assert!(done.is_ok(), "round {round}, cuts {cut} and {second}: {:?}", done.err());
            }
        }
        chip = after;
    }
    assert!(twice > 0);
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
