//! The chip in pages that carry a mark.

use pumice_common::{chip, damaged};
use pumice_media::{AnyChip, BlockId, Nand, NandError, ReadOutcome};
use pumice_vfs::Result;

use crate::layout::{Addr, Layout};
use crate::spare::{self, BYTES, Mark};

/// Looks at a page that ECC gives up on before it counts as unreadable.
const READS: u32 = 3;

/// A page as the chip gives it.
pub(crate) struct Raw {
    pub(crate) data: Vec<u8>,
    pub(crate) spare: [u8; BYTES],
    /// ECC did not give up.
    pub(crate) readable: bool,
}

/// The chip.
pub(crate) struct Flash<'c> {
    nand: AnyChip<'c>,
    layout: Layout,
}

impl<'c> Flash<'c> {
    pub(crate) fn new(nand: AnyChip<'c>) -> Result<Flash<'c>> {
        let layout = Layout::new(nand.geometry())?;
        Ok(Flash { nand, layout })
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    pub(crate) fn chip(&self) -> &AnyChip<'c> {
        &self.nand
    }

    pub(crate) fn into_chip(self) -> AnyChip<'c> {
        self.nand
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        self.nand.flush().map_err(chip)
    }

    fn look(
        &mut self,
        mut read: impl FnMut(&mut AnyChip<'c>) -> core::result::Result<ReadOutcome, NandError>,
    ) -> Result<bool> {
        for _ in 0..READS {
            match read(&mut self.nand) {
                Ok(_) => return Ok(true),
                Err(NandError::Uncorrectable(_)) => {}
                Err(error) => return Err(chip(error)),
            }
        }
        Ok(false)
    }

    /// Reads a page as it is.
    pub(crate) fn read_raw(&mut self, at: Addr) -> Result<Raw> {
        let (mut data, mut all) = (vec![0; self.layout.page_bytes()], vec![0; self.layout.spare_bytes()]);
        let readable = self.look(|nand| nand.read(Layout::page(at), &mut data, &mut all))?;
        let mut spare = [0; BYTES];
        spare.copy_from_slice(&all[..BYTES]);
        Ok(Raw { data, spare, readable })
    }

    /// Reads a page that must have a mark.
    pub(crate) fn read(&mut self, at: Addr, want: Mark) -> Result<Vec<u8>> {
        if !self.layout.has(at) {
            return Err(damaged(format_args!(
                "{want:?} is said to be in page {}, which the chip has not",
                at.0
            )));
        }
        let raw = self.read_raw(at)?;
        let found = if raw.readable { spare::proved(raw.spare, &raw.data) } else { None };
        match found {
            Some(found) if found == want => Ok(raw.data),
            Some(found) => Err(damaged(format_args!("page {} holds {found:?}, want {want:?}", at.0))),
            None => {
                Err(damaged(format_args!("page {} is unreadable or proves nothing, want {want:?}", at.0)))
            }
        }
    }

    /// Reads a spare area; one that ECC cannot correct reads as damaged.
    pub(crate) fn read_spare(&mut self, at: Addr) -> Result<[u8; BYTES]> {
        let mut all = vec![0; self.layout.spare_bytes()];
        let readable = self.look(|nand| nand.read_spare(Layout::page(at), &mut all))?;
        let mut bytes = [0; BYTES];
        if readable {
            bytes.copy_from_slice(&all[..BYTES]);
        }
        Ok(bytes)
    }

    /// Programs a page. The error is the chip's: whoever fills a block goes on elsewhere.
    pub(crate) fn program(
        &mut self,
        at: Addr,
        data: &[u8],
        bytes: [u8; BYTES],
    ) -> core::result::Result<(), NandError> {
        let mut spare = vec![0xff; self.layout.spare_bytes()];
        spare[..BYTES].copy_from_slice(&bytes);
        self.nand.program(Layout::page(at), data, &spare)
    }

    /// Erases a block; false if that failed, and the block is marked bad now.
    pub(crate) fn erase(&mut self, block: u32) -> Result<bool> {
        match self.nand.erase(BlockId(block)) {
            Ok(()) => Ok(true),
            Err(NandError::EraseFailed(_)) => self.mark_bad(block).map(|()| false),
            Err(error) => Err(chip(error)),
        }
    }

    pub(crate) fn is_bad(&mut self, block: u32) -> Result<bool> {
        self.nand.is_bad(BlockId(block)).map_err(chip)
    }

    pub(crate) fn mark_bad(&mut self, block: u32) -> Result<()> {
        self.nand.mark_bad(BlockId(block)).map_err(chip)
    }
}
