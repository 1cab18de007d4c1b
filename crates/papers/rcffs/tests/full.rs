//! Nearly full: the campaign, and power cuts in it. `PUMICE_FULL=N` runs N seeds of each.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod common;
#[path = "../../scaleffs/tests/common/full.rs"]
#[allow(unreachable_pub)]
mod full;

use common::{formatted, mount};
use full::{Campaign, Stop};
use pumice_media::{CutMode, Nand, SimChip};
use pumice_rcffs::check;
use pumice_vfs::{FileKind, FileSystem, Ino, NewNode, Timestamp};

const CHIPS: [&str; 2] = ["2048+64:16:64", "4096+224:16:64"];
/// A call asks for the room of its worst case, a chunk of a directory with the longest names among it.
const SLACK: u64 = 48 << 10;

fn seeds() -> u64 {
    std::env::var("PUMICE_FULL").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

fn clock() -> pumice_vfs::Clock {
    Box::new(Timestamp::default)
}

fn sound(chip: &SimChip, what: &str) {
    assert_eq!(chip.stats().violations, 0, "{what}");
    let report = check(chip.clone()).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(report.findings.is_empty(), "{what}: {:?}", report.findings);
}

#[test]
fn full_volumes_go_on() {
    for seed in 1..=seeds() {
        for (shape, most) in CHIPS.iter().flat_map(|shape| [300, 3000, 60_000].map(|most| (*shape, most))) {
            let what = format!("seed {seed}, {shape}, {most}");
            let mut campaign = Campaign::new(seed, SLACK);
            let mut chip = formatted(shape, Timestamp::default());
            for _ in 0..3 {
                let fs = mount(chip, clock());
                let done = campaign.round(&fs, most).and_then(|()| campaign.verify(&fs));
                done.unwrap_or_else(|stop| panic!("{what}: {stop:?}"));
                chip = fs.unmount().unwrap();
                sound(&chip, &what);
            }
            assert!(campaign.refused >= 6, "{what}: never full");
            let fs = mount(chip, clock());
            let root = 3 * fs.space().unwrap().block_bytes;
            campaign.empty(&fs, root.into()).unwrap_or_else(|stop| panic!("{what}: {stop:?}"));
            sound(&fs.unmount().unwrap(), &what);
        }
    }
}

#[test]
fn full_volumes_outlive_power_cuts() {
    const CUTS: u64 = 6;
    for seed in 1..=seeds() {
        for shape in CHIPS {
            for number in 0..CUTS {
                let what = format!("seed {seed}, {shape}, cut {number}");
                let slack = SLACK;
                let mut campaign = Campaign::new(seed, slack);
                let fs = mount(formatted(shape, Timestamp::default()), clock());
                campaign.round(&fs, 3000).unwrap_or_else(|stop| panic!("{what}: {stop:?}"));
                let mut chip = fs.unmount().unwrap();
                let at = chip.operations() + 20 + number * 193;
                let modes = [CutMode::Nothing, CutMode::Torn { seed: at }, CutMode::Half { seed: at }];
                chip.cut_after(at - chip.operations(), modes[usize::try_from(number).unwrap() % 3]);
                let fs = mount(chip, clock());
                match campaign.round(&fs, 3000) {
                    Err(Stop::Dark) => {}
                    other => panic!("{what}: {other:?}"),
                }
                let mut chip = fs.abandon();
                chip.power_on();
                sound(&chip, &what);
                // Whatever is there can be removed, and the volume is as good as before.
                let fs = mount(chip, clock());
                let mut names = Vec::new();
                fs.readdir(Ino::ROOT, 0, &mut |entry| {
                    names.push(entry.name.to_vec());
                    true
                })
                .unwrap();
                for name in names.iter().step_by(2) {
                    fs.unlink(Ino::ROOT, name).unwrap_or_else(|error| panic!("{what}: {error}"));
                }
                let mut again = Campaign::new(seed + 1000, slack);
                for name in names.iter().skip(1).step_by(2) {
                    fs.unlink(Ino::ROOT, name).unwrap_or_else(|error| panic!("{what}: {error}"));
                }
                again.round(&fs, 3000).unwrap_or_else(|stop| panic!("{what}, afterwards: {stop:?}"));
                sound(&fs.unmount().unwrap(), &what);
            }
        }
    }
}

/// Each cut ends a segment before it is full: that the volume is not used up by it is the cleaner's work.
#[test]
fn cuts_in_a_row_use_nothing_up() {
    for shape in CHIPS {
        let mut chip = formatted(shape, Timestamp::default());
        let mut kept = 0;
        for number in 0..150_u64 {
            let fs = mount(chip, clock());
            let name = format!("f{number}");
            let new = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };
            let file = fs
                .create(Ino::ROOT, name.as_bytes(), &new)
                .unwrap_or_else(|error| panic!("{shape}, {number}: {error}"));
            fs.write(file.ino, 0, &[7; 2000])
                .and_then(|()| fs.fsync(file.ino, false))
                .unwrap_or_else(|error| panic!("{shape}, {number}: {error}"));
            fs.readdir(Ino::ROOT, 0, &mut |_| {
                kept += 1;
                true
            })
            .unwrap();
            chip = fs.abandon();
        }
        assert_eq!(kept, (1..=150).sum::<i32>(), "{shape}");
        sound(&chip, shape);
    }
}
