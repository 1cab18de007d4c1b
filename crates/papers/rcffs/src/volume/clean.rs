//! Section 6: the garbage collector and the consistency checker, which the paper left open and wants to be one. A segment is
//! emptied by its reverse index; one in which a page had to be repaired goes first, so that what was wrong is moved.

use pumice_media::Nand;
use pumice_vfs::{Errno, FsError, Result};

use super::Volume;
use crate::error::damaged;
use crate::layout::{Addr, count};
use crate::mutree::{Header, Key, NodeShape, Pages, Place};
use crate::pack::Chunk;
use crate::segment::{NODE, Reverse, Use, reverse_entries};

/// A segment with more live bytes of a hundred gives nothing.
const FULL_SHARE: u64 = 95;

impl<N: Nand> Volume<N> {
    /// Sees to it that so many bytes of so many keys can be written, and a segment cleaned afterwards.
    pub(super) fn make_room(&mut self, bytes: u64, keys: usize) -> Result<()> {
        let each = self.layout().data_bytes();
        let page_bytes = self.layout().page_bytes() as u64;
        // Chunks that do not fit the end of a block leave a part of it.
        let bytes = bytes + bytes / 4 + self.tree_pages(keys) * page_bytes;
        let want = count(usize::try_from(bytes.div_ceil(each)).unwrap_or(usize::MAX));
        let leaves = u64::from(self.tree.state().leaves) * page_bytes;
        let spare = 2 + count(usize::try_from(leaves.div_ceil(each)).unwrap_or(usize::MAX));
        while self.log.free_segments() < want + spare {
            if !self.clean()? {
                break;
            }
        }
        if self.log.free_segments() > want {
            return Ok(());
        }
        Err(FsError::new(Errno::NoSpace, "cleaning finds nothing to free".into()))
    }

    /// Cleans the segment with the fewest live bytes; false if none is worth it.
    pub(crate) fn clean(&mut self) -> Result<bool> {
        let most = self.layout().data_bytes() * FULL_SHARE / 100;
        loop {
            let (log, stuck) = (&self.log, &self.stuck);
            let open = log.open_segment();
            let live = |of: &Use| match of {
                Use::Live(bytes) => Some(*bytes),
                Use::Free | Use::Bad => None,
            };
            let all = (0..).zip(log.usage()).filter_map(|(segment, of)| Some((live(of)?, segment)));
            let least = all.filter(|(_, segment)| Some(*segment) != open && !stuck.contains(segment)).min();
            let Some((_, segment)) = least.filter(|(bytes, _)| *bytes < most) else { return Ok(false) };
            if self.clean_segment(segment, false)? {
                return Ok(true);
            }
        }
    }

    /// Moves the segments in which something was repaired; tells how many.
    pub(crate) fn clean_damaged(&mut self) -> Result<u32> {
        let mut cleaned = 0;
        let damaged: Vec<u32> = self.log.shared_store().damaged().iter().copied().collect();
        for segment in damaged {
            if self.log.open_segment() == Some(segment) {
                self.log.end_segment()?;
            }
            if matches!(self.log.usage()[segment as usize], Use::Live(_)) && !self.stuck.contains(&segment) {
                self.make_room(self.layout().data_bytes(), 0)?;
                cleaned += u32::from(self.clean_segment(segment, true)?);
            }
        }
        Ok(cleaned)
    }

    /// Empties a segment. Not if something live in it cannot be read, which moving would hide, or more of it is live than was
    /// thought, which is known now; unless it `must`.
    fn clean_segment(&mut self, segment: u32, must: bool) -> Result<bool> {
        let Ok(entries) = self.reverse_index(segment) else {
            self.stuck.insert(segment);
            return Ok(false);
        };
        let mut chunks = Vec::new();
        let mut nodes = Vec::new();
        for entry in entries {
            let at = Addr(self.layout().first_page(segment).0 + u32::from(entry.page));
            let found = if entry.offset == NODE {
                self.live_nodes(at).map(|found| nodes.extend(found))
            } else {
                self.live_chunk(Key(entry.key), at, entry.offset).map(|found| chunks.extend(found))
            };
            if found.is_err() {
                self.stuck.insert(segment);
                return Ok(false);
            }
        }
        let leaves = nodes.iter().filter(|(level, _)| *level == 0).count() * self.layout().page_bytes();
        let live = chunks.iter().map(|chunk: &Chunk| chunk.bytes.len()).sum::<usize>() + leaves;
        let is_known = self.log.usage()[segment as usize] == Use::Live(live as u64);
        self.log.set_live(segment, live as u64);
        if !must && !is_known && live as u64 * 100 >= self.layout().data_bytes() * FULL_SHARE {
            return Ok(false);
        }
        let done = self.move_live(chunks, nodes);
        self.settle(done)?;
        self.log.free(segment);
        Ok(true)
    }

    fn move_live(&mut self, mut chunks: Vec<Chunk>, nodes: Vec<(usize, u64)>) -> Result<()> {
        chunks.sort_by_key(|chunk| chunk.key);
        for chunk in chunks {
            self.log.append(chunk)?;
        }
        for (level, key) in nodes {
            let change = self.tree.touch(self.log.store(), key, level)?;
            self.count_change(&change, None)?;
        }
        self.commit(&[])
    }

    /// What a segment was written with; where that was cut short, the tree is walked for what leads into it.
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
                    found.push(Reverse { key: at.0, page: place(node), offset: NODE });
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
