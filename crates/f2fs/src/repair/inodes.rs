//! Repairs of inodes: their kind, their sizes, their flags, their attributes.

use std::collections::BTreeMap;

use pumice_vfs::FileKind;

use super::{
    bench::{Bench, put, word_at},
    field,
    names::Entry,
};
use crate::{
    check::{Code, Cure, Finding, Object, Report},
    error::Result,
    layout::{
        Advise, BlockAddr, DentryLayout, EXTRA_BYTES, Features, InlineFlags, InodeFlags, Nid, NodeOffset,
        RawExtraAttr, RawInode, XattrList, file_kind,
    },
};

/// Words of inline attributes where nothing else is said.
const XATTR_WORDS: u16 = 50;
/// The beginning of the extra attributes, in bytes from the start of an inode.
const EXTRA_AT: usize = size_of::<RawInode>();
/// Bytes of a list of attributes in front of the first.
const XATTR_HEAD: usize = 24;

/// Mends all findings about inodes.
pub(super) fn mend(bench: &Bench, report: &Report) -> Result<()> {
    let kinds = named_kinds(bench, report);
    for finding in &report.findings {
        match (finding.code, finding.object, finding.cure) {
            (Code::Inode, Object::Inode(ino), _) => whole(bench, ino, kinds.get(&ino).copied())?,
            (Code::InodeExtra, Object::Inode(ino), _) => extra(bench, ino)?,
            (Code::InodeFlags, Object::Inode(ino), _) => flags(bench, ino)?,
            (Code::InodeInline, Object::Inode(ino), _) => inline(bench, ino)?,
            (Code::DataAddress | Code::ClusterShape, _, Cure::Pointer(nid, _)) => lost_inline(bench, nid)?,
            (Code::InodeChecksum, Object::Inode(ino), _) => bench.edit_node(ino, |_| ())?,
            (Code::InodeCompression, Object::Inode(ino), _) => compression(bench, ino)?,
            (Code::InodeName, Object::Inode(ino), _) => bench.edit_inode(ino, |raw| {
                raw.i_namelen.set(0);
                raw.i_advise |= Advise::LOST_PINO.0;
            })?,
            (Code::Xattr, Object::Inode(ino), _) => xattrs(bench, ino)?,
            _ => {}
        }
    }
    Ok(())
}

/// The kinds that names say inodes have which nobody can make sense of.
fn named_kinds(bench: &Bench, report: &Report) -> BTreeMap<Nid, FileKind> {
    let names = report.findings.iter().filter(|finding| finding.code == Code::DentryInode);
    let kind = |finding: &Finding| {
        let entry = Entry::at(bench, finding.object)?;
        Some((entry.ino, file_kind(entry.file_type)))
    };
    names.filter_map(kind).collect()
}

/// An inode that makes no sense: its kind is that of its name, and its sizes are the usual ones. If it still makes none,
/// it is given up.
fn whole(bench: &Bench, ino: Nid, kind: Option<FileKind>) -> Result<()> {
    let entry = bench.nat(ino)?;
    if entry.ino != ino || !bench.volume.is_main(entry.addr) {
        return Ok(());
    }
    let features = bench.volume.features();
    let is_sound = |bench: &Bench| bench.inode(ino).is_some();
    let Some(block) = bench.node(ino) else { return Ok(()) };
    let mode = word_at(&block, 0).map_or(0, |word| u16::try_from(word & 0xffff).unwrap_or(0));
    let root = (ino == bench.volume.super_block().root()).then_some(FileKind::Dir);
    let said = FileKind::from_mode(mode.into());
    if said.is_none() || (root.is_some() && said != root) {
        let kind = root.or(kind).unwrap_or_else(|| guess(&block, features));
        bench.set_file_kind(ino, kind)?;
    }
    if !is_sound(bench) {
        extra(bench, ino)?;
    }
    if !is_sound(bench) {
        bench.edit_node(ino, |block| {
            edit_extra(block, |raw| {
                (raw.i_log_cluster_size, raw.i_compress_algorithm) = (2, 1);
            });
        })?;
    }
    if !is_sound(bench) {
        bench.set_nat(ino, crate::layout::NatEntry { addr: BlockAddr::NULL, ..entry })?;
    }
    Ok(())
}

/// The kind of an inode without a name, by its flags.
fn guess(block: &[u8], features: Features) -> FileKind {
    debug_assert!(block.len() > EXTRA_AT, "an inode without words");
    let inline = InlineFlags(block.get(3).copied().unwrap_or_default());
    let folds = features.has(Features::CASEFOLD)
        && word_at(block, std::mem::offset_of!(RawInode, i_flags))
            .is_some_and(|flags| InodeFlags(flags).has(InodeFlags::CASEFOLD));
    let links = word_at(block, std::mem::offset_of!(RawInode, i_links)).unwrap_or(1);
    if inline.has(InlineFlags::DENTRY) || folds || links > 1 { FileKind::Dir } else { FileKind::File }
}

fn edit_extra(block: &mut [u8], edit: impl FnOnce(&mut RawExtraAttr)) {
    use zerocopy::FromBytes;
    let extra = block.get_mut(EXTRA_AT..).unwrap_or_default();
    if let Ok((raw, _)) = RawExtraAttr::mut_from_prefix(extra) {
        edit(raw);
    }
}

/// The sizes of the extra attributes are the root's, or the usual ones.
fn extra(bench: &Bench, ino: Nid) -> Result<()> {
    let features = bench.volume.features();
    if !features.has(Features::EXTRA_ATTR) {
        return bench.edit_inode(ino, |raw| raw.i_inline &= !InlineFlags::EXTRA_ATTR.0);
    }
    let root = bench.inode(bench.volume.super_block().root()).and_then(|(root, _)| root.extra);
    let bytes = root.map_or(EXTRA_BYTES, |extra| usize::from(extra.bytes).min(EXTRA_BYTES));
    let words = if features.has(Features::FLEXIBLE_INLINE_XATTR) { XATTR_WORDS } else { 0 };
    bench.edit_node(ino, |block| {
        if let Some(inline) = block.get_mut(3) {
            *inline |= InlineFlags::EXTRA_ATTR.0;
        }
        edit_extra(block, |raw| {
            raw.i_extra_isize.set(u16::try_from(bytes).unwrap_or_default());
            raw.i_inline_xattr_size.set(words);
        });
    })
}

/// Flags of features that the volume does not have.
fn flags(bench: &Bench, ino: Nid) -> Result<()> {
    let features = bench.volume.features();
    let is_dir = bench.inode(ino).is_some_and(|(inode, _)| inode.kind == FileKind::Dir);
    let clear = |feature| !features.has(feature);
    bench.edit_inode(ino, |raw| {
        let mut flags = raw.i_flags.get();
        if clear(Features::CASEFOLD) || !is_dir {
            flags &= !InodeFlags::CASEFOLD.0;
        }
        if clear(Features::COMPRESSION) {
            flags &= !InodeFlags::COMPRESSED.0;
        }
        if clear(Features::DEVICE_ALIAS) {
            flags &= !InodeFlags::DEVICE_ALIAS.0;
        }
        raw.i_flags.set(flags);
        if clear(Features::ENCRYPT) {
            raw.i_advise &= !(Advise::ENCRYPT.0 | Advise::ENC_NAME.0);
        }
        if clear(Features::VERITY) {
            raw.i_advise &= !Advise::VERITY.0;
        }
        if clear(Features::EXTRA_ATTR) {
            raw.i_inline &= !InlineFlags::EXTRA_ATTR.0;
        }
    })
}

/// Flags about contents that stand in the inode.
fn inline(bench: &Bench, ino: Nid) -> Result<()> {
    let Some((inode, block)) = bench.inode(ino) else { return Ok(()) };
    let is_dir = inode.kind == FileKind::Dir;
    let may_have_data = matches!(inode.kind, FileKind::File | FileKind::Symlink);
    let range = inode.inline_range();
    let first = word_at(&block, inode.addrs_at()).unwrap_or_default();
    // Only an inode with blocks of its own counts more than itself and its node of attributes.
    let has_blocks = inode.blocks > 1 + u64::from(!inode.xattr_nid.is_null());
    let (mut flags, mut size) = (inode.inline, inode.size);
    if inode.has_inline_dentry() && !is_dir || inode.has_inline_dentry() && first != 0 && has_blocks {
        flags = flags.without(InlineFlags::DENTRY);
    }
    if inode.has_inline_data() && (!may_have_data || first != 0 && has_blocks) {
        flags = flags.without(InlineFlags::DATA).without(InlineFlags::DATA_EXIST);
    }
    let is_inline = flags.has(InlineFlags::DATA) || flags.has(InlineFlags::DENTRY);
    let needs_blocks = inode.is_encrypted() || inode.is_verity() || inode.flags.has(InodeFlags::COMPRESSED);
    let in_vain = flags.has(InlineFlags::DATA) && inode.kind == FileKind::File && needs_blocks;
    if in_vain && has_blocks {
        flags = flags.without(InlineFlags::DATA).without(InlineFlags::DATA_EXIST);
    } else if flags.has(InlineFlags::DATA) {
        if size > range.len() as u64 {
            size = range.len() as u64;
        }
        flags = flags.with(InlineFlags::DATA_EXIST);
    }
    bench.edit_inode(ino, |raw| {
        raw.i_inline = flags.0;
        raw.i_size.set(size);
        if in_vain && !has_blocks {
            raw.i_advise &= !(Advise::ENCRYPT.0 | Advise::VERITY.0);
            raw.i_flags.set(raw.i_flags.get() & !InodeFlags::COMPRESSED.0);
        }
    })?;
    if is_inline && first != 0 {
        bench.edit_node(ino, |block| put(block, inode.addrs_at(), &0_u32.to_le_bytes()))?;
    }
    Ok(())
}

/// An inode whose words make no sense as addresses may have lost the flag that they are contents.
fn lost_inline(bench: &Bench, nid: Nid) -> Result<()> {
    let Some((inode, block)) = bench.inode(nid) else { return Ok(()) };
    if inode.has_inline_data() || inode.has_inline_dentry() || word_at(&block, inode.addrs_at()) != Some(0) {
        return Ok(());
    }
    let range = inode.inline_range();
    let bytes = block.get(range.clone()).unwrap_or_default();
    let has_blocks = inode.blocks > 1 + u64::from(!inode.xattr_nid.is_null());
    match inode.kind {
        FileKind::Dir => {
            let dot = DentryLayout::for_bytes(bytes.len()).entry(bytes, 0);
            if dot.is_some_and(|dot| dot.name == b"." && dot.ino == nid) {
                return bench.edit_inode(nid, |raw| raw.i_inline |= InlineFlags::DENTRY.0);
            }
            Ok(())
        }
        FileKind::File | FileKind::Symlink if !has_blocks && inode.size <= range.len() as u64 => {
            let flags = InlineFlags::DATA.with(InlineFlags::DATA_EXIST);
            bench.edit_inode(nid, |raw| raw.i_inline |= flags.0)
        }
        _ => Ok(()),
    }
}

fn compression(bench: &Bench, ino: Nid) -> Result<()> {
    let Some((inode, _)) = bench.inode(ino) else { return Ok(()) };
    let Some(now) = inode.compression().copied() else { return Ok(()) };
    bench.edit_node(ino, |block| {
        edit_extra(block, |raw| {
            // It is counted again when all else is right.
            if now.saved_blocks >= inode.blocks {
                raw.i_compr_blocks.set(0);
            }
            // zstd has no level 0.
            let level = u16::from(now.algorithm == 2);
            let kept = now.compress_flag & 0xff;
            raw.i_compress_flag.set(kept | level << 8);
        });
    })
}

/// Cuts a list of attributes in front of the first entry that makes no sense.
fn xattrs(bench: &Bench, ino: Nid) -> Result<()> {
    let Some((inode, block)) = bench.inode(ino) else { return Ok(()) };
    let range = inode.xattr_range();
    let node = bench.node_of(inode.xattr_nid, &block, NodeOffset::XATTR);
    if node.is_none() && !inode.xattr_nid.is_null() {
        return Ok(());
    }
    let inside = bench.volume.block_size().node_bytes();
    let more = node.as_ref().and_then(|block| block.get(..inside)).unwrap_or_default();
    let mut bytes = [block.get(range.clone()).unwrap_or_default(), more].concat();
    put(&mut bytes, 0, &XATTR_MAGIC);
    let list = XattrList::new(&bytes, &[]);
    let mut end = XATTR_HEAD;
    let mut found = 0;
    for entry in list.entries() {
        let Ok(entry) = entry else { break };
        end += entry.bytes();
        found += 1;
    }
    let kept = if found > 0 { end } else { 0 };
    bytes.iter_mut().skip(kept).for_each(|byte| *byte = 0);
    let (own, rest) = bytes.split_at(range.len().min(bytes.len()));
    bench.edit_node(ino, |block| put(block, range.start, own))?;
    if node.is_some() {
        bench.edit_node(inode.xattr_nid, |block| put(block, 0, rest))?;
    }
    Ok(())
}

/// The first word of a list of attributes.
const XATTR_MAGIC: [u8; 4] = 0xf2f5_2011_u32.to_le_bytes();

/// Mends what an inode counts, once its nodes, blocks and names are right.
pub(super) fn count(bench: &Bench, finding: &Finding) -> Result<()> {
    let (Object::Inode(ino), Cure::Number(count)) = (finding.object, finding.cure) else {
        return match (finding.code, finding.object) {
            (Code::InodeExtent, Object::Inode(ino)) => bench.edit_inode(ino, |raw| raw.i_ext.len.set(0)),
            _ => Ok(()),
        };
    };
    match finding.code {
        Code::InodeBlocks => bench.edit_inode(ino, |raw| raw.i_blocks.set(count)),
        Code::InodeLinks => {
            let links = field(count)?;
            bench.edit_inode(ino, |raw| raw.i_links.set(links))
        }
        Code::ClusterSaved => {
            bench.edit_node(ino, |block| edit_extra(block, |raw| raw.i_compr_blocks.set(count)))
        }
        _ => Ok(()),
    }
}
