//! The owner's handle of a server, typed by its chip so that the chip comes back as it was.

use core::marker::PhantomData;

use pumice_media::{AnyChip, BlockDevice, BlockError, Lba, Nand};

use crate::error::{FtlError, Result};
use crate::info::Info;
use crate::open::OpenOptions;
use crate::patrol::Scrubbed;
use crate::server::Server;

/// The flash memory server: a disk of logical blocks on a raw NAND chip (CAT paper, section 4).
///
/// Blocks are never updated in place: each write goes to the open segment of its class, the translation table says
/// where, and the cleaner reclaims overwritten blocks.
pub struct Ftl<N> {
    server: Server<'static>,
    chip: PhantomData<fn() -> N>,
}

impl<N: Nand + Send + 'static> Ftl<N> {
    /// Starts a server. Nothing is cleaned, and nothing written before the first change but a record with a missing
    /// copy. The start goes by the checkpoint if nothing was written since, and else also by the headers of segments
    /// since then. It goes by the headers alone if the checkpoint cannot be read.
    pub fn open(nand: N, options: OpenOptions) -> Result<Ftl<N>> {
        Ok(Ftl { server: Server::open(AnyChip::own(nand), options)?, chip: PhantomData })
    }

    /// Ends the server: everything is on the chip, and the next start is by the checkpoint. Gives the chip back.
    pub fn close(self) -> Result<N> {
        self.server.close()?.take().ok_or(FtlError::Foreign)
    }
}

impl<N> Ftl<N> {
    /// The state and the counters of the disk. Looks at every segment's line in the lookup table.
    pub fn info(&self) -> Info {
        self.server.info()
    }

    /// Stored blocks, as [`Info::stored_blocks`]: counted as they change, at no cost whatever the size of the disk.
    pub fn stored_blocks(&self) -> u64 {
        self.server.stored_blocks()
    }

    /// The chip.
    pub fn chip(&self) -> &AnyChip<'static> {
        self.server.log.chip()
    }

    /// Sets the seconds that a pass of the patrol is to take; with 0 there is none by itself. A week if this is not
    /// called.
    pub fn set_patrol_period(&mut self, seconds: u64) {
        self.server.log.patrol.set_period(seconds);
    }

    /// Does one piece of the work that is due by the clock, `now` in seconds since 1970: empties a weak segment, or
    /// reads some pages; true if more is due. For idle times.
    pub fn maintain(&mut self, now: i64) -> Result<bool> {
        let done = self.server.maintain(now);
        self.server.log.status.noted(done)
    }

    /// Reads every page of the checkpoint and of every segment with live blocks, and empties weak segments. `progress`
    /// is told log pages done and all. Memory: sixteen bytes for each unreadable page, four for each lost logical block.
    pub fn scrub(&mut self, now: i64, progress: &mut dyn FnMut(u32, u32)) -> Result<Scrubbed> {
        let done = self.server.scrub(now, progress);
        self.server.log.status.noted(done)
    }

    /// Whether a quick scrub can be made.
    ///
    /// # Errors
    /// As [`Ftl::quick_scrub`].
    pub fn admit_quick_scrub(&self) -> Result<()> {
        self.server.admit_quick_scrub()
    }

    /// Compares the signatures in the spare areas of each segment of data with those of its parity, and empties
    /// segments with missing or wrong parity. Reads each spare area and no page: decayed pages, checkpoint and table
    /// are left to [`Ftl::scrub`]. `progress` is told segments done and all.
    ///
    /// # Errors
    /// [`FtlError::NoSignatures`] for a disk without parity, or on a chip without room for signatures in its spare
    /// areas.
    pub fn quick_scrub(&mut self, progress: &mut dyn FnMut(u32, u32)) -> Result<Scrubbed> {
        let done = self.server.quick_scrub(progress);
        self.server.log.status.noted(done)
    }
}

/// Beyond the promises of the trait: blocks never written and blocks discarded read as zeros, after a power cut too if
/// the discard was flushed. A write that fails leaves the block as it was or as it should be.
impl<N> BlockDevice for Ftl<N> {
    fn block_bytes(&self) -> u32 {
        self.server.block_bytes()
    }

    fn blocks(&self) -> u64 {
        self.server.blocks()
    }

    fn read(&mut self, first: Lba, buffer: &mut [u8]) -> core::result::Result<(), BlockError> {
        self.server.read(first, buffer)
    }

    fn write(&mut self, first: Lba, buffer: &[u8]) -> core::result::Result<(), BlockError> {
        self.server.write(first, buffer)
    }

    fn flush(&mut self) -> core::result::Result<(), BlockError> {
        self.server.flush()
    }

    fn discard(&mut self, first: Lba, count: u64) -> core::result::Result<(), BlockError> {
        self.server.discard(first, count)
    }
}
