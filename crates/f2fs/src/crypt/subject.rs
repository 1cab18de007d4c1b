//! The purpose of a key.

/// The purpose of a key: it decides between a context's two ciphers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// The data of a regular file.
    Contents,
    /// The names in a directory, or the target of a symbolic link.
    Names,
}

/// The inode of a key.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Its number.
    pub ino: u32,
    /// UUID of the volume.
    pub uuid: [u8; 16],
    /// Contents for regular files, names for directories and symbolic links.
    pub purpose: Purpose,
}
