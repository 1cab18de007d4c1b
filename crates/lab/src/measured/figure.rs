//! Figures of a run.

/// A figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// Milliseconds of device time that a mount takes.
    Mount,
    /// The same after a power cut.
    MountAfterCut,
    /// KiB that were written in a second.
    WriteRate,
    /// KiB that were read in a second.
    ReadRate,
    /// Percent of the chip's write throughput.
    WriteShare,
    /// Percent of the chip's read throughput.
    ReadShare,
    /// Milliseconds that one read took.
    Latency,
    /// KiB of memory for metadata.
    Memory,
    /// Percent of the device's time.
    TimeShare,
    /// Years.
    Lifetime,
    /// Pages and spare areas that a mount reads.
    MountReads,
    /// Pages programmed.
    Programs,
    /// Pages copied for each block that was reclaimed.
    ExtraWrites,
    /// Percent of the programs that go to a hundredth of the pages of a chip that were programmed, those programmed most.
    HotShare,
    /// Percent of the writes that go to the most written hundredth of a disk's written blocks. The layer below the disk
    /// puts them elsewhere, so this says nothing of pages.
    HotBlocks,
    /// Transactions in a second of device time.
    TransactionRate,
    /// The same on YAFFS for the same calls, computed from the pages that it would write.
    YaffsRate,
    /// Seconds of device time that writing took.
    WriteTime,
    /// The same of reading.
    ReadTime,
    /// The same of writing at random places.
    RandomWriteTime,
    /// The same of reading at random places.
    RandomReadTime,
    /// Seconds of device time.
    Time,
    /// Erase blocks erased.
    Erases,
    /// MB programmed, with all that a file system adds.
    Space,
    /// Percent of the files that cannot be read as they were.
    Lost,
    /// Milliseconds of device time that it takes to bring back a page.
    Repair,
    /// Milliseconds of device time that a scrub of the whole volume takes.
    Scrub,
    /// Pages that are read to find an inode.
    LookupReads,
    /// Pages programmed for each inode that was changed.
    UpdatePrograms,
    /// Milliseconds of device time that it takes to reclaim an erase block without live data.
    Reclaim,
    /// Segments cleaned.
    Cleaned,
    /// Blocks copied by the cleaner.
    Copied,
    /// Blocks that the file system writes for each that a user writes.
    Written,
    /// The same of the worst of several runs.
    WrittenMost,
    /// Percent of the segments in use that have 1 to 128 of 512 blocks in use.
    SegmentsSparse,
    /// The same with 384 to 511.
    SegmentsDense,
    /// The same with all 512.
    SegmentsFull,
    /// Percent of the mean erases of a block that their standard deviation is.
    WearSpread,
    /// Blocks of the index of ScaleFFS's inode map that a mount reads.
    MapBlocks,
    /// The same of reading what was just read.
    RereadTime,
    /// The same with more than 256.
    SegmentsOverHalf,
    /// Percent of the segments written that have no block in use.
    SegmentsEmpty,
    /// MB that users write in a second on a disk that takes the time of the F2FS paper's SATA SSD (its table 2).
    Throughput,
    /// Percent of that throughput that the second of four rounds is slower than the first.
    Drop,
    /// Percent of the blocks written that go to holes of segments in use.
    Threaded,
    /// Write requests.
    Writes,
    /// KiB of a write request, on average.
    WriteMean,
    /// Percent of the write requests that are for 512 KiB or more.
    WritesLarge,
    /// Discards.
    Discards,
    /// Percent of the discards that are for less than 256 KiB.
    DiscardsSmall,
    /// Percent of the addresses written that are discarded, too.
    DiscardedShare,
}

impl Figure {
    /// Its name in records and file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mount => "mount",
            Self::MountAfterCut => "mount-after-cut",
            Self::WriteRate => "write-rate",
            Self::ReadRate => "read-rate",
            Self::WriteShare => "write-share",
            Self::ReadShare => "read-share",
            Self::Latency => "latency",
            Self::Memory => "memory",
            Self::TimeShare => "time-share",
            Self::Lifetime => "lifetime",
            Self::MountReads => "mount-reads",
            Self::Programs => "programs",
            Self::ExtraWrites => "extra-writes",
            Self::HotShare => "hot-share",
            Self::HotBlocks => "hot-blocks",
            Self::TransactionRate => "transaction-rate",
            Self::YaffsRate => "yaffs-rate",
            Self::WriteTime => "write-time",
            Self::ReadTime => "read-time",
            Self::RandomWriteTime => "random-write-time",
            Self::RandomReadTime => "random-read-time",
            Self::Time => "time",
            Self::Erases => "erases",
            Self::Space => "space",
            Self::Lost => "lost",
            Self::Repair => "repair",
            Self::Scrub => "scrub",
            Self::LookupReads => "lookup-reads",
            Self::UpdatePrograms => "update-programs",
            Self::Reclaim => "reclaim",
            Self::Cleaned => "cleaned",
            Self::Copied => "blocks-copied",
            Self::Written => "written",
            Self::WrittenMost => "written-most",
            Self::SegmentsSparse => "segments-sparse",
            Self::SegmentsDense => "segments-dense",
            Self::SegmentsFull => "segments-full",
            Self::WearSpread => "wear-spread",
            Self::MapBlocks => "map-blocks",
            Self::RereadTime => "reread-time",
            Self::SegmentsOverHalf => "segments-over-half",
            Self::SegmentsEmpty => "segments-empty",
            Self::Throughput => "throughput",
            Self::Drop => "drop",
            Self::Threaded => "threaded",
            Self::Writes => "writes",
            Self::WriteMean => "write-mean",
            Self::WritesLarge => "writes-large",
            Self::Discards => "discards",
            Self::DiscardsSmall => "discards-small",
            Self::DiscardedShare => "discarded-share",
        }
    }

    /// Its name as the head of a column.
    pub fn title(self) -> &'static str {
        match self {
            Self::Mount => "mount (ms)",
            Self::MountAfterCut => "mount after a power cut (ms)",
            Self::WriteRate => "written (KiB/s)",
            Self::ReadRate => "read (KiB/s)",
            Self::WriteShare => "written, of what the chip can (%)",
            Self::ReadShare => "read, of what the chip can (%)",
            Self::Latency => "one read (ms)",
            Self::Memory => "memory for metadata (KiB)",
            Self::TimeShare => "device time (%)",
            Self::Lifetime => "lifetime (years)",
            Self::MountReads => "pages and spare areas read by a mount",
            Self::Programs => "pages programmed",
            Self::ExtraWrites => "pages copied for a block reclaimed",
            Self::HotShare => "programs of the hundredth of the chip's pages programmed most (%)",
            Self::HotBlocks => "writes to the hundredth of the disk's blocks written most (%)",
            Self::TransactionRate => "transactions in a second of device time",
            Self::YaffsRate => "the same of YAFFS, computed",
            Self::WriteTime => "seconds of device time to write",
            Self::ReadTime => "seconds of device time to read",
            Self::RandomWriteTime => "seconds of device time to write at random places",
            Self::RandomReadTime => "seconds of device time to read at random places",
            Self::Time => "seconds of device time",
            Self::Erases => "erase blocks erased",
            Self::Space => "MB programmed",
            Self::Lost => "files lost (%)",
            Self::Repair => "repair of a page (ms)",
            Self::Scrub => "scrub (ms)",
            Self::LookupReads => "page reads of a look-up",
            Self::UpdatePrograms => "pages programmed for an update",
            Self::Reclaim => "reclaim of an erase block (ms)",
            Self::Cleaned => "segments cleaned",
            Self::Copied => "blocks copied",
            Self::Written => "blocks written for a user's block",
            Self::WrittenMost => "blocks written for a user's block, worst run",
            Self::SegmentsSparse => "segments with 1 to 128 blocks in use (%)",
            Self::SegmentsDense => "segments with 384 to 511 blocks in use (%)",
            Self::SegmentsFull => "segments with all blocks in use (%)",
            Self::WearSpread => "erases of a block: standard deviation, of their mean (%)",
            Self::MapBlocks => "blocks of the index of the inode map read by a mount",
            Self::RereadTime => "seconds of device time to read again",
            Self::SegmentsOverHalf => "segments with more than 256 blocks in use (%)",
            Self::SegmentsEmpty => "segments written that are empty (%)",
            Self::Throughput => "MB/s of users on a disk like the paper's SATA SSD",
            Self::Drop => "throughput lost by the second round (%)",
            Self::Threaded => "blocks written in holes (%)",
            Self::Writes => "write requests",
            Self::WriteMean => "KiB of a write request",
            Self::WritesLarge => "write requests for 512 KiB or more (%)",
            Self::Discards => "discards",
            Self::DiscardsSmall => "discards below 256 KiB (%)",
            Self::DiscardedShare => "addresses discarded, of those written (%)",
        }
    }

    /// Digits after the point that are worth showing.
    pub fn digits(self) -> usize {
        match self {
            Self::WriteRate
            | Self::ReadRate
            | Self::Memory
            | Self::Lifetime
            | Self::MountReads
            | Self::Programs
            | Self::Cleaned
            | Self::Erases
            | Self::Writes
            | Self::MapBlocks
            | Self::Discards
            | Self::Copied => 0,
            Self::WriteShare
            | Self::ReadShare
            | Self::TransactionRate
            | Self::YaffsRate
            | Self::Space
            | Self::Lost
            | Self::HotShare
            | Self::HotBlocks
            | Self::Scrub
            | Self::SegmentsSparse
            | Self::SegmentsDense
            | Self::WriteMean
            | Self::WritesLarge
            | Self::DiscardsSmall
            | Self::DiscardedShare
            | Self::SegmentsOverHalf
            | Self::SegmentsEmpty
            | Self::WearSpread
            | Self::Throughput
            | Self::Drop
            | Self::Threaded
            | Self::SegmentsFull => 1,
            Self::Mount
            | Self::MountAfterCut
            | Self::TimeShare
            | Self::Time
            | Self::WriteTime
            | Self::ReadTime
            | Self::RandomWriteTime
            | Self::RandomReadTime
            | Self::RereadTime
            | Self::Repair
            | Self::LookupReads
            | Self::Reclaim
            | Self::UpdatePrograms => 2,
            Self::Latency | Self::ExtraWrites | Self::Written | Self::WrittenMost => 3,
        }
    }
}
