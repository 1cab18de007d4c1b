//! Checkpoint packs that cannot be used as they stand: head and foot are copies of each other, the sizes of the parts
//! follow from the super block, and a journal's count from its entries.

use zerocopy::{FromBytes, IntoBytes, little_endian::U16};

use super::{bench::put, draft::Draft};
use crate::{
    error::{Error, Result},
    layout::{
        BlockAddr, Checkpoint, CpFlags, Features, Nid, RawNatJournalEntry, RawSitJournalEntry, SegNo,
        SummaryLayout, SuperBlock, seal_head,
    },
    volume::Volume,
};

/// Bytes of metadata kept in memory.
const CACHE_BYTES: usize = 1 << 20;
/// Logs of data, and all.
const DATA_LOGS: u32 = 3;
const LOGS: u32 = 6;

/// Makes the newest pack one that can be used; where that fails, and `give_up` allows it, the older one counts from now
/// on.
pub(super) fn mend(draft: &Draft, sb: &SuperBlock, give_up: bool) -> Result<()> {
    for pack in [1, 2] {
        Found { draft, sb, pack }.mend_journals()?;
    }
    for by_head_alone in [false, true] {
        let packs = unusable(draft)?.filter(|packs| !by_head_alone || packs.len() > 1);
        for pack in packs.into_iter().flatten() {
            Found { draft, sb, pack }.mend(by_head_alone);
            Found { draft, sb, pack }.mend_journals()?;
        }
    }
    if let Some([pack]) = unusable(draft)?.as_deref().filter(|_| give_up) {
        Found { draft, sb, pack: *pack }.drop();
    }
    Ok(())
}

/// The pack that was passed over, or both if none can be used.
fn unusable(draft: &Draft) -> Result<Option<Vec<u8>>> {
    match Volume::open(vec![Box::new(draft.clone())], CACHE_BYTES) {
        Ok(volume) => Ok(volume.passed_over().map(|passed| vec![passed.pack])),
        Err(Error::Corrupt(_)) => Ok(Some(vec![1, 2])),
        Err(error) => Err(error),
    }
}

/// The place of a pack.
struct Found<'a> {
    draft: &'a Draft,
    sb: &'a SuperBlock,
    pack: u8,
}

impl Found<'_> {
    fn addr(&self, index: u32) -> BlockAddr {
        BlockAddr(self.sb.checkpoint_addr(self.pack).0.saturating_add(index))
    }

    /// A head or foot with a right checksum.
    fn valid(&self, index: u32) -> Option<Checkpoint> {
        let block = self.draft.read(self.addr(index)).ok()?;
        Checkpoint::from_block(self.pack, &block, self.sb.block()).ok()
    }

    /// The newest foot, and its place.
    fn foot(&self) -> Option<(u32, Checkpoint)> {
        let feet = (2..self.sb.blocks_per_segment()).filter_map(|at| Some((at, self.valid(at)?)));
        feet.max_by_key(|(_, foot)| foot.version())
    }

    /// Mends head or foot. A head without a foot may be a pack of which the power cut the writing: it is taken only
    /// `by_head_alone`, or if what stands for the foot was one once.
    fn mend(&self, by_head_alone: bool) {
        match (self.valid(0), self.foot()) {
            (Some(head), Some((at, foot))) if foot.version() == head.version() => self.mend_parts(&head, at),
            // The foot of an older pack, which this one did not reach.
            (Some(head), _) => {
                let (total, _) = head.parts();
                let is_inside = (3..=self.sb.blocks_per_segment()).contains(&total);
                if is_inside && (by_head_alone || self.is_damaged_copy(&head, total - 1)) {
                    self.draft.write(self.addr(total - 1), head.block());
                }
            }
            (None, Some((at, foot))) if foot.parts().0 == at + 1 => {
                self.draft.write(self.addr(0), foot.block());
            }
            _ => {}
        }
    }

    /// True if a block is no checkpoint, and most of its bytes are those of this one.
    fn is_damaged_copy(&self, head: &Checkpoint, index: u32) -> bool {
        let Ok(block) = self.draft.read(self.addr(index)) else { return false };
        let told = || head.block().iter().zip(&block).filter(|(byte, _)| **byte != 0);
        let same = told().filter(|(byte, found)| byte == found).count();
        self.valid(index).is_none() && 2 * same > told().count()
    }

    /// The sizes of the parts of a pack with a foot at block `at`.
    fn mend_parts(&self, head: &Checkpoint, at: u32) {
        let (mut raw, (_, start)) = (*head.raw(), head.parts());
        let start = if !head.flags().has(CpFlags::ORPHAN) {
            1 + self.sb.payload()
        } else if !head.flags().has(CpFlags::COMPACT_SUM) {
            at.saturating_sub(summaries(head.flags()))
        } else {
            start
        };
        raw.set_bitmaps(self.sb);
        raw.set_parts(start, at + 1);
        let mut block = head.block().to_vec();
        put(&mut block, 0, raw.as_bytes());
        seal_head(&mut block);
        self.draft.write(self.addr(0), &block);
        self.draft.write(self.addr(at), &block);
    }

    /// Gives the pack up.
    fn drop(&self) {
        let zeros = vec![0; self.sb.block().width()];
        (0..self.sb.blocks_per_segment()).for_each(|at| self.draft.write(self.addr(at), &zeros));
    }

    /// Counts of journals that cannot be: as many entries are left as make sense.
    fn mend_journals(&self) -> Result<()> {
        let Some(head) = self.valid(0) else { return Ok(()) };
        if head.check_parts(self.sb).is_err() {
            return Ok(());
        }
        let layout = SummaryLayout::new(self.sb.block(), self.sb.features().has(Features::PACKED_SSA));
        let (total, start) = head.parts();
        let foot = total - 1;
        let places = if head.flags().has(CpFlags::COMPACT_SUM) {
            [(start, 0), (start, layout.journal_bytes())]
        } else {
            let first = foot.saturating_sub(summaries(head.flags()));
            [(first, layout.journal_at()), (first + DATA_LOGS - 1, layout.journal_at())]
        };
        for ((index, at), is_nat) in places.into_iter().zip([true, false]) {
            self.draft.edit(self.addr(index), |block| {
                let Some(journal) = block.get_mut(at..at + layout.journal_bytes()) else { return };
                let kept = if is_nat { self.nat_entries(journal) } else { self.sit_entries(journal) };
                if let Some(kept) = kept {
                    put(journal, 0, U16::new(kept).as_bytes());
                }
            })?;
        }
        Ok(())
    }

    /// Entries of the NAT's journal that make sense, if its count does not.
    fn nat_entries(&self, journal: &[u8]) -> Option<u16> {
        too_many::<RawNatJournalEntry>(journal, |raw| {
            let (nid, addr) = (Nid(raw.nid.get()), raw.entry.block_addr.get());
            let is_main = addr >= self.sb.main_start().0 && u64::from(addr) < self.sb.main_end();
            nid >= self.sb.root() && nid.0 < self.sb.nid_limit() && (addr == 0 || is_main)
        })
    }

    /// The same of the SIT's.
    fn sit_entries(&self, journal: &[u8]) -> Option<u16> {
        let mut seen: Vec<SegNo> = Vec::new();
        too_many::<RawSitJournalEntry>(journal, |raw| {
            let segno = SegNo(raw.segno.get());
            let is_new = !seen.contains(&segno);
            seen.push(segno);
            is_new && segno.0 < self.sb.main_segments()
        })
    }
}

/// The number of entries in front of the first that makes no sense, if the journal counts more than it has room for.
fn too_many<E: FromBytes>(journal: &[u8], mut makes_sense: impl FnMut(&E) -> bool) -> Option<u16> {
    let (count, entries) = U16::read_from_prefix(journal).ok()?;
    if usize::from(count.get()) * size_of::<E>() <= entries.len() {
        return None;
    }
    let raws = entries.chunks_exact(size_of::<E>()).map_while(|raw| E::read_from_bytes(raw).ok());
    u16::try_from(raws.take_while(|raw| makes_sense(raw)).count()).ok()
}

/// Summaries that a pack with these flags has, if they are not compacted.
fn summaries(flags: CpFlags) -> u32 {
    if flags.has_node_summaries() { LOGS } else { DATA_LOGS }
}

/// The newest version of those packs that can be used.
pub(super) fn newest_version(volume: &Volume) -> u64 {
    let newest = volume.packs().iter().flatten().map(Checkpoint::version).max();
    newest.unwrap_or(volume.checkpoint().version())
}
