//! Power cuts of the host under a volume in a container: promised data is there, and nothing that a cut of the chip
//! itself may not leave.

use crate::cut::contract::Promise;
use crate::cut::image::Image;
use crate::cut::player::Player;
use crate::cut::runner::{CHIPS, options, spec};
use crate::cut::scenarios::scenario;
use crate::cut::verify::mount;
use pumice_knobs::NANDFS_HOSTS;
use pumice_media::SimHost;
use pumice_nandfs::format;
use pumice_vfs::conformance::TestClock;

const SCENARIOS: [&str; 6] = ["appends", "newfiles", "full", "remounts", "space", "saves"];

/// Plays a scenario; the host's power fails after every call of `every`.
fn run(name: &str, chip_name: &str, seed: u64, every: usize) -> u64 {
    let clock = TestClock::new();
    let host = SimHost::container(&spec(chip_name)).unwrap();
    let mut chip = host.open().unwrap();
    format(&mut chip, &options(chip_name, &clock), &mut |_, _| {}).unwrap();
    let mut player = Player::new(chip, clock);
    let mut cuts = 0;
    for (number, step) in scenario(name).iter().enumerate() {
        player.play(step).unwrap_or_else(|error| panic!("{name}:{chip_name}: {step:?}: {error}"));
        if number % every != usize::try_from(seed).unwrap() % every {
            continue;
        }
        let chip = host.after_cut(seed << 32 | number as u64).open().unwrap();
        let about = |what: String| format!("PUMICE_SEED={seed}: {name}:{chip_name}, call {number}: {what}");
        let judged = mount(chip, &TestClock::new())
            .and_then(|fs| Image::take(&fs, &Image::default()))
            .map_err(|error| error.to_string())
            .and_then(|found| player.notes.history.lock().unwrap().judge(&found, Promise::Nothing));
        judged.unwrap_or_else(|what| panic!("{}", about(what)));
        cuts += 1;
    }
    cuts
}

#[test]
fn what_was_promised_outlives_the_host() {
    let (seeds, mut cuts) = (NANDFS_HOSTS.seeds(0..1), 0);
    for seed in seeds.clone() {
        NANDFS_HOSTS.begin(seed);
        for (chip, _) in CHIPS {
            cuts += SCENARIOS.iter().map(|name| run(name, chip, seed, 7)).sum::<u64>();
        }
    }
    NANDFS_HOSTS.ran(seeds, cuts);
}
