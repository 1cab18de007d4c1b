//! Extended attributes: a list of names and values in the inode or, once it is long, in a hidden inode.

use alloc::{vec, vec::Vec};

use pumice_vfs::{Errno, FileKind, Result, XattrMode};

use crate::codec::size;
use crate::error::Damage;
use crate::files::Files;
use crate::ids::FIRST_NID;
use crate::log::Log;
use crate::node::{Inode, XATTR_INLINE};
use crate::xattr_list::{Attribute, COMPRESSION, decode, encode, value_of};

/// Largest value, in bytes.
const VALUE_MAX: usize = 65_536;
/// All attributes of an inode with their names, in bytes: they pass through memory as a whole.
const LIST_MAX: usize = 1 << 20;

fn check(name: &[u8]) -> Result<()> {
    if name.len() > 255 {
        return Err(Errno::Range.into());
    }
    let spaces: [&[u8]; 4] = [b"user.", b"trusted.", b"security.", b"system."];
    match spaces.iter().any(|space| name.starts_with(space) && name.len() > space.len()) {
        true => Ok(()),
        false => Err(Errno::NotSupported.into()),
    }
}

impl Files {
    pub(crate) fn xattr_bytes(&mut self, log: &mut Log<'_>, ino: u32) -> Result<Vec<u8>> {
        let inode = self.inode(log, ino)?;
        let hidden = inode.xattr_ino;
        if hidden == 0 {
            return Ok(inode.xattr.clone());
        }
        let length = size(self.hidden(log, ino, hidden)?.size);
        if length > LIST_MAX {
            return Err(Damage::Xattr(ino).into());
        }
        let mut bytes = vec![0; length];
        self.read_file(log, hidden, 0, &mut bytes)?;
        Ok(bytes)
    }

    /// The inode that holds the attributes of `ino`: it is nobody else's, and has none itself.
    fn hidden(&mut self, log: &mut Log<'_>, ino: u32, hidden: u32) -> Result<&Inode> {
        let inode = self.inode(log, hidden)?;
        let sound = inode.kind == FileKind::File
            && inode.parent == ino
            && inode.name.is_empty()
            && inode.xattr_ino == 0
            && hidden >= FIRST_NID;
        if sound { Ok(inode) } else { Err(Damage::Xattr(ino).into()) }
    }

    /// Adds an inode with this content, or leaves nothing of it.
    pub(crate) fn add_filled(&mut self, log: &mut Log<'_>, inode: Inode, content: &[u8]) -> Result<u32> {
        let ino = self.add_inode(log, inode)?;
        if let Err(error) = self.write_file(log, ino, 0, content) {
            self.destroy(log, ino)?;
            return Err(error);
        }
        Ok(ino)
    }

    /// Takes an inode away with all that belongs to it.
    pub(crate) fn destroy(&mut self, log: &mut Log<'_>, ino: u32) -> Result<()> {
        self.cache.discard(ino, 0, u32::MAX);
        self.destroy_hidden(log, ino)?;
        self.unmap(log, ino, 0, u64::MAX)?;
        self.remove_node(log, ino)?;
        self.forget(ino);
        Ok(())
    }

    /// Takes away the attributes of an inode that are in another.
    fn destroy_hidden(&mut self, log: &mut Log<'_>, ino: u32) -> Result<()> {
        let hidden = self.inode(log, ino)?.xattr_ino;
        if hidden != 0 {
            self.hidden(log, ino, hidden)?;
            self.inode_mut(log, ino)?.xattr_ino = 0;
            self.destroy(log, hidden)?;
        }
        Ok(())
    }

    fn set_xattr_bytes(&mut self, log: &mut Log<'_>, ino: u32, bytes: Vec<u8>) -> Result<()> {
        if bytes.len() > LIST_MAX {
            return Err(Errno::NoSpace.into());
        }
        let now = self.now();
        let hidden = self.inode(log, ino)?.xattr_ino;
        if self.inode(log, ino)?.kind == FileKind::Dir {
            // Records of names do not tell of them.
            self.pend(ino).needs_checkpoint = true;
        }
        if bytes.len() <= XATTR_INLINE {
            if hidden != 0 {
                self.destroy_hidden(log, ino)?;
                self.pend(ino).needs_checkpoint = true;
            }
            let inode = self.inode_mut(log, ino)?;
            (inode.xattr, inode.xattr_ino, inode.ctime) = (bytes, 0, now);
            return Ok(());
        }
        if hidden != 0 && self.overwrite_hidden(log, ino, hidden, &bytes)? {
            self.inode_mut(log, ino)?.ctime = now;
            self.pend(ino).needs_checkpoint = true;
            return Ok(());
        }
        // The new list is whole before the old one goes: a full volume leaves everything as it was.
        self.claim(log, 2 * u64::from(self.params.node))?;
        let hidden = Inode { kind: FileKind::File, ..Inode::directory(ino, 0, 1, now) };
        let fresh = self.add_filled(log, hidden, &bytes)?;
        self.destroy_hidden(log, ino)?;
        let inode = self.inode_mut(log, ino)?;
        (inode.xattr, inode.xattr_ino, inode.ctime) = (Vec::new(), fresh, now);
        self.pend(ino).needs_checkpoint = true;
        Ok(())
    }

    /// Writes a list over one of the same length, if no more than a block of it is another; false if there is more.
    fn overwrite_hidden(&mut self, log: &mut Log<'_>, ino: u32, hidden: u32, bytes: &[u8]) -> Result<bool> {
        let old = self.xattr_bytes(log, ino)?;
        let block = self.params.block as usize;
        let mut changed = old.chunks(block).zip(bytes.chunks(block)).zip(0u64..);
        let first = changed.find(|((old, new), _)| old != new);
        if old.len() != bytes.len() || changed.any(|((old, new), _)| old != new) {
            return Ok(false);
        }
        if let Some(((_, new), index)) = first {
            self.write_file(log, hidden, index * u64::from(self.params.block), new)?;
        }
        Ok(true)
    }

    /// The attributes of a new inode in a directory: its compression, if the directory names one.
    pub(crate) fn inherited(&mut self, log: &mut Log<'_>, dir: u32) -> Result<Vec<u8>> {
        if !self.params.packs {
            return Ok(Vec::new());
        }
        let bytes = self.xattr_bytes(log, dir)?;
        let list = decode(&bytes).ok_or(Damage::Xattr(dir))?;
        let own: Vec<Attribute<'_>> = list.into_iter().filter(|(name, _)| *name == COMPRESSION).collect();
        Ok(encode(&own))
    }

    /// The value of an attribute.
    pub(crate) fn xattr_get(&mut self, log: &mut Log<'_>, ino: u32, name: &[u8]) -> Result<Vec<u8>> {
        check(name)?;
        let bytes = self.xattr_bytes(log, ino)?;
        let list = decode(&bytes).ok_or(Damage::Xattr(ino))?;
        let found = list.into_iter().find(|(there, _)| *there == name);
        found.map(|(_, value)| value.to_vec()).ok_or(Errno::NoData.into())
    }

    /// Sets an attribute, or takes it away without a value.
    pub(crate) fn xattr_set(
        &mut self,
        log: &mut Log<'_>,
        ino: u32,
        name: &[u8],
        value: Option<&[u8]>,
        mode: XattrMode,
    ) -> Result<()> {
        check(name)?;
        if value.is_some_and(|value| value.len() > VALUE_MAX) {
            return Err(Errno::Range.into());
        }
        if name == COMPRESSION && value.is_some_and(|value| value_of(value).is_none()) {
            return Err(Errno::Invalid.into());
        }
        let bytes = self.xattr_bytes(log, ino)?;
        let mut list = decode(&bytes).ok_or(Damage::Xattr(ino))?;
        let place = list.iter().position(|(there, _)| *there == name);
        match (mode, place) {
            (XattrMode::Create, Some(_)) => return Err(Errno::Exists.into()),
            (XattrMode::Replace, None) => return Err(Errno::NoData.into()),
            _ => {}
        }
        match (place.and_then(|place| list.get_mut(place)), value) {
            (Some(attribute), Some(value)) => attribute.1 = value,
            (_, None) => list.retain(|(there, _)| *there != name),
            (None, Some(value)) => list.push((name, value)),
        }
        let bytes = encode(&list);
        self.set_xattr_bytes(log, ino, bytes)
    }

    /// The names of all attributes.
    pub(crate) fn xattr_list(&mut self, log: &mut Log<'_>, ino: u32) -> Result<Vec<Vec<u8>>> {
        let bytes = self.xattr_bytes(log, ino)?;
        let list = decode(&bytes).ok_or(Damage::Xattr(ino))?;
        Ok(list.into_iter().map(|(name, _)| name.to_vec()).collect())
    }
}
