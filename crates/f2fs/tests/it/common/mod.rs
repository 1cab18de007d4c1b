//! Volumes, and their contents.

pub(crate) mod image;
pub(crate) mod manifest;
pub(crate) mod medium;
pub(crate) mod visit;
pub(crate) mod walk;
