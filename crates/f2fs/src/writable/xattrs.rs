//! Extended attributes: the list is read as a whole, changed, and put back.

use pumice_vfs::{Errno, Timestamp, XattrMode};

use super::nodes::Nodes;
use crate::{
    error::{Error, Place, Result, corrupt},
    layout::{
        ADVISE, InlineFlags, Inode, Nid, NodeOffset, XattrEntry, XattrList, XattrSpace, shown_acl, stored_acl,
    },
};

/// Longest name with its namespace, and longest value, that any file system takes.
const NAME_MAX: usize = 255;
const VALUE_MAX: usize = 65_536;
/// Namespaces that there can be.
const NAMESPACES: [&[u8]; 4] = [b"user.", b"trusted.", b"security.", b"system."];

/// All attributes of an inode, hidden ones among them.
fn all(nodes: &Nodes, inode: &Inode) -> Result<XattrList> {
    let block = nodes.inode_block(inode.ino)?;
    let inline = block.get(inode.xattr_range()).unwrap_or_default();
    if inode.xattr_nid.is_null() {
        return Ok(XattrList::new(inline, &[]));
    }
    let more = nodes.read(inode.xattr_nid, inode.ino, NodeOffset::XATTR)?;
    Ok(XattrList::new(inline, more.get(..nodes.size().node_bytes()).unwrap_or_default()))
}

fn entries<'a>(inode: &Inode, list: &'a XattrList) -> Result<Vec<XattrEntry<'a>>> {
    let broken = |at| {
        corrupt(Place::Inode(inode.ino), "an attribute does not end; it begins at byte", at as u64, 0_u32)
    };
    list.entries().map(|entry| entry.map_err(broken)).collect()
}

/// The names that are shown.
pub(super) fn names(nodes: &Nodes, inode: &Inode) -> Result<Vec<Vec<u8>>> {
    let list = all(nodes, inode)?;
    let shown = |entry: &XattrEntry<'_>| {
        let prefix = entry.space.prefix()?.as_bytes();
        let rest = if is_acl(entry.space) { &[] } else { entry.name };
        Some([prefix, rest].concat())
    };
    Ok(entries(inode, &list)?.iter().filter_map(shown).collect())
}

fn is_acl(space: XattrSpace) -> bool {
    matches!(space, XattrSpace::AclAccess | XattrSpace::AclDefault)
}

/// The value of an attribute.
pub(super) fn get(nodes: &Nodes, inode: &Inode, name: &[u8]) -> Result<Vec<u8>> {
    if name == ADVISE {
        return Ok(vec![inode.advise.0]);
    }
    let (space, rest) = XattrSpace::of_name(name).ok_or(Error::Errno(Errno::NoData))?;
    let list = all(nodes, inode)?;
    let entry = entries(inode, &list)?.into_iter().find(|entry| entry.space == space && entry.name == rest);
    let entry = entry.ok_or(Error::Errno(Errno::NoData))?;
    if !is_acl(space) {
        return Ok(entry.value.to_vec());
    }
    let bytes = entry.value.len() as u64;
    let broken = || corrupt(Place::Inode(inode.ino), "bytes of an access control list are", bytes, 4_u32);
    shown_acl(entry.value).ok_or_else(broken)
}

/// Sets an attribute, and the time of the change. Nothing has changed if it fails for an ordinary reason. The caller puts
/// the inode.
pub(super) fn set(
    nodes: &mut Nodes,
    inode: &mut Inode,
    name: &[u8],
    value: &[u8],
    mode: XattrMode,
    now: Timestamp,
) -> Result<()> {
    if name == ADVISE {
        inode.advise = inode.advise.chosen(value).ok_or(Error::Errno(Errno::Invalid))?;
        return Ok(());
    }
    inode.ctime = now;
    if name.is_empty() || name.len() > NAME_MAX || value.len() > VALUE_MAX {
        return Err(Error::Errno(Errno::Range));
    }
    let Some(space) = NAMESPACES.iter().find(|space| name.starts_with(space)) else {
        return Err(Error::Errno(Errno::NotSupported));
    };
    if name.len() == space.len() || name.contains(&0) {
        return Err(Error::Errno(Errno::Invalid));
    }
    let (space, rest) = XattrSpace::of_name(name).ok_or(Error::Errno(Errno::NotSupported))?;
    let value = match is_acl(space) {
        true => stored_acl(value).ok_or(Error::Errno(Errno::Invalid))?,
        false => value.to_vec(),
    };
    let list = all(nodes, inode)?;
    let mut entries = entries(inode, &list)?;
    let old = entries.iter().position(|entry| entry.space == space && entry.name == rest);
    let new = XattrEntry { space, name: rest, value: &value };
    match (mode, old) {
        (XattrMode::Create, Some(_)) => return Err(Error::Errno(Errno::Exists)),
        (XattrMode::Replace, None) => return Err(Error::Errno(Errno::NoData)),
        (_, Some(at)) => entries.splice(at..=at, [new]).for_each(drop),
        (_, None) => entries.push(new),
    }
    let room = inode.xattr_range().len() + nodes.size().node_bytes();
    // A value that does not fit into the length of an entry does not fit anywhere.
    if value.len() >= room || XattrList::of(&entries).as_bytes().len() > room {
        return Err(Error::Errno(Errno::NoSpace));
    }
    put(nodes, inode, &XattrList::of(&entries))
}

/// The value of a hidden attribute.
pub(super) fn hidden(
    nodes: &Nodes,
    inode: &Inode,
    space: XattrSpace,
    name: &[u8],
) -> Result<Option<Vec<u8>>> {
    let list = all(nodes, inode)?;
    let found = entries(inode, &list)?.into_iter().find(|entry| entry.space == space && entry.name == name);
    Ok(found.map(|entry| entry.value.to_vec()))
}

/// Gives an inode a hidden attribute. The caller puts the inode.
pub(super) fn set_hidden(
    nodes: &mut Nodes,
    inode: &mut Inode,
    space: XattrSpace,
    name: &[u8],
    value: &[u8],
) -> Result<()> {
    let list = all(nodes, inode)?;
    let mut entries = entries(inode, &list)?;
    entries.retain(|entry| entry.space != space || entry.name != name);
    entries.push(XattrEntry { space, name, value });
    let room = inode.xattr_range().len() + nodes.size().node_bytes();
    if XattrList::of(&entries).as_bytes().len() > room {
        return Err(Error::Errno(Errno::NoSpace));
    }
    put(nodes, inode, &XattrList::of(&entries))
}

/// Takes an attribute away. The caller puts the inode.
pub(super) fn remove(nodes: &mut Nodes, inode: &mut Inode, name: &[u8]) -> Result<()> {
    if name == ADVISE {
        return Err(Error::Errno(Errno::Invalid));
    }
    let (space, rest) = XattrSpace::of_name(name).ok_or(Error::Errno(Errno::NoData))?;
    let list = all(nodes, inode)?;
    let mut entries = entries(inode, &list)?;
    let old = entries.iter().position(|entry| entry.space == space && entry.name == rest);
    entries.remove(old.ok_or(Error::Errno(Errno::NoData))?);
    put(nodes, inode, &XattrList::of(&entries))
}

/// Puts the list back: into the inode, and the rest into a node of its own.
fn put(nodes: &mut Nodes, inode: &mut Inode, list: &XattrList) -> Result<()> {
    debug_assert!(inode.inline.has(InlineFlags::XATTR) || inode.xattr_range().is_empty());
    let range = inode.xattr_range();
    let range_bytes = range.len();
    let (inside, behind) = list.as_bytes().split_at(range.len().min(list.as_bytes().len()));
    overwrite(nodes.edit(inode.ino)?.get_mut(range), inside);
    // Zeros end the list, and are there already.
    if list.as_bytes().is_empty() || list.end() <= range_bytes {
        return drop_node(nodes, inode);
    }
    if inode.xattr_nid.is_null() {
        inode.xattr_nid = nodes.make(inode, NodeOffset::XATTR)?;
        inode.blocks += 1;
    }
    let room = nodes.size().node_bytes();
    overwrite(nodes.edit(inode.xattr_nid)?.get_mut(..room), behind);
    Ok(())
}

fn overwrite(place: Option<&mut [u8]>, bytes: &[u8]) {
    debug_assert!(place.as_ref().is_some_and(|place| bytes.len() <= place.len()));
    let place = place.unwrap_or_default();
    place.fill(0);
    place.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
}

/// Takes the node of the attributes away, if there is one. The caller puts the inode.
pub(super) fn drop_node(nodes: &mut Nodes, inode: &mut Inode) -> Result<()> {
    if inode.xattr_nid.is_null() {
        return Ok(());
    }
    nodes.read(inode.xattr_nid, inode.ino, NodeOffset::XATTR)?;
    nodes.remove(inode.xattr_nid, inode.ino)?;
    inode.xattr_nid = Nid::NULL;
    inode.lose_block()
}
