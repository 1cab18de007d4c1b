//! The work of a session, as calls that a volume and the model get alike. The error is the chip's: its power is gone.

use pumice_nandfs::NandFs;
use pumice_vfs::conformance::{list, resolve};
use pumice_vfs::{FileKind, FileSystem, FsError, RenameMode};

use crate::cut::player::Player;
use crate::cut::random::Random;
use crate::cut::shared::Shared;
use crate::cut::step::Step;

type Done = Result<(), FsError>;
/// The work, and its name.
type Work = (&'static str, fn(&mut Day<'_>) -> Done);

/// A session at work.
pub struct Day<'a> {
    pub player: &'a mut Player<Shared>,
    pub random: &'a mut Random,
    pub calls: &'a mut usize,
}

/// Sessions that need much space, or all: a chip that loses blocks meanwhile may come to its end.
pub const FILLING: [&str; 3] = [BULK, FILLED, ANYTHING];
const BULK: &str = "files made and removed in bulk";
const ANYTHING: &str = "anything";
const FILLED: &str = "filled and emptied";

/// The kinds of sessions.
pub const DAYS: [Work; 9] = [
    ("a boot with temporary files", boot),
    (BULK, bulk),
    ("logs that rotate", rotation),
    ("a database", database),
    ("an update of the firmware", update),
    ("photos", photos),
    (FILLED, fill),
    (ANYTHING, anything),
    ("idle", idle),
];

impl Day<'_> {
    fn play(&mut self, step: &Step) -> Done {
        *self.calls += 1;
        self.player.play(step)
    }

    fn fs(&self) -> Option<&NandFs<Shared>> {
        self.player.fs.as_ref()
    }

    /// The names of a directory, as paths.
    fn names(&self, dir: &str) -> Vec<String> {
        let Ok(attr) = resolve(&self.player.model, dir) else { return Vec::new() };
        let names = list(&self.player.model, attr.ino).unwrap();
        names.into_iter().map(|(name, ..)| format!("{dir}/{}", String::from_utf8_lossy(&name))).collect()
    }

    fn is_there(&self, path: &str) -> bool {
        resolve(&self.player.model, path).is_ok()
    }

    /// Free space, in bytes; of a chip without power none.
    fn free(&self) -> u64 {
        self.fs().and_then(|fs| fs.space().ok()).map_or(0, |space| space.free_bytes)
    }

    fn dir(&mut self, path: &str) -> Done {
        if self.is_there(path) { Ok(()) } else { self.play(&Step::Make(path.into(), FileKind::Dir)) }
    }

    /// A file with so many bytes, written piece by piece.
    fn file(&mut self, path: &str, bytes: u64) -> Done {
        self.play(&Step::Create(path.into()))?;
        let mut at = 0;
        while at < bytes {
            let len = (bytes - at).min(16 << 10);
            self.play(&Step::Write(path.into(), at, u32::try_from(len).unwrap()))?;
            at += len;
        }
        Ok(())
    }

    fn remove_all(&mut self, dir: &str) -> Done {
        self.names(dir).into_iter().try_for_each(|path| self.play(&Step::Unlink(path)))
    }

    fn chance(&mut self, one_of: u64) -> bool {
        self.random.below(one_of) == 0
    }
}

/// Temporary files come and go; some are held open without a name, some are safe on the way.
fn boot(day: &mut Day<'_>) -> Done {
    day.dir("/tmp")?;
    day.remove_all("/tmp")?;
    for number in 0..60 + day.random.below(60) {
        let path = format!("/tmp/t{number}");
        let bytes = day.random.below(600);
        day.file(&path, bytes)?;
        if number == 7 {
            day.play(&Step::Hold(path.clone(), 3))?;
        }
        if day.chance(16) {
            day.play(&Step::Fsync(path))?;
        }
    }
    day.remove_all("/tmp")?;
    day.play(&Step::Release(3))
}

fn bulk(day: &mut Day<'_>) -> Done {
    day.dir("/bulk")?;
    for number in 0..150 + day.random.below(250) {
        day.play(&Step::Create(format!("/bulk/b{number}")))?;
        if number % 8 == 0 {
            day.play(&Step::Write(format!("/bulk/b{number}"), 0, 300))?;
        }
        // A sync now and then, for unsaved changes fill the oracle with trees that may be found.
        if number % 50 == 0 {
            day.play(&Step::Sync)?;
        }
    }
    // Some stay, until the next time, among numbers that are free.
    for (number, path) in day.names("/bulk").into_iter().enumerate() {
        if number % 97 != 5 {
            day.play(&Step::Unlink(path))?;
        }
        if number % 50 == 0 {
            day.play(&Step::Sync)?;
        }
    }
    if day.chance(2) { day.remove_all("/bulk") } else { Ok(()) }
}

fn rotation(day: &mut Day<'_>) -> Done {
    day.dir("/log")?;
    let path = String::from("/log/messages");
    for _ in 0..40 {
        if !day.is_there(&path) {
            day.play(&Step::Create(path.clone()))?;
        }
        // A full volume has no room for it.
        let Ok(log) = resolve(&day.player.model, &path) else { return Ok(()) };
        let end = log.size;
        let bytes = 40 + u32::try_from(day.random.below(300)).unwrap();
        day.play(&Step::Write(path.clone(), end, bytes))?;
        if day.chance(2) {
            day.play(&Step::Fsync(path.clone()))?;
        }
        if end > 3000 {
            for old in
                (1..5).rev().filter(|old| day.is_there(&format!("/log/messages.{old}"))).collect::<Vec<_>>()
            {
                let (from, to) = (format!("/log/messages.{old}"), format!("/log/messages.{}", old + 1));
                day.play(&Step::Rename(from, to, RenameMode::Replace))?;
            }
            let old = String::from("/log/messages.1");
            day.play(&Step::Rename(path.clone(), old.clone(), RenameMode::Replace))?;
            day.play(&Step::Fsync(old))?;
        }
    }
    Ok(())
}

/// Random overwrites, most of them safe at once.
fn database(day: &mut Day<'_>) -> Done {
    let path = String::from("/db");
    let bytes = 96 << 10;
    if !day.is_there(&path) {
        day.file(&path, bytes)?;
    }
    for _ in 0..40 + day.random.below(80) {
        let (at, len) = (day.random.below(bytes / 512) * 512, 512 << day.random.below(4));
        day.play(&Step::Write(path.clone(), at, len))?;
        if !day.chance(4) {
            day.play(&Step::Fsync(path.clone()))?;
        }
    }
    Ok(())
}

/// Everything is written anew beside the old, made safe, and takes its place.
fn update(day: &mut Day<'_>) -> Done {
    day.dir("/firmware")?;
    for number in 0..4 {
        let (new, path) = (format!("/firmware/new{number}"), format!("/firmware/part{number}"));
        if day.is_there(&new) {
            day.play(&Step::Unlink(new.clone()))?;
        }
        let bytes = 5000 + day.random.below(40_000);
        day.file(&new, bytes)?;
        day.play(&Step::Fsync(new.clone()))?;
        day.play(&Step::Rename(new, path, RenameMode::Replace))?;
        day.play(&Step::Fsync("/firmware".into()))?;
    }
    day.play(&Step::Sync)
}

/// Large files; the oldest go once space is short.
fn photos(day: &mut Day<'_>) -> Done {
    day.dir("/photos")?;
    for _ in 0..4 {
        let mut names = day.names("/photos");
        names.sort_by_key(|name| resolve(&day.player.model, name).unwrap().btime);
        let bytes = 20_000 + day.random.below(60_000);
        for oldest in names {
            if day.free() > 4 * bytes {
                break;
            }
            day.play(&Step::Unlink(oldest))?;
        }
        let path = format!("/photos/p{}", day.calls);
        day.file(&path, bytes)?;
        day.play(&Step::Fsync(path.clone()))?;
        if day.chance(3) {
            day.play(&Step::SetXattr(path.clone(), 2, 500))?;
            day.play(&Step::Link(path, format!("/photos/l{}", day.calls)))?;
        }
    }
    Ok(())
}

/// Fills the volume to the last byte, and takes all of it away again.
fn fill(day: &mut Day<'_>) -> Done {
    day.dir("/fill")?;
    let bytes = day.free() / 40;
    for number in 0..200 {
        let before = day.free();
        let len = bytes / 2 + day.random.below(bytes + 1);
        day.file(&format!("/fill/f{number}"), len)?;
        if day.free() >= before || number % 10 == 0 {
            day.play(&Step::Sync)?;
        }
        if day.free() < 1000 {
            break;
        }
    }
    day.remove_all("/fill")?;
    day.play(&Step::Sync)
}

fn anything(day: &mut Day<'_>) -> Done {
    for _ in 0..150 {
        let step = day.random.step(30_000);
        if step != Step::Remount {
            day.play(&step)?;
        }
    }
    day.play(&Step::Release(1))
}

/// Maintenance in idle time, and a scrub now and then.
fn idle(day: &mut Day<'_>) -> Done {
    for _ in 0..200 {
        day.play(&Step::Maintain)?;
    }
    if day.chance(2) {
        let Some(fs) = day.fs() else { return Ok(()) };
        let found = fs.scrub(&mut |_, _| {})?;
        assert_eq!(found.lost_bytes, 0, "a scrub lost something: {found:?}");
    }
    Ok(())
}
