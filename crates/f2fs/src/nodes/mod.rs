//! Nodes with their addresses, attributes and directories, after the promises of fsync were rolled forward: a volume,
//! and over it the changes of recovery.

mod dir;
mod map;
mod overlay;
mod owner;
mod xattr;

use crate::{
    error::Result,
    layout::{Checkpoint, Inode, Nid},
    volume::{Node, Volume},
};

pub(crate) use dir::{Directory, Found};
pub use map::{Mapped, Run};
pub(crate) use map::{outside, word};
use overlay::Overlay;
pub(crate) use overlay::Patched;
pub use owner::Owner;

/// A volume's nodes. Without recovery they are as the checkpoint has them.
pub struct Nodes {
    volume: Volume,
    overlay: Overlay,
    /// The checkpoint behind which the chain of promises was written, if it is not the volume's.
    chained: Option<Checkpoint>,
}

impl Nodes {
    /// As the checkpoint of a volume has them.
    pub fn new(volume: Volume) -> Nodes {
        Nodes { volume, overlay: Overlay::default(), chained: None }
    }

    /// The same, with the chain of promises that was written behind another checkpoint.
    pub(crate) fn behind(volume: Volume, chained: Checkpoint) -> Nodes {
        Nodes { chained: Some(chained), ..Nodes::new(volume) }
    }

    /// The checkpoint behind which the chain of promises was written.
    pub(crate) fn chained(&self) -> &Checkpoint {
        self.chained.as_ref().unwrap_or(self.volume.checkpoint())
    }

    /// The volume below.
    pub fn volume(&self) -> &Volume {
        &self.volume
    }

    /// A node, by its number. Its footer must name it, and the inode that the NAT names.
    pub fn node(&self, nid: Nid) -> Result<Node> {
        match self.overlay.inode(&self.volume, nid)? {
            Some(node) => Ok(node),
            None => self.volume.node(nid),
        }
    }

    /// An inode, with its block. Its checksum must be right, if it has one.
    pub fn inode(&self, ino: Nid) -> Result<(Inode, Node)> {
        self.volume.inode_in(ino, self.node(ino)?)
    }

    /// The same; `None` if no inode has this number.
    pub(crate) fn find_inode(&self, ino: Nid) -> Result<Option<(Inode, Node)>> {
        match self.overlay.inode(&self.volume, ino)? {
            Some(node) => self.volume.inode_in(ino, node).map(Some),
            None => self.volume.find_inode(ino),
        }
    }

    /// True if an inode has this number.
    pub(crate) fn has_inode(&self, ino: Nid) -> Result<bool> {
        Ok(self.overlay.inodes.contains_key(&ino) || self.volume.has_inode(ino)?)
    }

    /// As the checkpoint has them, again.
    pub(crate) fn take_back(&mut self) {
        self.overlay = Overlay::default();
    }

    pub(crate) fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    pub(crate) fn overlay_mut(&mut self) -> &mut Overlay {
        &mut self.overlay
    }
}
