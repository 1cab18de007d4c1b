//! The anchor and the newest checkpoint, as far as they are asked for between two of them.

use alloc::vec::Vec;

use crate::checkpoint_record::Limits;
use crate::params::Params;
use crate::superblock::Superblock;

/// The anchor and the newest checkpoint.
pub(crate) struct Recorded {
    superblock: Superblock,
    limits: Limits,
    clean: bool,
    checkpoints: u64,
    aftermath: Option<Aftermath>,
}

/// What a power cut has left behind the newest checkpoint, or in its only copy, and may fade.
#[derive(Clone, Default)]
pub(crate) struct Aftermath {
    /// Blocks without parity that should have it.
    pub(crate) without_parity: Vec<u32>,
    /// The checkpoint knows of blocks that an earlier cut left without parity.
    pub(crate) was_guarding: bool,
}

impl Recorded {
    /// No checkpoint yet.
    pub(crate) fn new(superblock: Superblock, params: &Params) -> Recorded {
        Recorded { superblock, limits: Limits::of(params), clean: false, checkpoints: 0, aftermath: None }
    }

    /// The checkpoint that a mount found.
    pub(crate) fn resume(&mut self, number: u64, clean: bool) {
        (self.checkpoints, self.clean) = (number, clean);
    }

    /// The anchor's part.
    pub(crate) fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// What a checkpoint has room for.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The newest checkpoint on the chip says that nothing follows it.
    pub(crate) fn is_clean(&self) -> bool {
        self.clean
    }

    /// The number of the newest checkpoint.
    pub(crate) fn checkpoints(&self) -> u64 {
        self.checkpoints
    }

    /// One more checkpoint is on the chip.
    pub(crate) fn count(&mut self) {
        self.checkpoints += 1;
    }

    /// The newest checkpoint says whether anything follows it.
    pub(crate) fn set_clean(&mut self, clean: bool) {
        self.clean = clean;
    }

    /// What a power cut has left, until the first change of this mount makes it safe.
    pub(crate) fn aftermath(&self) -> Option<&Aftermath> {
        self.aftermath.as_ref()
    }

    /// A mount has found this.
    pub(crate) fn set_aftermath(&mut self, aftermath: Aftermath) {
        self.aftermath = Some(aftermath);
    }

    /// It is safe.
    pub(crate) fn end_aftermath(&mut self) {
        self.aftermath = None;
    }
}
