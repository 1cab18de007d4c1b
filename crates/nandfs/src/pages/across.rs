//! Chunks that go on in the next page of their erase block (SPEC, "Log page").
//!
//! Its first page has the descriptor of the whole chunk and ends with it; those that follow begin with a descriptor of
//! the rest that they hold.

use alloc::vec::Vec;

use pumice_media::NandError;
use pumice_vfs::{Errno, Result};

use super::{Pages, program};
use crate::addr::Addr;
use crate::codec::{len16, len32};
use crate::error::device;
use crate::tag::{ChunkKind, Desc, LogKind};

/// Bytes that a page must have left for a chunk to begin there.
const LEAST: usize = 48;

/// A programmed page with a chunk that goes on behind it. If a later one cannot be programmed in this erase block, it
/// is needed again in another.
pub(super) struct Passed {
    page: u32,
    payload: Vec<u8>,
    descs: Vec<Desc>,
}

impl Pages<'_> {
    /// Adds a chunk that does not fit in the page that a head is filling, which has `most` chunks at the most.
    pub(super) fn append_across(&mut self, at: usize, desc: Desc, bytes: &[u8], most: usize) -> Result<Addr> {
        let is_full = |left: usize, count: usize| count > most || left < LEAST;
        let (left, count) = self.left(at);
        if is_full(left, count) {
            self.program(at, None)?;
        }
        self.open_page(at)?;
        if !self.has_pages_for(at, bytes.len()) {
            // Nothing goes on in another erase block.
            let open = self.heads.get(at).and_then(|head| head.place);
            self.leave(open.ok_or(Errno::NoSpace)?.0)?;
            self.open_page(at)?;
        }
        let (left, _) = self.left(at);
        let (first, mut rest) = bytes.split_at(left.min(bytes.len()));
        let (_, offset) = self.put(at, desc, first)?;
        while !rest.is_empty() {
            self.pass(at)?;
            let (part, tail) = rest.split_at(rest.len().min(self.params.payload as usize));
            let desc = Desc { kind: ChunkKind::Rest, len: len16(part.len()), ..desc };
            self.put(at, desc, part)?;
            rest = tail;
        }
        // Pages may have moved since the chunk began.
        let open = self.heads.get(at).ok_or(Errno::Invalid)?;
        let here = open.place.map(|(block, index)| self.params.page(block, index));
        let page = open.passed.first().map(|passed| passed.page).or(here).ok_or(Errno::NoSpace)?;
        Ok(Addr { page, offset, len: desc.len })
    }

    /// Bytes left for one more chunk on the page that a head is filling, and its chunks then.
    fn left(&self, head: usize) -> (usize, usize) {
        self.heads.get(head).map_or((0, 0), |open| {
            let count = open.descs.len() + 1;
            (self.params.tags.room(count).saturating_sub(open.used), count)
        })
    }

    /// True if the erase block that a head is filling has pages enough for a chunk that begins now.
    fn has_pages_for(&self, head: usize, bytes: usize) -> bool {
        let Some((_, index)) = self.heads.get(head).and_then(|head| head.place) else { return false };
        let (left, _) = self.left(head);
        let more = bytes.saturating_sub(left).div_ceil(self.params.payload as usize);
        index as usize + more < self.params.pages_per_block as usize
    }

    /// Programs the page that a head is filling; its last chunk goes on in the next.
    fn pass(&mut self, head: usize) -> Result<()> {
        let Some(open) = self.heads.get_mut(head) else { return Err(Errno::Invalid.into()) };
        let begins = open.descs.last().is_some_and(|desc| desc.kind != ChunkKind::Rest);
        let (payload, descs) = (open.payload.clone(), open.descs.clone());
        self.program_page(head, None)?;
        let Some(open) = self.heads.get_mut(head) else { return Err(Errno::Invalid.into()) };
        let (block, index) = open.place.ok_or(Errno::NoSpace)?;
        if begins {
            open.passed.clear();
        }
        open.passed.push(Passed { page: self.params.page(block, index - 1), payload, descs });
        Ok(())
    }

    /// A fresh erase block for the page that a head is filling, and the index in it: behind the pages of the chunk that
    /// goes on there, which are programmed once more.
    pub(super) fn move_passed(&mut self, head: usize) -> Result<(u32, u32)> {
        loop {
            let fresh = self.take_block(head)?;
            let Some(open) = self.heads.get_mut(head) else { return Err(Errno::Invalid.into()) };
            let (kind, mut passed) = (open.kind, core::mem::take(&mut open.passed));
            let moved = self.program_passed(kind, &mut passed, fresh);
            let index = len32(passed.len());
            if let Some(open) = self.heads.get_mut(head) {
                open.passed = passed;
            }
            if moved? {
                return Ok((fresh, index));
            }
            self.report_failing(fresh);
        }
    }

    /// Programs pages at the start of an erase block; false if one cannot be.
    fn program_passed(&mut self, kind: LogKind, passed: &mut [Passed], block: u32) -> Result<bool> {
        for (index, passed) in (0..).zip(passed) {
            let tag = self.tag(kind, &passed.descs, None);
            let page = self.params.page(block, index);
            let done = program(&mut self.medium, &self.params.tags, page, &tag, &mut passed.payload);
            self.medium.next_seq();
            match done {
                Ok(()) => self.count(&tag),
                Err(NandError::ProgramFailed(_)) => return Ok(false),
                Err(error) => return Err(device(error)),
            }
            self.tell_moved(&passed.descs, passed.page, page);
            passed.page = page;
        }
        Ok(true)
    }
}
