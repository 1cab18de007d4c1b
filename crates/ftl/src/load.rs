//! Reading a checkpoint back.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use pumice_flashlog::{Page, Patrol, Rounds, SEQ_END};
use zerocopy::{FromBytes, little_endian::U64};

use crate::counters::Counters;
use crate::error::Result;
use crate::flash::Flash;
use crate::head::Head;
use crate::layout::{
    ALL_ENTRIES, CHECKPOINT_MAGIC, Kind, NO_PAGE, RawChange, RawChanges, RawHead, RawPart, RawState,
};
use crate::leaf::Change;
use crate::line::{Lines, Taken, Unread};
use crate::log::Log;
use crate::map::Map;
use crate::record::Record;
use crate::segment::{Segment, State};
use crate::segments::Segments;
use crate::server::Server;
use crate::shape::{ANCHOR_BLOCKS, Addr, Place, Shape};
use crate::stream::part_bytes;
use crate::summary::Contents;
use crate::table::Table;

/// No counter gets there in the life of a chip.
const COUNT_MOST: u64 = 1 << 60;

/// Reads the pages of a checkpoint one after the other.
struct Reader<'a, 'c> {
    flash: &'a mut Flash<'c>,
    shape: Shape,
    record: &'a Record,
    payload: Vec<u8>,
    at: usize,
    part: u32,
}

impl<'a, 'c> Reader<'a, 'c> {
    fn new(flash: &'a mut Flash<'c>, shape: Shape, record: &'a Record) -> Reader<'a, 'c> {
        Reader { flash, shape, record, payload: Vec::new(), at: 0, part: 0 }
    }

    /// The next `count` bytes; `None` if the checkpoint ends, or is damaged.
    fn take(&mut self, count: usize) -> Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; count];
        Ok(self.fill(&mut bytes)?.then_some(bytes))
    }

    /// Takes as many bytes as there is room for; false if there are fewer.
    fn fill(&mut self, mut out: &mut [u8]) -> Result<bool> {
        while !out.is_empty() {
            if self.at >= self.payload.len() && !self.next_page()? {
                return Ok(false);
            }
            let rest = self.payload.get(self.at..).unwrap_or_default();
            let count = rest.len().min(out.len());
            let (now, later) = out.split_at_mut(count);
            now.copy_from_slice(rest.get(..count).unwrap_or_default());
            self.at += count;
            out = later;
        }
        Ok(true)
    }

    /// The next byte of a line.
    fn byte(&mut self) -> Taken<u8> {
        let mut byte = [0];
        match self.fill(&mut byte) {
            Ok(true) => Ok(byte[0]),
            Ok(false) => Err(Unread::Senseless),
            Err(error) => Err(Unread::Chip(error)),
        }
    }

    fn next_page(&mut self) -> Result<bool> {
        // The last is parity.
        if self.part + 1 >= self.record.pages {
            return Ok(false);
        }
        let payload = match self.page(self.part)? {
            Some(page) => Some(page.payload.clone()),
            None => self.made_again(self.part)?,
        };
        let Some(payload) = payload.filter(|payload| self.is_part(payload)) else { return Ok(false) };
        self.payload = payload;
        self.part += 1;
        self.at = self.shape.payload() - part_bytes(&self.shape);
        Ok(true)
    }

    fn is_part(&self, payload: &[u8]) -> bool {
        RawPart::ref_from_prefix(payload)
            .is_ok_and(|(raw, _)| raw.checkpoint.get() == self.record.number && raw.part.get() == self.part)
    }

    /// A page of the checkpoint, if it proves itself.
    fn page(&mut self, part: u32) -> Result<Option<Arc<Page>>> {
        let block = self.record.segments.get((part / self.shape.pages) as usize).copied();
        let Some(block) = block.filter(|block| *block < self.shape.blocks) else { return Ok(None) };
        let found = self.flash.read(Place { block, index: part % self.shape.pages })?;
        Ok(found.of_kind(Kind::Checkpoint).map(|(_, page)| page))
    }

    fn bad_parts(mut self) -> Result<Vec<Option<u32>>> {
        let mut bad = Vec::new();
        let mut sum = vec![0; self.shape.payload()];
        for part in 0..self.record.pages {
            match self.page(part)? {
                Some(page) => sum.iter_mut().zip(&page.payload).for_each(|(sum, byte)| *sum ^= byte),
                None => bad.push(Some(part)),
            }
        }
        if bad.is_empty() && sum.iter().any(|byte| *byte != 0) {
            bad.push(None);
        }
        Ok(bad)
    }

    /// A page that cannot be read, made from all others; `None` if another is gone too.
    fn made_again(&mut self, part: u32) -> Result<Option<Vec<u8>>> {
        let mut sum = vec![0; self.shape.payload()];
        for other in (0..self.record.pages).filter(|other| *other != part) {
            let Some(page) = self.page(other)? else { return Ok(None) };
            sum.iter_mut().zip(&page.payload).for_each(|(sum, byte)| *sum ^= byte);
        }
        Ok(Some(sum))
    }
}

impl Log<'_> {
    /// Pages of a checkpoint that cannot be read, by number; none if its parity does not fit.
    pub(crate) fn bad_parts(&mut self, record: &Record) -> Result<Vec<Option<u32>>> {
        Reader::new(&mut self.flash, self.shape, record).bad_parts()
    }
}

impl Server<'_> {
    /// Loads the checkpoint of this record; false, with nothing loaded, if it is damaged.
    pub(crate) fn load(&mut self, record: Record) -> Result<bool> {
        let fits = record.pages <= self.log.shape.blocks.saturating_mul(self.log.shape.pages);
        let mut reader = Reader::new(&mut self.log.flash, self.log.shape, &record);
        self.map.table.clear();
        self.map.log.clear();
        self.log.segments.clear();
        let (table, segments) = (&mut self.map.table, &mut self.log.segments);
        let loaded = if fits { Loaded::read(&mut reader, table, segments)? } else { None };
        let is_sound = |loaded: &Loaded| {
            loaded.is_sound(&self.log, &self.map.table, &record.segments)
                && has_its_leaves(&self.log, &self.map, &record.segments)
        };
        let Some(loaded) = loaded.filter(is_sound) else {
            self.map.table.clear();
            self.log.segments.clear();
            return Ok(false);
        };
        self.map.table.set_live(loaded.state.stored.get());
        let medium = self.log.shape.medium;
        self.map.table.pages().flatten().for_each(|page| self.map.log.add(medium.block_of(page)));
        self.log.clock = loaded.state.clock.get();
        self.log.flash.medium.set_seq(loaded.state.sequence.get());
        let count = |count: U64| count.get().min(COUNT_MOST);
        self.log.status.counters = Counters {
            user_writes: count(loaded.state.user_writes),
            copied: count(loaded.state.copied),
            erases: count(loaded.state.erases),
            trimmed: count(loaded.state.trimmed),
            ..Counters::default()
        };
        for (slot, head) in loaded.heads {
            self.log.heads.put(usize::from(slot), head);
        }
        self.log.segments.set_failures(loaded.state.failures.get());
        self.log.patrol = Patrol::resume(Rounds {
            began: loaded.state.patrol_began.get(),
            page: loaded.state.patrol_page.get(),
            passes: loaded.state.patrol_passes.get(),
            moved_blocks: loaded.state.moved.get(),
            corrected_bits: count(loaded.state.corrected),
            rebuilt_pages: loaded.state.rebuilt.get(),
        });
        self.log.aftermath.unsure.name(&self.log.shape, &loaded.state.unsure);
        self.log.recorded.opened.resume(record.opened.as_deref());
        self.log.recorded.record = record;
        self.place_roots();
        Ok(true)
    }

    /// Marks the segments of the records. The table was written before the record, which may have gone to other
    /// segments since: to free ones, and to written ones without live blocks.
    pub(crate) fn place_roots(&mut self) {
        for block in 0..self.log.shape.blocks {
            let is_root = self.log.recorded.roots.holds(block);
            let is_part = self.log.recorded.record.segments.contains(&block) || self.map.log.holds(block);
            self.log.segments.change(block, |segment| match segment.state {
                State::Free | State::Open | State::Sealed | State::Stuck if is_root => {
                    segment.state = State::Checkpoint;
                }
                State::Checkpoint if !is_root && !is_part => segment.state = State::Free,
                _ => {}
            });
        }
        self.log.heads.take_all(|head| self.log.recorded.roots.holds(head.block));
    }
}

/// The parsed parts of a checkpoint, besides the tables.
struct Loaded {
    state: RawState,
    heads: Vec<(u8, Head)>,
}

impl Loaded {
    /// Fills the tables meanwhile, which are empty: they are larger than everything else, and are not held twice.
    fn read(
        reader: &mut Reader<'_, '_>,
        table: &mut Table,
        segments: &mut Segments,
    ) -> Result<Option<Loaded>> {
        let shape = reader.shape;
        let Some(bytes) = reader.take(size_of::<RawState>())? else { return Ok(None) };
        let Ok(state) = RawState::read_from_bytes(&bytes) else { return Ok(None) };
        let fits = state.magic.get() == CHECKPOINT_MAGIC
            && state.logical_blocks.get() == table.len()
            && state.segments.get() == shape.blocks
            && state.heads.get() as usize <= crate::head::HEADS
            && (1..SEQ_END).contains(&state.sequence.get());
        if !fits {
            return Ok(None);
        }
        let mut heads = Vec::new();
        for _ in 0..state.heads.get() {
            let Some(head) = read_head(reader)? else { return Ok(None) };
            heads.push(head);
        }
        let mut page = [0; 4];
        for leaf in 0..table.leaves() {
            if !reader.fill(&mut page)? {
                return Ok(None);
            }
            table.place(leaf, Some(u32::from_le_bytes(page)).filter(|page| *page != NO_PAGE));
        }
        for _ in 0..state.changed.get() {
            if !read_changes(reader, table)? {
                return Ok(None);
            }
        }
        let mut lines = Lines::at(state.clock.get());
        for block in 0..shape.blocks {
            match lines.take(&mut || reader.byte()) {
                Ok(segment) => segments.change(block, |line| *line = segment),
                Err(Unread::Senseless) => return Ok(None),
                Err(Unread::Chip(error)) => return Err(error),
            }
        }
        Ok(Some(Loaded { state, heads }))
    }

    /// True if everything fits together and the chip.
    fn is_sound(&self, log: &Log<'_>, table: &Table, checkpoint: &[u32]) -> bool {
        let (shape, state) = (&log.shape, |block: u32| state_of(log, block));
        let holds = |addr: Addr| {
            let is_nowhere = addr.is_none() || addr == Addr::LOST;
            is_nowhere || state(shape.place(addr).0.block).is_some_and(State::may_hold_data)
        };
        let mut open: Vec<u32> = self.heads.iter().map(|(_, head)| head.block).collect();
        open.sort_unstable();
        let is_open = |head: &Head| {
            state(head.block) == Some(State::Open)
                && head.index < shape.data_pages()
                && head.covered <= head.index
                && head.contents.sequences.last().is_none_or(|last| *last < self.state.sequence.get())
        };
        let own = |block: u32| block < ANCHOR_BLOCKS;
        let is_placed = |(block, segment): (u32, Segment)| match segment.state {
            State::Anchor => own(block),
            State::Bad => true,
            _ => !own(block) && u32::from(segment.used) <= shape.pages,
        };
        let opens = log.segments.iter().filter(|(_, segment)| segment.state == State::Open).count();
        table.changes().all(holds)
            && self.heads.iter().all(|(_, head)| is_open(head))
            && open.windows(2).all(|pair| pair.first() != pair.last())
            && opens == open.len()
            && log.segments.iter().all(is_placed)
            && checkpoint.iter().all(|block| state(*block) == Some(State::Checkpoint))
    }
}

fn state_of(log: &Log<'_>, block: u32) -> Option<State> {
    (block < log.shape.blocks).then(|| log.segments.get(block).state)
}

/// True if the leaves of the table lie where leaves may.
fn has_its_leaves(log: &Log<'_>, map: &Map, checkpoint: &[u32]) -> bool {
    map.table.pages().flatten().all(|page| {
        let block = log.shape.medium.block_of(page);
        let state = state_of(log, block);
        map.log.is_used() && state == Some(State::Checkpoint) && !checkpoint.contains(&block)
    })
}

/// Reads the changes of a leaf since it was written; false if they make no sense.
fn read_changes(reader: &mut Reader<'_, '_>, table: &mut Table) -> Result<bool> {
    let Some(bytes) = reader.take(size_of::<RawChanges>())? else { return Ok(false) };
    let Ok(raw) = RawChanges::read_from_bytes(&bytes) else { return Ok(false) };
    let (leaf, count) = (raw.leaf.get(), raw.count.get());
    if leaf >= table.leaves() || (count != ALL_ENTRIES && count as usize > table.entries(leaf)) {
        return Ok(false);
    }
    if count == ALL_ENTRIES {
        let bytes = reader.take(table.entries(leaf) * size_of::<u32>())?;
        return Ok(bytes.is_some_and(|bytes| {
            let words = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
            table.take_all(leaf, words.collect())
        }));
    }
    let bytes = reader.take(count as usize * size_of::<RawChange>())?;
    Ok(bytes.is_some_and(|bytes| {
        let few = <[RawChange]>::ref_from_bytes(&bytes).map(|few| few.iter());
        debug_assert!(few.is_ok(), "bytes of another length were taken");
        few.is_ok_and(|few| table.take_changes(leaf, few.copied().map(Change::of).collect()))
    }))
}

fn read_head(reader: &mut Reader<'_, '_>) -> Result<Option<(u8, Head)>> {
    let shape = reader.shape;
    let Some(bytes) = reader.take(size_of::<RawHead>())? else { return Ok(None) };
    let Ok(raw) = RawHead::read_from_bytes(&bytes) else { return Ok(None) };
    let pages = raw.pages.get();
    if pages > shape.pages || usize::from(raw.slot) >= crate::head::HEADS {
        return Ok(None);
    }
    let Some(bytes) = reader.take(pages as usize * shape.named_bytes())? else { return Ok(None) };
    let mut contents = Contents::default();
    if contents.take_pages(&shape, raw.first.get(), &bytes).is_none() {
        return Ok(None);
    }
    let mut head = Head::new(&shape, raw.block.get(), raw.class, raw.erases.get(), raw.opened.get());
    (head.contents.sequences, head.contents.entries) = (contents.sequences, contents.entries);
    (head.index, head.covered) = (pages, raw.covered.get());
    (head.written, head.kept) = (pages, pages);
    Ok(Some((raw.slot, head)))
}
