//! Section 3.3: fast mounting. The information of a segment names the next k; from there to the newest is a few steps.

use pumice_common::{chip, damaged};
use pumice_media::{AnyChip, Nand};
use pumice_vfs::Result;

use crate::flash::Flash;
use crate::layout::{Layout, SPARE_BYTES, Shape};
use crate::mutree::{Header, NodeShape, Pages, State};
use crate::segment::{Info, Use, usage_of};
use crate::spare::Tag;
use crate::store::Store;

/// Looks for the shape that a volume was made with: the first spare area of each block says it.
pub(crate) fn find_layout(nand: &mut (dyn Nand + Send)) -> Result<Option<Layout>> {
    let geometry = nand.geometry();
    if (geometry.free_spare_bytes as usize) < SPARE_BYTES {
        return Ok(None);
    }
    let mut spare = vec![0; geometry.free_spare_bytes as usize];
    for block in 0..geometry.blocks {
        let page = geometry.page(pumice_media::BlockId(block), 0);
        match nand.read_spare(page, &mut spare) {
            Ok(_) => {}
            Err(pumice_media::NandError::Uncorrectable(_)) => continue,
            Err(error) => return Err(chip(error)),
        }
        let tag = spare.first_chunk().copied().and_then(Tag::decode);
        if let Some(layout) = tag.and_then(|tag| Layout::new(geometry, tag.shape).ok()) {
            return Ok(Some(layout));
        }
    }
    Ok(None)
}

/// A chip with a layout.
pub(crate) fn store(nand: AnyChip<'_>, layout: Layout, cache_bytes: usize) -> Store<'_> {
    Store::new(Flash::new(nand, layout), cache_bytes)
}

/// The layout of a new volume.
pub(crate) fn new_layout(nand: &dyn Nand, shape: Shape) -> Result<Layout> {
    Layout::new(nand.geometry(), shape)
}

impl Store<'_> {
    /// The newest segment that was written to its end.
    pub(crate) fn newest(&mut self) -> Result<Option<(u32, Info)>> {
        let mut found = None;
        for segment in 0..self.layout().segments() {
            found = self.info(segment)?.map(|info| (segment, info));
            if found.is_some() {
                break;
            }
        }
        let Some(first) = found else { return Ok(None) };
        let (newest, is_proved) = self.follow(first)?;
        if is_proved {
            return Ok(Some(newest));
        }
        // The list of the one that was reached is short, and leads to the segment that was open: it may be old.
        let mut best = newest;
        for segment in 0..self.layout().segments() {
            if let Some(info) = self.info(segment)?.filter(|info| info.sequence > best.1.sequence) {
                best = (segment, info);
            }
        }
        Ok(Some(best))
    }

    /// Steps from a segment to the newest: the kth of its list if that is newer, or else the one before, and so on.
    /// Tells too whether none can be newer: one segment at the most, the open one, is not as it was.
    fn follow(&mut self, first: (u32, Info)) -> Result<((u32, Info), bool)> {
        let mut at = first;
        'steps: loop {
            let mut unwritten = 0;
            for segment in at.1.next.clone().into_iter().rev() {
                match self.info(segment)? {
                    Some(info) if info.sequence > at.1.sequence => {
                        at = (segment, info);
                        continue 'steps;
                    }
                    Some(_) => unwritten += 2,
                    None => unwritten += 1,
                }
            }
            return Ok((at, unwritten >= 2));
        }
    }

    /// The segment usage nodes in a segment.
    pub(crate) fn usage(&mut self, segment: u32) -> Result<Vec<Use>> {
        let layout = self.layout();
        let segment_bytes = u64::from(layout.pages_of_segment()) * layout.page_bytes() as u64;
        let pages = self.summary(segment, layout.usage_pages(), layout.usage_pages())?;
        let bytes = pages.iter().flat_map(|page| page.iter()).take(layout.segments() as usize);
        Ok(bytes.map(|byte| usage_of(*byte, segment_bytes)).collect())
    }

    /// The state of the mu-tree, from the page with a root.
    pub(crate) fn state(&mut self, at: crate::layout::Addr) -> Result<State> {
        let page = self.page(at)?;
        let shape = NodeShape::new(self.layout().page_bytes());
        let state = Header::of(&page, shape).and_then(|header| header.state(at));
        state.ok_or_else(|| damaged(format_args!("page {} has no root of the tree", at.0)))
    }
}
