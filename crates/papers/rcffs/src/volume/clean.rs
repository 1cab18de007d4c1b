//! Section 6: the garbage collector and the consistency checker, which the paper left open and wants to be one. A
//! segment is emptied by its reverse index; one with a repaired page goes first, so that the page is moved.

use pumice_common::damaged;
use pumice_vfs::{Errno, FsError, Result};

use super::Volume;
use crate::layout::{Addr, count};
use crate::mutree::{Header, Key, NodeShape, Pages, Place};
use crate::pack::Chunk;
use crate::segment::{NODE, Reverse, UPPER, Use, reverse_entries};

/// A segment with more live bytes of a hundred gives nothing.
const FULL_SHARE: u64 = 95;

/// A cleaning moves so many bytes for each byte of leaves that it may write, as far as there is room: with four fifths of
/// the victims live it frees more than it writes.
const LEAF_PRICE: u64 = 6;
/// Cleanings in a row that leave no more segments free than there were before, until the cleaner gives up. One alone may:
/// it kills leaves of the tree in segments that the next ones empty.
const PATIENCE: u32 = 4;

/// The live data of segments that are cleaned together.
#[derive(Default)]
struct Moved {
    segments: Vec<u32>,
    chunks: Vec<Chunk>,
    /// Level, and a key on the way.
    nodes: Vec<(usize, u64)>,
    bytes: u64,
}

impl Volume<'_> {
    /// Sees to it that so many bytes of so many keys can be written, and segments cleaned afterwards.
    pub(super) fn make_room(&mut self, bytes: u64, keys: usize) -> Result<()> {
        // Chunks that do not fit the end of a block leave a part of it.
        let bytes = bytes + bytes / 4 + self.tree_pages(keys) * self.layout().page_bytes() as u64;
        let want = self.segments_for(bytes);
        // Cleaning may write all leaves, and needs a segment for moved data, and one that is open.
        let spare = 2 + self.segments_for(self.leaf_bytes());
        let (mut most, mut in_vain) = (0, 0);
        while self.log.free_segments() < want + spare && in_vain < PATIENCE {
            if !self.clean()? {
                break;
            }
            in_vain = if self.log.free_segments() > most { 0 } else { in_vain + 1 };
            most = most.max(self.log.free_segments());
        }
        if self.log.free_segments() > want {
            return Ok(());
        }
        Err(FsError::new(Errno::NoSpace, "cleaning finds nothing to free".into()))
    }

    fn segments_for(&self, bytes: u64) -> u32 {
        count(usize::try_from(bytes.div_ceil(self.layout().data_bytes())).unwrap_or(usize::MAX))
    }

    fn leaf_bytes(&self) -> u64 {
        u64::from(self.tree.state().leaves) * self.layout().page_bytes() as u64
    }

    /// Cleans the segments with the fewest live bytes, several at a time: each cleaning may write all leaves of the tree,
    /// however little it moves. False if none is worth it.
    pub(crate) fn clean(&mut self) -> Result<bool> {
        self.count_cut_short();
        let each = self.layout().data_bytes();
        let most = each * FULL_SHARE / 100;
        let leaves = self.leaf_bytes();
        let free = u64::from(self.log.free_segments()) * each;
        // The leaves may take their part of the free room, and chunks leave a part of each block.
        let room = free.saturating_sub(leaves + each) * 3 / 4;
        let budget = room.min(each.max(LEAF_PRICE * leaves));
        let open = self.log.open_segment();
        let live = |(segment, of): (u32, &Use)| match of {
            Use::Live(bytes) => Some((*bytes, segment)),
            Use::Free | Use::CutShort | Use::Bad => None,
        };
        let mut victims: Vec<(u64, u32)> = (0..).zip(self.log.usage()).filter_map(live).collect();
        victims.retain(|(bytes, segment)| *bytes < most && Some(*segment) != open);
        victims.sort_unstable();
        let mut moved = Moved::default();
        for (bytes, segment) in victims {
            if !moved.segments.is_empty() && moved.bytes + bytes > budget {
                break;
            }
            self.gather(segment, &mut moved);
        }
        if moved.segments.is_empty() {
            return Ok(false);
        }
        self.empty(moved)?;
        Ok(true)
    }

    /// Moves the segments in which something was repaired; tells how many.
    pub(crate) fn clean_damaged(&mut self) -> Result<u32> {
        let mut cleaned = 0;
        let damaged: Vec<u32> = self.log.shared_store().damaged().iter().copied().collect();
        for segment in damaged {
            if self.log.open_segment() == Some(segment) {
                self.log.end_segment()?;
            }
            if self.log.usage()[segment as usize].may_be_live() {
                self.make_room(self.layout().data_bytes(), 0)?;
            }
            // Making room may have emptied it.
            if self.log.usage()[segment as usize].may_be_live() {
                let mut moved = Moved::default();
                self.gather(segment, &mut moved);
                cleaned += count(moved.segments.len());
                self.empty(moved)?;
            }
        }
        Ok(cleaned)
    }

    /// Counts the live bytes of the segments that a crash cut short.
    fn count_cut_short(&mut self) {
        let is_cut = |(segment, of): (u32, &Use)| (*of == Use::CutShort).then_some(segment);
        let segments: Vec<u32> = (0..).zip(self.log.usage()).filter_map(is_cut).collect();
        for segment in segments {
            self.gather(segment, &mut Moved::default());
        }
    }

    /// Adds the live data of a segment to `moved`, and counts it. Not if something live cannot be read, which moving
    /// would hide.
    fn gather(&mut self, segment: u32, moved: &mut Moved) {
        if self.stuck.contains(&segment) {
            return;
        }
        let Ok(live) = self.live_in(segment) else {
            self.stuck.insert(segment);
            return;
        };
        self.log.set_live(segment, live.bytes);
        moved.segments.push(segment);
        moved.chunks.extend(live.chunks);
        moved.nodes.extend(live.nodes);
        moved.bytes += live.bytes;
    }

    fn live_in(&mut self, segment: u32) -> Result<Moved> {
        let mut live = Moved::default();
        let is_dead = self.log.usage()[segment as usize] == Use::Live(0);
        for entry in self.reverse_index(segment)? {
            let at = Addr(self.layout().first_page(segment).0 + u32::from(entry.page));
            match entry.offset {
                UPPER => live.nodes.extend(self.live_nodes(at)?),
                _ if is_dead => {}
                NODE => live.nodes.extend(self.live_nodes(at)?),
                offset => live.chunks.extend(self.live_chunk(Key(entry.key), at, offset)?),
            }
        }
        let leaves = live.nodes.iter().filter(|(level, _)| *level == 0).count() * self.layout().page_bytes();
        live.bytes = (live.chunks.iter().map(|chunk| chunk.bytes.len()).sum::<usize>() + leaves) as u64;
        Ok(live)
    }

    fn empty(&mut self, moved: Moved) -> Result<()> {
        let Moved { segments, mut chunks, nodes, .. } = moved;
        chunks.sort_by_key(|chunk| chunk.key);
        if !chunks.is_empty() || !nodes.is_empty() {
            let done = self.move_live(chunks, nodes);
            self.break_on_error(done)?;
        }
        for segment in segments {
            self.log.free(segment);
        }
        Ok(())
    }

    fn move_live(&mut self, chunks: Vec<Chunk>, nodes: Vec<(usize, u64)>) -> Result<()> {
        for chunk in chunks {
            self.log.append(chunk)?;
        }
        for (level, key) in nodes {
            let change = self.tree.touch(self.log.store(), key, level)?;
            self.count_change(&change, None)?;
        }
        self.commit(&[])
    }

    /// The reverse index of a segment; for one that was cut short, the tree is walked for references into it.
    fn reverse_index(&mut self, segment: u32) -> Result<Vec<Reverse>> {
        let layout = self.layout();
        let store = self.log.store();
        let Some(info) = store.info(segment)? else { return self.walk_for(segment) };
        let entries = info.reverse as usize;
        let pages = layout.reverse_pages(entries);
        let mut left = entries;
        let mut found = Vec::new();
        for page in store.summary(segment, layout.usage_pages() + pages, pages)? {
            let before = found.len();
            found.extend(reverse_entries(&page, left));
            left -= found.len() - before;
        }
        let fits = |entry: &Reverse| u32::from(entry.page) < layout.pages_of_segment();
        if found.iter().all(fits) {
            return Ok(found);
        }
        Err(damaged(format_args!("the reverse index of segment {segment} makes no sense")))
    }

    /// All chunks in a segment that the tree leads to, and all its nodes there.
    fn walk_for(&mut self, segment: u32) -> Result<Vec<Reverse>> {
        let layout = self.layout();
        let mut found = Vec::new();
        let place = |at: Addr| u16::try_from(layout.page_in_segment(at)).unwrap_or(u16::MAX);
        let mut key = Key(0);
        let mut pages = std::collections::BTreeSet::new();
        while let Some((at, Place { page, offset, .. })) = self.tree.next(self.log.store(), key)? {
            if layout.segment_of(page) == segment {
                found.push(Reverse { key: at.0, page: place(page), offset });
            }
            for level in 0..self.tree.state().height {
                if let Some(node) = self.tree.page_of(self.log.store(), at.0, level)?
                    && layout.segment_of(node) == segment
                    && pages.insert(node)
                {
                    found.push(Reverse { key: at.0, page: place(node), offset: UPPER });
                }
            }
            key = at.next();
        }
        Ok(found)
    }

    /// The chunk at a place, if the tree leads to it.
    fn live_chunk(&mut self, key: Key, at: Addr, offset: u16) -> Result<Option<Chunk>> {
        let place = self.tree.get(self.log.store(), key)?;
        let Some(place) = place.filter(|place| place.page == at && place.offset == offset) else {
            return Ok(None);
        };
        let bytes = self.log.store().stored(place)?;
        Ok(Some(Chunk { key, bytes, packed: place.packed }))
    }

    /// The nodes in a page that the tree leads to: level, and a key on the way.
    fn live_nodes(&mut self, at: Addr) -> Result<Vec<(usize, u64)>> {
        let page = self.log.store().page(at)?;
        let shape = NodeShape::new(self.layout().page_bytes());
        let Some(header) = Header::of(&page, shape) else {
            return Err(damaged(format_args!("page {} has no node of the tree", at.0)));
        };
        let mut live = Vec::new();
        for (level, key) in header.nodes() {
            if self.tree.page_of(self.log.store(), key, level)? == Some(at) {
                live.push((level, key));
            }
        }
        Ok(live)
    }
}
