//! Questions and wishes that come by ioctl: flags and projects of inodes, of `lsattr` and `chattr`, and `fstrim`.

use std::ops::Range;

use pumice_vfs::{Errno, FileSystem, FlagChange, Flags, Ino, Result, flag};

use crate::attr::View;

const GETFLAGS: u32 = 0x8008_6601;
const SETFLAGS: u32 = 0x4008_6602;
/// The same where a `long` has four bytes.
const GETFLAGS_32: u32 = 0x8004_6601;
const SETFLAGS_32: u32 = 0x4004_6602;
const FSGETXATTR: u32 = 0x801c_581f;
const FSSETXATTR: u32 = 0x401c_5820;

const FITRIM: u32 = 0xc018_5879;

/// Bytes of Linux's `fsxattr`: flags first, and the project at byte 12.
const FSXATTR_BYTES: usize = 28;
const PROJECT_AT: usize = 12;

/// Flags as `fsxattr` has them, and as others do.
const FORMS: [(u32, u32); 6] = [
    (0x20, flag::SYNC),
    (0x8, flag::IMMUTABLE),
    (0x10, flag::APPEND),
    (0x80, flag::NODUMP),
    (0x40, flag::NOATIME),
    (0x200, flag::PROJECT_INHERIT),
];

/// A question or a wish of an ioctl.
pub(crate) enum Asked {
    /// Which flags are set.
    Flags,
    /// Flags and project as `fsxattr`.
    FsXattr,
    /// A change.
    Change(FlagChange),
    /// The device is to be told of what is free within a range of its bytes, in pieces of so many at least.
    Trim { range: Range<u64>, least: u64 },
}

impl Asked {
    /// Takes an ioctl apart.
    pub(crate) fn of(command: u32, data: &[u8]) -> std::result::Result<Asked, fuser::Errno> {
        match command {
            GETFLAGS | GETFLAGS_32 => Ok(Asked::Flags),
            FSGETXATTR => Ok(Asked::FsXattr),
            SETFLAGS | SETFLAGS_32 => {
                Ok(Asked::Change(FlagChange { bits: word(data, 0)?, mask: u32::MAX, project: None }))
            }
            FSSETXATTR => {
                let (form, project) = (word(data, 0)?, word(data, PROJECT_AT)?);
                if form & !FORMS.iter().fold(0, |all, (form, _)| all | form) != 0 {
                    return Err(fuser::Errno::EOPNOTSUPP);
                }
                let mask = FORMS.iter().fold(0, |all, (_, flag)| all | flag);
                let set = FORMS.iter().filter(|(known, _)| form & known != 0);
                let bits = set.fold(0, |all, (_, flag)| all | flag);
                Ok(Asked::Change(FlagChange { bits, mask, project: Some(project) }))
            }
            FITRIM => {
                let (start, length, least) = (long(data, 0)?, long(data, 8)?, long(data, 16)?);
                Ok(Asked::Trim { range: start..start.saturating_add(length), least })
            }
            _ => Err(fuser::Errno::ENOTTY),
        }
    }
}

/// Linux's `fstrim_range` behind the call: in place of a length, the bytes that the device was told of.
pub(crate) fn trimmed(range: &Range<u64>, freed: u64, least: u64) -> Vec<u8> {
    [range.start, freed, least].map(u64::to_le_bytes).concat()
}

fn long(data: &[u8], at: usize) -> std::result::Result<u64, fuser::Errno> {
    let bytes = data.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map(|bytes| u64::from_le_bytes(*bytes)).ok_or(fuser::Errno::EINVAL)
}

fn word(data: &[u8], at: usize) -> std::result::Result<u32, fuser::Errno> {
    let bytes = data.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map(|bytes| u32::from_le_bytes(*bytes)).ok_or(fuser::Errno::EINVAL)
}

/// Flags and project as `fsxattr`.
pub(crate) fn fsxattr(found: Flags) -> Vec<u8> {
    let set = FORMS.iter().filter(|(_, flag)| found.bits & flag != 0);
    let form = set.fold(0, |all, (form, _)| all | form);
    let mut bytes = vec![0; FSXATTR_BYTES];
    for (at, word) in [(0, form), (PROJECT_AT, found.project)] {
        bytes.iter_mut().skip(at).zip(word.to_le_bytes()).for_each(|(to, from)| *to = from);
    }
    bytes
}

/// Changes flags and project for a user. Linux before 5.13 leaves it to the file system to look who that is: the owner
/// may, but for immutable and append-only, which only root sets and takes away.
pub(crate) fn change<F: FileSystem + ?Sized>(
    fs: &F,
    (uid, view): (u32, &View),
    ino: Ino,
    change: &FlagChange,
) -> Result<()> {
    if uid != 0 {
        let changed = (fs.flags(ino)?.bits ^ change.bits) & change.mask;
        let is_owner = view.is_owner(uid, &fs.attr(ino)?);
        if !is_owner || changed & (flag::IMMUTABLE | flag::APPEND) != 0 {
            return Err(Errno::Perm.into());
        }
    }
    fs.set_flags(ino, change)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_of_fsxattr_comes_back() {
        for (form, flag) in FORMS {
            let bytes = fsxattr(Flags { bits: flag, project: 77 });
            assert_eq!(bytes[..4], form.to_le_bytes());
            let Asked::Change(change) = Asked::of(FSSETXATTR, &bytes).unwrap_or_else(|_| panic!("{form:#x}"))
            else {
                panic!("{form:#x} is no change")
            };
            assert_eq!((change.bits, change.project), (flag, Some(77)));
        }
        let extent_size = [&0x800_u32.to_le_bytes()[..], &[0; 24]].concat();
        assert!(Asked::of(FSSETXATTR, &extent_size).is_err_and(|error| error == fuser::Errno::EOPNOTSUPP));
        assert!(Asked::of(FSSETXATTR, &[0; 15]).is_err_and(|error| error == fuser::Errno::EINVAL));
        let asked = [5_u64, u64::MAX, 7].map(u64::to_le_bytes).concat();
        let Ok(Asked::Trim { range, least }) = Asked::of(FITRIM, &asked) else { panic!("no trim") };
        assert_eq!((range.clone(), least), (5..u64::MAX, 7));
        assert_eq!(trimmed(&range, 9, least), [5_u64, 9, 7].map(u64::to_le_bytes).concat());
        assert!(Asked::of(FITRIM, &asked[..23]).is_err_and(|error| error == fuser::Errno::EINVAL));
        assert!(Asked::of(0x1234, &[]).is_err_and(|error| error == fuser::Errno::ENOTTY));
    }
}
