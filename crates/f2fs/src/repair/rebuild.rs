//! A volume whose checkpoints or tables are gone, laid anew from the nodes that a search finds: NAT, SIT and SSA are made
//! from these, and a checkpoint if none is left. What still contradicts itself is left to the repair.

use std::collections::{BTreeMap, BTreeSet};

use pumice_vfs::FileKind;
use zerocopy::{FromZeros, IntoBytes, little_endian::U32};

use super::{
    bench::{Bench, put, word_at},
    draft::Draft,
    nat::HIDDEN,
    pack::{BLOCKS, COLD_NODES, DATA_LOGS, HOT_DATA, HOT_NODES, LOGS, Pack, WARM_DATA, WARM_NODES},
    refused, tables, tree,
};
use crate::{
    error::Result,
    layout::{
        BlockAddr, CpFlags, Features, NatEntry, Nid, NodeOffset, RawCheckpoint, RawNatEntry, SegNo, SitEntry,
        Summary, SummaryBlock, SummaryLayout, SuperBlock,
    },
    mkfs::geometry::reserve,
    rescue::Kept,
    volume::nat_entry_in,
    word::word,
};

/// Writes a checkpoint that counts nothing into a draft, in place of both packs. Its logs stand nowhere.
pub(super) fn checkpoint(draft: &Draft, sb: &SuperBlock, version: u64) {
    let mut raw = RawCheckpoint::new_zeroed();
    raw.set_version(version);
    raw.set_bitmaps(sb);
    let nowhere = U32::new(SegNo::NULL.0);
    (raw.cur_data_segno, raw.cur_node_segno) = ([nowhere; 8], [nowhere; 8]);
    raw.next_free_nid = U32::new(sb.root().0 + 1);
    if !raw.has_room_for_bitmaps(sb) {
        raw.change_flags(CpFlags(0), CpFlags::LARGE_NAT_BITMAP);
    }
    let layout = SummaryLayout::new(sb.block(), sb.features().has(Features::PACKED_SSA));
    let zeros = |bytes: U32| vec![0; bytes.get() as usize];
    let pack = Pack {
        number: 1,
        sit: zeros(raw.sit_ver_bitmap_bytesize),
        nat: zeros(raw.nat_ver_bitmap_bytesize),
        raw,
        summaries: (0..LOGS as usize).map(|log| SummaryBlock::empty(layout, log >= DATA_LOGS)).collect(),
        orphans: Vec::new(),
    };
    let blank = vec![0; sb.block().width()];
    for number in [1, 2] {
        let start = sb.checkpoint_addr(number).0;
        (start..start + sb.blocks_per_segment()).for_each(|addr| draft.write(BlockAddr(addr), &blank));
    }
    pack.write(draft, sb);
}

/// Writes the tables of a volume into a draft, so that they have what is kept, and nothing else.
pub(super) fn tables(draft: &Draft, kept: &Kept) -> Result<()> {
    let mut bench = Bench::open(draft)?;
    write_nat(&bench, kept);
    let mut survey = Survey { bench: &bench, segments: BTreeMap::new(), reached: BTreeSet::new() };
    let is_inode = |(nid, entry): (&Nid, &NatEntry)| (*nid == entry.ino).then_some(*nid);
    kept.nodes.iter().filter_map(is_inode).for_each(|ino| survey.inode(ino));
    let Survey { mut segments, reached, .. } = survey;
    for (nid, entry) in kept.nodes.iter().filter(|(nid, _)| !reached.contains(*nid)) {
        bench.set_nat(*nid, NatEntry { addr: BlockAddr::NULL, ..*entry })?;
    }
    let blocks: u64 = segments.values().map(|segment| u64::from(segment.sit.valid_blocks)).sum();
    for segno in (0..bench.volume.super_block().main_segments()).map(SegNo) {
        let segment = segments.remove(&segno);
        bench.set_sit(segno, &segment.as_ref().map_or(SitEntry::EMPTY, |segment| segment.sit))?;
        if let Some(segment) = segment {
            bench.edit_summary(segno, |summary| segment.write_to(summary))?;
        }
    }
    if !kept.has_checkpoint {
        let main = bench.volume.super_block().main_segments();
        set_reserve(&mut bench, main, blocks)?;
        (0..LOGS as usize).try_for_each(|log| tables::turn(&mut bench, log))?;
    }
    bench.keep();
    Ok(())
}

/// The NAT has the nodes that are kept. Free numbers, and those of before, keep their versions where they are known.
fn write_nat(bench: &Bench, kept: &Kept) {
    let per_block = bench.volume.block_size().nat_entries();
    for index in 0..bench.volume.nat_blocks() {
        let addr = bench.volume.nat_addr(index);
        let old = bench.draft.read(addr).ok().filter(|_| kept.has_checkpoint);
        let mut block = vec![0; bench.volume.block_size().width()];
        for slot in 0..per_block {
            let nid = Nid(index * per_block + slot);
            let version = old.as_ref().map_or(0, |old| nat_entry_in(old, slot).version);
            let hidden = HIDDEN.iter().find(|(number, _)| *number == nid.0);
            let entry = match (hidden, kept.nodes.get(&nid)) {
                (Some((_, addr)), _) => NatEntry { version, ino: nid, addr: BlockAddr(*addr) },
                (None, Some(node)) => NatEntry { version, ..*node },
                (None, None) => NatEntry { version, ..NatEntry::default() },
            };
            put(&mut block, slot as usize * size_of::<RawNatEntry>(), entry.to_raw().as_bytes());
        }
        bench.draft.write(addr, &block);
    }
}

/// The usual reserve of so many segments, or what a fuller volume leaves of it.
pub(super) fn set_reserve(bench: &mut Bench, main: u32, blocks: u64) -> Result<()> {
    let section = bench.volume.super_block().segments_per_section();
    let (main, section) = (u64::from(main), u64::from(section));
    let usual = reserve(main, section, None).ok_or_else(|| refused("it is too small for a reserve"))?;
    let most = main.saturating_sub(blocks.div_ceil(BLOCKS.into())).max(1);
    let (reserved, overprovision) = (usual.0.min(most), usual.1.min(most));
    bench.pack.raw.set_reserve(
        word(reserved),
        word(overprovision),
        (main - overprovision) * u64::from(BLOCKS),
    );
    Ok(())
}

/// The blocks of a segment that nodes point to, and the nodes among them.
struct Segment {
    sit: SitEntry,
    owners: Vec<(u32, Summary)>,
}

impl Segment {
    fn write_to(&self, summary: &mut SummaryBlock) {
        let mut new = SummaryBlock::empty(summary.layout(), usize::from(self.sit.kind) >= DATA_LOGS);
        new.set_journal(summary.journal());
        self.owners.iter().for_each(|(offset, owner)| new.set_entry(*offset, *owner));
        *summary = new;
    }
}

/// A walk over all inodes.
struct Survey<'a> {
    bench: &'a Bench,
    segments: BTreeMap<SegNo, Segment>,
    /// Nodes that belong to an inode.
    reached: BTreeSet<Nid>,
}

impl Survey<'_> {
    fn inode(&mut self, ino: Nid) {
        let bench = self.bench;
        // One that makes no sense is mended, or given up, by the repair.
        let Some((inode, block)) = bench.inode(ino) else {
            self.node(ino, WARM_NODES);
            return;
        };
        let is_dir = inode.kind == FileKind::Dir;
        let (nodes, data) = if is_dir { (HOT_NODES, HOT_DATA) } else { (WARM_NODES, WARM_DATA) };
        self.node(ino, nodes);
        if bench.node_of(inode.xattr_nid, &block, NodeOffset::XATTR).is_some() {
            self.node(inode.xattr_nid, COLD_NODES);
        }
        if !inode.has_addrs() {
            return;
        }
        self.addresses(ino, block.get(inode.addrs_at()..).unwrap_or_default(), inode.own_addrs(), data);
        tree::each_node(bench, &inode, &block, &mut |branch, node| {
            let is_direct = branch.levels == 0;
            self.node(branch.nid, if is_direct { nodes } else { COLD_NODES });
            if is_direct {
                self.addresses(branch.nid, node, inode.node_addrs(), data);
            }
        });
    }

    fn node(&mut self, nid: Nid, kind: u8) {
        self.reached.insert(nid);
        if let Ok(entry) = self.bench.nat(nid) {
            self.own(entry.addr, Summary { nid, version: entry.version, offset: 0 }, kind);
        }
    }

    /// The blocks that so many words of a node point to.
    fn addresses(&mut self, nid: Nid, words: &[u8], count: u32, kind: u8) {
        let version = self.bench.nat(nid).map_or(0, |entry| entry.version);
        for (offset, word) in (0_u16..).zip(words.chunks_exact(4)).take(count as usize) {
            let addr = BlockAddr(word_at(word, 0).unwrap_or_default());
            self.own(addr, Summary { nid, version, offset }, kind);
        }
    }

    /// A block of the main area, and its owner: the first one, if there are two.
    fn own(&mut self, addr: BlockAddr, owner: Summary, kind: u8) {
        let Some((segno, offset)) = self.bench.volume.segment_of(addr) else { return };
        let new = || Segment { sit: SitEntry { kind, ..SitEntry::EMPTY }, owners: Vec::new() };
        let segment = self.segments.entry(segno).or_insert_with(new);
        if !segment.sit.is_valid(offset) {
            segment.sit.set_valid(offset, true);
            segment.owners.push((offset, owner));
        }
    }
}
