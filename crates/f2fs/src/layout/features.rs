//! A volume's features beyond the first version of the format.

use core::fmt;

use crate::error::Error;

/// The feature word of the super block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Features(pub u32);

const NAMES: [(Features, &str); 17] = [
    (Features::ENCRYPT, "encrypt"),
    (Features::BLKZONED, "blkzoned"),
    (Features::ATOMIC_WRITE, "atomic_write"),
    (Features::EXTRA_ATTR, "extra_attr"),
    (Features::PROJECT_QUOTA, "project_quota"),
    (Features::INODE_CHECKSUM, "inode_checksum"),
    (Features::FLEXIBLE_INLINE_XATTR, "flexible_inline_xattr"),
    (Features::QUOTA_INO, "quota_ino"),
    (Features::INODE_CRTIME, "inode_crtime"),
    (Features::LOST_FOUND, "lost_found"),
    (Features::VERITY, "verity"),
    (Features::SB_CHECKSUM, "sb_checksum"),
    (Features::CASEFOLD, "casefold"),
    (Features::COMPRESSION, "compression"),
    (Features::RO, "ro"),
    (Features::DEVICE_ALIAS, "device_alias"),
    (Features::PACKED_SSA, "packed_ssa"),
];

impl Features {
    /// Files and names may be encrypted (fscrypt).
    pub const ENCRYPT: Features = Features(0x1);
    /// The volume is on zoned devices.
    pub const BLKZONED: Features = Features(0x2);
    /// Atomic writes were used; nothing on the medium differs.
    pub const ATOMIC_WRITE: Features = Features(0x4);
    /// Inodes may have extra attributes.
    pub const EXTRA_ATTR: Features = Features(0x8);
    /// Project quota.
    pub const PROJECT_QUOTA: Features = Features(0x10);
    /// Inodes carry a checksum.
    pub const INODE_CHECKSUM: Features = Features(0x20);
    /// The room for extended attributes in an inode is as the inode says.
    pub const FLEXIBLE_INLINE_XATTR: Features = Features(0x40);
    /// Quota files are hidden inodes.
    pub const QUOTA_INO: Features = Features(0x80);
    /// Inodes carry their time of birth.
    pub const INODE_CRTIME: Features = Features(0x100);
    /// There is a lost+found.
    pub const LOST_FOUND: Features = Features(0x200);
    /// Files may be protected by fs-verity.
    pub const VERITY: Features = Features(0x400);
    /// The super block carries a checksum.
    pub const SB_CHECKSUM: Features = Features(0x800);
    /// Directories may ignore case.
    pub const CASEFOLD: Features = Features(0x1000);
    /// Files may be compressed.
    pub const COMPRESSION: Features = Features(0x2000);
    /// Made to be read only: no free space is kept for a log.
    pub const RO: Features = Features(0x4000);
    /// Files may stand for a whole device.
    pub const DEVICE_ALIAS: Features = Features(0x8000);
    /// Several summaries share a block where blocks are larger than 4 KiB.
    pub const PACKED_SSA: Features = Features(0x1_0000);

    /// True if some files may not be opened by all: encrypted and sealed ones.
    pub(crate) fn guards_files(self) -> bool {
        self.has(Features::ENCRYPT) || self.has(Features::VERITY)
    }

    /// True if all of `other` are set.
    pub fn has(self, other: Features) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and `other`.
    #[must_use]
    pub fn with(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }

    /// The feature of a name, as f2fs-tools spell it.
    pub fn by_name(name: &str) -> Option<Features> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(feature, _)| *feature)
    }

    /// Refuses bits that nobody here knows.
    pub fn check(self) -> Result<Features, Error> {
        let unknown = NAMES.iter().fold(self.0, |left, (known, _)| left & !known.0);
        if unknown == 0 { Ok(self) } else { Err(Error::UnknownFeatures(unknown)) }
    }

    /// The names of those that are set, as f2fs-tools spell them.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.iter().filter(move |(feature, _)| self.has(*feature)).map(|(_, name)| *name)
    }
}

impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, name) in self.names().enumerate() {
            f.write_str(if count > 0 { " " } else { "" })?;
            f.write_str(name)?;
        }
        Ok(())
    }
}
