//! The contents of a new volume.

pub(crate) mod archive;
pub(crate) mod directory;
pub(crate) mod fs_config;
pub(crate) mod manifest;
mod sparse;
