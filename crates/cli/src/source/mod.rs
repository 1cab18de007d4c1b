//! The contents of a new volume.

mod acl;
pub(crate) mod archive;
pub(crate) mod directory;
pub(crate) mod file_contexts;
pub(crate) mod fs_config;
pub(crate) mod manifest;
mod members;
mod sparse;
