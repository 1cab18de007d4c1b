//! Extended attributes, which the paper does not have: one list, in blocks behind the last that a file can reach,
//! 0xff0000.

use pumice_common::{Inodes, Xattrs, damaged, get_u32};
use pumice_vfs::{Errno, Result, XattrMode};

use super::Volume;
use crate::inode::BLOCKS_MAX;
use crate::layout::{BLOCK_BYTES, POINTERS};
use crate::spare::Owner;

const NAME_MAX: usize = 255;
const VALUE_MAX: usize = 65_536;
/// Bytes of all attributes of an inode.
const ALL_MAX: usize = 1 << 20;
const NAMESPACES: [&[u8]; 4] = [b"user.", b"trusted.", b"security.", b"system."];

/// Names and values.
type Attributes = Vec<(Vec<u8>, Vec<u8>)>;

/// A list: one byte for the name's length, four for the value's, name, value.
fn parse(mut bytes: &[u8]) -> Option<Attributes> {
    let mut found = Vec::new();
    while let Some((name_bytes, rest)) = bytes.split_first() {
        let (name_bytes, value_bytes) = (usize::from(*name_bytes), get_u32(rest.get(..4)?, 0) as usize);
        let (name, rest) = rest[4..].split_at_checked(name_bytes)?;
        let (value, rest) = rest.split_at_checked(value_bytes)?;
        found.push((name.to_vec(), value.to_vec()));
        bytes = rest;
    }
    Some(found)
}

fn print(attributes: &Attributes) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in attributes {
        bytes.push(name.len().to_le_bytes()[0]);
        bytes.extend_from_slice(&value.len().to_le_bytes()[..4]);
        bytes.extend_from_slice(name);
        bytes.extend_from_slice(value);
    }
    bytes
}

fn check(name: &[u8], value: &[u8]) -> Result<()> {
    if name.is_empty() || name.len() > NAME_MAX || value.len() > VALUE_MAX {
        return Err(Errno::Range.into());
    }
    let space = NAMESPACES.iter().find(|space| name.starts_with(space)).ok_or(Errno::NotSupported)?;
    if name.len() == space.len() || name.contains(&0) { Err(Errno::Invalid.into()) } else { Ok(()) }
}

impl Xattrs for Volume<'_> {
    fn list_xattr(&mut self, ino: u32) -> Result<Vec<Vec<u8>>> {
        Ok(self.attributes(ino)?.into_iter().map(|(name, _)| name).collect())
    }

    fn xattr(&mut self, ino: u32, name: &[u8]) -> Result<Vec<u8>> {
        let found = self.attributes(ino)?.into_iter().find(|(of, _)| of == name);
        found.map(|(_, value)| value).ok_or_else(|| Errno::NoData.into())
    }

    fn set_xattr(&mut self, ino: u32, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.writable()?;
        check(name, value)?;
        let mut all = self.attributes(ino)?;
        match (mode, all.iter_mut().find(|(of, _)| of == name)) {
            (XattrMode::Create, Some(_)) => return Err(Errno::Exists.into()),
            (XattrMode::Replace, None) => return Err(Errno::NoData.into()),
            (_, Some(there)) => there.1 = value.to_vec(),
            (_, None) => all.push((name.to_vec(), value.to_vec())),
        }
        self.put_attributes(ino, &all)
    }

    fn remove_xattr(&mut self, ino: u32, name: &[u8]) -> Result<()> {
        self.writable()?;
        let mut all = self.attributes(ino)?;
        let before = all.len();
        all.retain(|(of, _)| of != name);
        if all.len() == before {
            return Err(Errno::NoData.into());
        }
        self.put_attributes(ino, &all)
    }
}

impl Volume<'_> {
    fn attributes(&mut self, ino: u32) -> Result<Attributes> {
        let length = self.inode(ino)?.xattrs as usize;
        if length > ALL_MAX {
            return Err(damaged(format_args!("inode {ino} has {length} bytes of extended attributes")));
        }
        let mut bytes = vec![0; length];
        self.read_blocks(ino, u64::from(BLOCKS_MAX) * BLOCK_BYTES as u64, &mut bytes)?;
        parse(&bytes)
            .ok_or_else(|| damaged(format_args!("the extended attributes of inode {ino} make no sense")))
    }

    /// Writes the list anew.
    fn put_attributes(&mut self, ino: u32, all: &Attributes) -> Result<()> {
        let bytes = print(all);
        if bytes.len() > ALL_MAX {
            return Err(Errno::NoSpace.into());
        }
        let length = u32::try_from(bytes.len()).map_err(|_| Errno::NoSpace)?;
        let (old, new) = (self.inode(ino)?.xattrs.div_ceil(1024), length.div_ceil(1024));
        let more = if new > old { new - old + 4 + new / POINTERS } else { 0 };
        self.change(new + 8, more, |volume| {
            for (number, part) in (0..).zip(bytes.chunks(BLOCK_BYTES)) {
                let mut block = part.to_vec();
                block.resize(BLOCK_BYTES, 0);
                let kind = volume.inode(ino)?.content();
                let owner = Owner { ino, kind, offset: BLOCKS_MAX + number };
                volume.buffer.take_if(|kept| kept.owner == owner);
                volume.index.write(owner, &block)?;
            }
            let content = volume.inode(ino)?.content();
            volume.index.punch(ino, content, BLOCKS_MAX + new, 1 << 24)?;
            let mut inode = volume.inode(ino)?;
            inode.xattrs = length;
            inode.times[2] = volume.now();
            volume.index.set_inode(ino, &inode)
        })
    }
}
