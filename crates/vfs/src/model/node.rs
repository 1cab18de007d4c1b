//! An inode of the model.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::content::Content;
use super::directory::Directory;
use crate::{Attr, Errno, FileKind, NewNode, Result, SetAttr, Timestamp};

/// Longest target of a symbolic link, in bytes.
const TARGET_MAX: usize = 4095;

pub(super) struct Node {
    /// `size` and `allocated` are taken from the body when asked for.
    pub(super) meta: Attr,
    pub(super) body: Body,
    pub(super) xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(super) holds: u64,
}

pub(super) enum Body {
    File(Content),
    Dir(Directory),
    Symlink(Vec<u8>),
    /// Pipe, socket, device.
    Special,
}

impl Node {
    pub(super) fn new(meta: Attr, body: Body) -> Node {
        Node { meta, body, xattrs: BTreeMap::new(), holds: 0 }
    }

    pub(super) fn attr(&self, block_bytes: u32) -> Attr {
        let (size, blocks) = match &self.body {
            Body::File(content) => (content.size(), content.block_count()),
            Body::Symlink(target) => (target.len() as u64, 0),
            Body::Dir(_) | Body::Special => (0, 0),
        };
        Attr { size, allocated: blocks * u64::from(block_bytes), ..self.meta }
    }

    pub(super) fn is_dir(&self) -> bool {
        matches!(self.body, Body::Dir(_))
    }

    pub(super) fn content(&self) -> Result<&Content> {
        match &self.body {
            Body::File(content) => Ok(content),
            other => Err(other.not_a_file().into()),
        }
    }

    pub(super) fn content_mut(&mut self) -> Result<&mut Content> {
        match &mut self.body {
            Body::File(content) => Ok(content),
            other => Err(other.not_a_file().into()),
        }
    }

    pub(super) fn dir(&self) -> Result<&Directory> {
        match &self.body {
            Body::Dir(directory) => Ok(directory),
            _ => Err(Errno::NotDir.into()),
        }
    }

    pub(super) fn dir_mut(&mut self) -> Result<&mut Directory> {
        match &mut self.body {
            Body::Dir(directory) => Ok(directory),
            _ => Err(Errno::NotDir.into()),
        }
    }

    /// Content has changed.
    pub(super) fn touch(&mut self, now: Timestamp) {
        self.meta.mtime = now;
        self.meta.ctime = now;
    }

    /// Everything of a change but the length, which the caller has set.
    pub(super) fn change(&mut self, change: &SetAttr, now: Timestamp) {
        if *change == SetAttr::default() {
            return;
        }
        if change.size.is_some() {
            self.meta.mtime = now;
        }
        let meta = &mut self.meta;
        meta.perm = change.perm.map_or(meta.perm, |perm| perm & 0o7777);
        meta.uid = change.uid.unwrap_or(meta.uid);
        meta.gid = change.gid.unwrap_or(meta.gid);
        meta.atime = change.atime.unwrap_or(meta.atime);
        meta.mtime = change.mtime.unwrap_or(meta.mtime);
        meta.ctime = change.ctime.unwrap_or(now);
    }
}

impl Body {
    fn not_a_file(&self) -> Errno {
        if matches!(self, Body::Dir(_)) { Errno::IsDir } else { Errno::Invalid }
    }
}

/// Checks the target of a symbolic link that is to be made.
pub(super) fn check_target(node: &NewNode<'_>) -> Result<()> {
    if node.kind != FileKind::Symlink {
        return Ok(());
    }
    if node.target.len() > TARGET_MAX {
        return Err(Errno::NameTooLong.into());
    }
    if node.target.is_empty() || node.target.contains(&0) {
        return Err(Errno::Invalid.into());
    }
    Ok(())
}
