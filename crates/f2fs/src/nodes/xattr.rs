//! Extended attributes as they are shown.

use pumice_vfs::Errno;

use super::Nodes;
use crate::{
    error::{Error, Place, Result, corrupt},
    layout::{ADVISE, Inode, NodeOffset, XattrEntry, XattrList, XattrSpace, shown_acl},
    volume::Node,
};

impl Nodes {
    /// All attributes of an inode, hidden ones among them.
    pub fn xattrs(&self, inode: &Inode, node: &Node) -> Result<XattrList> {
        let inline = node.block.get(inode.xattr_range()).unwrap_or_default();
        if let Some(addr) = self.overlay.xattrs.get(&inode.ino) {
            let block = self.volume.block(*addr)?;
            return Ok(XattrList::new(
                inline,
                block.get(..self.volume.block_size().node_bytes()).unwrap_or_default(),
            ));
        }
        if inode.xattr_nid.is_null() {
            return Ok(XattrList::new(inline, &[]));
        }
        let more = self.node(inode.xattr_nid)?;
        if more.footer.ino != inode.ino || more.footer.offset != NodeOffset::XATTR {
            return Err(corrupt(
                Place::Node(inode.xattr_nid),
                "the inode of attributes is",
                more.footer.ino.0,
                inode.ino.0,
            ));
        }
        let bytes = more.block.get(..self.volume.block_size().node_bytes()).unwrap_or_default();
        Ok(XattrList::new(inline, bytes))
    }

    /// The names of the attributes that are shown.
    pub(crate) fn xattr_names(&self, inode: &Inode, node: &Node) -> Result<Vec<Vec<u8>>> {
        let list = self.xattrs(inode, node)?;
        let mut names = Vec::new();
        for entry in list.entries() {
            names.extend(shown_name(&entry.map_err(|at| broken(inode, at))?));
        }
        Ok(names)
    }

    /// The value of an attribute that is shown.
    pub(crate) fn xattr_value(&self, inode: &Inode, node: &Node, name: &[u8]) -> Result<Vec<u8>> {
        if name == ADVISE {
            return Ok(vec![inode.advise.0]);
        }
        let list = self.xattrs(inode, node)?;
        for entry in list.entries() {
            let entry = entry.map_err(|at| broken(inode, at))?;
            if shown_name(&entry).is_some_and(|shown| shown == name) {
                return value(inode, &entry);
            }
        }
        Err(Error::Errno(Errno::NoData))
    }

    /// The value of a hidden attribute.
    pub(crate) fn hidden_xattr(
        &self,
        inode: &Inode,
        node: &Node,
        space: XattrSpace,
        name: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let list = self.xattrs(inode, node)?;
        for entry in list.entries() {
            let entry = entry.map_err(|at| broken(inode, at))?;
            if entry.space == space && entry.name == name {
                return Ok(Some(entry.value.to_vec()));
            }
        }
        Ok(None)
    }
}

fn broken(inode: &Inode, at: usize) -> Error {
    corrupt(Place::Inode(inode.ino), "an attribute does not end; it begins at byte", at as u64, 0_u32)
}

fn shown_name(entry: &XattrEntry<'_>) -> Option<Vec<u8>> {
    let prefix = entry.space.prefix()?.as_bytes();
    let is_list = matches!(entry.space, XattrSpace::AclAccess | XattrSpace::AclDefault);
    Some(if is_list { prefix.to_vec() } else { [prefix, entry.name].concat() })
}

fn value(inode: &Inode, entry: &XattrEntry<'_>) -> Result<Vec<u8>> {
    match entry.space {
        XattrSpace::AclAccess | XattrSpace::AclDefault => shown_acl(entry.value).ok_or_else(|| {
            corrupt(
                Place::Inode(inode.ino),
                "bytes of an access control list are",
                entry.value.len() as u64,
                4_u32,
            )
        }),
        _ => Ok(entry.value.to_vec()),
    }
}
