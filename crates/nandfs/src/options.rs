//! Options from front ends, and information for them.

use alloc::{string::String, vec::Vec};

use pumice_cleaning::registry::{PlacementRule, VictimRule, WearRule};
use pumice_vfs::{Clock, Timestamp};

use crate::pack::Compression;
use crate::placing::PolicyNames;
use crate::protection::FsyncProtection;

/// The options of making a file system.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FormatOptions {
    /// A name for people, at most 64 bytes of UTF-8.
    pub label: String,
    /// The volume's identity; also seeds the hash of names.
    pub uuid: [u8; 16],
    /// The time for the root directory.
    pub created: Timestamp,
    /// User and group of the root directory.
    pub owner: (u32, u32),
    /// Every good block is known to be erased, so format need not erase them.
    pub erased: bool,
    /// The rule for the erase block to clean next; nandfs's own choice if none is named.
    pub victim: Option<VictimRule>,
    /// The rule for the head of a file's block; likewise.
    pub placement: Option<PlacementRule>,
    /// Log pages of each erase block that hold parity, 0 to 8: as many unreadable ones of a block lose nothing.
    pub parity_pages: u8,
    /// The moment from which on that holds for promises of fsync or a checkpoint.
    pub fsync_protection: FsyncProtection,
    /// The compression of files' blocks; with `None` none ever is compressed, by no mount and in no file.
    pub compression: Option<Compression>,
    /// The rule for moving cold data into worn erase blocks; likewise.
    pub wear: Option<WearRule>,
    /// Erases that the chip's maker promises for each erase block; `None` if nobody knows.
    pub endurance: Option<u32>,
}

impl FormatOptions {
    /// The same with some of it set.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut FormatOptions)) -> FormatOptions {
        set(&mut self);
        self
    }
}

/// The options of a mount.
#[non_exhaustive]
pub struct MountOptions {
    /// Write nothing, recover in memory only.
    pub read_only: bool,
    /// Bytes of memory for cached and unwritten pages, nodes and tables; at least [`cache_least`](crate::cache_least). A power
    /// cut shows a write of half as much (64 KiB at the most) as a whole or not at all.
    pub cache_bytes: usize,
    /// The time.
    pub clock: Clock,
}

impl MountOptions {
    /// A mount for reading and writing, with so many bytes of memory.
    pub fn new(cache_bytes: usize, clock: Clock) -> MountOptions {
        MountOptions { read_only: false, cache_bytes, clock }
    }

    /// The same with some of it set.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut MountOptions)) -> MountOptions {
        set(&mut self);
        self
    }
}

/// The options of a repair.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct RepairOptions {
    /// Find out the repairs, and write nothing.
    pub dry_run: bool,
    /// The volume's identity, if that cannot be read any more.
    pub uuid: [u8; 16],
    /// The time.
    pub now: Timestamp,
}

impl RepairOptions {
    /// The same with some of it set.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut RepairOptions)) -> RepairOptions {
        set(&mut self);
        self
    }
}

/// The figures known of a volume without walking it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Info {
    /// Format version.
    pub version: u32,
    /// A name for people.
    pub label: String,
    /// The volume's identity.
    pub uuid: [u8; 16],
    /// The policies that clean it.
    pub policies: PolicyNames,
    /// Log pages of each erase block that hold parity.
    pub parity_pages: u8,
    /// The moment from which on they protect promises of fsync or a checkpoint.
    pub fsync_protection: FsyncProtection,
    /// The compression of files' blocks by this mount; `None` on a volume that never compresses.
    pub compression: Option<Compression>,
    /// Logical block, in bytes.
    pub block_bytes: u32,
    /// Size of the largest node, in bytes.
    pub node_bytes: u32,
    /// Chip pages that are written together as one page of the log.
    pub gang_pages: u32,
    /// True if tags live in the spare area, false if in the page.
    pub tag_in_spare: bool,
    /// Checkpoints made so far.
    pub checkpoints: u64,
    /// True if the last mount ended with a clean unmount.
    pub clean: bool,
    /// Erase blocks: good, free (erased or waiting for it), bad.
    pub good_blocks: u32,
    /// Free erase blocks.
    pub free_blocks: u32,
    /// Bad erase blocks.
    pub bad_blocks: u32,
    /// Inodes in use.
    pub inodes: u64,
    /// Bytes of memory in use besides the cache.
    pub fixed_memory_bytes: usize,
    /// Log pages' worth of chunks that cleaning copied since the mount, in chip pages.
    pub copied_pages: u64,
    /// Page reads that recovery would need for the writes of fsync since the last checkpoint.
    pub recovery_reads: u32,
    /// Passes of the patrol that were ended since the volume was made.
    pub patrol_passes: u32,
    /// The progress of the present one, of `patrol_all`, in log pages.
    pub patrol_page: u32,
    /// Log pages of the chip, those for parity left out.
    pub patrol_all: u32,
    /// Erase blocks moved because of wrong bits, reads or missing parity, since the volume was made.
    pub mended_blocks: u32,
    /// Unreadable log pages that parity brought back since then, counted at each read.
    pub rebuilt_pages: u32,
    /// Wrong bits put right since then, counted by the worst codeword of each read.
    pub corrected_bits: u64,
    /// Chip pages' worth of chunks that were moved since the mount to even out wear.
    pub levelled_pages: u64,
    /// Too few good blocks are left for the stored data: the volume can only be read.
    pub worn_out: bool,
}

/// The result of reading all live data.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scrubbed {
    /// Log pages read.
    pub pages: u64,
    /// Log pages with their spare area read alone, by a quick scrub.
    pub spare_areas: u64,
    /// Wrong bits that ECC put right, counted by the worst codeword of each read.
    pub corrected_bits: u64,
    /// The volume could only be read: weak blocks were left as they are.
    pub read_only: bool,
    /// Erase blocks near the limit of ECC, read too often, or without fitting parity: moved, unless `read_only`.
    pub weak_blocks: u32,
    /// Log pages that could not be read and that parity brought back.
    pub rebuilt_pages: u64,
    /// Anchors or records of checkpoints were weak: written anew likewise.
    pub weak_roots: bool,
    /// Log pages that cannot be read, by parity either. Those torn by a power cut are among them, and hold nothing.
    pub unreadable: Vec<u32>,
    /// Live bytes in unreadable pages.
    pub lost_bytes: u64,
}

/// The wear of the erase blocks that are not bad, anchors left out: erases.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WearSpread {
    /// The erases of the least worn.
    pub least: u32,
    /// The erases of the most worn.
    pub most: u32,
    /// The average, rounded down.
    pub mean: u32,
}

/// Called with (done, total) while long work goes on.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);
