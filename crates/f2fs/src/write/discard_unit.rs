//! The pieces of discards.

/// The pieces in which a device is told of freed blocks. Linux has the same names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DiscardUnit {
    /// Runs of 16 blocks or more. Linux tells of them by and by; here each checkpoint waits for the device.
    Block,
    /// Segments that are free as a whole.
    #[default]
    Segment,
    /// Sections that are free as a whole.
    Section,
}

impl DiscardUnit {
    /// All, by the names that Linux has for them.
    pub const NAMED: [(&'static str, DiscardUnit); 3] =
        [("block", DiscardUnit::Block), ("segment", DiscardUnit::Segment), ("section", DiscardUnit::Section)];
}
