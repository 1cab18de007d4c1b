//! The inode of an entry: attributes, extended attributes, and the contents of its words.

use pumice_vfs::FileKind;
use zerocopy::IntoBytes;

use super::{
    FormatError, FormatOptions,
    mapper::{Mapped, footer, log_of},
    tree::{Attributes, wrong},
};
use crate::{
    layout::{
        InlineFlags, Inode, InodeFlags, Nid, NodeOffset, XattrEntry, XattrList, XattrSpace, stored_acl,
    },
    verity::{self, Seal},
    write::Writer,
};

/// Owner of files that no project owns.
const NO_PROJECT: u32 = 0;

/// The contents of an inode's words.
pub(super) enum Body {
    /// Nothing: a device, pipe or socket, or an empty file.
    Empty,
    /// Content: data, or names.
    Inline(Vec<u8>),
    /// Addresses.
    Mapped(Mapped),
}

/// The place of an entry in the tree.
pub(super) struct Standing<'a> {
    pub(super) ino: Nid,
    pub(super) parent: Nid,
    pub(super) name: &'a [u8],
    pub(super) links: u32,
}

/// An inode with the attributes of an entry. Its size, and all that depends on its content, is still to be set.
pub(super) fn begin(what: &Attributes, standing: &Standing<'_>, options: &FormatOptions) -> Inode {
    let perm = u16::try_from(what.perm & 0o7777).unwrap_or_default();
    let mut inode = Inode::fresh(standing.ino, what.kind, perm, options.shape.block, options.shape.features);
    (inode.uid, inode.gid) = (what.uid, what.gid);
    (inode.atime, inode.mtime, inode.ctime) = (what.mtime, what.mtime, options.time);
    inode.links = standing.links;
    inode.parent = standing.parent;
    inode.name_len = u32::try_from(standing.name.len()).unwrap_or_default();
    inode.name.iter_mut().zip(standing.name).for_each(|(to, from)| *to = *from);
    inode.generation = generation(options.seed, standing.ino);
    if let Some(extra) = &mut inode.extra {
        extra.crtime = options.time;
        extra.project = NO_PROJECT;
    }
    inode.flags = what.flags;
    if what.kind == FileKind::Dir {
        inode.dir_level = options.dir_level;
        inode.depth = 1;
        if options.ignore_case {
            inode.flags = inode.flags.with(InodeFlags::CASEFOLD);
        }
    }
    inode
}

/// A number that differs with the seed and the inode.
fn generation(seed: u64, ino: Nid) -> u32 {
    let [a, b, c, d, ..] = mixed(seed ^ u64::from(ino.0)).to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// SplitMix64: every bit of the result depends on every bit of the seed.
pub(super) fn mixed(seed: u64) -> u64 {
    let word = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Writes the inode, behind the node of its attributes, if it has one. Returns the blocks that it counts.
pub(super) fn finish(
    writer: &mut Writer,
    mut inode: Inode,
    body: &Body,
    rdev: u32,
    attributes: &XattrList,
) -> Result<u64, FormatError> {
    let mut block = vec![0; writer.super_block().block().width()];
    let is_dir = inode.kind == FileKind::Dir;
    put_attributes(writer, &mut inode, attributes, &mut block)?;
    match body {
        Body::Empty => put(&mut block, inode.addrs_at(), &Inode::device_words(rdev)),
        Body::Inline(bytes) => {
            inode.inline = inode.inline.with(if is_dir { InlineFlags::DENTRY } else { InlineFlags::DATA });
            if !is_dir && !bytes.is_empty() {
                inode.inline = inode.inline.with(InlineFlags::DATA_EXIST);
            }
            put(&mut block, inode.inline_range().start, bytes);
        }
        Body::Mapped(mapped) => {
            inode.blocks += mapped.blocks;
            if inode.kind == FileKind::File && inode.cluster_blocks().is_none() {
                inode.extent = mapped.extent;
            }
            put(&mut block, inode.addrs_at(), &mapped.words);
            Inode::put_nids(mapped.nids, &mut block);
        }
    }
    inode.write_to(&mut block);
    let footer = footer(inode.ino, inode.ino, NodeOffset::INODE, is_dir);
    writer.append_node(writer.stream(log_of(is_dir)), &mut block, footer)?;
    Ok(inode.blocks)
}

/// Puts attributes into the inode, and the rest into a node of their own.
fn put_attributes(
    writer: &mut Writer,
    inode: &mut Inode,
    list: &XattrList,
    block: &mut [u8],
) -> Result<(), FormatError> {
    let range = inode.xattr_range();
    let (inside, behind) = list.as_bytes().split_at(range.len().min(list.as_bytes().len()));
    put(block, range.start, inside);
    // Zeros end the list, and are there already.
    if list.as_bytes().is_empty() || list.end() <= range.len() {
        return Ok(());
    }
    let mut node = vec![0; block.len()];
    put(&mut node, 0, behind);
    let nid = writer.take_nid()?;
    let is_dir = inode.kind == FileKind::Dir;
    writer.append_node(
        writer.stream(log_of(is_dir)),
        &mut node,
        footer(nid, inode.ino, NodeOffset::XATTR, is_dir),
    )?;
    inode.xattr_nid = nid;
    inode.blocks += 1;
    Ok(())
}

fn put(block: &mut [u8], at: usize, bytes: &[u8]) {
    debug_assert!(at + bytes.len() <= block.len());
    if let Some(place) = block.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

/// The attributes of an entry as they are stored. Refuses those that F2FS has no place for.
pub(super) fn stored_attributes(
    what: &Attributes,
    seal: Option<&Seal>,
    room: usize,
    path: &str,
) -> Result<XattrList, FormatError> {
    let refused =
        |name: &[u8], why: &str| wrong(path.as_bytes(), format!("attribute {}: {why}", name.escape_ascii()));
    let mut values = Vec::new();
    for (name, value) in &what.xattrs {
        let (space, rest) =
            XattrSpace::of_name(name).ok_or_else(|| refused(name, "F2FS has no place for it"))?;
        let is_list = matches!(space, XattrSpace::AclAccess | XattrSpace::AclDefault);
        let value = if is_list {
            stored_acl(value).ok_or_else(|| refused(name, "it is no access control list"))?
        } else {
            value.clone()
        };
        values.push((space, rest, value));
    }
    if let Some(seal) = seal {
        let too_large = || wrong(path.as_bytes(), "it is too large to be sealed".to_owned());
        let location = seal.location(what.size).ok_or_else(too_large)?;
        values.push((XattrSpace::Verity, verity::XATTR_NAME, location.as_bytes().to_vec()));
    }
    let entries: Vec<XattrEntry<'_>> =
        values.iter().map(|(space, name, value)| XattrEntry { space: *space, name, value }).collect();
    let list = XattrList::of(&entries);
    if list.as_bytes().len() > room {
        let bytes = list.as_bytes().len();
        return Err(wrong(
            path.as_bytes(),
            format!("{bytes} bytes of attributes are too many (want at most {room})"),
        ));
    }
    Ok(list)
}
