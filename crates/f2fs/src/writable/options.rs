//! How a volume is written to.

use pumice_vfs::Clock;

use crate::{compression::CompressionRule, write::streams::Streams};

/// How to mount.
pub struct WritableOptions {
    /// Bytes for blocks that were read lately.
    pub cache_bytes: usize,
    /// Tells the time.
    pub clock: Clock,
    /// Where logs go on.
    pub logging: Logging,
    /// Which blocks are written over where they stand.
    pub in_place: InPlace,
    /// How many logs are written to.
    pub streams: Streams,
    /// Which section is cleaned while nobody waits.
    pub idle_cleaning: IdleCleaning,
    /// On a volume with compression: which new files are compressed, and how. Files in a directory that hands it down are, too.
    pub compression: CompressionRule,
    /// The device is told, by whole segments, what a checkpoint has freed.
    pub discard: bool,
}

impl WritableOptions {
    /// With a cache of 16 MiB, adaptive logging, nothing written in place, six logs, cleaning by cost and benefit, no extension that asks
    /// for compression, and discards.
    pub fn new(clock: Clock) -> WritableOptions {
        WritableOptions {
            cache_bytes: 16 << 20,
            clock,
            logging: Logging::Adaptive,
            in_place: InPlace::Never,
            streams: Streams::Six,
            idle_cleaning: IdleCleaning::CostBenefit,
            compression: CompressionRule::default(),
            discard: true,
        }
    }
}

/// Where logs go on when their segment is full (F2FS paper, section 2.6). Linux calls it `mode`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Logging {
    /// In free segments, and, when one in 20 is free or fewer, threaded through the holes of others.
    #[default]
    Adaptive,
    /// In free segments as long as cleaning makes some; nothing is written in place. Linux calls it `lfs`.
    Normal,
}

impl Logging {
    /// All, by the names that Linux has for them.
    pub const NAMED: [(&'static str, Logging); 2] =
        [("adaptive", Logging::Adaptive), ("lfs", Logging::Normal)];
}

/// Which section is cleaned while nobody waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IdleCleaning {
    /// The one with the most to gain for its age (F2FS paper, section 2.5).
    #[default]
    CostBenefit,
    /// The same, until the volume was mounted for a week in its life; then of those that are a week older than the youngest, the one that
    /// age and emptiness speak for most, and none if there is none. Linux calls it `atgc`.
    AgeThreshold,
}

/// Which blocks of regular files that are there are written over where they stand, by the rules of Linux's `ipu_policy`. What stands
/// elsewhere costs a node more and leaves what the last checkpoint has until the next; what is written over is as it is now, though
/// power fails before the next checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum InPlace {
    /// None.
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
