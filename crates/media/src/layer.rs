//! Chips that stand before another chip and change a part of its behaviour.

use alloc::{boxed::Box, vec::Vec};
use core::ops::Range;

use crate::nand::{BlockId, Geometry, Nand, NandError, NandStats, PageId, ReadOutcome, Timing};
use crate::pairing::Pairing;

type Result<T> = core::result::Result<T, NandError>;

/// A chip before a chip: calls that a layer does not take in hand go through. Every layer is a [`Nand`].
pub trait Layer {
    /// The chip behind it.
    type Chip: Nand + ?Sized;

    /// The chip behind it.
    fn behind(&self) -> &Self::Chip;

    /// The same, to be used.
    fn behind_mut(&mut self) -> &mut Self::Chip;

    /// [`Nand::read`].
    fn pass_read(&mut self, page: PageId, data: &mut [u8], spare: &mut [u8]) -> Result<ReadOutcome> {
        self.behind_mut().read(page, data, spare)
    }

    /// [`Nand::read_by_codeword`].
    fn pass_read_by_codeword(
        &mut self,
        page: PageId,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<Vec<Range<usize>>> {
        self.behind_mut().read_by_codeword(page, data, spare)
    }

    /// [`Nand::read_spare`].
    fn pass_read_spare(&mut self, page: PageId, spare: &mut [u8]) -> Result<ReadOutcome> {
        self.behind_mut().read_spare(page, spare)
    }

    /// [`Nand::program`].
    fn pass_program(&mut self, page: PageId, data: &[u8], spare: &[u8]) -> Result<()> {
        self.behind_mut().program(page, data, spare)
    }

    /// [`Nand::erase`].
    fn pass_erase(&mut self, block: BlockId) -> Result<()> {
        self.behind_mut().erase(block)
    }

    /// [`Nand::mark_bad`].
    fn pass_mark_bad(&mut self, block: BlockId) -> Result<()> {
        self.behind_mut().mark_bad(block)
    }
}

impl<L: Layer> Nand for L {
    fn geometry(&self) -> Geometry {
        self.behind().geometry()
    }
    fn timing(&self) -> Timing {
        self.behind().timing()
    }
    fn pairing(&self) -> Pairing {
        self.behind().pairing()
    }
    fn read(&mut self, page: PageId, data: &mut [u8], spare: &mut [u8]) -> Result<ReadOutcome> {
        self.pass_read(page, data, spare)
    }
    fn read_by_codeword(
        &mut self,
        page: PageId,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<Vec<Range<usize>>> {
        self.pass_read_by_codeword(page, data, spare)
    }
    fn read_spare(&mut self, page: PageId, spare: &mut [u8]) -> Result<ReadOutcome> {
        self.pass_read_spare(page, spare)
    }
    fn program(&mut self, page: PageId, data: &[u8], spare: &[u8]) -> Result<()> {
        self.pass_program(page, data, spare)
    }
    fn erase(&mut self, block: BlockId) -> Result<()> {
        self.pass_erase(block)
    }
    fn is_bad(&mut self, block: BlockId) -> Result<bool> {
        self.behind_mut().is_bad(block)
    }
    fn mark_bad(&mut self, block: BlockId) -> Result<()> {
        self.pass_mark_bad(block)
    }
    fn stats(&self) -> NandStats {
        self.behind().stats()
    }
    fn flush(&mut self) -> Result<()> {
        self.behind_mut().flush()
    }
    fn room(&self) -> Result<Option<u64>> {
        self.behind().room()
    }
}

impl<N: Nand + ?Sized> Layer for Box<N> {
    type Chip = N;
    fn behind(&self) -> &N {
        self
    }
    fn behind_mut(&mut self) -> &mut N {
        self
    }
}

impl<N: Nand + ?Sized> Layer for &mut N {
    type Chip = N;
    fn behind(&self) -> &N {
        self
    }
    fn behind_mut(&mut self) -> &mut N {
        self
    }
}
