//! The options of writing to a volume.

use std::{io, sync::Arc};

use pumice_vfs::Clock;

use crate::{
    compression::CompressionRule,
    crypt::{Keyring, NONCE_BYTES},
    quota::QuotaKind,
    write::{discard_unit::DiscardUnit, streams::Streams},
};

/// The options of a mount.
pub struct WritableOptions {
    /// Bytes for blocks that were read lately.
    pub cache_bytes: usize,
    /// Tells the time.
    pub clock: Clock,
    /// The choice of the next segment of a log.
    pub logging: Logging,
    /// The blocks that are written in place.
    pub in_place: InPlace,
    /// The number of logs that are written to.
    pub streams: Streams,
    /// The choice of a section to clean while nobody waits, if one is cleaned then.
    pub idle_cleaning: Option<IdleCleaning>,
    /// The choice of new files to compress on a volume with compression, and the method. Files in a directory that
    /// hands it down are compressed, too.
    pub compression: CompressionRule,
    /// The device is told of what a checkpoint has freed.
    pub discard: bool,
    /// The pieces in which it is told.
    pub discard_unit: DiscardUnit,
    /// The quotas whose limits are enforced, on calls through [`pumice_vfs::FileSystem::limited`]. All are counted.
    pub enforced: Vec<QuotaKind>,
    /// With an fsync of a file that has a new name all changes to names are kept. Linux calls it `fsync_mode=strict`.
    pub strict_fsync: bool,
    /// The keys of encrypted files. Without them these are listed, and removed.
    pub keys: Option<MasterKeys>,
}

/// Makes the nonce of a new encrypted inode: bytes that nobody can guess.
pub type Nonces = Arc<dyn Fn() -> io::Result<[u8; NONCE_BYTES]> + Send + Sync>;

/// Master keys to write with.
#[derive(Clone)]
pub struct MasterKeys {
    /// The keys.
    pub keyring: Keyring,
    /// Random bytes of the system.
    pub nonces: Nonces,
}

impl WritableOptions {
    /// The defaults: a cache of 16 MiB, adaptive logging, nothing written in place, six logs, cleaning by cost and
    /// benefit, discards by segment. No extension asks for compression, there are no limits and no keys, and an fsync
    /// keeps what POSIX asks for.
    pub fn new(clock: Clock) -> WritableOptions {
        WritableOptions {
            cache_bytes: 16 << 20,
            clock,
            logging: Logging::Adaptive,
            in_place: InPlace::Never,
            streams: Streams::Six,
            idle_cleaning: Some(IdleCleaning::CostBenefit),
            compression: CompressionRule::default(),
            discard: true,
            discard_unit: DiscardUnit::default(),
            enforced: Vec::new(),
            strict_fsync: false,
            keys: None,
        }
    }
}

/// The choice of the next segment when a log's is full (F2FS paper, section 2.6). Linux calls it `mode`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Logging {
    /// Logs go on in free segments, and, when one in 20 is free or fewer, threaded through the holes of others.
    #[default]
    Adaptive,
    /// Logs go on in free segments as long as cleaning makes some; nothing is written in place. Linux calls it `lfs`.
    Normal,
}

impl Logging {
    /// All, by the names that Linux has for them.
    pub const NAMED: [(&'static str, Logging); 2] =
        [("adaptive", Logging::Adaptive), ("lfs", Logging::Normal)];
}

/// The choice of a section to clean while nobody waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IdleCleaning {
    /// The one with the most to gain for its age (F2FS paper, section 2.5).
    #[default]
    CostBenefit,
    /// The same, until the volume was mounted for a week in its life. Then it chooses among those that are a week older
    /// than the youngest, the one that age and emptiness speak for most, and none if there is none. Linux calls it
    /// `atgc`.
    AgeThreshold,
}

/// The blocks of regular files that are written in place, by the rules of Linux's `ipu_policy`: with each but
/// [`InPlace::Never`] those of cold files, too, and always those of pinned files. A block written elsewhere costs a node
/// more and leaves the last checkpoint's block until the next. A block written in place keeps its new bytes, though
/// power fails before the next checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum InPlace {
    /// None but those of pinned files.
    #[default]
    Never,
    /// Those that an fsync writes: all of them if only data are asked for, otherwise 8 at most.
    Fsync,
    /// These, and all when logs fill holes.
    Scarce,
    /// These, and all when users have more than 70 % of their blocks.
    Used,
    /// These, and all when logs fill holes and users have more than 70 % of their blocks.
    ScarceAndUsed,
    /// All.
    Always,
}

impl InPlace {
    /// All, by the names that Linux has for them.
    pub const NAMED: [(&'static str, InPlace); 6] = [
        ("never", InPlace::Never),
        ("fsync", InPlace::Fsync),
        ("ssr", InPlace::Scarce),
        ("util", InPlace::Used),
        ("ssr_util", InPlace::ScarceAndUsed),
        ("force", InPlace::Always),
    ];

    /// True if all blocks are written over now.
    pub(super) fn applies(self, is_scarce: bool, is_used: bool) -> bool {
        match self {
            InPlace::Never | InPlace::Fsync => false,
            InPlace::Scarce => is_scarce,
            InPlace::Used => is_used,
            InPlace::ScarceAndUsed => is_scarce && is_used,
            InPlace::Always => true,
        }
    }
}
