//! The order of repairs.

use crate::check::Code;

/// A stage of a repair. Each makes sense only when those before it have nothing left.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Stage {
    /// The NAT, and the nodes it names.
    Nat,
    /// Inodes, each for itself.
    Inodes,
    /// References from node to node.
    Links,
    /// Addresses of data.
    Pointers,
    /// Entries of directories.
    Names,
    /// Directories as a whole.
    Directories,
    /// The counts of an inode.
    Counts,
    /// Tables and numbers of the volume, derived from nodes and names.
    Tables,
    /// The places of the logs, which must be free.
    Logs,
    /// Inodes without a name.
    Lost,
    /// Quota files.
    Quota,
    /// Notes that something was wrong.
    Notes,
}

impl Stage {
    pub(super) const ALL: [Stage; 12] = [
        Stage::Nat,
        Stage::Inodes,
        Stage::Links,
        Stage::Pointers,
        Stage::Names,
        Stage::Directories,
        Stage::Counts,
        Stage::Tables,
        Stage::Logs,
        Stage::Lost,
        Stage::Quota,
        Stage::Notes,
    ];

    /// The stage that mends a fault; `None` if nothing does, or it is done before a volume is opened.
    pub(super) fn of(code: Code) -> Option<Stage> {
        Some(match code {
            Code::NatAddress
            | Code::NatInode
            | Code::NatShared
            | Code::NodeFooter
            | Code::JournalNat
            | Code::BlockUnreadable => Stage::Nat,
            Code::Inode
            | Code::InodeExtra
            | Code::InodeFlags
            | Code::InodeInline
            | Code::InodeChecksum
            | Code::InodeCompression
            | Code::InodeName
            | Code::Xattr => Stage::Inodes,
            Code::NodeMissing | Code::NodePlace | Code::NodeShared | Code::NodeUnreferenced => Stage::Links,
            Code::DataAddress | Code::BlockShared | Code::ClusterShape | Code::ClusterHeader => {
                Stage::Pointers
            }
            Code::DentrySlots
            | Code::DentryInode
            | Code::DentryType
            | Code::DentryHash
            | Code::DentryPlace
            | Code::DentryName
            | Code::DentryTwice
            | Code::QuotaInode => Stage::Names,
            Code::Dots | Code::DirectoryParent | Code::InodeSize => Stage::Directories,
            Code::InodeLinks | Code::InodeBlocks | Code::ClusterSaved | Code::InodeExtent => Stage::Counts,
            Code::LogSegment | Code::LogSegmentKind | Code::LogNextBlock | Code::LogAllocation => Stage::Logs,
            Code::InodeUnnamed => Stage::Lost,
            Code::QuotaFile | Code::QuotaUsage => Stage::Quota,
            Code::CheckpointFlag | Code::SuperBlockErrors => Stage::Notes,
            Code::SitCount
            | Code::SitKind
            | Code::SitMissing
            | Code::SitExtra
            | Code::SsaKind
            | Code::SsaOwner
            | Code::NatBits
            | Code::JournalSit
            | Code::OrphanInode
            | Code::OrphanNamed
            | Code::CheckpointNumbers
            | Code::CheckpointValidBlocks
            | Code::CheckpointValidNodes
            | Code::CheckpointValidInodes
            | Code::CheckpointFreeSegments => Stage::Tables,
            _ => return None,
        })
    }
}
