//! The work of a session, as calls that a disk and its model get alike. The error is the disk's.

use pumice_ftl::Ftl;
use pumice_media::{BlockDevice, Lba};

use crate::common::shared::Shared;
use crate::common::{Model, Step, change};

type Done = Result<(), String>;
/// The work, and its name.
pub type Work = (&'static str, fn(&mut Day<'_>) -> Done);

/// A session at work.
pub struct Day<'a> {
    pub disk: &'a mut Ftl<Shared>,
    pub model: &'a mut Model,
    pub rng: &'a mut fastrand::Rng,
    /// Seconds since 1970, by a clock that jumps.
    pub now: i64,
    /// The disk holds nothing that is lost.
    pub is_whole: bool,
}

/// The kinds of sessions.
pub const DAYS: [Work; 14] = [
    ("a boot", boot),
    ("a database", database),
    ("a log in a ring", log),
    ("an update of the firmware", update),
    ("filled and trimmed", fill),
    ("a run of writes", run),
    ("a run of writes to few blocks", hot_run),
    ("photos", photos),
    ("trims all over", trims),
    ("bursts, and idle time", bursts),
    ("idle weeks", idle),
    ("a scrub", scrub),
    ("reads", reads),
    ("anything", anything),
];

impl Day<'_> {
    fn blocks(&self) -> u64 {
        self.model.blocks()
    }

    fn play(&mut self, step: Step) -> Done {
        change(self.disk, self.model, step)
    }

    fn write(&mut self, first: u64, count: u64) -> Done {
        self.play(Step::Write { first, count })
    }

    fn flush(&mut self) -> Done {
        self.play(Step::Flush)
    }

    fn chance(&mut self, one_of: u32) -> bool {
        self.rng.u32(..one_of) == 0
    }

    /// Idle time: what the disk has to do, as far as so many calls go.
    fn rest(&mut self, calls: u32) -> Done {
        for _ in 0..calls {
            if !self.disk.maintain(self.now).map_err(|error| error.to_string())? {
                break;
            }
        }
        Ok(())
    }
}

/// A few blocks are read, and nothing or little is written.
fn boot(day: &mut Day<'_>) -> Done {
    if day.chance(2) { Ok(()) } else { day.write(0, 1) }
}

/// Random overwrites, most of them safe at once.
fn database(day: &mut Day<'_>) -> Done {
    let region = (day.blocks() / 5).max(4);
    for _ in 0..20 + day.rng.u32(..40) {
        let first = day.rng.u64(..region);
        let count = day.rng.u64(1..3);
        day.write(first, count)?;
        if !day.chance(4) {
            day.flush()?;
        }
    }
    Ok(())
}

/// Appended to again and again, from a place in the ring.
fn log(day: &mut Day<'_>) -> Done {
    let (from, region) = (day.blocks() / 5, (day.blocks() / 10).max(4));
    let mut at = day.rng.u64(..region);
    for _ in 0..60 {
        day.write(from + at, 1)?;
        at = (at + 1) % region;
        if day.chance(3) {
            day.flush()?;
        }
    }
    Ok(())
}

/// One of two halves of a partition is written anew, made safe, and then the block that says which counts.
fn update(day: &mut Day<'_>) -> Done {
    let (half, all) = (day.blocks() / 8, day.blocks());
    let from = if day.chance(2) { all - half } else { all - 2 * half };
    if day.chance(2) {
        day.play(Step::Trim { first: from, count: half })?;
    }
    day.write(from, half)?;
    day.flush()?;
    day.write(1, 1)?;
    day.flush()
}

/// Every block is written, and much of it trimmed.
fn fill(day: &mut Day<'_>) -> Done {
    let blocks = day.blocks();
    for first in (0..blocks).step_by(16) {
        day.write(first, 16)?;
        if day.chance(8) {
            day.flush()?;
        }
    }
    let first = day.rng.u64(..blocks / 2);
    let count = if day.chance(3) { blocks } else { blocks / 4 };
    day.play(Step::Trim { first, count })?;
    if day.chance(2) { day.flush() } else { Ok(()) }
}

fn run(day: &mut Day<'_>) -> Done {
    for _ in 0..day.blocks().min(400) {
        let first = day.rng.u64(..day.blocks());
        day.write(first, 1)?;
        if day.chance(50) {
            day.flush()?;
        }
    }
    Ok(())
}

fn hot_run(day: &mut Day<'_>) -> Done {
    let from = day.rng.u64(..day.blocks() - 4);
    for _ in 0..200 {
        let first = from + day.rng.u64(..4);
        day.write(first, 1)?;
    }
    day.flush()
}

/// Long runs of blocks; older ones are trimmed before.
fn photos(day: &mut Day<'_>) -> Done {
    for _ in 0..4 {
        let count = 4 + day.rng.u64(..day.blocks() / 12);
        let first = day.blocks() / 3 + day.rng.u64(..day.blocks() / 3);
        if day.chance(2) {
            day.play(Step::Trim { first, count: 2 * count })?;
        }
        day.write(first, count)?;
        day.flush()?;
    }
    Ok(())
}

fn trims(day: &mut Day<'_>) -> Done {
    for _ in 0..60 {
        let first = day.rng.u64(..day.blocks());
        let count = day.rng.u64(1..4);
        day.play(Step::Trim { first, count })?;
        if day.chance(10) {
            day.flush()?;
        }
        if day.chance(6) {
            let first = day.rng.u64(..day.blocks());
            day.write(first, 2)?;
        }
    }
    Ok(())
}

fn bursts(day: &mut Day<'_>) -> Done {
    for _ in 0..5 {
        for _ in 0..day.blocks() / 20 + 4 {
            let first = day.rng.u64(..day.blocks());
            day.write(first, 1)?;
        }
        day.flush()?;
        day.now += 60;
        day.rest(100)?;
    }
    Ok(())
}

fn idle(day: &mut Day<'_>) -> Done {
    if day.chance(3) {
        let days = day.rng.u64(1..30);
        day.disk.set_patrol_period(days * 86_400);
    }
    for _ in 0..30 {
        day.now += 43_200;
        day.rest(40)?;
    }
    Ok(())
}

fn scrub(day: &mut Day<'_>) -> Done {
    let is_quick = day.disk.admit_quick_scrub().is_ok() && day.chance(2);
    let done = match is_quick {
        true => day.disk.quick_scrub(&mut |_, _| {}),
        false => day.disk.scrub(day.now, &mut |_, _| {}),
    };
    let found = done.map_err(|error| error.to_string())?;
    assert!(found.lost.is_empty() || !day.is_whole, "a scrub lost something: {found:?}");
    Ok(())
}

/// The same blocks over and over.
fn reads(day: &mut Day<'_>) -> Done {
    let lba = day.rng.u64(..day.blocks());
    let mut bytes = vec![0; day.disk.block_bytes() as usize];
    for _ in 0..500 {
        let read = day.disk.read(Lba(lba), &mut bytes);
        if day.is_whole {
            read.map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

fn anything(day: &mut Day<'_>) -> Done {
    for _ in 0..120 {
        match Step::random(day.rng, day.blocks()) {
            Step::Close | Step::Die => day.rest(3)?,
            step => day.play(step)?,
        }
    }
    Ok(())
}
