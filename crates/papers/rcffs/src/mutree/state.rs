//! The state of the whole tree.

use crate::layout::Addr;

/// The state of the whole, as the page with the root has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct State {
    pub(crate) root: Addr,
    pub(crate) height: usize,
    /// The highest inode number that was given.
    pub(crate) highest: u32,
    pub(crate) inodes: u32,
    /// Bytes of all chunks on flash.
    pub(crate) live: u64,
    pub(crate) leaves: u32,
    /// Counts the roots written.
    pub(crate) commit: u32,
}
