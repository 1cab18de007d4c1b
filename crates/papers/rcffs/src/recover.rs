//! Section 3.2: after a crash. The spare areas of the segment that was written tell the last valid parity page. The
//! newest root before it is the one that counts; pages after it are dropped.

use std::collections::VecDeque;

use pumice_ecc::Parity;
use pumice_vfs::Result;

use crate::error::code;
use crate::layout::{Addr, count};
use crate::mutree::State;
use crate::spare::{Kind, Tag};
use crate::store::Store;

/// The valid part of the segment behind the newest whole one.
pub(crate) struct Partial {
    /// The segments that were begun and have something that counts, in order.
    pub(crate) segments: Vec<u32>,
    /// The newest root in them.
    pub(crate) state: Option<State>,
    /// Anything was written at all.
    pub(crate) is_begun: bool,
}

/// The spare areas of a block, up to the first that looks erased.
type Tags = Vec<Option<Tag>>;

/// The last valid parity group: its block, counted in the segment, and its pages before parity.
struct Valid {
    block: usize,
    start: usize,
    end: usize,
}

impl Store<'_> {
    /// Looks for segments that were begun after the one with number `sequence`, in the order in which they were to be written.
    pub(crate) fn scan_partial(&mut self, next: &VecDeque<u32>, sequence: u32) -> Result<Partial> {
        let mut found = Partial { segments: Vec::new(), state: None, is_begun: false };
        let mut expected = sequence + 1;
        for segment in next {
            if !self.is_begun(*segment, expected)? {
                continue;
            }
            found.is_begun = true;
            let Some(state) = self.scan_segment(*segment, expected)? else { break };
            if found.state.is_none_or(|before| state.commit > before.commit) {
                found.state = Some(state);
            }
            found.segments.push(*segment);
            expected += 1;
        }
        Ok(found)
    }

    fn is_begun(&mut self, segment: u32, sequence: u32) -> Result<bool> {
        let layout = self.layout();
        let Some(block) = self.good_blocks(segment)?.first().copied() else { return Ok(false) };
        for page in 0..2 {
            match self.flash().read_spare(layout.page(block, page))? {
                (Some(tag), _) => return Ok(tag.sequence == sequence),
                (None, true) => return Ok(false),
                (None, false) => {}
            }
        }
        Ok(false)
    }

    fn tags(&mut self, block: u32, sequence: u32) -> Result<Tags> {
        let layout = self.layout();
        let mut tags = Tags::new();
        for page in 0..layout.pages() {
            let (tag, is_blank) = self.flash().read_spare(layout.page(block, page))?;
            if is_blank {
                break;
            }
            tags.push(tag.filter(|tag| tag.sequence == sequence));
        }
        Ok(tags)
    }

    /// The newest root before the last valid parity page of a segment.
    fn scan_segment(&mut self, segment: u32, sequence: u32) -> Result<Option<State>> {
        let layout = self.layout();
        let blocks = self.good_blocks(segment)?;
        let regular = blocks.len().saturating_sub(layout.shape.parity_blocks as usize);
        let mut all = Vec::new();
        for block in &blocks[..regular] {
            all.push(self.tags(*block, sequence)?);
        }
        let Some(valid) = self.last_valid(&blocks, &all)? else { return Ok(None) };
        for number in (0..=valid.block).rev() {
            let end = if number == valid.block { valid.end } else { all[number].len() };
            for index in (0..end).rev() {
                let at = layout.page(blocks[number], count(index));
                // A page that lost its spare area may be the one.
                let may_be = match all[number][index] {
                    Some(tag) => tag.kind == Kind::Commit,
                    None => number == valid.block && index >= valid.start,
                };
                if may_be && let Ok(state) = self.state(at) {
                    return Ok(Some(state));
                }
            }
        }
        Ok(None)
    }

    fn last_valid(&mut self, blocks: &[u32], all: &[Tags]) -> Result<Option<Valid>> {
        let layout = self.layout();
        for (block, tags) in all.iter().enumerate().rev() {
            for (index, tag) in tags.iter().enumerate().rev() {
                let Some(tag) = tag.filter(|tag| tag.kind == Kind::Parity) else { continue };
                let end = index.checked_sub(usize::from(tag.number));
                let start = end.and_then(|end| end.checked_sub(usize::from(tag.group)));
                let (Some(start), Some(end)) = (start, end) else { continue };
                let at = layout.page(blocks[block], count(index));
                if self.is_valid(at, &tags[start..end], tag)? {
                    return Ok(Some(Valid { block, start, end }));
                }
            }
        }
        Ok(None)
    }

    /// True if the last page is a parity page, and the signatures of its group give its own (2.2).
    fn is_valid(&mut self, at: Addr, group: &[Option<Tag>], tag: Tag) -> Result<bool> {
        if !self.flash().read(at)?.is_sound {
            return Ok(false);
        }
        let k = tag.shape.parity_pages as usize;
        let lost = group.iter().filter(|tag| tag.is_none()).count();
        if lost > 0 {
            return Ok(lost <= k);
        }
        let bytes = tag.shape.signature_bytes as usize;
        let mut parity = Parity::new(k, bytes).map_err(code)?;
        for tag in group.iter().flatten() {
            parity.push(&tag.signature[..bytes]).map_err(code)?;
        }
        let mut signatures = parity.pages();
        Ok(signatures.nth(usize::from(tag.number)).is_some_and(|found| *found == tag.signature[..bytes]))
    }
}
