//! Heads go on to their next pages, and full segments are sealed.

use alloc::vec::Vec;

use pumice_cleaning::Class;
use pumice_media::NandError;

use crate::error::Result;
use crate::head::{Head, MOVING};
use crate::layout::Kind;
use crate::listed::Told;
use crate::log::Log;
use crate::segment::State;
use crate::summary::Summary;
use crate::tag::{Entry, Tag};

impl Log<'_> {
    /// Has a head go on to its next page, or ends its segment if that has no room.
    pub(crate) fn go_on(&mut self, at: usize, mut head: Head) -> Result<()> {
        if !self.shape.has_room(head.index, head.kept) {
            return self.seal(at, head);
        }
        self.pass_over(&mut head);
        self.heads.put(at, head);
        Ok(())
    }

    /// Moves a head on to the next page that puts no promised page at risk by its program; false if there is none.
    fn pass_over(&mut self, head: &mut Head) -> bool {
        let Some(next) = self.shape.medium.next_safe(head.index, head.kept) else { return false };
        while head.index < next {
            let sequence = self.flash.medium.next_seq();
            head.pass(&self.shape, sequence);
        }
        true
    }

    /// Keeps the programmed pages of head `at`, which are about to be promised: from here on, no page is programmed
    /// that shares cells with them.
    pub(crate) fn keep(&mut self, at: usize) -> Result<()> {
        let shape = self.shape;
        let is_at_risk = |head: &mut Head| head.is_at_risk(&shape);
        let Some(mut head) = self.heads.take_if(at, is_at_risk) else {
            return Ok(());
        };
        head.kept = head.written;
        if !self.shape.has_room(head.index, head.kept) {
            return self.seal(at, head);
        }
        self.pass_over(&mut head);
        if head.index > head.kept {
            // No page has the number before that of the next: a start looks at that one's record of the page before.
            self.flash.medium.next_seq();
            self.flash.promise();
        }
        // Passed-over pages need no summary.
        head.covered = head.index;
        self.heads.put(at, head);
        Ok(())
    }

    pub(crate) fn tag(&mut self, head: &Head, kind: Kind, entries: Vec<Entry>) -> Tag {
        let contents = &head.contents;
        let (class, erases, opened) = (contents.class, contents.erases, contents.opened);
        Tag {
            kind,
            class,
            sequence: self.flash.medium.next_seq(),
            erases,
            opened,
            entries,
            before: None,
            promised: false,
        }
    }

    /// A head after a program in its segment; `None` if that failed.
    pub(crate) fn unless_failed(
        &mut self,
        head: Head,
        programmed: core::result::Result<(), NandError>,
    ) -> Result<Option<Head>> {
        let Err(error) = programmed else { return Ok(Some(head)) };
        if !matches!(error, NandError::ProgramFailed(_)) {
            self.heads.fail(head);
            return self.status.fail(error);
        }
        self.segments.change(head.block, |segment| segment.state = State::Bad);
        self.heads.fail(head);
        Ok(None)
    }

    /// Ends a segment: its header is written behind its pages, and it may be cleaned.
    pub(crate) fn seal(&mut self, at: usize, head: Head) -> Result<()> {
        let Some(head) = self.summarise(head)? else { return Ok(()) };
        let programmed = self.flash.medium.program_parity(head.block);
        let Some(head) = self.unless_failed(head, programmed)? else { return Ok(()) };
        let (now, used) = (self.clock, u16::try_from(head.index).unwrap_or(u16::MAX));
        self.segments.change(head.block, |segment| {
            (segment.state, segment.used) = (State::Sealed, used);
            if at != MOVING {
                (segment.sealed, segment.changed) = (now, now);
            }
        });
        self.offer(head.block);
        if at != MOVING {
            self.policies.placement.sealed(now, Class(head.contents.class));
        }
        Ok(())
    }

    /// Writes the header of a segment behind its pages, as often as it is wanted; `None` if a program failed, and the
    /// head has moved to those failing.
    pub(crate) fn summarise(&mut self, mut head: Head) -> Result<Option<Head>> {
        let (listed, named) = (self.list_for(head.block), head.index);
        for _ in 0..self.shape.summaries {
            if !self.pass_over(&mut head) {
                debug_assert!(self.shape.tagged, "no room for the summary of segment {}", head.block);
                break;
            }
            let tag = self.tag(&head, Kind::Summary, Vec::new());
            let (contents, listed) = (head.contents.clone(), listed.clone());
            let payload =
                Summary { contents, sequence: tag.sequence, listed }.encode(&self.shape, head.block);
            let programmed = self.flash.program(head.place(), &tag, &payload);
            let Some(written) = self.unless_failed(head, programmed)? else { return Ok(None) };
            head = written;
            head.advance(&self.shape, tag.sequence);
        }
        self.recorded.listed.name(head.block, named);
        let medium = self.shape.medium;
        self.recorded.listed.tell(listed.iter().map(|page| medium.block_of(*page)), Told::Summary);
        Ok(Some(head))
    }

    /// The segments that the next summary lists, which lies in segment `own`. If it is the last of a commit, those in
    /// which nothing is needed any more are left out from now on.
    fn list_for(&mut self, own: u32) -> Vec<u32> {
        let shape = self.shape;
        if shape.tagged {
            return Vec::new();
        }
        if self.is_last_summary() {
            let segments = &self.segments;
            self.recorded.listed.keep(|block| {
                let segment = segments.get(block);
                block == own || segment.state == State::Open || segment.is_needed()
            });
        }
        self.recorded
            .listed
            .others(own, shape.listed_most())
            .into_iter()
            .map(|place| shape.page(place))
            .collect()
    }

    /// True if all that was accepted is on the chip once the next summary is, in a segment that has no head here.
    fn is_last_summary(&self) -> bool {
        let is_pending = |head: &Head| !head.filled.is_empty() || head.covered < head.index;
        self.heads.trims.is_empty()
            && !self.heads.failing().iter().any(|head| self.segments.get(head.block).is_needed())
            && !self.heads.iter().any(is_pending)
    }

    /// True if head `at` is open; takes over one that placement wants no more.
    pub(crate) fn is_open(&mut self, at: usize) -> bool {
        let wanted = usize::from(self.policies.placement.classes());
        if self.heads.get(at).is_some() {
            return true;
        }
        let Some(mut head) = self.heads.take_unwanted(wanted) else { return false };
        let class = u8::try_from(at).unwrap_or(u8::MAX);
        head.contents.class = class;
        self.segments.change(head.block, |segment| segment.class = class);
        self.heads.put(at, head);
        true
    }

    pub(crate) fn nearest(&self, at: usize) -> Option<usize> {
        let open = self.heads.numbered().map(|(near, _)| near).filter(|near| *near < MOVING);
        open.min_by_key(|near| near.abs_diff(at))
    }

    /// Pages left in the open heads, after a commit if that passes some over.
    pub(crate) fn room(&self) -> u32 {
        let heads = self.heads.numbered().filter(|(at, _)| *at < MOVING);
        heads.map(|(_, head)| self.shape.room(head.index + u32::from(!head.filled.is_empty()))).sum()
    }

    /// True if a commit costs pages, and the open heads take what any one segment holds.
    pub(crate) fn fits_open_heads(&self) -> bool {
        self.shape.is_batched() && self.room() * self.shape.slots >= self.shape.capacity()
    }
}
