//! Whether a volume may be changed.

/// Whether the volume may be changed.
#[derive(Default)]
pub(crate) struct Status {
    life: Life,
    read_only: bool,
}

/// Whether the chip can still be written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Life {
    #[default]
    Lasting,
    /// Too few good blocks are left.
    Over,
    /// Likewise, and no checkpoint has what was changed since the last one.
    CutShort,
}

impl Status {
    /// That of a volume whose chip may have worn out.
    pub(crate) fn of(worn_out: bool, read_only: bool) -> Status {
        let life = if worn_out { Life::Over } else { Life::Lasting };
        Status { life, read_only: read_only || worn_out }
    }

    /// True if no call may change it.
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Too few good blocks are left.
    pub(crate) fn is_worn_out(&self) -> bool {
        self.life != Life::Lasting
    }

    /// No checkpoint has what was changed since the last one, and none follows.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.life == Life::CutShort
    }

    /// The next checkpoint says that the chip has worn out.
    pub(crate) fn wear_out(&mut self) {
        self.life = Life::Over;
    }

    /// That checkpoint was written, or could not be.
    pub(crate) fn end(&mut self, written: bool) {
        *self = Status { life: if written { Life::Over } else { Life::CutShort }, read_only: true };
    }

    /// Forbids changes, or allows them.
    pub(crate) fn set_read_only(&mut self, read_only: bool) {
        self.read_only = read_only;
    }
}
