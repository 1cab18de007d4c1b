//! The idle time since the last change by a user.

/// The idle time.
#[derive(Default)]
pub(crate) struct Idle {
    /// Blocks written and trimmed by users so far.
    changes: u64,
    /// Segments cleaned since.
    cleaned: u32,
    /// Nothing is left to do.
    is_done: bool,
}

impl Idle {
    /// Users have written and trimmed so many blocks: it begins anew if they are more.
    pub(crate) fn note_changes(&mut self, changes: u64) {
        if self.changes != changes {
            *self = Idle { changes, ..Idle::default() };
        }
    }

    /// A segment was cleaned.
    pub(crate) fn count(&mut self) {
        self.cleaned += 1;
    }

    /// Segments that were cleaned.
    pub(crate) fn cleaned(&self) -> u32 {
        self.cleaned
    }

    /// Nothing is left to do until users change something.
    pub(crate) fn end(&mut self) {
        self.is_done = true;
    }

    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }
}
