//! Inodes, and which of them are held open.

use core::ops::Deref;
use std::collections::BTreeMap;

use pumice_vfs::{Attr, Errno, Ino, Result};

use crate::attributes::Attributes;

/// The number of the root directory.
pub const ROOT: u32 = 1;

/// A volume's inodes.
pub trait Inodes {
    /// An inode in memory.
    type Inode: Deref<Target = Attributes>;

    /// The first number that is too large.
    const INODES: u32;

    /// The number of an inode as the format has it.
    fn number(ino: Ino) -> Result<u32> {
        let number = u32::try_from(ino.0).ok().filter(|ino| (1..Self::INODES).contains(ino));
        number.ok_or_else(|| Errno::Stale.into())
    }

    /// The inode of this number.
    fn inode(&mut self, ino: u32) -> Result<Self::Inode>;

    /// The attributes as callers of the file system see them.
    fn shown(&self, ino: u32, inode: &Self::Inode) -> Attr;

    /// Refuses a call that would write where nothing is written.
    fn writable(&self) -> Result<()>;

    /// How often each inode is held.
    fn held(&mut self) -> &mut BTreeMap<u32, u32>;

    /// Nobody holds the inode any more: it goes if it has no name.
    fn let_go(&mut self, ino: u32) -> Result<()>;

    /// Keeps an inode alive though its last name may go.
    fn hold(&mut self, ino: u32) -> Result<()> {
        self.inode(ino)?;
        *self.held().entry(ino).or_insert(0) += 1;
        Ok(())
    }

    /// Ends one [`Inodes::hold`].
    fn release(&mut self, ino: u32) -> Result<()> {
        let Some(count) = self.held().get_mut(&ino) else { return self.inode(ino).map(|_| ()) };
        *count -= 1;
        if *count > 0 {
            return Ok(());
        }
        self.held().remove(&ino);
        self.let_go(ino)
    }

    /// Ends all of them, before an unmount.
    fn release_all(&mut self) -> Result<()> {
        while let Some((ino, _)) = self.held().pop_first() {
            self.let_go(ino)?;
        }
        Ok(())
    }
}
