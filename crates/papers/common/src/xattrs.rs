//! Extended attributes, which only ScaleFFS has here.

use pumice_vfs::{Errno, Result, XattrMode};

use crate::inodes::Inodes;

/// A volume's extended attributes. If nothing is said of them an inode has none, and none can be set.
pub trait Xattrs: Inodes {
    /// The value of an extended attribute.
    fn xattr(&mut self, ino: u32, _name: &[u8]) -> Result<Vec<u8>> {
        self.inode(ino)?;
        Err(Errno::NoData.into())
    }

    /// The names of extended attributes.
    fn list_xattr(&mut self, ino: u32) -> Result<Vec<Vec<u8>>> {
        self.inode(ino).map(|_| Vec::new())
    }

    /// Sets an extended attribute.
    fn set_xattr(&mut self, ino: u32, _name: &[u8], _value: &[u8], _mode: XattrMode) -> Result<()> {
        self.inode(ino)?;
        Err(Errno::NotSupported.into())
    }

    /// Removes an extended attribute.
    fn remove_xattr(&mut self, ino: u32, _name: &[u8]) -> Result<()> {
        self.inode(ino)?;
        Err(Errno::NoData.into())
    }
}
