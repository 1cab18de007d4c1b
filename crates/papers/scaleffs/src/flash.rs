//! Blocks on the chip: two pages that are programmed together, read together, and prove themselves together.

use pumice_common::{chip, damaged};
use pumice_flashlog::{Medium, RawPage};
use pumice_media::{AnyChip, Nand, NandError};
use pumice_vfs::{FsError, Result};

use crate::layout::{Addr, BLOCK_BYTES, Layout};
use crate::spare::{self, HALF, Kind, Owner, Stamp};

/// Blocks programmed and read since the mount, by [`Kind`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) written: [u64; 10],
    pub(crate) read: [u64; 10],
}

/// The owner and stamp of a block that was read whole, if it proves itself.
type Proof = Option<(Owner, Stamp)>;

/// A way to program a block.
pub(crate) type Program<'c> =
    fn(&mut Flash<'c>, Addr, Owner, Stamp, &[u8]) -> core::result::Result<(), NandError>;

/// The contents of the spare areas of a block, as far as each proves itself.
pub(crate) enum Spares {
    /// Neither was programmed.
    Erased,
    /// The block's owner, and time and link, which nothing proves.
    Written(Option<Owner>, Stamp),
}

/// The chip in blocks.
pub(crate) struct Flash<'c> {
    medium: Medium<'c>,
    layout: Layout,
    traffic: Traffic,
}

impl<'c> Flash<'c> {
    pub(crate) fn new(nand: AnyChip<'c>) -> Result<Flash<'c>> {
        let layout = Layout::new(&nand.geometry())?;
        Ok(Flash { medium: Medium::new(nand, layout.shape()), layout, traffic: Traffic::default() })
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    pub(crate) fn chip(&self) -> &AnyChip<'c> {
        self.medium.chip()
    }

    pub(crate) fn into_chip(self) -> AnyChip<'c> {
        self.medium.into_chip()
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        self.medium.flush().map_err(chip)
    }

    /// Programs a block. The error is the chip's: whoever keeps the log goes on elsewhere.
    pub(crate) fn program(
        &mut self,
        at: Addr,
        owner: Owner,
        stamp: Stamp,
        data: &[u8],
    ) -> core::result::Result<(), NandError> {
        self.traffic.written[owner.kind as usize] += 1;
        self.program_spare(at, spare::encode(owner, stamp, data), data)
    }

    /// Programs a block with a proof that fails, so that data which could not be read is not believed at its new place.
    pub(crate) fn program_unproved(
        &mut self,
        at: Addr,
        owner: Owner,
        stamp: Stamp,
        data: &[u8],
    ) -> core::result::Result<(), NandError> {
        let mut bytes = spare::encode(owner, stamp, data);
        for byte in &mut bytes[13..] {
            *byte = !*byte;
        }
        self.program_spare(at, bytes, data)
    }

    fn program_spare(
        &mut self,
        at: Addr,
        bytes: [u8; 2 * HALF],
        data: &[u8],
    ) -> core::result::Result<(), NandError> {
        let each = self.layout.spare_bytes();
        let mut head = vec![0xff; 2 * each];
        head[..HALF].copy_from_slice(&bytes[..HALF]);
        head[each..each + HALF].copy_from_slice(&bytes[HALF..]);
        self.medium.program_raw(at.0, data, &head)
    }

    /// The bytes of a block that must be `owner`'s.
    pub(crate) fn read(&mut self, at: Addr, owner: Owner) -> Result<Vec<u8>> {
        self.traffic.read[owner.kind as usize] += 1;
        match self.read_any(at)? {
            (data, Some((found, _))) if found == owner => Ok(data),
            (_, Some((found, _))) => {
                Err(damaged(format_args!("block {} holds {found:?}, want {owner:?}", at.0)))
            }
            (_, None) => Err(lost(at, owner)),
        }
    }

    /// The bytes of a block, and its owner if it proves itself.
    pub(crate) fn read_any(&mut self, at: Addr) -> Result<(Vec<u8>, Proof)> {
        let RawPage { payload, head, readable, .. } = self.medium.read_raw(at.0).map_err(chip)?;
        debug_assert_eq!(payload.len(), BLOCK_BYTES, "a block of another length");
        let each = self.layout.spare_bytes();
        let mut bytes = [0; 2 * HALF];
        bytes[..HALF].copy_from_slice(&head[..HALF]);
        bytes[HALF..].copy_from_slice(&head[each..each + HALF]);
        let proved = if readable { spare::proved(&bytes, &payload) } else { None };
        Ok((payload, proved))
    }

    /// The spare bytes of page `part` of a block: one read of a spare area. One that ECC cannot correct reads as
    /// damaged.
    fn read_half(&mut self, at: Addr, part: u32) -> Result<[u8; HALF]> {
        let page = self.layout.page(at, part);
        let mut bytes = vec![0; self.layout.spare_bytes()];
        let shape = self.layout.shape();
        match self.medium.shaped(shape).into_chip().read_spare(page, &mut bytes) {
            Ok(_) | Err(NandError::Uncorrectable(_)) => {}
            Err(error) => return Err(chip(error)),
        }
        let mut half = [0; HALF];
        half.copy_from_slice(&bytes[..HALF]);
        Ok(half)
    }

    /// Owner by the spare area of the first page; `None` if it was never programmed or is torn.
    pub(crate) fn read_owner(&mut self, at: Addr) -> Result<Option<Owner>> {
        self.read_half(at, 0).map(|half| spare::owner(&half))
    }

    /// Time and link by the spare area of the second page, unproved; `None` if it was never programmed.
    pub(crate) fn read_stamp(&mut self, at: Addr) -> Result<Option<Stamp>> {
        let half = self.read_half(at, 1)?;
        Ok(if spare::is_erased(&half) { None } else { spare::stamp(&half) })
    }

    /// Both spare areas, as the scan of the log reads them.
    pub(crate) fn read_spares(&mut self, at: Addr) -> Result<Spares> {
        let (first, second) = (self.read_half(at, 0)?, self.read_half(at, 1)?);
        if spare::is_erased(&first) && spare::is_erased(&second) {
            return Ok(Spares::Erased);
        }
        let stamp = spare::stamp(&second).ok_or_else(|| lost(at, NOBODY))?;
        Ok(Spares::Written(spare::owner(&first), stamp))
    }

    pub(crate) fn erase(&mut self, block: u32) -> core::result::Result<(), NandError> {
        self.medium.erase(block)
    }

    pub(crate) fn is_bad(&mut self, block: u32) -> Result<bool> {
        self.medium.is_bad(block).map_err(chip)
    }

    pub(crate) fn mark_bad(&mut self, block: u32) -> Result<()> {
        self.medium.mark_bad(block).map_err(chip)
    }
}

const NOBODY: Owner = Owner { ino: 0, kind: Kind::Data, offset: 0 };

fn lost(at: Addr, owner: Owner) -> FsError {
    let Owner { ino, kind, offset } = owner;
    damaged(format_args!(
        "block {} is unreadable or proves nothing, want {kind:?} {offset} of inode {ino}",
        at.0
    ))
}
