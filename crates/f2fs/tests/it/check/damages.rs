//! A damage for each code of the check.

use pumice_f2fs::{
    check::Code,
    layout::{
        BlockAddr, DentryLayout, InlineFlags, Inode, InodeFlags, Nid, NodeFooter, RawDentry, RawSuperBlock,
        SegNo,
    },
};
use pumice_vfs::FileKind;
use zerocopy::{FromBytes, IntoBytes};

use super::patient::{BLOCK, Patient, place};

/// Offsets in an inode's block.
const MODE: usize = 0;
const ADVISE_INLINE: usize = 3;
const LINKS: usize = 12;
const SIZE: usize = 16;
const BLOCKS: usize = 24;
const ATIME: usize = 32;
const DEPTH: usize = 72;
const FLAGS: usize = 80;
const PARENT: usize = 84;
const NAME_BYTES: usize = 88;
const EXTENT_LENGTH: usize = 356;
const EXTRA_BYTES: usize = 360;
const SAVED_BLOCKS: usize = 384;
const COMPRESS_LEVEL: usize = 395;
const NIDS: usize = BLOCK - 24 - 20;
/// Offsets in a node's footer.
const FOOTER_NID: usize = BLOCK - 24;
const FOOTER_FLAG: usize = BLOCK - 16;
const FOOTER_NEXT: usize = BLOCK - 4;

pub(crate) type Damage = fn(&mut Patient);

/// Code, volume, and damage.
pub(crate) const DAMAGES: &[(Code, &str, Damage)] = &[
    (Code::SuperBlock, "g02-allfeat", |p| p.flip(1024)),
    (Code::SuperBlockCopy, "g02-allfeat", |p| p.flip(BLOCK + 1024 + 108)),
    (Code::SuperBlockErrors, "g01-basic", |p| {
        p.flip(1024 + std::mem::offset_of!(RawSuperBlock, s_errors));
    }),
    (Code::Checkpoint, "g02-allfeat", |p| {
        for pack in [1, 2] {
            let head = p.volume().super_block().checkpoint_addr(pack);
            p.write(place(head), &[0; BLOCK]);
        }
    }),
    (Code::CheckpointPassedOver, "g02-allfeat", |p| {
        let head = p.volume().super_block().checkpoint_addr(p.volume().checkpoint().pack());
        p.flip(place(head) + 8);
    }),
    (Code::CheckpointNumbers, "g02-allfeat", |p| p.edit_checkpoint(|raw| raw.overprov_segment_count.set(0))),
    (Code::CheckpointFlag, "g02-allfeat", |p| p.edit_checkpoint(|raw| raw.ckpt_flags |= 0x10)),
    (Code::CheckpointValidBlocks, "g02-allfeat", |p| p.edit_checkpoint(|raw| raw.valid_block_count += 1)),
    (Code::CheckpointValidNodes, "g02-allfeat", |p| p.edit_checkpoint(|raw| raw.valid_node_count += 1)),
    (Code::CheckpointValidInodes, "g02-allfeat", |p| p.edit_checkpoint(|raw| raw.valid_inode_count -= 1)),
    (Code::CheckpointFreeSegments, "g02-allfeat", |p| p.edit_checkpoint(|raw| raw.free_segment_count -= 1)),
    (Code::JournalNat, "g09-crash-orphan", |p| journal(p, 0)),
    (Code::JournalSit, "g09-crash-orphan", |p| journal(p, 1)),
    (Code::LogSegment, "g02-allfeat", |p| {
        p.edit_checkpoint(|raw| raw.cur_data_segno[0] = raw.cur_data_segno[1]);
    }),
    (Code::LogSegmentKind, "g02-allfeat", |p| {
        p.edit_checkpoint(|raw| std::mem::swap(&mut raw.cur_data_segno[0], &mut raw.cur_node_segno[0]));
    }),
    (Code::LogNextBlock, "g02-allfeat", |p| p.edit_checkpoint(|raw| raw.cur_data_blkoff[1] -= 1)),
    (Code::LogAllocation, "g02-allfeat", |p| p.edit_checkpoint(|raw| raw.alloc_type[2] = 2)),
    (Code::RollForwardChain, "g08-crash-rollfwd", |p| {
        let head = &p.volume().log_heads()[4];
        let first = BlockAddr(p.volume().segment_start(head.segno).0 + u32::from(head.offset));
        p.put32(place(first) + FOOTER_NEXT, first.0);
    }),
    (Code::NatAddress, "g02-allfeat", |p| nat(p, 5, 7)),
    (Code::NatInode, "g02-allfeat", |p| nat(p, 1, 0)),
    (Code::NatShared, "g02-allfeat", |p| {
        let root = p.node_at(Nid(3)).0;
        nat(p, 5, root);
    }),
    (Code::NatBits, "g02-allfeat", |p| {
        let bytes = p.volume().nat_bits().unwrap().expect("the volume has NAT bits").len();
        let head = p.volume().super_block().checkpoint_addr(p.volume().checkpoint().pack());
        let blocks = u32::try_from(bytes.div_ceil(BLOCK)).unwrap();
        p.flip(place(BlockAddr(head.0 + 512 - blocks)) + 8);
    }),
    (Code::SitCount, "g02-allfeat", |p| {
        let segno = segment(p);
        p.edit_sit(segno, |raw| raw.vblocks ^= 1);
    }),
    (Code::SitKind, "g02-allfeat", |p| {
        let segno = segment(p);
        p.edit_sit(segno, |raw| raw.vblocks ^= 0x1000);
    }),
    (Code::SitMissing, "g02-allfeat", |p| {
        let segno = segment(p);
        p.edit_sit(segno, |raw| {
            let byte = raw.valid_map.iter_mut().find(|byte| **byte != 0).unwrap();
            *byte &= *byte - 1;
        });
    }),
    (Code::SitExtra, "g02-allfeat", |p| {
        let segno = SegNo(p.volume().super_block().main_segments() - 1);
        assert_eq!(p.volume().sit_entry(segno).unwrap().bits(), 0);
        p.edit_sit(segno, |raw| raw.valid_map[9] = 4);
    }),
    (Code::SsaKind, "g02-allfeat", |p| {
        let at = summary(p);
        p.flip(at + BLOCK - 5);
    }),
    (Code::SsaOwner, "g02-allfeat", |p| {
        let at = summary(p);
        p.write(at, &[0; 512 * 7]);
    }),
    (Code::BlockUnreadable, "g02-allfeat", |p| {
        let file = plain_file(p);
        p.break_block(p.node_at(file.ino));
    }),
    (Code::BlockShared, "g02-allfeat", |p| {
        let file = plain_file(p);
        let at = file.addrs_at();
        p.edit_inode(file.ino, |block| block.copy_within(at..at + 4, at + 4));
    }),
    (Code::NodeFooter, "g02-allfeat", |p| {
        let (_, direct) = file_with_nodes(p);
        p.put32(place(p.node_at(direct)) + FOOTER_NID, 3);
    }),
    (Code::NodeMissing, "g02-allfeat", |p| {
        let (file, _) = file_with_nodes(p);
        let unused = p.volume().super_block().nid_limit() - 1;
        p.edit_inode(file.ino, |block| put(block, NIDS, unused));
    }),
    (Code::NodePlace, "g02-allfeat", |p| {
        let (_, direct) = file_with_nodes(p);
        p.put32(place(p.node_at(direct)) + FOOTER_FLAG, 2 << 3);
    }),
    (Code::NodeShared, "g02-allfeat", |p| {
        let (file, direct) = file_with_nodes(p);
        p.edit_inode(file.ino, |block| put(block, NIDS + 4, direct.0));
    }),
    (Code::NodeUnreferenced, "g02-allfeat", |p| {
        let (file, _) = file_with_nodes(p);
        p.edit_inode(file.ino, |block| put(block, NIDS, 0));
    }),
    (Code::Inode, "g02-allfeat", |p| {
        let file = plain_file(p);
        p.edit_inode(file.ino, |block| block[MODE + 1] = 0);
    }),
    (Code::InodeChecksum, "g02-allfeat", |p| {
        let file = plain_file(p);
        p.flip(place(p.node_at(file.ino)) + ATIME);
    }),
    (Code::InodeExtra, "g02-allfeat", |p| {
        let file = plain_file(p);
        p.edit_inode(file.ino, |block| block[EXTRA_BYTES] += 4);
    }),
    (Code::InodeCompression, "g06-compress", |p| {
        let file = p.find(|inode, _| inode.compression().is_some());
        p.edit_inode(file.ino, |block| block[COMPRESS_LEVEL] = 99);
    }),
    (Code::InodeName, "g02-allfeat", |p| {
        let file = plain_file(p);
        p.edit_inode(file.ino, |block| block[NAME_BYTES + 1] = 1);
    }),
    (Code::InodeBlocks, "g02-allfeat", |p| {
        let file = plain_file(p);
        p.edit_inode(file.ino, |block| block[BLOCKS] ^= 1);
    }),
    (Code::InodeLinks, "g02-allfeat", |p| {
        let file = plain_file(p);
        p.edit_inode(file.ino, |block| block[LINKS] ^= 2);
    }),
    (Code::InodeInline, "g02-allfeat", |p| {
        let file = p.find(|inode, _| inode.has_inline_data() && inode.size > 0);
        p.edit_inode(file.ino, |block| block[ADVISE_INLINE] &= !InlineFlags::DATA_EXIST.0);
    }),
    (Code::InodeExtent, "g02-allfeat", |p| {
        let file = p.find(|inode, _| {
            inode.kind == FileKind::File && inode.extent.blocks > 0 && inode.cluster_blocks().is_none()
        });
        p.edit_inode(file.ino, |block| put(block, EXTENT_LENGTH, file.extent.blocks + 1));
    }),
    (Code::InodeFlags, "g01-basic", |p| {
        let directory = directory(p);
        p.edit_inode(directory.ino, |block| put(block, FLAGS, directory.flags.0 | InodeFlags::CASEFOLD.0));
    }),
    (Code::InodeSize, "g02-allfeat", |p| {
        let directory = directory(p);
        p.edit_inode(directory.ino, |block| block[SIZE] ^= 1);
    }),
    (Code::InodeUnnamed, "g02-allfeat", |p| {
        let (at, slots) = entries(p);
        let byte = p.read(at + slots[2] / 8, 1)[0];
        p.write(at + slots[2] / 8, &[byte & !(1 << (slots[2] % 8))]);
    }),
    (Code::DataAddress, "g02-allfeat", |p| {
        let file = plain_file(p);
        let at = file.addrs_at();
        p.edit_inode(file.ino, |block| put(block, at, 7));
    }),
    (Code::ClusterShape, "g06-compress", |p| {
        let (file, mark) = compressed(p);
        p.edit_inode(file.ino, |block| put(block, mark + 4, 0));
    }),
    (Code::ClusterHeader, "g06-compress", |p| {
        let (file, mark) = compressed(p);
        let first = word(&p.read(place(p.node_at(file.ino)) + mark + 4, 4));
        p.put32(place(BlockAddr(first)), 1 << 20);
    }),
    (Code::ClusterSaved, "g06-compress", |p| {
        let (file, _) = compressed(p);
        p.edit_inode(file.ino, |block| block[SAVED_BLOCKS] ^= 1);
    }),
    (Code::Xattr, "g02-allfeat", |p| {
        let file = p.find(|inode, block| block[inode.xattr_range()].iter().take(28).any(|byte| *byte != 0));
        let at = file.xattr_range().start + 24;
        p.edit_inode(file.ino, |block| put(block, at, 0xffff_ff01));
    }),
    (Code::CryptContext, "g13-encrypt", |p| {
        let file = p.find(|inode, _| inode.is_encrypted());
        let at = file.xattr_range().start + 24 + 4 + 1;
        p.edit_inode(file.ino, |block| block[at] = 9);
    }),
    (Code::Verity, "verity", |p| {
        let file = p.find(|inode, _| inode.is_verity() && inode.size > 0 && inode.cluster_blocks().is_none());
        let first = word(&p.read(place(p.node_at(file.ino)) + file.addrs_at(), 4));
        p.flip(place(BlockAddr(first)));
    }),
    (Code::DentrySlots, "g02-allfeat", |p| entry(p, |raw, _| raw.name_len.set(0))),
    (Code::DentryInode, "g02-allfeat", |p| entry(p, |raw, _| raw.ino.set(u32::MAX))),
    (Code::DentryType, "g02-allfeat", |p| entry(p, |raw, _| raw.file_type ^= 4)),
    (Code::DentryHash, "g02-allfeat", |p| entry(p, |raw, _| raw.hash_code ^= 1 << 31)),
    (Code::DentryPlace, "g02-allfeat", |p| {
        let directory = directory(p);
        p.edit_inode(directory.ino, |block| put(block, DEPTH, 0));
    }),
    (Code::DentryName, "g02-allfeat", |p| entry(p, |_, name| name[0] = b'/')),
    (Code::DentryTwice, "g02-allfeat", |p| {
        let layout = DentryLayout::for_block(p.volume().block_size());
        let (at, slots) = entries(p);
        let length =
            |slot: usize| layout.entry(&p.read(at, BLOCK), u32::try_from(slot).unwrap()).unwrap().name.len();
        let (first, second) =
            (slots[2], *slots[3..].iter().find(|slot| length(**slot) == length(slots[2])).unwrap());
        let name = p.read(at + layout.name_at(u32::try_from(first).unwrap()), length(first));
        p.write(at + layout.name_at(u32::try_from(second).unwrap()), &name);
    }),
    (Code::Dots, "g02-allfeat", |p| {
        let layout = DentryLayout::for_block(p.volume().block_size());
        let (at, slots) = entries(p);
        p.put32(at + layout.entry_at(u32::try_from(slots[0]).unwrap()) + 4, 5);
    }),
    (Code::DirectoryParent, "g02-allfeat", |p| {
        let directory = directory(p);
        p.edit_inode(directory.ino, |block| put(block, PARENT, directory.ino.0));
    }),
    (Code::OrphanInode, "g09-crash-orphan", |p| orphan(p, u32::MAX)),
    (Code::OrphanNamed, "g09-crash-orphan", |p| {
        let file = p.find(|inode, _| inode.kind == FileKind::File && inode.links > 0);
        orphan(p, file.ino.0);
    }),
    (Code::QuotaInode, "g11-quota", |p| {
        for copy in [1024, BLOCK + 1024] {
            let (mut raw, _) = RawSuperBlock::read_from_prefix(&p.read(copy, 3072)).unwrap();
            raw.qf_ino[0].set(p.volume().super_block().root().0);
            p.write(copy, raw.as_bytes());
        }
    }),
    (Code::QuotaFile, "g11-quota", |p| {
        let at = quota_block(p, 0);
        p.flip(at);
    }),
    (Code::QuotaUsage, "g11-quota", |p| {
        // Root, three levels below it, then the first leaf: the inodes of its first entry.
        let leaf = quota_block(p, 5);
        assert_ne!(word(&p.read(leaf + 8, 4)) & 0xffff, 0, "the leaf has entries");
        p.flip(leaf + 16 + 24);
    }),
];

fn put(block: &mut [u8], at: usize, value: u32) {
    block[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(*bytes.first_chunk().unwrap())
}

/// The first entry of a journal, which there is in any case, gets a number that cannot be.
fn journal(p: &mut Patient, which: usize) {
    let at = p.journals()[which];
    let count = word(&p.read(at, 4)) & 0xffff;
    p.write(at, &u16::try_from(count.max(1)).unwrap().to_le_bytes());
    p.put32(at + 2, 0xffff_ff00);
}

/// Changes a word of a node's entry in the NAT.
fn nat(p: &mut Patient, inside: usize, value: u32) {
    let (_, direct) = file_with_nodes(p);
    let at = p.nat_place(direct);
    p.put32(at + inside, value);
}

/// A segment of data that no log writes to.
fn segment(p: &Patient) -> SegNo {
    p.full_segments().into_iter().find(|segno| p.volume().sit_entry(*segno).unwrap().kind < 3).unwrap()
}

/// The place of its summary.
fn summary(p: &Patient) -> usize {
    place(BlockAddr(p.volume().super_block().raw().ssa_blkaddr.get() + segment(p).0))
}

/// A file with two blocks that its inode names.
fn plain_file(p: &Patient) -> Inode {
    p.find(|inode, block| {
        let at = inode.addrs_at();
        inode.kind == FileKind::File
            && !inode.has_inline_data()
            && inode.cluster_blocks().is_none()
            && !p.volume().super_block().quota_inodes().contains(&inode.ino)
            && BlockAddr(word(&block[at..])).is_block()
            && BlockAddr(word(&block[at + 4..])).is_block()
    })
}

/// A file with a direct node, which no journal has.
fn file_with_nodes(p: &Patient) -> (Inode, Nid) {
    let file = p.find(|inode, block| {
        let [first, second, ..] = inode.nids(block);
        inode.kind == FileKind::File
            && !first.is_null()
            && second.is_null()
            && !p.volume().nat_journal().contains_key(&first)
    });
    let nid = file.nids(&p.read(place(p.node_at(file.ino)), BLOCK))[0];
    let block = p.read(place(p.node_at(nid)), BLOCK);
    assert_eq!(NodeFooter::of(&block).unwrap().nid, nid);
    (file, nid)
}

/// A directory with plain names and blocks of its own.
fn directory(p: &Patient) -> Inode {
    p.find(|inode, block| {
        inode.kind == FileKind::Dir
            && inode.ino.0 > 3
            && !inode.has_inline_dentry()
            && !inode.is_casefolded()
            && BlockAddr(word(&block[inode.addrs_at()..])).is_block()
            && slots_of(p, inode).1.len() > 6
    })
}

/// Its first block, and the slots of the entries there: `.`, `..`, and others.
fn entries(p: &Patient) -> (usize, Vec<usize>) {
    slots_of(p, &directory(p))
}

fn slots_of(p: &Patient, directory: &Inode) -> (usize, Vec<usize>) {
    let layout = DentryLayout::for_block(p.volume().block_size());
    let at = place(BlockAddr(word(&p.read(place(p.node_at(directory.ino)) + directory.addrs_at(), 4))));
    let block = p.read(at, BLOCK);
    let mut slots = Vec::new();
    let mut next = 0;
    while let Some(entry) = layout.next(&block, next).unwrap() {
        slots.push(entry.slot as usize);
        next = entry.slot + entry.slots();
    }
    (at, slots)
}

/// Changes the first entry behind `.` and `..`.
fn entry(p: &mut Patient, change: impl Fn(&mut RawDentry, &mut [u8])) {
    let layout = DentryLayout::for_block(p.volume().block_size());
    let (at, slots) = entries(p);
    let slot = u32::try_from(slots[2]).unwrap();
    let (entry, name) = (at + layout.entry_at(slot), at + layout.name_at(slot));
    let mut raw = RawDentry::read_from_bytes(&p.read(entry, 11)).unwrap();
    let mut letters = p.read(name, 8);
    change(&mut raw, &mut letters);
    p.write(entry, raw.as_bytes());
    p.write(name, &letters);
}

/// A compressed file, and the place in its inode where a cluster is marked.
fn compressed(p: &Patient) -> (Inode, usize) {
    let mark = |inode: &Inode, block: &[u8]| {
        (0..8).map(|cluster| inode.addrs_at() + cluster * 16).find(|at| word(&block[*at..]) == u32::MAX - 1)
    };
    let file = p.find(|inode, block| inode.cluster_blocks() == Some(4) && mark(inode, block).is_some());
    let at = mark(&file, &p.read(place(p.node_at(file.ino)), BLOCK)).unwrap();
    (file, at)
}

/// The first orphan becomes another.
fn orphan(p: &mut Patient, ino: u32) {
    let head = p.volume().super_block().checkpoint_addr(p.volume().checkpoint().pack());
    let payload = p.volume().super_block().raw().cp_payload.get();
    p.put32(place(BlockAddr(head.0 + 1 + payload)), ino);
}

/// A block of 1024 bytes of the users' quota file.
fn quota_block(p: &Patient, number: usize) -> usize {
    let ino = p.volume().super_block().quota_inodes()[0];
    let (inode, _) = p.nodes.inode(ino).unwrap();
    let address = place(p.node_at(ino)) + inode.addrs_at() + number / 4 * 4;
    place(BlockAddr(word(&p.read(address, 4)))) + number % 4 * 1024
}
