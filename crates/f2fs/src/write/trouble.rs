//! A volume's record of trouble, for its next mount or check. The super block has the reason why writing stopped and
//! the damage that was met; the checkpoint says that a check is due. Linux counts and numbers both alike.

use zerocopy::IntoBytes;

use super::Writer;
use crate::{
    error::{Error, Place, Result},
    layout::{BlockAddr, SuperBlock},
};

/// The place of a super block in its block.
const AT: usize = 1024;

/// Kinds of damage that were met, a bit for each.
#[derive(Clone, Copy, Default)]
pub(crate) struct Damage(u16);

impl Damage {
    /// The kind of an error; none if it says nothing of damage.
    fn of(error: &Error) -> Damage {
        match error {
            Error::Corrupt(corrupt) => match corrupt.place() {
                Place::Block(_) => Damage(1 << 2),
                Place::Inode(_) => Damage(1 << 4),
                Place::Node(_) => Damage(1 << 6),
                Place::Checkpoint(_) | Place::SuperBlock => Damage(1 << 10),
                Place::Segment(_) => Damage(1 << 12),
            },
            Error::Name { .. } => Damage(1 << 3),
            Error::Several { first, .. } => Damage::of(first),
            _ => Damage(0),
        }
    }

    /// None.
    pub(super) fn is_none(self) -> bool {
        self.0 == 0
    }

    fn has(self, other: Damage) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The place among the reasons to stop that an error counts at.
fn reason(error: &Error) -> usize {
    match error {
        Error::Write { .. } => 3,
        Error::Flush(_) => 6,
        Error::NoSegment { .. } => 7,
        // A block for a checkpoint could not be read.
        _ => 2,
    }
}

impl Writer {
    /// True if an error tells of damage that the volume does not know of yet.
    pub(crate) fn is_news(&self, error: &Error) -> bool {
        !self.damage.has(Damage::of(error))
    }

    /// The next checkpoint asks for a check, and behind it the super block says why.
    pub(crate) fn met(&mut self, error: &Error) {
        self.damage.0 |= Damage::of(error).0;
    }

    /// Counts why nothing more is written.
    pub(crate) fn stopped(&mut self, error: &Error) -> Result<()> {
        let mut raw = *self.sb.raw();
        if let Some(count) = raw.s_stop_reason.get_mut(reason(error)) {
            *count = count.saturating_add(1);
        }
        self.write_super_blocks(raw)
    }

    /// Writes the kinds of damage that were met, if some are new.
    pub(super) fn write_damage(&mut self) -> Result<()> {
        let mut raw = *self.sb.raw();
        for (to, from) in raw.s_errors.iter_mut().zip(self.damage.0.to_le_bytes()) {
            *to |= from;
        }
        if raw.s_errors == self.sb.raw().s_errors { Ok(()) } else { self.write_super_blocks(raw) }
    }

    /// The second copy first: one of them is whole at any time.
    fn write_super_blocks(&mut self, mut raw: crate::layout::RawSuperBlock) -> Result<()> {
        raw.seal();
        for copy in [1, 0] {
            let mut block = (*self.medium.read(BlockAddr(copy))?).clone();
            let bytes = raw.as_bytes();
            let place = block.get_mut(AT..AT + bytes.len());
            debug_assert!(place.is_some(), "a block holds a super block");
            if let Some(place) = place {
                place.copy_from_slice(bytes);
            }
            self.medium.write(BlockAddr(copy), &block)?;
            self.medium.flush()?;
        }
        self.sb = SuperBlock::from_raw(raw)?;
        Ok(())
    }
}
