//! The three sets of flags of an inode.

use pumice_vfs::flag;

/// The use of an inode's words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InlineFlags(pub u8);

impl InlineFlags {
    /// Attributes stand in the inode.
    pub const XATTR: InlineFlags = InlineFlags(0x01);
    /// Data stand in the inode.
    pub const DATA: InlineFlags = InlineFlags(0x02);
    /// Directory entries stand in the inode.
    pub const DENTRY: InlineFlags = InlineFlags(0x04);
    /// The inline data are not empty.
    pub const DATA_EXIST: InlineFlags = InlineFlags(0x08);
    /// There are extra attributes.
    pub const EXTRA_ATTR: InlineFlags = InlineFlags(0x20);
    /// The file must not be moved.
    pub const PIN: InlineFlags = InlineFlags(0x40);
    /// Blocks that compression saved were given back, and the file is sealed.
    pub const RELEASED: InlineFlags = InlineFlags(0x80);

    /// True if all of `other` are set.
    pub fn has(self, other: InlineFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and `other`.
    #[must_use]
    pub fn with(self, other: InlineFlags) -> InlineFlags {
        InlineFlags(self.0 | other.0)
    }

    /// These without `other`.
    #[must_use]
    pub fn without(self, other: InlineFlags) -> InlineFlags {
        InlineFlags(self.0 & !other.0)
    }
}

/// Hints.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Advise(pub u8);

impl Advise {
    /// The content is written once and read: its extension says so, or a user.
    pub const COLD: Advise = Advise(0x01);
    /// `i_pino` and `i_name` may be out of date: it was renamed, or has several names.
    pub const LOST_PINO: Advise = Advise(0x02);
    /// Content is encrypted.
    pub const ENCRYPT: Advise = Advise(0x04);
    /// The name is encrypted.
    pub const ENC_NAME: Advise = Advise(0x08);
    /// The size must not be guessed from the blocks when rolling forward.
    pub const KEEP_SIZE: Advise = Advise(0x10);
    /// The content is overwritten often: its extension says so, or a user.
    pub const HOT: Advise = Advise(0x20);
    /// Protected by fs-verity.
    pub const VERITY: Advise = Advise(0x40);
    /// Those that users choose.
    const CHOSEN: Advise = Advise(0x21);

    /// These with the choice of a user, of whose value Linux looks at the first byte; `None` if users have no say in it.
    pub(crate) fn chosen(self, value: &[u8]) -> Option<Advise> {
        let choice = Advise(value.first().copied().unwrap_or_default());
        Advise::CHOSEN.has(choice).then(|| self.without(Advise::CHOSEN).with(choice))
    }

    /// True if all of `other` are set.
    pub fn has(self, other: Advise) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and `other`.
    #[must_use]
    pub fn with(self, other: Advise) -> Advise {
        Advise(self.0 | other.0)
    }

    /// These without `other`.
    #[must_use]
    pub fn without(self, other: Advise) -> Advise {
        Advise(self.0 & !other.0)
    }
}

/// The flags that `lsattr` shows, as they stand on the medium: Linux's own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InodeFlags(pub u32);

impl InodeFlags {
    /// Written at once.
    pub const SYNC: InodeFlags = InodeFlags(flag::SYNC);
    /// Cannot be changed.
    pub const IMMUTABLE: InodeFlags = InodeFlags(flag::IMMUTABLE);
    /// Nothing can be done but add to it.
    pub const APPEND: InodeFlags = InodeFlags(flag::APPEND);
    /// Left out of dumps.
    pub const NODUMP: InodeFlags = InodeFlags(flag::NODUMP);
    /// Changes of a directory are written at once.
    pub const DIRSYNC: InodeFlags = InodeFlags(flag::DIRSYNC);
    /// The time of the last read is not kept.
    pub const NOATIME: InodeFlags = InodeFlags(flag::NOATIME);
    /// Compressed.
    pub const COMPRESSED: InodeFlags = InodeFlags(flag::COMPRESSED);
    /// Not compressed, and new inodes in it are not either, though its directory hands that down.
    pub const NOT_COMPRESSED: InodeFlags = InodeFlags(flag::NOT_COMPRESSED);
    /// A directory whose names are hashed, as all are; the kernel sets it for new ones.
    pub const INDEX: InodeFlags = InodeFlags(flag::INDEX);
    /// New inodes in it have its project, and none of another comes into it.
    pub const PROJECT_INHERIT: InodeFlags = InodeFlags(flag::PROJECT_INHERIT);
    /// Names differ only in case are the same.
    pub const CASEFOLD: InodeFlags = InodeFlags(flag::CASEFOLD);
    /// Stands for a whole device.
    pub const DEVICE_ALIAS: InodeFlags = InodeFlags(0x8000_0000);
    /// The flags that users set.
    pub(crate) const SETTABLE: InodeFlags = InodeFlags::COMPRESSED
        .with(InodeFlags::SYNC)
        .with(InodeFlags::IMMUTABLE)
        .with(InodeFlags::APPEND)
        .with(InodeFlags::NODUMP)
        .with(InodeFlags::NOATIME)
        .with(InodeFlags::NOT_COMPRESSED)
        .with(InodeFlags::DIRSYNC)
        .with(InodeFlags::PROJECT_INHERIT)
        .with(InodeFlags::CASEFOLD);
    /// The flags that the kernel shows.
    pub(super) const SHOWN: u32 = InodeFlags::SETTABLE.with(InodeFlags::INDEX).0;

    /// True if all of `other` are set.
    pub fn has(self, other: InodeFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and `other`.
    #[must_use]
    pub const fn with(self, other: InodeFlags) -> InodeFlags {
        InodeFlags(self.0 | other.0)
    }
}
