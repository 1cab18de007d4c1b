//! The reasons why a volume cannot be made.

use crate::error::Error;

/// The reason why a volume cannot be made.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The device has no room for the six logs and the cleaner's reserve.
    #[error(
        "{bytes} bytes are too few for a volume with zones of {zone_bytes} bytes; take a larger size or smaller zones"
    )]
    TooSmall {
        /// Bytes of the device.
        bytes: u64,
        /// Bytes of a zone.
        zone_bytes: u64,
    },
    /// Blocks have 32 bits to be counted with.
    #[error("{bytes} bytes are more than the {most} that a volume with blocks of this size can have")]
    TooLarge {
        /// Bytes of the device.
        bytes: u64,
        /// Bytes that it could have.
        most: u64,
    },
    /// Sectors are what disks have.
    #[error("sectors of {bytes} bytes are none that a disk has (want 512, 1024, 2048 or 4096)")]
    Sector {
        /// Bytes that were asked for.
        bytes: u32,
    },
    /// A zone is empty or larger than any volume.
    #[error("zones of {segments} segments are out of range (want 1 to 8388608)")]
    Zone {
        /// Segments that it would have.
        segments: u64,
    },
    /// Each node needs a block, and there are fewer.
    #[error("a volume of {bytes} bytes has no room for {nodes} nodes")]
    Nodes {
        /// Nodes that are asked for.
        nodes: u64,
        /// Bytes of the device.
        bytes: u64,
    },
    /// A feature that needs another one.
    #[error("the feature {feature} needs {needs}")]
    Needs {
        /// The feature.
        feature: &'static str,
        /// The feature that it needs.
        needs: &'static str,
    },
    /// Linux writes quota files at a mount, though it is one to read; the volume has no room for that, and is lost.
    #[error("a volume with the feature ro cannot have quota_ino: Linux would destroy it at its first mount")]
    ReadOnlyQuota,
    /// Clusters have 4 to 256 blocks.
    #[error("clusters of 2 to the power of {log_blocks} blocks are out of range (want 2 to 8)")]
    Cluster {
        /// The size asked for.
        log_blocks: u8,
    },
    /// Blocks of a Merkle tree fit into those of the volume.
    #[error("blocks of {bytes} bytes cannot be those of a Merkle tree (want 1024 to {most})")]
    Seal {
        /// Bytes that were asked for.
        bytes: u32,
        /// Bytes of a block of the volume.
        most: u32,
    },
    /// Nothing here compresses like that.
    #[error("{0}")]
    Compression(String),
    /// A feature that cannot be made here.
    #[error("a volume with the feature {0} cannot be made")]
    Feature(&'static str),
    /// The label does not fit.
    #[error("a label of {units} UTF-16 units is too long (want at most 511)")]
    Label {
        /// Units that it has.
        units: usize,
    },
    /// An extension does not fit, or there are too many.
    #[error("{0}")]
    Extensions(String),
    /// The tree cannot be on F2FS.
    #[error("{path}: {what}")]
    Tree {
        /// The path in the tree.
        path: String,
        /// The fault.
        what: String,
    },
    /// The contents do not fit.
    #[error(
        "{blocks} blocks of files and directories do not fit: users have {room} of this volume; make it larger"
    )]
    Full {
        /// Blocks that are needed.
        blocks: u64,
        /// Blocks that there are.
        room: u64,
    },
    /// The content of a file could not be read.
    #[error("{path}: {error}")]
    Source {
        /// The path.
        path: String,
        /// The source's error.
        error: String,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] Error),
}
