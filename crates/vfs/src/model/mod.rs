//! The reference model: a whole file system in memory, so plain that it can be seen to be right.
//!
//! Nothing outlives the value. The conformance suite takes the right answers from it.

mod content;
mod directory;
mod names;
mod node;
mod rename;
mod state;
mod xattr;

use alloc::vec::Vec;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{
    Attr, Clock, DirEntry, Errno, FileSystem, Ino, NewNode, RenameMode, Result, Seek, SetAttr, SpaceInfo,
    SpaceMode, XattrMode,
};
use content::end_of_range;
use node::Body;
use state::State;

/// Inodes that can exist; more would not fit in memory.
const INODES_MAX: u64 = 1 << 32;

/// A file system in memory.
pub struct MemFs {
    state: Mutex<State>,
    clock: Clock,
}

impl MemFs {
    /// Bytes in a block unless told otherwise.
    pub const BLOCK_BYTES: u32 = 4096;
    /// Bytes of file content unless told otherwise: 16 GiB, taken from memory as it is written.
    pub const TOTAL_BYTES: u64 = 1 << 34;

    /// An empty file system; the root belongs to user 0 with permissions 0755.
    pub fn new(clock: Clock) -> MemFs {
        MemFs::with_size(clock, MemFs::BLOCK_BYTES, MemFs::TOTAL_BYTES)
    }

    /// An empty file system with blocks of `block_bytes` bytes (0 counts as 1), which holds `total_bytes`
    /// of file content, rounded down to whole blocks. Names and attributes take no space.
    pub fn with_size(clock: Clock, block_bytes: u32, total_bytes: u64) -> MemFs {
        let block_bytes = block_bytes.max(1);
        let state = State::new(block_bytes, total_bytes / u64::from(block_bytes), clock());
        MemFs { state: Mutex::new(state), clock }
    }

    /// Makes every call that changes anything fail with [`Errno::ReadOnly`], or ends that.
    pub fn set_read_only(&self, read_only: bool) {
        self.state().read_only = read_only;
    }

    /// The effect of an unmount and a mount: every hold ends, and the inodes without a name go.
    pub fn remount(&self) {
        let mut state = self.state();
        let held: Vec<Ino> =
            state.nodes.iter().filter(|(_, node)| node.holds > 0).map(|(ino, _)| *ino).collect();
        for ino in held {
            if let Some(node) = state.nodes.get_mut(&ino) {
                node.holds = 0;
            }
            state.reap(ino);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics halfway through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileSystem for MemFs {
    fn space(&self) -> Result<SpaceInfo> {
        let state = self.state();
        let block_bytes = u64::from(state.block_bytes);
        Ok(SpaceInfo {
            block_bytes: state.block_bytes,
            total_bytes: state.total_blocks * block_bytes,
            free_bytes: (state.total_blocks - state.used_blocks) * block_bytes,
            inodes: INODES_MAX,
            free_inodes: INODES_MAX.saturating_sub(state.nodes.len() as u64),
            name_max: 255,
        })
    }

    fn attr(&self, ino: Ino) -> Result<Attr> {
        self.state().attr(ino)
    }

    fn set_attr(&self, ino: Ino, change: &SetAttr) -> Result<Attr> {
        let mut state = self.state();
        state.writable()?;
        if let Some(size) = change.size {
            state.node(ino)?.content()?;
            end_of_range(size, 0)?;
            state.edit(ino, |content| content.set_size(size))?;
        }
        state.node_mut(ino)?.change(change, (self.clock)());
        state.attr(ino)
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Attr> {
        let state = self.state();
        let directory = state.node(dir)?.dir()?;
        let ino = match name {
            b"." => dir,
            b".." => state.linked_dir(dir)?.parent,
            _ if name.len() > 255 => return Err(Errno::NameTooLong.into()),
            _ => directory.get(name).ok_or(Errno::NoEntry)?,
        };
        state.attr(ino)
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        Ok(self.state().linked_dir(dir)?.parent)
    }

    fn readlink(&self, ino: Ino) -> Result<Vec<u8>> {
        match &self.state().node(ino)?.body {
            Body::Symlink(target) => Ok(target.clone()),
            _ => Err(Errno::Invalid.into()),
        }
    }

    fn create(&self, dir: Ino, name: &[u8], node: &NewNode<'_>) -> Result<Attr> {
        self.state().create(dir, name, node, (self.clock)())
    }

    fn link(&self, ino: Ino, dir: Ino, name: &[u8]) -> Result<Attr> {
        self.state().link(ino, dir, name, (self.clock)())
    }

    fn unlink(&self, dir: Ino, name: &[u8]) -> Result<()> {
        self.state().unlink(dir, name, (self.clock)())
    }

    fn rmdir(&self, dir: Ino, name: &[u8]) -> Result<()> {
        self.state().rmdir(dir, name, (self.clock)())
    }

    fn rename(&self, dir: Ino, name: &[u8], to_dir: Ino, to_name: &[u8], mode: RenameMode) -> Result<()> {
        self.state().rename((dir, name), (to_dir, to_name), mode, (self.clock)())
    }

    fn hold(&self, ino: Ino) -> Result<()> {
        self.state().node_mut(ino)?.holds += 1;
        Ok(())
    }

    fn release(&self, ino: Ino) -> Result<()> {
        let mut state = self.state();
        let node = state.node_mut(ino)?;
        node.holds = node.holds.checked_sub(1).ok_or(Errno::Invalid)?;
        state.reap(ino);
        Ok(())
    }

    fn read(&self, ino: Ino, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        Ok(self.state().node(ino)?.content()?.read(offset, buffer))
    }

    fn write(&self, ino: Ino, offset: u64, data: &[u8]) -> Result<()> {
        let mut state = self.state();
        state.writable()?;
        state.node(ino)?.content()?;
        if data.is_empty() {
            return Ok(());
        }
        let end = end_of_range(offset, data.len() as u64)?;
        state.check_space(ino, offset, end)?;
        state.edit(ino, |content| content.write(offset, data))?;
        state.node_mut(ino)?.touch((self.clock)());
        Ok(())
    }

    fn allocate(&self, ino: Ino, mode: SpaceMode, offset: u64, length: u64) -> Result<()> {
        let mut state = self.state();
        state.writable()?;
        state.node(ino)?.content()?;
        if length == 0 {
            return Err(Errno::Invalid.into());
        }
        let end = end_of_range(offset, length)?;
        if mode != SpaceMode::PunchHole {
            state.check_space(ino, offset, end)?;
        }
        state.edit(ino, |content| {
            if !matches!(mode, SpaceMode::Reserve { .. }) {
                content.punch(offset, end);
            }
            if let SpaceMode::Reserve { keep_size } | SpaceMode::Zero { keep_size } = mode {
                content.reserve(offset, end);
                if !keep_size {
                    content.grow(end);
                }
            }
        })?;
        state.node_mut(ino)?.touch((self.clock)());
        Ok(())
    }

    fn seek(&self, ino: Ino, offset: u64, what: Seek) -> Result<u64> {
        self.state().node(ino)?.content()?.seek(offset, what)
    }

    fn fsync(&self, ino: Ino, _data_only: bool) -> Result<()> {
        self.state().node(ino).map(|_| ())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn readdir(&self, dir: Ino, cookie: u64, each: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        let mut after = cookie;
        loop {
            // `each` may call back, so the state is not locked while it runs.
            let state = self.state();
            let Some((cookie, name, ino)) = state.node(dir)?.dir()?.next(after) else { return Ok(()) };
            let (name, kind) = (name.to_vec(), state.node(ino)?.meta.kind);
            drop(state);
            if !each(DirEntry { name: &name, ino, kind, cookie }) {
                return Ok(());
            }
            after = cookie;
        }
    }

    fn xattr(&self, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        self.state().node(ino)?.xattrs.get(name).cloned().ok_or(Errno::NoData.into())
    }

    fn set_xattr(&self, ino: Ino, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.state().set_xattr(ino, (name, value), mode, (self.clock)())
    }

    fn list_xattr(&self, ino: Ino) -> Result<Vec<Vec<u8>>> {
        Ok(self.state().node(ino)?.xattrs.keys().cloned().collect())
    }

    fn remove_xattr(&self, ino: Ino, name: &[u8]) -> Result<()> {
        self.state().remove_xattr(ino, name, (self.clock)())
    }

    fn maintain(&self) -> Result<bool> {
        Ok(false)
    }
}
