//! The structures on the medium: one module for each, raw (little-endian bytes) and checked, in both directions.
//! Offsets are in bytes, addresses in blocks of the volume.

mod acl;
mod checkpoint;
mod dentry;
mod features;
mod inode;
mod inode_flags;
mod inode_raw;
mod levels;
mod nat;
mod node;
mod orphan;
mod quota;
mod sit;
mod size;
mod summary;
mod superblock;
mod way;
mod xattr;

pub use crate::ids::{BlockAddr, Nid, SegNo};
pub(crate) use acl::{shown_acl, stored_acl};
pub use checkpoint::{Checkpoint, CpFlags, RawCheckpoint};
pub(crate) use checkpoint::{HEAD_BYTES as CHECKPOINT_HEAD_BYTES, seal_head};
pub use dentry::{DIR_SLOT_BYTES, Dentry, DentryLayout, RawDentry};
pub(crate) use dentry::{NAME_MAX, file_kind, file_type};
pub use features::Features;
pub(crate) use inode::{CLUSTER_MAX, EXTRA as EXTRA_BYTES};
pub use inode::{Extent, ExtraAttr, Inode};
pub use inode_flags::{Advise, InlineFlags, InodeFlags};
pub(crate) use inode_raw::INODE_GENERATION_OFFSET;
pub use inode_raw::{RawExtent, RawExtraAttr, RawInode};
pub use levels::{LEVELS_MAX, bucket_blocks, buckets};
pub(crate) use levels::{bucket_beside, places};
pub use nat::{NatEntry, RawNatEntry};
pub use node::{NodeFooter, NodeOffset, RawNodeFooter};
pub use orphan::{OrphanBlock, RawOrphanTail};
pub(crate) use quota::{
    QUOTA_BLOCK_BYTES, QUOTA_LEVELS, QUOTA_MAGICS, QUOTA_VERSION, RawQuotaEntry, RawQuotaHeader, RawQuotaLeaf,
};
pub use sit::{RawSitEntry, SitEntry};
pub use size::BlockSize;
pub use summary::{
    JournalEntries, NatJournalEntry, RawNatJournalEntry, RawSitJournalEntry, RawSummary, SitJournalEntry,
    Summary, SummaryBlock, SummaryKind, SummaryLayout, journal_bytes, parse_journal,
};
pub use superblock::{Device, RawDevice, RawSuperBlock, SUPER_OFFSET, SuperBlock};
pub(crate) use superblock::{MAGIC, SEGMENTS_MAX};
pub use way::Way;
pub(crate) use xattr::ADVISE;
pub use xattr::{RawXattrEntry, XattrEntry, XattrList, XattrSpace};
