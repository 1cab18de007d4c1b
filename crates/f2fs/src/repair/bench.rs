//! A volume on the bench: its tables, to be changed in a draft in place. Nothing of it is on the medium yet.

use pumice_vfs::FileKind;
use zerocopy::{FromBytes, IntoBytes};

use super::{
    draft::Draft,
    field,
    pack::{DATA_LOGS, Pack},
};
use crate::{
    crc,
    error::Result,
    layout::{
        BlockAddr, Features, INODE_GENERATION_OFFSET, Inode, NatEntry, Nid, NodeFooter, NodeOffset, RawInode,
        RawNatEntry, RawSitEntry, SegNo, SitEntry, Summary, SummaryBlock,
    },
    volume::{Volume, nat_entry_in, sit_entry_in},
    word::half,
};

/// Bytes of metadata kept in memory.
const CACHE_BYTES: usize = 1 << 20;
/// The bits of a mode that are no kind.
const PERMISSIONS: u16 = 0o7777;

/// A volume, its draft, and its checkpoint pack.
pub(super) struct Bench {
    pub(super) volume: Volume,
    pub(super) draft: Draft,
    pub(super) pack: Pack,
}

impl Bench {
    /// Opens the volume in a draft. Its journals go into the tables, and its pack gets the form of an unmount's.
    pub(super) fn open(draft: &Draft) -> Result<Bench> {
        let volume = Volume::open(vec![Box::new(draft.clone())], CACHE_BYTES)?;
        let mut bench = Bench { pack: Pack::of(&volume)?, volume, draft: draft.clone() };
        let journal: Vec<(Nid, NatEntry)> =
            bench.volume.nat_journal().iter().map(|(nid, entry)| (*nid, *entry)).collect();
        for (nid, entry) in journal {
            bench.set_nat(nid, entry)?;
        }
        let journal: Vec<(SegNo, SitEntry)> =
            bench.volume.sit_journal().iter().map(|(segno, entry)| (*segno, *entry)).collect();
        for (segno, entry) in journal {
            bench.set_sit(segno, &entry)?;
        }
        bench.fill_summaries();
        bench.pack.write(draft, bench.volume.super_block());
        bench.volume = Volume::open(vec![Box::new(draft.clone())], CACHE_BYTES)?;
        Ok(bench)
    }

    /// Writes the pack into the draft.
    pub(super) fn keep(&self) {
        self.pack.write(&self.draft, self.volume.super_block());
    }

    /// The summaries of node logs that only an unmount writes: the nodes name themselves.
    fn fill_summaries(&mut self) {
        for log in DATA_LOGS..self.volume.log_heads().len() {
            let Some(head) = self.volume.log_heads().get(log).filter(|head| head.summary.is_none()) else {
                continue;
            };
            let (segno, start) = (head.segno, self.volume.segment_start(head.segno));
            let Ok(entry) = self.sit(segno) else { continue };
            for offset in (0..512).filter(|offset| entry.is_valid(*offset)) {
                let Ok(block) = self.draft.read(BlockAddr(start.0.saturating_add(offset))) else { continue };
                let Some(NodeFooter { nid, .. }) = NodeFooter::of(&block) else { continue };
                // A footer may name a number that the NAT does not have.
                let version = self.nat(nid).map_or(0, |entry| entry.version);
                if let Some(summary) = self.pack.summaries.get_mut(log) {
                    summary.set_entry(offset, Summary { nid, version, offset: 0 });
                }
            }
        }
    }

    /// The place of a node's entry: a block of the NAT, and the entry in it.
    fn nat_place(&self, nid: Nid) -> (BlockAddr, u32) {
        let per_block = self.volume.block_size().nat_entries();
        (self.volume.nat_addr(nid.0 / per_block), nid.0 % per_block)
    }

    /// The entry of a node.
    pub(super) fn nat(&self, nid: Nid) -> Result<NatEntry> {
        if nid.0 >= self.volume.super_block().nid_limit() {
            return Ok(NatEntry::default());
        }
        let (addr, at) = self.nat_place(nid);
        Ok(nat_entry_in(&self.draft.read(addr)?, at))
    }

    /// Changes the entry of a node. A number that cannot be has none.
    pub(super) fn set_nat(&self, nid: Nid, entry: NatEntry) -> Result<()> {
        if nid.0 >= self.volume.super_block().nid_limit() {
            return Ok(());
        }
        let (addr, at) = self.nat_place(nid);
        let at = at as usize * size_of::<RawNatEntry>();
        self.draft.edit(addr, |block| put(block, at, entry.to_raw().as_bytes()))
    }

    fn sit_place(&self, segno: SegNo) -> (BlockAddr, u32) {
        let per_block = self.volume.block_size().sit_entries();
        (self.volume.sit_addr(segno.0 / per_block), segno.0 % per_block)
    }

    /// The entry of a segment.
    pub(super) fn sit(&self, segno: SegNo) -> Result<SitEntry> {
        if segno.0 >= self.volume.super_block().main_segments() {
            return Ok(SitEntry::EMPTY);
        }
        let (addr, at) = self.sit_place(segno);
        Ok(sit_entry_in(&self.draft.read(addr)?, at))
    }

    /// Changes the entry of a segment. A segment that cannot be has none.
    pub(super) fn set_sit(&self, segno: SegNo, entry: &SitEntry) -> Result<()> {
        if segno.0 >= self.volume.super_block().main_segments() {
            return Ok(());
        }
        let (addr, at) = self.sit_place(segno);
        let at = at as usize * size_of::<RawSitEntry>();
        self.draft.edit(addr, |block| put(block, at, entry.to_raw().as_bytes()))
    }

    /// Marks a block of the main area as in use, or as free.
    pub(super) fn mark(&self, addr: BlockAddr, in_use: bool) -> Result<()> {
        let Some((segno, offset)) = self.volume.segment_of(addr) else { return Ok(()) };
        let mut entry = self.sit(segno)?;
        if entry.is_valid(offset) == in_use {
            return Ok(());
        }
        entry.set_valid(offset, in_use);
        entry.valid_blocks = field(entry.bits().into())?;
        self.set_sit(segno, &entry)
    }

    /// True if a block of the main area is in use.
    pub(super) fn is_used(&self, addr: BlockAddr) -> Result<bool> {
        match self.volume.segment_of(addr) {
            Some((segno, offset)) => Ok(self.sit(segno)?.is_valid(offset)),
            None => Ok(false),
        }
    }

    /// Changes the summary of a segment, which is its log's if it has one.
    pub(super) fn edit_summary(&mut self, segno: SegNo, edit: impl FnOnce(&mut SummaryBlock)) -> Result<()> {
        if let Some(summary) = self.pack.log_of(segno).and_then(|log| self.pack.summaries.get_mut(log)) {
            edit(summary);
            return Ok(());
        }
        let layout = self.volume.summary_layout();
        let start = self.volume.super_block().ssa_start();
        let addr = BlockAddr(start.0.saturating_add(segno.0 / layout.per_block));
        let at = (segno.0 % layout.per_block) as usize * layout.bytes;
        self.draft.edit(addr, |block| {
            let bytes = block.get(at..at + layout.bytes).unwrap_or_default();
            let mut summary = SummaryBlock::new(bytes.to_vec(), layout);
            edit(&mut summary);
            put(block, at, summary.as_bytes());
        })
    }

    /// Changes the kind in a summary.
    pub(super) fn set_kind(&mut self, segno: SegNo, of_nodes: bool) -> Result<()> {
        self.edit_summary(segno, |summary| {
            let mut other = SummaryBlock::empty(summary.layout(), of_nodes);
            (0..512).for_each(|offset| other.set_entry(offset, summary.entry(offset)));
            other.set_journal(summary.journal());
            *summary = other;
        })
    }
}

/// Nodes.
impl Bench {
    /// An inode, though its checksum is wrong; `None` if there is none that makes sense.
    pub(super) fn inode(&self, ino: Nid) -> Option<(Inode, Vec<u8>)> {
        let block = self.node(ino).filter(|_| self.nat(ino).is_ok_and(|entry| entry.ino == ino))?;
        let (size, features) = (self.volume.block_size(), self.volume.features());
        Some((Inode::from_block(ino, &block, size, features).ok()?, block))
    }

    /// The numbers of all inodes.
    pub(super) fn inodes(&self) -> Vec<Nid> {
        let per_block = self.volume.block_size().nat_entries();
        let mut found = Vec::new();
        for index in 0..self.volume.nat_blocks() {
            let Ok(block) = self.draft.read(self.volume.nat_addr(index)) else { continue };
            for slot in 0..per_block {
                let (nid, entry) = (Nid(index * per_block + slot), nat_entry_in(&block, slot));
                if entry.is_used() && entry.ino == nid && nid >= self.volume.super_block().root() {
                    found.push(nid);
                }
            }
        }
        found
    }

    /// The block of a node, which bears its number.
    pub(super) fn node(&self, nid: Nid) -> Option<Vec<u8>> {
        let entry = self.nat(nid).ok().filter(|entry| self.volume.is_main(entry.addr))?;
        let block = self.draft.read(entry.addr).ok()?;
        NodeFooter::of(&block).is_some_and(|footer| footer.nid == nid).then_some(block)
    }

    /// The block of a node that an inode with this block names for a place; `None` if its footer has another.
    pub(super) fn node_of(&self, nid: Nid, inode: &[u8], place: NodeOffset) -> Option<Vec<u8>> {
        let ino = NodeFooter::of(inode)?.ino;
        let fits = |footer: NodeFooter| (footer.ino, footer.offset) == (ino, place);
        self.node(nid).filter(|block| NodeFooter::of(block).is_some_and(fits))
    }

    /// Changes a node, and gives an inode the checksum that it should have. A block that is another node's stays.
    pub(super) fn edit_node(&self, nid: Nid, edit: impl FnOnce(&mut [u8])) -> Result<()> {
        let entry = self.nat(nid)?;
        if self.node(nid).is_none() {
            return Ok(());
        }
        self.draft.edit(entry.addr, |block| {
            edit(block);
            self.seal(block);
        })
    }

    /// Changes the footer of a block that is to be a node.
    pub(super) fn edit_footer(&self, addr: BlockAddr, edit: impl FnOnce(&mut NodeFooter)) -> Result<()> {
        self.draft.edit(addr, |block| {
            if let Some(mut footer) = NodeFooter::of(block) {
                edit(&mut footer);
                footer.write_to(block);
            }
            self.seal(block);
        })
    }

    /// Gives an inode another kind.
    pub(super) fn set_file_kind(&self, ino: Nid, kind: FileKind) -> Result<()> {
        let bits = half(kind.mode_bits());
        self.edit_inode(ino, |raw| raw.i_mode.set(bits | raw.i_mode.get() & PERMISSIONS))
    }

    /// Changes the head of an inode.
    pub(super) fn edit_inode(&self, ino: Nid, edit: impl FnOnce(&mut RawInode)) -> Result<()> {
        self.edit_node(ino, |block| {
            if let Ok((raw, _)) = RawInode::mut_from_prefix(block) {
                edit(raw);
            }
        })
    }

    /// Writes the checksum of a block that is an inode.
    fn seal(&self, block: &mut [u8]) {
        let Some(footer) = NodeFooter::of(block).filter(NodeFooter::is_inode) else { return };
        let (size, features) = (self.volume.block_size(), self.volume.features());
        let Ok(inode) = Inode::from_block(footer.ino, block, size, features) else { return };
        if !features.has(Features::INODE_CHECKSUM) || !inode.has_checksum() {
            return;
        }
        let generation = word_at(block, INODE_GENERATION_OFFSET).unwrap_or_default();
        let sum = crc::inode_checksum(self.volume.inode_seed(), footer.ino.0, generation, block);
        if let Some(sum) = sum {
            put(block, crc::INODE_CHECKSUM_OFFSET, &sum.to_le_bytes());
        }
    }

    /// The place of an address in a node, in bytes from its start; `None` if the node has no such address: it is short, or
    /// its words are contents, attributes or numbers of nodes.
    fn pointer_at(&self, nid: Nid, slot: u16) -> Option<usize> {
        let entry = self.nat(nid).ok()?;
        let (inode, _) = self.inode(entry.ino)?;
        let place = NodeFooter::of(&self.node(nid)?)?.offset;
        let (start, count) = if entry.ino == nid {
            let is_inline = inode.has_inline_data() || inode.has_inline_dentry();
            (inode.addrs_at(), if is_inline { 0 } else { inode.own_addrs() })
        } else {
            place.direct_index(self.volume.block_size())?;
            (0, inode.node_addrs())
        };
        (u32::from(slot) < count).then(|| start + usize::from(slot) * 4)
    }

    /// An address in a node.
    pub(super) fn pointer(&self, nid: Nid, slot: u16) -> Option<BlockAddr> {
        let at = self.pointer_at(nid, slot)?;
        word_at(&self.node(nid)?, at).map(BlockAddr)
    }

    /// Changes an address in a node.
    pub(super) fn set_pointer(&self, nid: Nid, slot: u16, addr: BlockAddr) -> Result<()> {
        let Some(at) = self.pointer_at(nid, slot) else { return Ok(()) };
        self.edit_node(nid, |block| put(block, at, &addr.0.to_le_bytes()))
    }
}

/// A number in a block.
pub(super) fn word_at(block: &[u8], at: usize) -> Option<u32> {
    block.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// Puts bytes into a block.
pub(super) fn put(block: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = block.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}
