//! Whole trees: walked, and copied between an image and the host with everything that belongs to a file.

pub(crate) mod host;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod walk;

/// Bytes copied at a time.
pub(crate) const CHUNK: usize = 1 << 20;
