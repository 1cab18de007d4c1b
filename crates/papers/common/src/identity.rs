//! The identity of a volume, and the making of one.

use pumice_vfs::{Errno, FsError, Result, Timestamp};

/// Bytes of a label.
pub const LABEL_MAX: usize = 64;

/// The identity of a volume.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Identity {
    /// Its number.
    pub uuid: [u8; 16],
    /// A name for people.
    pub label: String,
}

impl Identity {
    /// A new volume's; a label that is too long is refused.
    pub fn new(uuid: [u8; 16], label: &str) -> Result<Identity> {
        if label.len() > LABEL_MAX {
            return Err(FsError::new(Errno::Invalid, format!("a label has at most {LABEL_MAX} bytes")));
        }
        Ok(Identity { uuid, label: label.to_owned() })
    }
}

/// The options of mkfs.
#[derive(Clone, Debug, Default)]
pub struct FormatOptions {
    /// A name for people, at most 64 bytes of UTF-8.
    pub label: String,
    /// The volume's identity.
    pub uuid: [u8; 16],
    /// The time for the root directory.
    pub created: Timestamp,
    /// User and group of the root directory.
    pub owner: (u32, u32),
}

/// True if a chip carries a file system, by the result of a look for it; `is_chip_well` is false if the look broke a
/// rule of the chip.
pub fn is_of<T>(found: Result<Option<T>>, is_chip_well: bool) -> Result<bool> {
    match found {
        Ok(found) => Ok(found.is_some()),
        // Of another version, or damaged, but this file system.
        Err(error) if error.errno() == Errno::Io && is_chip_well => Ok(true),
        Err(error) => Err(error),
    }
}
