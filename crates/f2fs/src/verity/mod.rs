//! fs-verity: the descriptor of a file that must not change, and the Merkle tree that proves its contents.
//!
//! F2FS keeps both behind the end of the file, from the next multiple of 64 KiB on: the tree, its root block first, then
//! the descriptor. An extended attribute of index [`XATTR_INDEX`] and name [`XATTR_NAME`] says where the descriptor is.

mod descriptor;
mod location;
mod seal;
mod tree;

pub use descriptor::{DESCRIPTOR_BYTES, Descriptor, HashAlgorithm, RawDescriptor};
pub use location::{Location, RawLocation, XATTR_INDEX, XATTR_NAME, metadata_start};
pub use seal::{SALT_MAX, Seal, Sealed};
pub use tree::{Source, Verifier};

/// The reason why a block or a descriptor was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VerityError {
    /// The attribute with the place of the descriptor makes no sense.
    #[error(
        "fs-verity attribute of {bytes} bytes and version {version} is not one of 16 bytes and version 1"
    )]
    Location {
        /// Its length.
        bytes: usize,
        /// Its version, 0 if it is too short for one.
        version: u32,
    },
    /// The descriptor lies before the metadata, or does not fit into a file.
    #[error("fs-verity descriptor of {size} bytes at byte {position} is not where descriptors are")]
    Place {
        /// Its offset in the file.
        position: u64,
        /// Its length.
        size: u32,
    },
    /// The descriptor makes no sense: the field, and its value.
    #[error("fs-verity descriptor has {what} {value}")]
    Descriptor {
        /// The field.
        what: &'static str,
        /// The value found.
        value: u64,
    },
    /// The hash of a block is not the one in the tree.
    #[error(
        "block {block} of level {level} of the Merkle tree is not the one that was sealed (level 0 is the data)"
    )]
    Mismatch {
        /// 0 is the file's data, 1 the lowest level of the tree.
        level: u8,
        /// Block of that level.
        block: u64,
    },
    /// A block beyond the sealed size, or one of the wrong length.
    #[error("block {block} with {bytes} bytes is not one of the sealed file")]
    NoBlock {
        /// Data block.
        block: u64,
        /// Its length.
        bytes: usize,
    },
}

#[cfg(test)]
mod tests;
