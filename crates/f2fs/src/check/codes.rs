//! The possible faults of a volume: for each finding a stable name, and its remedy.

/// A kind of finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "the table below explains them")]
#[non_exhaustive]
pub enum Code {
    SuperBlock,
    SuperBlockCopy,
    SuperBlockErrors,
    Checkpoint,
    CheckpointPassedOver,
    CheckpointNumbers,
    CheckpointFlag,
    CheckpointValidBlocks,
    CheckpointValidNodes,
    CheckpointValidInodes,
    CheckpointFreeSegments,
    JournalNat,
    JournalSit,
    LogSegment,
    LogSegmentKind,
    LogNextBlock,
    LogAllocation,
    RollForwardChain,
    NatAddress,
    NatInode,
    NatShared,
    NatBits,
    SitCount,
    SitKind,
    SitMissing,
    SitExtra,
    SsaKind,
    SsaOwner,
    BlockUnreadable,
    BlockShared,
    NodeFooter,
    NodeMissing,
    NodePlace,
    NodeShared,
    NodeUnreferenced,
    Inode,
    InodeChecksum,
    InodeExtra,
    InodeCompression,
    InodeName,
    InodeBlocks,
    InodeLinks,
    InodeInline,
    InodeExtent,
    InodeFlags,
    InodeSize,
    InodeUnnamed,
    DataAddress,
    ClusterShape,
    ClusterHeader,
    ClusterSaved,
    Xattr,
    CryptContext,
    Verity,
    DentrySlots,
    DentryInode,
    DentryType,
    DentryHash,
    DentryPlace,
    DentryName,
    DentryTwice,
    Dots,
    DirectoryParent,
    OrphanInode,
    OrphanNamed,
    QuotaInode,
    QuotaFile,
    QuotaUsage,
}

/// All codes: name, and the repair.
const TABLE: &[(Code, &str, &str)] = &[
    (Code::SuperBlock, "super-block", "copy the other super block over it"),
    (Code::SuperBlockCopy, "super-block-copy", "copy the first super block over the second"),
    (Code::SuperBlockErrors, "super-block-errors", "repair the other findings, then clear the list"),
    (Code::Checkpoint, "checkpoint", "none: no checkpoint is valid; copy out all readable files"),
    (
        Code::CheckpointPassedOver,
        "checkpoint-passed-over",
        "none: changes that only it had are lost; copy out all readable files",
    ),
    (Code::CheckpointNumbers, "checkpoint-numbers", "write the numbers that the volume has"),
    (Code::CheckpointFlag, "checkpoint-flag", "repair the other findings, then clear the flag"),
    (Code::CheckpointValidBlocks, "checkpoint-valid-blocks", "write the counted number"),
    (Code::CheckpointValidNodes, "checkpoint-valid-nodes", "write the counted number"),
    (Code::CheckpointValidInodes, "checkpoint-valid-inodes", "write the counted number"),
    (Code::CheckpointFreeSegments, "checkpoint-free-segments", "write the counted number"),
    (Code::JournalNat, "journal-nat", "drop the entry"),
    (Code::JournalSit, "journal-sit", "drop the entry"),
    (Code::LogSegment, "log-segment", "let the log go on in a free segment"),
    (Code::LogSegmentKind, "log-segment-kind", "let the log go on in a free segment"),
    (Code::LogNextBlock, "log-next-block", "let the log go on in a free segment"),
    (Code::LogAllocation, "log-allocation", "let the log go on in a free segment"),
    (Code::RollForwardChain, "roll-forward-chain", "end the chain in front of that node"),
    (Code::NatAddress, "nat-address", "free the node number"),
    (Code::NatInode, "nat-inode", "write the inode of the node's footer, or free the number"),
    (Code::NatShared, "nat-shared", "free the number that the footer does not name"),
    (Code::NatBits, "nat-bits", "drop the flag of NAT bits"),
    (Code::SitCount, "sit-count", "count the bits again"),
    (Code::SitKind, "sit-kind", "write the kind of the blocks that are there"),
    (Code::SitMissing, "sit-missing", "mark the block as valid"),
    (Code::SitExtra, "sit-extra", "mark the block as free"),
    (Code::SsaKind, "ssa-kind", "write the kind of the blocks that are there"),
    (Code::SsaOwner, "ssa-owner", "write the owner that points to the block"),
    (Code::BlockUnreadable, "block-unreadable", "none: the device fails; copy out all readable files"),
    (Code::BlockShared, "block-shared", "copy the block for all owners but one"),
    (Code::NodeFooter, "node-footer", "free the node number"),
    (Code::NodeMissing, "node-missing", "take the reference away"),
    (Code::NodePlace, "node-place", "write the place into the footer, or take the reference away"),
    (Code::NodeShared, "node-shared", "take all references away but one"),
    (Code::NodeUnreferenced, "node-unreferenced", "free the node number and its blocks"),
    (Code::Inode, "inode", "free the inode"),
    (Code::InodeChecksum, "inode-checksum", "write the computed checksum"),
    (Code::InodeExtra, "inode-extra", "write the size that the features need"),
    (Code::InodeCompression, "inode-compression", "write the counted number, or the usual level"),
    (Code::InodeName, "inode-name", "write the name that a directory has"),
    (Code::InodeBlocks, "inode-blocks", "write the counted number"),
    (Code::InodeLinks, "inode-links", "write the counted number"),
    (Code::InodeInline, "inode-inline", "correct the flag, or clear the first address"),
    (Code::InodeExtent, "inode-extent", "drop the extent"),
    (Code::InodeFlags, "inode-flags", "clear the flag, or switch the feature on"),
    (Code::InodeSize, "inode-size", "write the size that the blocks have"),
    (Code::InodeUnnamed, "inode-unnamed", "give it a name in lost+found"),
    (Code::DataAddress, "data-address", "make it a hole"),
    (Code::ClusterShape, "cluster-shape", "make the cluster a hole"),
    (Code::ClusterHeader, "cluster-header", "make the cluster a hole"),
    (Code::ClusterSaved, "cluster-saved", "write the counted number"),
    (Code::Xattr, "xattr", "cut the list in front of that entry"),
    (Code::CryptContext, "crypt-context", "none: without its context nothing of the file can be read"),
    (Code::Verity, "verity", "none: the file cannot be trusted any more; copy it if it must be read"),
    (Code::DentrySlots, "dentry-slots", "clear the slot"),
    (Code::DentryInode, "dentry-inode", "take the entry away"),
    (Code::DentryType, "dentry-type", "write the type of the inode"),
    (Code::DentryHash, "dentry-hash", "write the hash of the name"),
    (Code::DentryPlace, "dentry-place", "move the entry into its bucket"),
    (Code::DentryName, "dentry-name", "give it another name"),
    (Code::DentryTwice, "dentry-twice", "give one of them another name"),
    (Code::Dots, "dots", "write the entries again"),
    (Code::DirectoryParent, "directory-parent", "take all names away but that of its parent"),
    (Code::OrphanInode, "orphan-inode", "take it off the list"),
    (Code::OrphanNamed, "orphan-named", "take it off the list"),
    (Code::QuotaInode, "quota-inode", "make the quota file again"),
    (Code::QuotaFile, "quota-file", "make the quota file again"),
    (Code::QuotaUsage, "quota-usage", "write the counted usage"),
];

impl Code {
    /// Its name, for people and programs.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The remedy.
    pub fn fix(self) -> &'static str {
        self.row().2
    }

    /// All there are.
    pub fn all() -> impl Iterator<Item = Code> {
        TABLE.iter().map(|row| row.0)
    }

    fn row(self) -> (Code, &'static str, &'static str) {
        TABLE.iter().find(|row| row.0 == self).copied().unwrap_or((self, "", ""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_own_name_and_a_fix() {
        for (index, code) in Code::all().enumerate() {
            assert_eq!(code as usize, index, "the table is in the order of the codes");
            assert!(!code.name().is_empty() && !code.fix().is_empty());
            assert_eq!(Code::all().filter(|other| other.name() == code.name()).count(), 1);
        }
        assert_eq!(Code::all().count(), Code::QuotaUsage as usize + 1);
    }
}
