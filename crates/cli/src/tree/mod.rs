//! Whole trees: walked, and copied between an image and the host with everything that belongs to a file.

pub(crate) mod fill;
pub(crate) mod host;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod walk;

/// Bytes copied at a time: few enough to be in the processor's cache still when they are written.
pub(crate) const CHUNK: usize = 128 << 10;
