//! Section 4.5: recovery. The log behind the checkpoint is replayed, or undone.
//!
//! A file's inode is written behind its data and indirect blocks: where it is found, they are whole, and inode map and
//! indirect inode map follow from it. Data without an inode is discarded. A directory block is written at once, and
//! names the inode that completes its operation; where that is missing, the block is left out, and the one before it
//! counts: the operation is undone.

use pumice_vfs::Result;

use super::Volume;
use crate::directory::{self, Operation};
use crate::inode::{self, Step};
use crate::layout::Addr;
use crate::log::Met;
use crate::spare::{Kind, Owner};

/// A block that an operation wrote.
struct Part {
    owner: Owner,
    at: Addr,
    bytes: Vec<u8>,
}

impl Volume<'_> {
    /// Replays the scanned blocks, in order.
    pub(super) fn recover(&mut self, met: &[Met]) -> Result<()> {
        // The operation that is not complete yet: the inode that completes it, and its blocks.
        let mut open: Option<(u32, Vec<Part>)> = None;
        // The last inode that counts: one without names is live nowhere, and ends a removal all the same.
        let mut last = None;
        for Met { at, owner } in met {
            if !matches!(owner.kind, Kind::Dir | Kind::Inode) {
                continue;
            }
            let (bytes, proved) = self.index.log().flash().read_any(*at)?;
            // Torn, or failed and written again.
            if proved.is_none_or(|(found, _)| found != *owner) {
                continue;
            }
            let part = Part { owner: *owner, at: *at, bytes };
            if owner.kind == Kind::Dir {
                let Some(Operation { ino, .. }) = directory::operation(&part.bytes) else { continue };
                match &mut open {
                    Some((of, parts)) if *of == ino => parts.push(part),
                    _ => open = Some((ino, vec![part])),
                }
                continue;
            }
            match inode::step(&part.bytes) {
                Step::Plain => {
                    open = None;
                    self.replay(part)?;
                    last = Some(*at);
                }
                Step::Within => {
                    if let Some((_, parts)) = &mut open {
                        parts.push(part);
                    }
                }
                Step::Last => {
                    let parts = open.take().filter(|(ino, _)| *ino == part.owner.ino);
                    for earlier in parts.into_iter().flat_map(|(_, parts)| parts) {
                        self.replay(earlier)?;
                    }
                    self.replay(part)?;
                    last = Some(*at);
                }
            }
        }
        for Met { at, owner } in met.iter().rev() {
            if last == Some(*at) || self.index.address(*owner)? == *at {
                last = Some(*at);
                break;
            }
        }
        self.index.log().rewind(last)
    }

    fn replay(&mut self, part: Part) -> Result<()> {
        let Part { owner, at, bytes } = part;
        if owner.kind == Kind::Inode {
            return self.index.replay_inode(owner.ino, at, bytes);
        }
        let Some(operation) = directory::operation(&bytes) else { return Ok(()) };
        self.index.replay_dir(owner, at, bytes)?;
        let mut dir = self.index.inode(owner.ino)?;
        dir.nlink = operation.nlink;
        dir.size = u64::from(operation.blocks) * crate::layout::BLOCK_BYTES as u64;
        (dir.times[1], dir.times[2]) = (operation.time, operation.time);
        self.index.set_inode(owner.ino, &dir)
    }
}
