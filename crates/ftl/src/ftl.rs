//! What the owner of a chip holds: a server, and the type that its chip comes back as.

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
/// where, and the cleaner takes back what was overwritten.
pub struct Ftl<N> {
    server: Server<'static>,
    chip: PhantomData<fn() -> N>,
}

impl<N: Nand + Send + 'static> Ftl<N> {
    /// Starts a server. Nothing is cleaned, and nothing written but a record of which a copy is missing, before the first
    /// change. It goes by the checkpoint if nothing was written since, with what the headers of segments say about the
    /// time since otherwise, and by the headers alone if the checkpoint cannot be read.
    pub fn open(nand: N, options: OpenOptions) -> Result<Ftl<N>> {
        Ok(Ftl { server: Server::open(AnyChip::own(nand), options)?, chip: PhantomData })
    }

    /// Ends it: everything is on the chip, and the next start is by the checkpoint. Gives the chip back.
    pub fn close(self) -> Result<N> {
        self.server.close()?.take().ok_or(FtlError::Foreign)
    }
}

impl<N> Ftl<N> {
    /// How the disk is and what it has done. Looks at every segment's line in the lookup table.
    pub fn info(&self) -> Info {
        self.server.info()
    }

    /// The chip.
    pub fn chip(&self) -> &AnyChip<'static> {
        self.server.chip()
    }

    /// A pass of the patrol is to take so many seconds; with 0 there is none by itself. A week if this is not called.
    pub fn set_patrol_period(&mut self, seconds: u64) {
        self.server.set_patrol_period(seconds);
    }

    /// One piece of what is due by the clock, `now` in seconds since 1970: empties a weak segment, or reads some pages; true if
    /// more is due. For idle times.
    pub fn maintain(&mut self, now: i64) -> Result<bool> {
        self.server.maintain(now)
    }

    /// Reads every page of every segment in which something lives, and of the checkpoint, and empties segments that are
    /// weak. `progress` is told log pages done and all. Memory: four bytes for each page that cannot be read and each
    /// logical block that is lost.
    pub fn scrub(&mut self, now: i64, progress: &mut dyn FnMut(u32, u32)) -> Result<Scrubbed> {
        self.server.scrub(now, progress)
    }

    /// Whether a quick scrub can be made.
    ///
    /// # Errors
    /// As [`Ftl::quick_scrub`].
    pub fn admit_quick_scrub(&self) -> Result<()> {
        self.server.admit_quick_scrub()
    }

    /// Compares the signatures in the spare areas of each segment of data with those of its parity, and empties segments whose
    /// parity is missing or does not fit. A read of each spare area, of no page: what decayed in a page, and checkpoint and
    /// table, are left to [`Ftl::scrub`]. `progress` is told segments done and all.
    ///
    /// # Errors
    /// [`FtlError::NoSignatures`] for a disk without parity, or on a chip whose spare areas have no room for signatures.
    pub fn quick_scrub(&mut self, progress: &mut dyn FnMut(u32, u32)) -> Result<Scrubbed> {
        self.server.quick_scrub(progress)
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
