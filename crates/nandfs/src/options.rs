//! What front ends say and are told: options, information.

use alloc::{string::String, vec::Vec};

use pumice_cleaning::registry::{PlacementRule, VictimRule, WearRule};
use pumice_vfs::{Clock, Timestamp};

use crate::pack::Compression;
use crate::placing::PolicyNames;
use crate::protection::FsyncProtection;

/// How to make a file system.
#[derive(Clone, Debug, Default)]
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
    /// Which erase block is cleaned next; nandfs's own choice if none is named.
    pub victim: Option<VictimRule>,
    /// Which head a block of a file is written to; likewise.
    pub placement: Option<PlacementRule>,
    /// Log pages of each erase block that hold parity, 0 to 8: as many unreadable ones of a block lose nothing.
    pub parity_pages: u8,
    /// From when on that holds for what fsync or a checkpoint promised.
    pub fsync_protection: FsyncProtection,
    /// How blocks of files are compressed; with `None` none ever is, by no mount and in no file.
    pub compression: Option<Compression>,
    /// When cold data moves into worn erase blocks; likewise.
    pub wear: Option<WearRule>,
    /// Erases that the chip's maker promises for each erase block; `None` if nobody knows.
    pub endurance: Option<u32>,
}

/// How to mount.
pub struct MountOptions {
    /// Write nothing, recover in memory only.
    pub read_only: bool,
    /// Bytes of memory for cached and unwritten pages, nodes and tables; at least 256 KiB.
    pub cache_bytes: usize,
    /// The time.
    pub clock: Clock,
}

/// How to repair.
#[derive(Clone, Copy, Debug, Default)]
pub struct RepairOptions {
    /// Find out what would be done, and write nothing.
    pub dry_run: bool,
    /// The volume's identity, if that cannot be read any more.
    pub uuid: [u8; 16],
    /// The time.
    pub now: Timestamp,
}

/// What is known about a volume without walking it.
#[derive(Clone, Debug)]
pub struct Info {
    /// Format version.
    pub version: u32,
    /// A name for people.
    pub label: String,
    /// The volume's identity.
    pub uuid: [u8; 16],
    /// What it is cleaned by.
    pub policies: PolicyNames,
    /// Log pages of each erase block that hold parity.
    pub parity_pages: u8,
    /// From when on they protect what fsync or a checkpoint promised.
    pub fsync_protection: FsyncProtection,
    /// How blocks of files are compressed by this mount; `None` on a volume where none ever is.
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
    /// Page reads that recovery would need for what fsync wrote since the last checkpoint.
    pub recovery_reads: u32,
    /// Passes of the patrol that were ended since the volume was made.
    pub patrol_passes: u32,
    /// How far the present one is, of `patrol_all`, in log pages.
    pub patrol_page: u32,
    /// Log pages of the chip, those for parity left out.
    pub patrol_all: u32,
    /// Erase blocks moved because of wrong bits, reads or missing parity, since the volume was made.
    pub mended_blocks: u32,
    /// Log pages that could not be read and that parity brought back since then, each time that they were read.
    pub rebuilt_pages: u32,
    /// Wrong bits put right since then: of each read those of the worst codeword.
    pub corrected_bits: u64,
    /// Chip pages' worth of chunks that were moved since the mount to even out wear.
    pub levelled_pages: u64,
    /// Too few good blocks are left for what is stored: the volume can only be read.
    pub worn_out: bool,
}

/// What reading all that lives has found, and what became of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scrubbed {
    /// Log pages read.
    pub pages: u64,
    /// Log pages of which the spare area alone was read, by a quick scrub.
    pub spare_areas: u64,
    /// Wrong bits that ECC put right: of each read those of the worst codeword.
    pub corrected_bits: u64,
    /// The volume could only be read: what is weak was left where it is.
    pub read_only: bool,
    /// Erase blocks near the limit of ECC, read too often, or without parity that fits: moved, unless `read_only`.
    pub weak_blocks: u32,
    /// Log pages that could not be read and that parity brought back.
    pub rebuilt_pages: u64,
    /// Anchors or records of checkpoints were: written anew likewise.
    pub weak_roots: bool,
    /// Log pages that cannot be read, by parity either. Those that a power cut has torn are among them, and hold nothing.
    pub unreadable: Vec<u32>,
    /// Bytes that something points at in pages that cannot be read.
    pub lost_bytes: u64,
}

/// How worn the erase blocks are that are not bad, anchors left out: erases.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WearSpread {
    /// Of the least worn.
    pub least: u32,
    /// Of the most worn.
    pub most: u32,
    /// On average, rounded down.
    pub mean: u32,
}

/// Called with (done, total) while long work goes on.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);
