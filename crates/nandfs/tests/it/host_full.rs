//! A container on a disk of the host that runs full while nothing waits: a call is refused, or what it did outlives the
//! unmount.

use crate::cut::image::Image;
use crate::cut::random::Random;
use crate::cut::runner::{CHIPS, options, spec};
use crate::cut::step::{Held, Step};
use crate::cut::verify::mount;
use pumice_media::{ChipFile, SimHost};
use pumice_nandfs::{NandFs, format};
use pumice_vfs::conformance::TestClock;
use pumice_vfs::model::MemFs;
use pumice_vfs::{Errno, FileSystem, Ino};

/// Files get about this long, in bytes.
const FILE_BYTES: u64 = 30_000;
/// Room enough, in bytes.
const LARGE: u64 = 1 << 40;
/// Calls before the disk runs full, and behind.
const CALLS: u32 = 60;

struct Life {
    about: String,
    host: SimHost,
    clock: TestClock,
    fs: Option<NandFs<ChipFile>>,
    model: MemFs,
    held: [Held; 2],
    number: usize,
    refused: u32,
    /// Something was accepted since the last sync.
    is_dirty: bool,
}

impl Life {
    fn new(name: &str, seed: u64) -> Life {
        let clock = TestClock::new();
        let host = SimHost::container(&spec(name)).unwrap();
        let mut chip = host.open().unwrap();
        format(&mut chip, &options(name, &clock), &mut |_, _| {}).unwrap();
        let (fs, model) = (mount(chip, &clock).unwrap(), MemFs::new(clock.clock()));
        let about = format!("{name}, seed {seed}");
        Life {
            about,
            host,
            clock,
            fs: Some(fs),
            model,
            held: Default::default(),
            number: 0,
            refused: 0,
            is_dirty: false,
        }
    }

    /// Makes a call on both sides, unless it is refused.
    fn play(&mut self, step: &Step) {
        self.clock.tick();
        self.number += 1;
        if *step == Step::Remount {
            return self.remount();
        }
        let Life { about, fs, model, held: [held, of_model], number, is_dirty, .. } = self;
        let done = step.apply(fs.as_ref().unwrap(), *number, held);
        let is_sync = matches!(step, Step::Fsync(_) | Step::Sync);
        match &done {
            Err(error) if error.errno() == Errno::NoSpace => {
                assert!(!is_sync || !*is_dirty, "{about}: {step:?}: {error}");
                self.refused += 1;
                return;
            }
            _ => {
                let want = step.apply(model, *number, of_model);
                assert_eq!(done.is_ok(), want.is_ok(), "{about}: {step:?}: {done:?}, the model {want:?}");
            }
        }
        let changes = !is_sync && !matches!(step, Step::Hold(..) | Step::Release(_) | Step::Maintain);
        *is_dirty = *step != Step::Sync && (*is_dirty || changes && done.is_ok());
    }

    /// Unmounts, mounts again and compares.
    fn remount(&mut self) {
        let about = &self.about;
        self.held.iter_mut().for_each(Held::clear);
        if let Err(error) = self.fs.take().unwrap().unmount() {
            assert!(!self.is_dirty && error.errno() == Errno::NoSpace, "{about}: unmount: {error}");
            // The next mount has to write.
            self.host.leave_room(LARGE);
        }
        self.is_dirty = false;
        self.model.remount();
        let fs = mount(self.host.open().unwrap(), &self.clock).unwrap();
        let [found, want] =
            [&fs as &dyn FileSystem, &self.model].map(|fs| Image::take(fs, &Image::default()).unwrap());
        want.compare(&found).unwrap_or_else(|what| panic!("{about}: {what:?}"));
        self.fs = Some(fs);
    }
}

/// Random calls before and after the disk has so much room left, an unmount, and more once it has room again.
fn live(name: &str, seed: u64) -> u32 {
    let (mut life, mut random) = (Life::new(name, seed), Random(seed));
    (0..CALLS).for_each(|_| life.play(&random.step(FILE_BYTES)));
    life.play(&Step::Sync);
    life.host.leave_room(random.below([1, 100_000, 1_000_000, 4_000_000][seed as usize % 4]));
    (0..CALLS).for_each(|_| life.play(&random.step(FILE_BYTES)));
    life.remount();
    let refused = life.refused;
    life.host.leave_room(LARGE);
    (0..CALLS).for_each(|_| life.play(&random.step(FILE_BYTES)));
    assert_eq!(life.refused, refused, "{}: there is room again", life.about);
    life.remount();
    refused
}

#[test]
fn what_was_accepted_outlives_the_unmount() {
    let mut refused = 0;
    for (seed, (name, _)) in (0..64).zip(CHIPS.iter().cycle()) {
        refused += live(name, seed);
    }
    assert!(refused > 100, "{refused} calls were refused");
}

/// `df` tells the room of the disk, and a removal that could be undone is refused.
#[test]
fn a_full_disk_has_no_room_for_files() {
    let mut life = Life::new("spare", 1);
    life.play(&Step::Create("/file".into()));
    life.play(&Step::Sync);
    let free = |life: &Life| life.fs.as_ref().unwrap().space().unwrap().free_bytes;
    assert!(free(&life) > 0);
    life.host.leave_room(0);
    assert_eq!(free(&life), 0);
    let removed = life.fs.as_ref().unwrap().unlink(Ino::ROOT, b"file").unwrap_err();
    assert!(removed.errno() == Errno::NoSpace && removed.to_string().contains("the disk under"), "{removed}");
    life.remount();
}
