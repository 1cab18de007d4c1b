//! Writing: small owners, each the one master of its part of the state, and [`Writer`], which has a block pass them in
//! order.
//!
//! A block goes to the [`Head`] of its log; the [`Sit`] marks it as in use; a node's place goes to the [`Nat`]. When a
//! segment is full its summary goes to the SSA, and the [`Supply`] says where the log goes on. Nothing of it counts until
//! [`Writer::checkpoint`] has written the tables and a checkpoint pack ([`pack`]).

pub(crate) mod head;
pub(crate) mod medium;
pub(crate) mod nat;
mod nat_bits;
pub(crate) mod pack;
pub(crate) mod sit;
pub(crate) mod supply;
mod table;

use crate::word::word;
use head::{Head, Heads, Log};
use medium::Medium;
use nat::Nat;
use pack::Reserve;
use sit::Sit;
use supply::Supply;

use crate::{
    crc,
    error::{Error, Result},
    layout::{
        BlockAddr, Features, INODE_GENERATION_OFFSET, Nid, NodeFooter, SegNo, Summary, SummaryLayout,
        SuperBlock,
    },
};

/// A volume that is being written.
pub(crate) struct Writer {
    sb: SuperBlock,
    medium: Medium,
    nat: Nat,
    sit: Sit,
    supply: Supply,
    heads: Heads,
    layout: SummaryLayout,
    inode_seed: u32,
    /// Blocks that each log got.
    appended: [u64; 6],
}

impl Writer {
    /// A volume whose tables hold nothing. Each log begins at, or behind, the segment that `starts` has for it; node
    /// numbers from `first_nid` on are free.
    pub(crate) fn fresh(
        sb: SuperBlock,
        medium: Medium,
        starts: [SegNo; 6],
        first_nid: u32,
    ) -> Result<Writer> {
        let layout = SummaryLayout::new(sb.block(), sb.features().has(Features::PACKED_SSA));
        let (nat, mut sit) = (Nat::fresh(&sb, first_nid), Sit::fresh(&sb));
        let mut supply = Supply::new(&sb, starts);
        let inode_seed = crc::inode_seed(&sb.uuid());
        let segments = sit.segments();
        let mut open = |log| -> Result<Head> {
            let segno = supply.take(log, &mut sit).ok_or(Error::NoSegment { segments })?;
            Ok(Head::open(log, segno, layout))
        };
        let [hot, warm, cold, hot_node, warm_node, cold_node] = Log::ALL.map(&mut open);
        let heads = Heads::new([hot?, warm?, cold?, hot_node?, warm_node?, cold_node?]);
        Ok(Writer { sb, medium, nat, sit, supply, heads, layout, inode_seed, appended: [0; 6] })
    }

    /// The super block.
    pub(crate) fn super_block(&self) -> &SuperBlock {
        &self.sb
    }

    /// A free node number.
    pub(crate) fn take_nid(&mut self) -> Result<Nid> {
        self.nat.take().ok_or(Error::NoNode { limit: self.sb.nid_limit() })
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

    /// Where the next block of a log goes, and how many fit behind each other from there.
    pub(crate) fn next(&self, log: Log) -> (BlockAddr, u32) {
        let (segno, offset) = self.heads.of(log).place();
        (self.sit.addr(segno, offset), self.sb.blocks_per_segment() - offset)
    }

    /// Appends whole blocks of data, no more than [`Writer::next`] says, with their owners. Returns the first's address.
    pub(crate) fn append_data(
        &mut self,
        log: Log,
        blocks: &[u8],
        owners: impl ExactSizeIterator<Item = Summary>,
    ) -> Result<BlockAddr> {
        debug_assert!(!log.is_node());
        self.append(log, blocks, owners)
    }

    /// Appends a node, whose footer is still to be written. Returns its address.
    pub(crate) fn append_node(
        &mut self,
        log: Log,
        block: &mut [u8],
        mut footer: NodeFooter,
    ) -> Result<BlockAddr> {
        debug_assert!(log.is_node());
        let (addr, room) = self.next(log);
        // The next segment must be known before the last node of this one is written.
        let ahead = if room == 1 { Some(self.next_segment(log)?) } else { None };
        footer.next = ahead.map_or(BlockAddr(addr.0 + 1), |segno| self.sit.addr(segno, 0));
        footer.write_to(block);
        if footer.is_inode() && self.sb.features().has(Features::INODE_CHECKSUM) {
            self.seal(footer.nid, block);
        }
        let owner = Summary { nid: footer.nid, version: 0, offset: 0 };
        self.put(log, block, std::iter::once(owner))?;
        if let Some(segno) = ahead {
            self.turn(log, segno)?;
        }
        self.nat.add(footer.nid, footer.ino, addr);
        Ok(addr)
    }

    /// Writes the checksum of an inode, which covers its footer.
    fn seal(&self, ino: Nid, block: &mut [u8]) {
        let generation = block.get(INODE_GENERATION_OFFSET..).and_then(<[u8]>::first_chunk);
        let generation = generation.map_or(0, |bytes| u32::from_le_bytes(*bytes));
        if let Some(sum) = crc::inode_checksum(self.inode_seed, ino.0, generation, block) {
            let place = block.iter_mut().skip(crc::INODE_CHECKSUM_OFFSET);
            place.zip(sum.to_le_bytes()).for_each(|(to, from)| *to = from);
        }
    }

    fn append(
        &mut self,
        log: Log,
        blocks: &[u8],
        owners: impl ExactSizeIterator<Item = Summary>,
    ) -> Result<BlockAddr> {
        let (addr, room) = self.next(log);
        let is_last = owners.len() == room as usize;
        self.put(log, blocks, owners)?;
        if is_last {
            let segno = self.next_segment(log)?;
            self.turn(log, segno)?;
        }
        Ok(addr)
    }

    /// Hands blocks to the log's head.
    fn put(&mut self, log: Log, blocks: &[u8], owners: impl ExactSizeIterator<Item = Summary>) -> Result<()> {
        let count = word(owners.len());
        debug_assert_eq!(blocks.len(), owners.len() * self.sb.block().width());
        let head = self.heads.of_mut(log);
        let (segno, offset) = head.place();
        debug_assert!(offset + count <= self.sb.blocks_per_segment());
        head.push(blocks, owners);
        self.sit.fill(segno, offset, count);
        if let Some(appended) = self.appended.get_mut(log.index()) {
            *appended += u64::from(count);
        }
        if head.is_heavy() {
            head.flush(&mut self.medium, self.sit.addr(segno, offset + count))?;
        }
        Ok(())
    }

    fn next_segment(&mut self, log: Log) -> Result<SegNo> {
        let segments = self.sit.segments();
        self.supply.take(log, &mut self.sit).ok_or(Error::NoSegment { segments })
    }

    /// A full segment: what waits and the summary are written, and the log goes on in the next.
    fn turn(&mut self, log: Log, next: SegNo) -> Result<()> {
        let layout = self.layout;
        let head = self.heads.of_mut(log);
        let (segno, offset) = head.place();
        head.flush(&mut self.medium, self.sit.addr(segno, offset))?;
        let full = std::mem::replace(head, Head::open(log, next, layout));
        self.write_summary(segno, full.summary().as_bytes())
    }

    fn write_summary(&mut self, segno: SegNo, summary: &[u8]) -> Result<()> {
        let addr = BlockAddr(self.sb.raw().ssa_blkaddr.get().saturating_add(segno.0 / self.layout.per_block));
        if self.layout.per_block == 1 {
            return self.medium.write(addr, summary);
        }
        let mut block = self.medium.read(addr)?;
        let at = (segno.0 % self.layout.per_block) as usize * self.layout.bytes;
        block.iter_mut().skip(at).zip(summary).for_each(|(to, from)| *to = *from);
        self.medium.write(addr, &block)
    }

    /// Makes everything written so far the state of the volume: as version `version` in the first pack, and in front of it
    /// as the version before in the second, so that one of them may be lost.
    pub(crate) fn checkpoint(&mut self, version: u64, reserve: Reserve) -> Result<()> {
        for log in Log::ALL {
            let (end, _) = self.next(log);
            self.heads.of_mut(log).flush(&mut self.medium, end)?;
        }
        let room = self.layout.journal_bytes();
        let nat_journal = self.nat.write(&mut self.medium, room)?;
        let sit_journal = self.sit.write(&mut self.medium, room)?;
        for (number, version) in [(2, version - 1), (1, version)] {
            let pack = pack::Pack {
                sb: &self.sb,
                nat: &self.nat,
                sit: &self.sit,
                heads: &self.heads,
                number,
                journals: [&nat_journal, &sit_journal],
                version,
                reserve,
            };
            pack.write(&mut self.medium)?;
        }
        Ok(())
    }

    /// The device.
    pub(crate) fn medium(&mut self) -> &mut Medium {
        &mut self.medium
    }
}
