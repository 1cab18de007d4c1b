//! Whole trees: walked, and copied between an image and the host with everything that belongs to a file.

pub(crate) mod allowance;
pub(crate) mod fill;
pub(crate) mod host;
mod host_dirs;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod ranges;
pub(crate) mod walk;

use pumice_vfs::{FileSystem, FsError, Ino};

use crate::{
    failure::{Failure, Outcome},
    text,
};

/// Bytes copied at a time: few enough to be in the processor's cache still when they are written.
pub(crate) const CHUNK: usize = 128 << 10;

/// Names and values of all extended attributes of an inode.
pub(crate) fn xattrs(fs: &dyn FileSystem, path: &[u8], ino: Ino) -> Outcome<Vec<(Vec<u8>, Vec<u8>)>> {
    let inside = |error: FsError| Failure::new(format!("{}: extended attributes: {error}", text::name(path)));
    let mut found = Vec::new();
    for name in fs.list_xattr(ino).map_err(inside)? {
        let value = fs.xattr(ino, &name).map_err(inside)?;
        found.push((name, value));
    }
    Ok(found)
}
