//! The chip in pages that carry a signature.

use pumice_common::chip;
use pumice_media::{AnyChip, BlockId, Nand, NandError};
use pumice_vfs::Result;

use crate::layout::{Addr, Layout, SPARE_BYTES as BYTES};
use crate::spare::{Tag, signature};

/// Wrong bits that an erased page may have and still count as one.
const BLANK_BITS: u32 = 8;

/// A page as the chip gives it.
pub(crate) struct Page {
    pub(crate) data: Vec<u8>,
    /// The signature says that these bytes were written.
    pub(crate) is_sound: bool,
    /// It looks erased.
    pub(crate) is_blank: bool,
}

/// The chip.
pub(crate) struct Flash<'c> {
    nand: AnyChip<'c>,
    layout: Layout,
}

fn is_blank(data: &[u8], spare: &[u8]) -> bool {
    let zeros: u32 = data.iter().chain(spare).map(|byte| byte.count_zeros()).sum();
    zeros <= BLANK_BITS
}

impl<'c> Flash<'c> {
    pub(crate) fn new(nand: AnyChip<'c>, layout: Layout) -> Flash<'c> {
        Flash { nand, layout }
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

    /// Reads a page. Where ECC gives up the signature decides, as it does where there is none.
    pub(crate) fn read(&mut self, at: Addr) -> Result<Page> {
        let (mut data, mut spare) = (vec![0; self.layout.page_bytes()], vec![0; self.layout.spare_bytes()]);
        let corrected = match self.nand.read(Layout::id(at), &mut data, &mut spare) {
            Ok(_) => true,
            Err(NandError::Uncorrectable(_)) => false,
            Err(error) => return Err(chip(error)),
        };
        let tag = decode(&spare);
        let is_sound = match tag {
            Some(tag) => signature(&data, tag.shape)? == tag.signature,
            None => false,
        };
        let is_blank = corrected && is_blank(&data, &spare);
        Ok(Page { data, is_sound, is_blank })
    }

    /// Reads a spare area: its tag, and whether it looks erased.
    pub(crate) fn read_spare(&mut self, at: Addr) -> Result<(Option<Tag>, bool)> {
        let mut spare = vec![0; self.layout.spare_bytes()];
        match self.nand.read_spare(Layout::id(at), &mut spare) {
            Ok(_) | Err(NandError::Uncorrectable(_)) => Ok((decode(&spare), is_blank(&[], &spare))),
            Err(error) => Err(chip(error)),
        }
    }

    /// Programs a page; false if that failed.
    pub(crate) fn program(&mut self, at: Addr, data: &[u8], tag: &Tag) -> Result<bool> {
        let mut spare = vec![0xff; self.layout.spare_bytes()];
        spare[..BYTES].copy_from_slice(&tag.encode());
        match self.nand.program(Layout::id(at), data, &spare) {
            Ok(()) => Ok(true),
            Err(NandError::ProgramFailed(_)) => Ok(false),
            Err(error) => Err(chip(error)),
        }
    }

    /// Erases a block; false if that failed, and the block is marked bad now.
    pub(crate) fn erase(&mut self, block: u32) -> Result<bool> {
        match self.nand.erase(BlockId(block)) {
            Ok(()) => Ok(true),
            Err(NandError::EraseFailed(_)) => {
                self.nand.mark_bad(BlockId(block)).map_err(chip)?;
                Ok(false)
            }
            Err(error) => Err(chip(error)),
        }
    }

    pub(crate) fn is_bad(&mut self, block: u32) -> Result<bool> {
        self.nand.is_bad(BlockId(block)).map_err(chip)
    }
}

fn decode(spare: &[u8]) -> Option<Tag> {
    spare.first_chunk().copied().and_then(Tag::decode)
}
