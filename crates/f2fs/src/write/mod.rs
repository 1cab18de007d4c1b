//! Writing: small owners, each the one master of its part of the state, and [`Writer`], which has a block pass them in
//! order.
//!
//! A block goes to the [`Head`] of its log; the [`Sit`] marks it as in use; a node's place goes to the [`Nat`]. When a
//! segment is full its summary goes to the SSA, and the [`Supply`] says where the log goes on. Nothing of it counts until
//! [`Writer::format`] or [`Writer::commit`] has written the tables and a checkpoint pack ([`pack`]).

mod adopt;
mod chain;
pub(crate) mod discard_unit;
mod discards;
#[cfg(test)]
mod example;
pub(crate) mod head;
mod load;
pub(crate) mod medium;
pub(crate) mod nat;
mod nat_bits;
pub(crate) mod pack;
pub(crate) mod quota_file;
pub(crate) mod sit;
pub(crate) mod streams;
pub(crate) mod supply;
mod table;
mod trouble;
pub(crate) mod victims;
pub(crate) mod warmth;

use std::{ops::Range, sync::Arc};

use crate::word::word;
use discard_unit::DiscardUnit;
use head::{Head, Heads, Log, PENDING_MAX_FRESH};
use medium::Medium;
use nat::Nat;
use pack::{Pack, Reserve, Stamp};
use sit::Sit;
use streams::Streams;
use supply::{Found, Supply};
use trouble::Damage;

use crate::{
    crc,
    error::{Error, Place, Result, corrupt},
    layout::{
        BlockAddr, Features, INODE_GENERATION_OFFSET, NatEntry, Nid, NodeFooter, SegNo, Summary,
        SummaryBlock, SummaryLayout, SuperBlock,
    },
    volume::Block,
};

/// A volume that is being written.
pub(crate) struct Writer {
    sb: SuperBlock,
    medium: Medium,
    nat: Nat,
    sit: Sit,
    supply: Supply,
    heads: Heads,
    /// Bytes that wait at most in one of them.
    pending_max: usize,
    streams: Streams,
    layout: SummaryLayout,
    inode_seed: u32,
    /// Blocks that each log got.
    appended: [u64; 6],
    /// Blocks that were written over others since the last checkpoint.
    overwritten: u64,
    last: Last,
    /// Blocks that are promised and stand nowhere yet, and how many they were when the call under way began.
    promised: u64,
    promised_before: u64,
    /// Kinds of damage that were met.
    damage: Damage,
}

/// The room that can be written to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Segments that are free as a whole.
    pub(crate) free: u32,
    /// Blocks of data, and of nodes, in other segments.
    pub(crate) data: u64,
    pub(crate) nodes: u64,
}

/// The last checkpoint.
#[derive(Clone, Copy)]
struct Last {
    /// The pack that it is in, 1 or 2.
    pack: u8,
    version: u64,
    /// Its version as footers of nodes carry it.
    footer_version: u64,
    /// Nodes that are written behind it belong to its chain: it was made since the volume was opened.
    has_chain: bool,
    /// 1024 bytes that were written before it.
    kbytes: u64,
    /// Blocks in use or promised.
    blocks: u64,
    /// It is that of an unmount.
    is_clean: bool,
}

impl Writer {
    /// A volume with empty tables. Each log that is used begins at, or behind, the segment that `starts` has for it; node
    /// numbers from `first_nid` on are free.
    pub(crate) fn fresh(
        sb: SuperBlock,
        medium: Medium,
        starts: [SegNo; 6],
        first_nid: u32,
    ) -> Result<Writer> {
        let layout = SummaryLayout::new(sb.block(), sb.features().has(Features::PACKED_SSA));
        let (nat, mut sit) = (Nat::fresh(&sb, first_nid), Sit::fresh(&sb));
        let mut supply = Supply::new(&sb, starts, 0);
        let inode_seed = crc::inode_seed(&sb.uuid());
        let segments = sit.segments();
        let streams = Streams::of_new(sb.features());
        let mut open = |log| -> Result<Head> {
            if streams.log(log) != log {
                return Ok(Head::open(log, SegNo::NULL, layout));
            }
            let Some(Found::Free(segno)) = supply.take(log, &sit) else {
                return Err(Error::NoSegment { segments });
            };
            sit.open(&medium, segno, log.kind())?;
            Ok(Head::open(log, segno, layout))
        };
        let [hot, warm, cold, hot_node, warm_node, cold_node] = Log::ALL.map(&mut open);
        let heads = Heads::new([hot?, warm?, cold?, hot_node?, warm_node?, cold_node?]);
        let (version, footer_version, has_chain) = (0, 0, false);
        let last = Last { pack: 2, version, footer_version, has_chain, kbytes: 0, blocks: 0, is_clean: true };
        let (appended, overwritten, promised) = ([0; 6], 0, 0);
        Ok(Writer {
            sb,
            medium,
            nat,
            sit,
            supply,
            heads,
            pending_max: PENDING_MAX_FRESH,
            streams,
            layout,
            inode_seed,
            appended,
            overwritten,
            last,
            promised,
            promised_before: 0,
            damage: Damage::default(),
        })
    }

    /// A call begins, which may be taken back as long as it writes nothing.
    pub(crate) fn begin(&mut self) {
        self.nat.begin();
        self.sit.begin();
        self.promised_before = self.promised;
    }

    /// Keeps the changes of the call.
    pub(crate) fn keep(&mut self) {
        self.nat.keep();
        self.sit.keep();
    }

    /// Undoes the changes of the call.
    pub(crate) fn take_back(&mut self) {
        self.nat.take_back();
        self.sit.take_back();
        self.promised = self.promised_before;
    }

    pub(crate) fn super_block(&self) -> &SuperBlock {
        &self.sb
    }

    /// A free node number.
    pub(crate) fn take_nid(&mut self) -> Result<Nid> {
        self.nat.take(&self.medium)?.ok_or(Error::NoNode { limit: self.sb.nid_limit() })
    }

    /// Promises a new node a place: of inode `ino`, or one that is an inode itself. Returns its number.
    pub(crate) fn promise_node(&mut self, ino: Option<Nid>) -> Result<Nid> {
        let nid = self.take_nid()?;
        self.nat.add(&self.medium, nid, ino.unwrap_or(nid), BlockAddr::NEW)?;
        self.promised += 1;
        Ok(nid)
    }

    /// Promises `count` blocks of data places; their addresses are [`BlockAddr::NEW`] until they are written.
    pub(crate) fn promise_data(&mut self, count: u64) {
        self.promised += count;
    }

    /// Gives back a block of data, written or promised.
    pub(crate) fn release(&mut self, addr: BlockAddr) -> Result<()> {
        match addr {
            BlockAddr::NULL => Ok(()),
            // The mark of a cluster counts as a block that is reserved.
            BlockAddr::NEW | BlockAddr::COMPRESSED => {
                let place = Place::Checkpoint(self.last.pack);
                let left = self.promised.checked_sub(1);
                self.promised =
                    left.ok_or_else(|| corrupt(place, "blocks that stand nowhere yet are", 0_u32, 1_u32))?;
                Ok(())
            }
            addr => self.sit.clear(&self.medium, addr),
        }
    }

    /// Gives back a node and its number.
    pub(crate) fn remove_node(&mut self, nid: Nid) -> Result<()> {
        let entry = self.nat.entry(&self.medium, nid)?;
        self.release(entry.addr)?;
        self.nat.remove(&self.medium, nid)
    }

    /// The entry of a node.
    pub(crate) fn entry(&self, nid: Nid) -> Result<NatEntry> {
        self.nat.entry(&self.medium, nid)
    }

    /// A block, though it waits to be written.
    pub(crate) fn read(&self, addr: BlockAddr) -> Result<Block> {
        match self.waiting(addr) {
            Some(bytes) => Ok(Arc::new(bytes.to_vec())),
            None => self.medium.read(addr),
        }
    }

    /// Fills `buffer`, a whole number of blocks, with the blocks from `addr` on.
    pub(crate) fn read_run(&self, addr: BlockAddr, buffer: &mut [u8]) -> Result<()> {
        self.medium.read_run(addr, buffer)?;
        for (addr, place) in (addr.0..).zip(buffer.chunks_exact_mut(self.sb.block().width())) {
            if let Some(bytes) = self.waiting(BlockAddr(addr)) {
                place.copy_from_slice(bytes);
            }
        }
        Ok(())
    }

    fn waiting(&self, addr: BlockAddr) -> Option<&[u8]> {
        let inside = addr.0.checked_sub(self.sb.main_start().0)?;
        let (segno, offset) =
            (SegNo(inside / self.sb.blocks_per_segment()), inside % self.sb.blocks_per_segment());
        let width = self.sb.block().width();
        Log::ALL.iter().find_map(|log| self.heads.of(*log).waiting(segno, offset, width))
    }

    /// True if the last checkpoint is an unmount's.
    pub(crate) fn is_clean(&self) -> bool {
        self.last.is_clean
    }

    /// Blocks that each log got, in the order of [`Log::ALL`].
    pub(crate) fn appended(&self) -> [u64; 6] {
        self.appended
    }

    /// Node numbers up to the last in use, and inodes.
    pub(crate) fn numbers(&self) -> (u64, u64) {
        let (_, inodes, next) = self.nat.counts();
        (next.0.into(), inodes.into())
    }

    /// Inodes in use.
    pub(crate) fn inodes(&self) -> u32 {
        let (_, inodes, _) = self.nat.counts();
        inodes
    }

    /// Node numbers that can still be taken; some only after the next checkpoint.
    pub(crate) fn free_numbers(&self) -> u64 {
        let (nodes, _, _) = self.nat.counts();
        // The first three are the volume's own.
        u64::from(self.sb.nid_limit()).saturating_sub(u64::from(nodes) + 3)
    }

    /// Node numbers that can be taken after the next checkpoint only.
    pub(crate) fn given_up_numbers(&self) -> u64 {
        self.nat.given_up()
    }

    /// Inodes without a name that a checkpoint has room for.
    pub(crate) fn orphans_max(&self) -> usize {
        Pack::orphans_max(&self.sb)
    }

    /// Blocks in use or promised.
    pub(crate) fn blocks(&self) -> u64 {
        self.sit.valid_blocks() + self.promised
    }

    /// Room to write to; with holes in segments that are in use, where logs fill them while there are free segments, or `all` is
    /// asked for.
    pub(crate) fn room(&self, all: bool) -> Room {
        let (free, holes) = self.sit.room();
        let [mut data, mut nodes] = if all || self.supply.fills_holes() { holes } else { [0; 2] };
        for log in Log::ALL {
            let sort = if log.is_node() { &mut nodes } else { &mut data };
            *sort += u64::from(self.behind(log));
        }
        Room { free, data, nodes }
    }

    /// True if logs fill holes now.
    pub(crate) fn is_scarce(&self) -> bool {
        self.supply.is_scarce(&self.sit)
    }

    /// Blocks that a log can write without another segment: one stays, since where the log goes on is decided before.
    fn behind(&self, log: Log) -> u32 {
        let head = self.heads.of(log);
        let (segno, offset) = head.place();
        let places = match head.fills_holes() {
            true => self.sit.places(segno, offset),
            false => self.sb.blocks_per_segment() - offset,
        };
        debug_assert!(places > 0, "the log of {log:?} is at its end");
        places.saturating_sub(1)
    }

    /// The log that takes the blocks of this one.
    pub(crate) fn stream(&self, log: Log) -> Log {
        self.streams.log(log)
    }

    /// The log for blocks of this one, or another of its sort if there is no segment left for it to go on in.
    pub(crate) fn fitting(&self, log: Log) -> Log {
        let log = self.stream(log);
        if self.behind(log) > 0 || Supply::has_any(log, &self.sit) {
            return log;
        }
        let others = Log::ALL.into_iter().filter(|other| other.is_node() == log.is_node());
        others.max_by_key(|other| self.behind(*other)).unwrap_or(log)
    }

    /// The address of the next block of a log, and how many fit behind each other from there.
    pub(crate) fn next(&self, log: Log) -> (BlockAddr, u32) {
        let head = self.heads.of(log);
        let (segno, offset) = head.place();
        let room = match head.fills_holes() {
            true => self.sit.run(segno, offset),
            false => self.sb.blocks_per_segment() - offset,
        };
        (self.sit.addr(segno, offset), room)
    }

    /// The number of blocks of data, at least one, that can be appended in a row to a fitting log. They need no other
    /// segment as long as there is room for more than one.
    pub(crate) fn run_behind(&self, log: Log) -> u32 {
        let (_, run) = self.next(log);
        run.min(self.behind(log).max(1))
    }

    /// Appends pieces of whole blocks of data, together no more than [`Writer::next`] says, with their owners. Returns the first's address.
    pub(crate) fn append_data<'a>(
        &mut self,
        log: Log,
        blocks: impl Iterator<Item = &'a [u8]>,
        owners: impl ExactSizeIterator<Item = Summary>,
    ) -> Result<BlockAddr> {
        debug_assert!(!log.is_node());
        let (addr, _) = self.next(log);
        let count = word(owners.len());
        let ahead = self.ahead(log, count)?;
        self.put(log, blocks, owners)?;
        self.advance(log, ahead)?;
        Ok(addr)
    }

    /// Appends a node and writes its footer; its old place is given back. Returns its address.
    pub(crate) fn append_node(
        &mut self,
        log: Log,
        block: &mut [u8],
        footer: NodeFooter,
    ) -> Result<BlockAddr> {
        self.append(log, block, footer, |_, _, _| Ok(()))
    }

    /// The same; what waits of the log is written by `flush` before the log goes on.
    fn append(
        &mut self,
        log: Log,
        block: &mut [u8],
        mut footer: NodeFooter,
        flush: fn(&mut Head, &mut Medium, BlockAddr) -> Result<()>,
    ) -> Result<BlockAddr> {
        debug_assert!(log.is_node());
        let (addr, _) = self.next(log);
        let old = self.nat.entry(&self.medium, footer.nid)?;
        // Where the log goes on must be known before the node is written.
        let ahead = self.ahead(log, 1)?;
        footer.next = ahead.addr(&self.sit);
        footer.cp_version = self.last.footer_version;
        self.sign(&footer, block);
        let owner = Summary { nid: footer.nid, version: old.version, offset: 0 };
        self.put(log, std::iter::once(&*block), std::iter::once(owner))?;
        let (segno, end) = self.heads.of(log).place();
        flush(self.heads.of_mut(log), &mut self.medium, self.sit.addr(segno, end))?;
        self.advance(log, ahead)?;
        if old.is_used() {
            self.nat.moved(&self.medium, footer.nid, addr)?;
            self.release(old.addr)?;
        } else {
            self.nat.add(&self.medium, footer.nid, footer.ino, addr)?;
        }
        Ok(addr)
    }

    /// Writes the footer of a node, and the checksum of an inode, which covers it.
    fn sign(&self, footer: &NodeFooter, block: &mut [u8]) {
        footer.write_to(block);
        if footer.is_inode() && self.sb.features().has(Features::INODE_CHECKSUM) {
            self.seal(footer.nid, block);
        }
    }

    fn seal(&self, ino: Nid, block: &mut [u8]) {
        let generation = block.get(INODE_GENERATION_OFFSET..).and_then(<[u8]>::first_chunk);
        debug_assert!(generation.is_some(), "an inode is shorter than its head");
        let generation = generation.map_or(0, |bytes| u32::from_le_bytes(*bytes));
        if let Some(sum) = crc::inode_checksum(self.inode_seed, ino.0, generation, block) {
            let place = block.iter_mut().skip(crc::INODE_CHECKSUM_OFFSET);
            place.zip(sum.to_le_bytes()).for_each(|(to, from)| *to = from);
        }
    }

    /// The place of a log behind `count` more blocks. A segment that is opened for it is free no more.
    fn ahead(&mut self, log: Log, count: u32) -> Result<Ahead> {
        let head = self.heads.of(log);
        let (segno, offset) = head.place();
        let behind = offset + count;
        debug_assert!(behind <= self.sb.blocks_per_segment());
        let next = if head.fills_holes() {
            self.sit.next_hole(segno, behind)
        } else {
            (behind < self.sb.blocks_per_segment()).then_some(behind)
        };
        match next {
            Some(offset) => Ok(Ahead { segno, offset, new: None }),
            None => self.elsewhere(log),
        }
    }

    /// The place where a log goes on in another segment, which is opened for it.
    fn elsewhere(&mut self, log: Log) -> Result<Ahead> {
        let found = self.supply.take(log, &self.sit);
        let segments = self.sit.segments();
        let new = found.ok_or(Error::NoSegment { segments })?;
        let (Found::Free(segno) | Found::Holes(segno)) = new;
        self.sit.open(&self.medium, segno, log.kind())?;
        let offset = self.sit.next_hole(segno, 0);
        debug_assert!(offset.is_some(), "segment {segno} has no room");
        Ok(Ahead { segno, offset: offset.ok_or(Error::NoSegment { segments })?, new: Some(new) })
    }

    /// Has a log go on where [`Writer::ahead`] said.
    fn advance(&mut self, log: Log, ahead: Ahead) -> Result<()> {
        let (segno, offset) = self.heads.of(log).place();
        match ahead.new {
            None if ahead.offset == offset => Ok(()),
            None => {
                let end = self.sit.addr(segno, offset);
                let head = self.heads.of_mut(log);
                head.flush(&mut self.medium, end)?;
                head.skip_to(ahead.offset);
                Ok(())
            }
            Some(new) => self.turn(log, new, ahead.offset),
        }
    }

    /// Hands blocks to the log's head.
    fn put<'a>(
        &mut self,
        log: Log,
        blocks: impl Iterator<Item = &'a [u8]>,
        owners: impl ExactSizeIterator<Item = Summary>,
    ) -> Result<()> {
        let count = word(owners.len());
        let head = self.heads.of_mut(log);
        let (segno, offset) = head.place();
        debug_assert!(offset + count <= self.sb.blocks_per_segment());
        head.push(blocks, owners);
        self.sit.fill(segno, offset, count);
        if let Some(appended) = self.appended.get_mut(log.index()) {
            *appended += u64::from(count);
        }
        if head.pending() >= self.pending_max {
            head.flush(&mut self.medium, self.sit.addr(segno, offset + count))?;
        }
        Ok(())
    }

    /// Ends a full segment: waiting blocks and the summary are written, and the log goes on in the next.
    fn turn(&mut self, log: Log, new: Found, offset: u32) -> Result<()> {
        let next = match new {
            Found::Free(segno) => Head::open(log, segno, self.layout),
            Found::Holes(segno) => Head::resume(segno, offset, true, self.summary(segno, log)?),
        };
        let head = self.heads.of_mut(log);
        let (segno, end) = head.place();
        head.flush(&mut self.medium, self.sit.addr(segno, end))?;
        let full = std::mem::replace(head, next);
        self.sit.leave(segno);
        self.write_summary(segno, full.summary().as_bytes())
    }

    /// The summary of a segment as it stands in the SSA.
    fn summary(&self, segno: SegNo, log: Log) -> Result<SummaryBlock> {
        let block = self.medium.read(self.summary_addr(segno))?;
        let at = (segno.0 % self.layout.per_block) as usize * self.layout.bytes;
        debug_assert!(at + self.layout.bytes <= block.len(), "a summary behind its block");
        let bytes = block.get(at..at + self.layout.bytes).unwrap_or_default();
        let mut summary = SummaryBlock::empty(self.layout, log.is_node());
        let stored = SummaryBlock::new(bytes.to_vec(), self.layout);
        (0..self.sb.blocks_per_segment()).for_each(|offset| summary.set_entry(offset, stored.entry(offset)));
        Ok(summary)
    }

    fn summary_addr(&self, segno: SegNo) -> BlockAddr {
        BlockAddr(self.sb.raw().ssa_blkaddr.get().saturating_add(segno.0 / self.layout.per_block))
    }

    fn write_summary(&mut self, segno: SegNo, summary: &[u8]) -> Result<()> {
        // Where nothing will be moved there is no SSA.
        if self.sb.features().has(Features::RO) {
            return Ok(());
        }
        let addr = self.summary_addr(segno);
        if self.layout.per_block == 1 {
            return self.medium.write(addr, summary);
        }
        let mut block = self.medium.read(addr)?.to_vec();
        let at = (segno.0 % self.layout.per_block) as usize * self.layout.bytes;
        block.iter_mut().skip(at).zip(summary).for_each(|(to, from)| *to = *from);
        self.medium.write(addr, &block)
    }

    /// Writes all blocks that were appended.
    fn flush_all(&mut self) -> Result<()> {
        for log in Log::ALL {
            let (end, _) = self.next(log);
            self.heads.of_mut(log).flush(&mut self.medium, end)?;
        }
        Ok(())
    }

    /// Brings everything but the checkpoint pack to the medium; returns the journals.
    fn write_tables(&mut self) -> Result<[Vec<u8>; 2]> {
        self.flush_all()?;
        let room = self.layout.journal_bytes();
        Ok([self.nat.write(&mut self.medium, room)?, self.sit.write(&mut self.medium, room)?])
    }

    /// Makes everything written so far the state of a new volume. It is version `version` in the first pack, and the
    /// version before in the second, written in front of it, so that one of them may be lost.
    pub(crate) fn format(&mut self, version: u64, reserve: Reserve) -> Result<()> {
        let journals = self.write_tables()?;
        for (number, version) in [(2, version - 1), (1, version)] {
            let blocks = self.blocks();
            let stamp = Stamp {
                version,
                elapsed: 0,
                blocks,
                orphans: &[],
                kbytes: 0,
                is_clean: true,
                needs_check: false,
            };
            self.pack(number, &journals, stamp, reserve)?;
        }
        Ok(())
    }

    /// Makes everything written so far the state of the volume, in place of the older checkpoint. `elapsed` are the seconds
    /// that the volume was mounted in its life. `is_clean` says that nothing will be written behind it: it is an unmount's.
    pub(crate) fn commit(
        &mut self,
        elapsed: u64,
        orphans: &[Nid],
        reserve: Reserve,
        is_clean: bool,
    ) -> Result<()> {
        let journals = self.write_tables()?;
        let Last { pack, version, kbytes, .. } = self.last;
        let (pack, version) = (3 - pack, version.wrapping_add(1));
        let width = u64::from(self.sb.block().bytes() / 1024);
        let kbytes = kbytes + (self.appended.iter().sum::<u64>() + self.overwritten) * width;
        let blocks = self.blocks();
        let needs_check = !self.damage.is_none();
        let stamp = Stamp { version, elapsed, blocks, orphans, kbytes, is_clean, needs_check };
        let footer_version = self.pack(pack, &journals, stamp, reserve)?;
        self.last = Last { pack, version, footer_version, has_chain: true, kbytes, blocks, is_clean };
        (self.appended, self.overwritten) = ([0; 6], 0);
        let [nat, sit] = journals;
        self.nat.committed(!nat.is_empty());
        let unit = self.medium.discards();
        let freed = self.sit.committed(!sit.is_empty(), unit == Some(DiscardUnit::Block));
        if let Some(unit) = unit {
            discards::tell(unit, &freed, &self.sb, &self.sit, &self.medium);
        }
        self.write_damage()
    }

    /// Tells the device of all free blocks within a range of its bytes, in pieces of `least` bytes at least. The present
    /// state must be that of a checkpoint. Returns how many bytes these are.
    pub(crate) fn trim(&mut self, range: &Range<u64>, least: u64) -> Result<u64> {
        discards::trim(range, least, &self.sb, &self.sit, &self.medium)
    }

    /// Blocks of the NAT that a checkpoint would write now.
    pub(crate) fn nat_behind(&self) -> u64 {
        self.nat.behind(self.layout.journal_bytes())
    }

    /// Writes one of them, of which no checkpoint knows until the next, and all blocks that were appended.
    pub(crate) fn write_ahead(&mut self) -> Result<()> {
        self.flush_all()?;
        self.nat.write_ahead(&mut self.medium)
    }

    /// Zeros the older pack, but for its head, after power failed on it: the rest of its foot could be taken for that
    /// of the next.
    pub(crate) fn clear_torn_pack(&mut self) -> Result<()> {
        let start = self.sb.checkpoint_addr(3 - self.last.pack);
        self.medium.clear(BlockAddr(start.0 + 1), self.sb.blocks_per_segment() - 1)?;
        self.medium.flush()
    }

    fn pack(
        &mut self,
        number: u8,
        journals: &[Vec<u8>; 2],
        stamp: Stamp<'_>,
        reserve: Reserve,
    ) -> Result<u64> {
        let pack = Pack {
            sb: &self.sb,
            nat: &self.nat,
            sit: &self.sit,
            heads: &self.heads,
            number,
            journals: journals.each_ref().map(Vec::as_slice),
            stamp,
            reserve,
        };
        pack.write(&mut self.medium)
    }

    /// The volume's own time from now on.
    pub(crate) fn set_time(&mut self, elapsed: u64) {
        self.sit.set_time(elapsed);
    }

    /// The device.
    pub(crate) fn medium(&mut self) -> &mut Medium {
        &mut self.medium
    }
}

/// The place where a log goes on.
#[derive(Clone, Copy)]
struct Ahead {
    segno: SegNo,
    offset: u32,
    /// It is another segment than before.
    new: Option<Found>,
}

impl Ahead {
    fn addr(self, sit: &Sit) -> BlockAddr {
        sit.addr(self.segno, self.offset)
    }
}
