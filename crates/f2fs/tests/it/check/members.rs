//! The members of F2FS's structures that `inject.f2fs` of f2fs-tools changes, and where each stands in a volume.

use std::ops::ControlFlow;

use fastrand::Rng;
use pumice_f2fs::{
    Mapped,
    layout::{
        BlockAddr, DentryLayout, Inode, Nid, NodeFooter, RawCheckpoint, RawExtraAttr, RawInode,
        RawSuperBlock, SegNo,
    },
};

use super::{
    patient::{BLOCK, Patient, Seal, place},
    subject::Subject,
};

/// Bytes of a number in a volume, and the checksums that have to be made right around it.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) at: usize,
    pub(crate) bytes: usize,
    pub(crate) seal: Seal,
}

/// Finds a member in a volume; `None` if this volume, or this draw, has none.
type Find = fn(&Subject, &Patient, &mut Rng) -> Option<Field>;

/// All 53.
pub(crate) const MEMBERS: &[(&str, Find)] = &[
    ("sb.magic", |_, _, draw| Some(super_block(draw, 0, 4))),
    ("sb.s_stop_reason", |_, _, draw| {
        let index = draw.usize(..32);
        Some(super_block(draw, std::mem::offset_of!(RawSuperBlock, s_stop_reason) + index, 1))
    }),
    ("sb.s_errors", |_, _, draw| {
        let index = draw.usize(..16);
        Some(super_block(draw, std::mem::offset_of!(RawSuperBlock, s_errors) + index, 1))
    }),
    ("sb.feature", |_, _, draw| Some(super_block(draw, std::mem::offset_of!(RawSuperBlock, feature), 4))),
    ("sb.devs.path", |_, _, draw| {
        let index = draw.usize(..8);
        Some(super_block(draw, std::mem::offset_of!(RawSuperBlock, devs) + 68 * index, 2))
    }),
    ("cp.checkpoint_ver", |_, p, draw| pack(p, draw, std::mem::offset_of!(RawCheckpoint, checkpoint_ver), 8)),
    ("cp.ckpt_flags", |_, p, draw| pack(p, draw, std::mem::offset_of!(RawCheckpoint, ckpt_flags), 4)),
    ("cp.cur_node_segno", |_, p, draw| {
        let index = draw.usize(..4);
        pack(p, draw, std::mem::offset_of!(RawCheckpoint, cur_node_segno) + 4 * index, 4)
    }),
    ("cp.cur_node_blkoff", |_, p, draw| {
        let index = draw.usize(..4);
        pack(p, draw, std::mem::offset_of!(RawCheckpoint, cur_node_blkoff) + 2 * index, 2)
    }),
    ("cp.cur_data_segno", |_, p, draw| {
        let index = draw.usize(..4);
        pack(p, draw, std::mem::offset_of!(RawCheckpoint, cur_data_segno) + 4 * index, 4)
    }),
    ("cp.cur_data_blkoff", |_, p, draw| {
        let index = draw.usize(..4);
        pack(p, draw, std::mem::offset_of!(RawCheckpoint, cur_data_blkoff) + 2 * index, 2)
    }),
    ("cp.alloc_type", |_, p, draw| {
        let index = draw.usize(..8);
        pack(p, draw, std::mem::offset_of!(RawCheckpoint, alloc_type) + index, 1)
    }),
    ("cp.next_blkaddr", |_, p, draw| promised(p, draw)),
    ("cp.crc", |_, p, draw| {
        let at = p.volume().checkpoint().raw().checksum_offset.get() as usize;
        pack(p, draw, at, 4).map(|field| Field { seal: Seal::None, ..field })
    }),
    ("cp.elapsed_time", |_, p, draw| pack(p, draw, std::mem::offset_of!(RawCheckpoint, elapsed_time), 8)),
    ("nat.version", |s, p, draw| Some(nat(s, p, draw, 0, 1))),
    ("nat.ino", |s, p, draw| Some(nat(s, p, draw, 1, 4))),
    ("nat.block_addr", |s, p, draw| Some(nat(s, p, draw, 5, 4))),
    ("sit.vblocks", |_, p, draw| Some(sit(p, draw, 0, 2))),
    ("sit.valid_map", |_, p, draw| {
        let index = draw.usize(..64);
        Some(sit(p, draw, 2 + index, 1))
    }),
    ("sit.mtime", |_, p, draw| Some(sit(p, draw, 66, 8))),
    ("ssa.entry_type", |_, p, draw| ssa(p, draw, |_| (BLOCK - 5, 1))),
    ("ssa.check_sum", |_, p, draw| ssa(p, draw, |_| (BLOCK - 4, 4))),
    ("ssa.nid", |_, p, draw| ssa(p, draw, |offset| (offset * 7, 4))),
    ("ssa.version", |_, p, draw| ssa(p, draw, |offset| (offset * 7 + 4, 1))),
    ("ssa.ofs_in_node", |_, p, draw| ssa(p, draw, |offset| (offset * 7 + 5, 2))),
    ("node.nid", |s, p, draw| Some(footer(s, p, draw, 0, 4))),
    ("node.ino", |s, p, draw| Some(footer(s, p, draw, 4, 4))),
    ("node.flag", |s, p, draw| Some(footer(s, p, draw, 8, 4))),
    ("node.cp_ver", |s, p, draw| Some(footer(s, p, draw, 12, 8))),
    ("node.next_blkaddr", |s, p, draw| Some(footer(s, p, draw, 20, 4))),
    ("node.i_mode", |s, p, draw| head(s, p, draw, std::mem::offset_of!(RawInode, i_mode), 2)),
    ("node.i_advise", |s, p, draw| head(s, p, draw, std::mem::offset_of!(RawInode, i_advise), 1)),
    ("node.i_inline", |s, p, draw| head(s, p, draw, std::mem::offset_of!(RawInode, i_inline), 1)),
    ("node.i_links", |s, p, draw| head(s, p, draw, std::mem::offset_of!(RawInode, i_links), 4)),
    ("node.i_size", |s, p, draw| head(s, p, draw, std::mem::offset_of!(RawInode, i_size), 8)),
    ("node.i_blocks", |s, p, draw| head(s, p, draw, std::mem::offset_of!(RawInode, i_blocks), 8)),
    ("node.i_xattr_nid", |s, p, draw| head(s, p, draw, std::mem::offset_of!(RawInode, i_xattr_nid), 4)),
    ("node.i_ext.fofs", |s, p, draw| head(s, p, draw, std::mem::offset_of!(RawInode, i_ext), 4)),
    ("node.i_ext.blk_addr", |s, p, draw| head(s, p, draw, std::mem::offset_of!(RawInode, i_ext) + 4, 4)),
    ("node.i_ext.len", |s, p, draw| head(s, p, draw, std::mem::offset_of!(RawInode, i_ext) + 8, 4)),
    ("node.i_extra_isize", |s, p, draw| {
        extra(s, p, draw, std::mem::offset_of!(RawExtraAttr, i_extra_isize), 2)
    }),
    ("node.i_inline_xattr_size", |s, p, draw| {
        extra(s, p, draw, std::mem::offset_of!(RawExtraAttr, i_inline_xattr_size), 2)
    }),
    ("node.i_inode_checksum", |s, p, draw| {
        let field = extra(s, p, draw, std::mem::offset_of!(RawExtraAttr, i_inode_checksum), 4)?;
        Some(Field { seal: Seal::None, ..field })
    }),
    ("node.i_compr_blocks", |s, p, draw| {
        let at = std::mem::offset_of!(RawExtraAttr, i_compr_blocks);
        inode(s, p, draw, |inode| inode.compression().map(|_| (size_of::<RawInode>() + at, 8)))
    }),
    ("node.i_addr", |s, p, draw| {
        let index = draw.usize(..923) >> draw.usize(..10);
        head(s, p, draw, size_of::<RawInode>() + 4 * index, 4)
    }),
    ("node.i_nid", |s, p, draw| {
        let index = draw.usize(..5);
        head(s, p, draw, BLOCK - 44 + 4 * index, 4)
    }),
    ("node.addr", |s, p, draw| {
        let index = draw.usize(..1018) >> draw.usize(..10);
        let others: Vec<Nid> = s.nids.iter().copied().filter(|nid| !s.is_inode(*nid)).collect();
        let nid = *others.get(draw.usize(..others.len().max(1)))?;
        Some(Field { at: place(p.node_at(nid)) + 4 * index, bytes: 4, seal: Seal::None })
    }),
    ("dent.d_bitmap", |s, p, draw| entry(s, p, draw, |_, slot| (slot as usize / 8, 1))),
    ("dent.d_hash", |s, p, draw| entry(s, p, draw, |layout, slot| (layout.entry_at(slot), 4))),
    ("dent.d_ino", |s, p, draw| entry(s, p, draw, |layout, slot| (layout.entry_at(slot) + 4, 4))),
    ("dent.d_ftype", |s, p, draw| entry(s, p, draw, |layout, slot| (layout.entry_at(slot) + 10, 1))),
    ("dent.filename", filename),
];

fn super_block(draw: &mut Rng, at: usize, bytes: usize) -> Field {
    let copy = draw.usize(..2);
    Field { at: copy * BLOCK + 1024 + at, bytes, seal: Seal::SuperBlock(copy) }
}

/// A field of the current pack mostly, of the other one sometimes.
fn pack(patient: &Patient, draw: &mut Rng, at: usize, bytes: usize) -> Option<Field> {
    let current = patient.volume().checkpoint().pack();
    let pack = if draw.u8(..4) == 0 { 3 - current } else { current };
    patient.volume().packs()[usize::from(pack) - 1].as_ref().ok()?;
    let head = patient.volume().super_block().checkpoint_addr(pack);
    Some(Field { at: place(head) + at, bytes, seal: Seal::Pack(pack) })
}

/// The next block of a node that fsync wrote since the checkpoint.
fn promised(patient: &Patient, draw: &mut Rng) -> Option<Field> {
    let volume = patient.volume();
    let (segno, offset) = volume.checkpoint().node_log(1);
    let mut here = BlockAddr(volume.segment_start(segno).0 + u32::from(offset));
    let mut chain = Vec::new();
    while volume.is_main(here) && chain.len() < 1000 {
        let footer = NodeFooter::of(&volume.block(here).unwrap()).unwrap();
        if footer.cp_version != volume.checkpoint().footer_version() {
            break;
        }
        chain.push((here, footer.is_inode().then_some(footer.ino)));
        here = footer.next;
    }
    let (addr, ino) = *chain.get(draw.usize(..chain.len().max(1)))?;
    let seal = ino.map_or(Seal::None, |ino| Seal::Inode(addr, ino));
    Some(Field { at: place(addr) + BLOCK - 4, bytes: 4, seal })
}

/// An entry of a node that is in use: in the journal if it is there, otherwise in one of the two places of its block.
fn nat(subject: &Subject, patient: &Patient, draw: &mut Rng, at: usize, bytes: usize) -> Field {
    let nid = subject.nids[draw.usize(..subject.nids.len())];
    if let Some(entry) = patient.nat_journal_place(nid) {
        return Field { at: entry + at, bytes, seal: Seal::None };
    }
    Field { at: patient.nat_place(nid) + at, bytes, seal: Seal::None }
}

fn sit(patient: &Patient, draw: &mut Rng, at: usize, bytes: usize) -> Field {
    let segno = SegNo(draw.u32(..patient.volume().super_block().main_segments()));
    let entry = patient.sit_journal_place(segno).unwrap_or_else(|| patient.sit_place(segno));
    Field { at: entry + at, bytes, seal: Seal::None }
}

/// A field in the summary of a random segment, mostly of one in use, about a random block of it.
fn ssa(patient: &Patient, draw: &mut Rng, within: fn(usize) -> (usize, usize)) -> Option<Field> {
    let full = patient.full_segments();
    let segno = match draw.u8(..4) {
        0 => SegNo(draw.u32(..patient.volume().super_block().main_segments())),
        _ => *full.get(draw.usize(..full.len().max(1)))?,
    };
    let (at, bytes) = within(draw.usize(..512));
    let block = BlockAddr(patient.volume().super_block().raw().ssa_blkaddr.get() + segno.0);
    Some(Field { at: place(block) + at, bytes, seal: Seal::None })
}

fn footer(subject: &Subject, patient: &Patient, draw: &mut Rng, at: usize, bytes: usize) -> Field {
    let nid = subject.nids[draw.usize(..subject.nids.len())];
    let addr = patient.node_at(nid);
    let seal = if subject.is_inode(nid) { Seal::Inode(addr, nid) } else { Seal::None };
    Field { at: place(addr) + BLOCK - 24 + at, bytes, seal }
}

fn inode(
    subject: &Subject,
    patient: &Patient,
    draw: &mut Rng,
    within: impl Fn(&Inode) -> Option<(usize, usize)>,
) -> Option<Field> {
    let ino = subject.inodes[draw.usize(..subject.inodes.len())];
    let (inode, node) = patient.nodes.inode(ino).unwrap();
    let (at, bytes) = within(&inode)?;
    Some(Field { at: place(node.addr) + at, bytes, seal: Seal::Inode(node.addr, ino) })
}

fn head(subject: &Subject, patient: &Patient, draw: &mut Rng, at: usize, bytes: usize) -> Option<Field> {
    inode(subject, patient, draw, |_| Some((at, bytes)))
}

fn extra(subject: &Subject, patient: &Patient, draw: &mut Rng, at: usize, bytes: usize) -> Option<Field> {
    inode(subject, patient, draw, |inode| inode.extra.map(|_| (size_of::<RawInode>() + at, bytes)))
}

/// An entry of a random directory, `.` and `..` among them. It comes with the beginning and layout of its block or
/// inline directory, its slot, the bytes of its name, and the checksums that have to be made right.
fn some_entry(
    subject: &Subject,
    patient: &Patient,
    draw: &mut Rng,
) -> Option<(usize, DentryLayout, u32, usize, Seal)> {
    let nodes = &patient.nodes;
    let ino = *subject.directories.get(draw.usize(..subject.directories.len()))?;
    let (inode, node) = nodes.inode(ino).unwrap();
    let mut entries = Vec::new();
    nodes
        .each_dentry(&inode, &node, &mut |leaf, entry| {
            entries.push((leaf, entry.slot, entry.name.len()));
            ControlFlow::Continue(())
        })
        .unwrap();
    let (leaf, slot, length) = *entries.get(draw.usize(..entries.len().max(1)))?;
    if inode.has_inline_dentry() {
        let range = inode.inline_range();
        let layout = DentryLayout::for_bytes(range.len());
        return Some((place(node.addr) + range.start, layout, slot, length, Seal::Inode(node.addr, ino)));
    }
    let Mapped::At(addr) = nodes.run_at(&inode, &node, leaf, 1).unwrap().mapped else { return None };
    Some((place(addr), DentryLayout::for_block(patient.volume().block_size()), slot, length, Seal::None))
}

fn entry(
    subject: &Subject,
    patient: &Patient,
    draw: &mut Rng,
    within: fn(&DentryLayout, u32) -> (usize, usize),
) -> Option<Field> {
    let (start, layout, slot, _, seal) = some_entry(subject, patient, draw)?;
    let (at, bytes) = within(&layout, slot);
    Some(Field { at: start + at, bytes, seal })
}

/// A letter of a name, with the hash that goes with it.
fn filename(subject: &Subject, patient: &Patient, draw: &mut Rng) -> Option<Field> {
    let (start, layout, slot, length, seal) = some_entry(subject, patient, draw)?;
    let name = start + layout.name_at(slot);
    let seal = Seal::Name { hash: start + layout.entry_at(slot), name, length, then: Box::new(seal) };
    Some(Field { at: name + draw.usize(..length), bytes: 1, seal })
}
