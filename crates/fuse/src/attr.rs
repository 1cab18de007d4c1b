//! Converts attributes between the file system and FUSE.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, FileType, Generation, INodeNo, TimeOrNow};
use pumice_vfs::{Attr, FileKind, Ino, Timestamp};
use rustix::time::{ClockId, clock_gettime};

/// The time for which the kernel may cache names and attributes: only this mount changes them.
pub(crate) const NAME_TTL: Duration = Duration::from_secs(24 * 3600);

/// The time for which attributes stay known: the space a file takes changes when it is compressed or written back.
/// Nothing changes on a read-only mount.
pub(crate) fn attr_ttl(read_only: bool) -> Duration {
    if read_only { NAME_TTL } else { Duration::from_secs(1) }
}

pub(crate) fn ino(number: INodeNo) -> Ino {
    Ino(number.0)
}

pub(crate) fn generation(attr: &Attr) -> Generation {
    Generation(u64::from(attr.generation))
}

pub(crate) fn file_type(kind: FileKind) -> FileType {
    match kind {
        FileKind::File => FileType::RegularFile,
        FileKind::Dir => FileType::Directory,
        FileKind::Symlink => FileType::Symlink,
        FileKind::Fifo => FileType::NamedPipe,
        FileKind::Socket => FileType::Socket,
        FileKind::CharDevice => FileType::CharDevice,
        FileKind::BlockDevice => FileType::BlockDevice,
    }
}

/// The form of attributes on this mount, and the time for which the kernel may cache them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) ttl: Duration,
    pub(crate) shown: Shown,
}

/// Owner and permissions that all files show in place of their own.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Shown {
    pub(crate) uid: Option<u32>,
    pub(crate) gid: Option<u32>,
    /// Permission bits to clear; all others are set.
    pub(crate) umask: Option<u32>,
}

impl View {
    pub(crate) fn file_attr(&self, attr: &Attr) -> FileAttr {
        let Shown { uid, gid, umask } = self.shown;
        let own = file_attr(attr);
        FileAttr {
            uid: uid.unwrap_or(own.uid),
            gid: gid.unwrap_or(own.gid),
            perm: umask.map_or(own.perm, |umask| u16::try_from(0o777 & !umask).unwrap_or_default()),
            ..own
        }
    }

    /// True if a user owns a file, as it is shown.
    pub(crate) fn is_owner(&self, uid: u32, attr: &Attr) -> bool {
        self.shown.uid.unwrap_or(attr.uid) == uid
    }
}

fn file_attr(attr: &Attr) -> FileAttr {
    FileAttr {
        ino: INodeNo(attr.ino.0),
        size: attr.size,
        blocks: attr.allocated.div_ceil(512),
        atime: system_time(attr.atime),
        mtime: system_time(attr.mtime),
        ctime: system_time(attr.ctime),
        crtime: system_time(attr.btime),
        kind: file_type(attr.kind),
        perm: u16::try_from(attr.perm & 0o7777).unwrap_or_default(),
        nlink: attr.nlink,
        uid: attr.uid,
        gid: attr.gid,
        rdev: attr.rdev,
        blksize: 4096,
        flags: 0,
    }
}

/// A negative reply that the kernel may cache: no such name.
pub(crate) fn absent() -> FileAttr {
    FileAttr {
        ino: INodeNo(0),
        size: 0,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: FileType::RegularFile,
        perm: 0,
        nlink: 0,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 0,
        flags: 0,
    }
}

fn system_time(time: Timestamp) -> SystemTime {
    let nanos = Duration::from_nanos(u64::from(time.nanos));
    let whole = Duration::from_secs(time.seconds.unsigned_abs());
    let base = if time.seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    base.and_then(|base| base.checked_add(nanos)).unwrap_or(UNIX_EPOCH)
}

/// Converts a time as `utimensat(2)` gives it.
pub(crate) fn asked_time(time: TimeOrNow) -> Timestamp {
    match time {
        TimeOrNow::SpecificTime(time) => kernel_time(time),
        TimeOrNow::Now => now(),
    }
}

/// A time that fuser decoded. Before 1970 it counts the nanoseconds backwards where the kernel counts them
/// forwards; the parts themselves are the kernel's, so they are taken out as they were put in.
pub(crate) fn kernel_time(time: SystemTime) -> Timestamp {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => Timestamp {
            seconds: i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
            nanos: after.subsec_nanos(),
        },
        Err(error) => {
            let before = error.duration();
            let seconds = i64::try_from(before.as_secs()).map_or(i64::MIN, |seconds| -seconds);
            Timestamp { seconds, nanos: before.subsec_nanos() }
        }
    }
}

/// The time by the clock of the system's own file systems. It goes on with the timer, some milliseconds at a time. So
/// calls in a row find the same time, and an inode that was written need not be written again for it. A file system
/// mounted here is to take its times from it, since those that the kernel leaves to this crate come from there.
pub fn now() -> Timestamp {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    let nanos = u32::try_from(now.tv_nsec);
    debug_assert!(nanos.is_ok(), "a second has {} ns", now.tv_nsec);
    Timestamp { seconds: now.tv_sec, nanos: nanos.unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, iter::repeat_with};

    use super::*;

    #[test]
    fn calls_behind_each_other_find_the_same_time() {
        let times: BTreeSet<_> = repeat_with(now).take(1000).collect();
        assert!(times.len() < 500, "{} times", times.len());
    }

    #[test]
    fn times_before_1970_go_out_right() {
        let time = Timestamp { seconds: -2, nanos: 800_000_000 };
        assert_eq!(system_time(time), UNIX_EPOCH - Duration::from_millis(1200));
    }

    #[test]
    fn times_before_1970_come_in_right() {
        // (-2 s, 800,000,000 ns) as fuser hands it over
        let decoded = UNIX_EPOCH - Duration::new(2, 800_000_000);
        assert_eq!(kernel_time(decoded), Timestamp { seconds: -2, nanos: 800_000_000 });
    }
}
