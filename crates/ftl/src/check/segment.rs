//! One segment: the proof in its pages, against its line, its head and its summaries.

use alloc::format;

use crate::check::Check;
use crate::check::evidence::{Evidence, agree};
use crate::error::Result;
use crate::layout::count32;
use crate::segment::{Segment, State};
use crate::shape::{Addr, Place};
use crate::summary::Contents;
use crate::tag::Entry;

impl Check<'_, '_> {
    /// Reads a segment and compares it with the tables.
    pub(super) fn segment(&mut self, block: u32) -> Result<()> {
        let segment = self.ftl.log.segments.get(block);
        if matches!(segment.state, State::Anchor | State::Bad) {
            return Ok(());
        }
        if self.ftl.log.flash.medium.is_bad(block)? {
            self.found.add("bad-block", format!("segment {block} is marked bad, but not in the tables"));
            self.fixes.bad.push(block);
        }
        if segment.state == State::Checkpoint {
            return Ok(());
        }
        let evidence = Evidence::read(&mut self.ftl.log.flash, &self.ftl.log.shape, block)?;
        let void = self.ftl.log.recorded.identity.void;
        if void.block == block && evidence.newest() < void.sequence {
            return Ok(());
        }
        self.last = self.last.max(evidence.newest());
        self.trimmed.extend(evidence.trims.iter().cloned());
        if let Some(contents) = &evidence.contents {
            self.blocks(block, contents, &evidence)?;
            if segment.state.holds_data() {
                self.beyond(block, contents, &evidence);
            }
            self.wear(block, &segment, contents);
        }
        if segment.state == State::Open {
            self.head(block, &evidence);
        }
        self.summary(block, &segment, &evidence);
        Ok(())
    }

    /// Blocks that a segment holds.
    fn blocks(&mut self, block: u32, contents: &Contents, evidence: &Evidence) -> Result<()> {
        let shape = self.ftl.log.shape;
        for (index, (sequence, entries)) in (0..).zip(contents.pages(&shape)) {
            for (slot, entry) in (0..).zip(entries) {
                let Some(newest) = self.newest.get_mut(entry.lba as usize) else { continue };
                let addr = shape.addr(Place { block, index }, slot);
                // A page before a summary alone proves itself, too.
                if evidence.is_proved(index) && newest.0 <= sequence {
                    *newest = (sequence, addr);
                }
            }
        }
        let first = shape.addr(Place { block, index: 0 }, 0);
        for slot in 0..shape.pages * shape.slots {
            let addr = Addr(first.0 + slot);
            if !evidence.is_proved(slot / shape.slots) {
                continue;
            }
            let entry = contents.entries.get(slot as usize);
            let lba = entry.map_or(u32::MAX, |entry| entry.lba);
            if self.ftl.map.addr(&mut self.ftl.log, lba)? == addr {
                self.confirm(lba);
            }
        }
        Ok(())
    }

    /// Slots with block numbers beyond the disk.
    fn beyond(&mut self, block: u32, contents: &Contents, evidence: &Evidence) {
        let blocks = self.ftl.map.table.len();
        let mut is_wrong = false;
        for (index, (_, entries)) in (0..).zip(contents.pages(&self.ftl.log.shape)) {
            let is_meant = |entry: &Entry| {
                *entry == Entry::NONE || (*entry == Entry::TRIM && !evidence.is_proved(index))
            };
            for entry in entries.iter().filter(|entry| entry.lba >= blocks && !is_meant(entry)) {
                let text = format!(
                    "page {index} of segment {block} names block {}, but the disk has {blocks}",
                    entry.lba
                );
                self.found.add("page", text);
                is_wrong = true;
            }
        }
        if is_wrong {
            self.fixes.empty.push(block);
            // Of a head, too: it is ended.
            self.fixes.heads.push(block);
        }
    }

    fn confirm(&mut self, lba: u32) {
        if let Some(confirmed) = self.confirmed.get_mut(lba as usize) {
            *confirmed = true;
        }
    }

    /// Compares the erases of a segment.
    fn wear(&mut self, block: u32, segment: &Segment, contents: &Contents) {
        let tags = contents.erases;
        let is_wrong = match segment.state {
            State::Open | State::Sealed | State::Stuck => segment.erases != tags,
            // Erased since, perhaps.
            _ => segment.erases < tags,
        };
        if is_wrong {
            let text = format!(
                "segment {block} was erased {} times by its line, {tags} by its tags",
                segment.erases
            );
            self.found.add("segment", text);
            self.fixes.erases.insert(block, tags);
        }
    }

    /// Compares an open head with its segment.
    fn head(&mut self, block: u32, evidence: &Evidence) {
        let shape = self.ftl.log.shape;
        let Some(head) = self.ftl.log.heads.iter().find(|head| head.block == block) else {
            return;
        };
        let fits = evidence.contents.as_ref().is_none_or(|contents| agree(&shape, &head.contents, contents));
        let is_short = evidence.used > head.index && evidence.is_proved(head.index);
        // The last pages may have been passed over.
        let is_missing = evidence.used + shape.reach <= head.index;
        if !fits || is_short || is_missing {
            self.found
                .add("heads", format!("the head of segment {block} does not fit the contents of its pages"));
            self.fixes.heads.push(block);
        }
    }

    /// The header of a written segment, and its copies.
    fn summary(&mut self, block: u32, segment: &Segment, evidence: &Evidence) {
        let shape = self.ftl.log.shape;
        if segment.state == State::Free {
            return;
        }
        let contradicts = |(index, summary): &&(u32, Contents)| {
            let contents = evidence.contents.as_ref().filter(|_| shape.tagged);
            let newest = contents.filter(|contents| contents.sequences.len() == *index as usize);
            newest.is_some_and(|contents| !agree(&shape, contents, summary))
        };
        if let Some((index, _)) = evidence.summaries.iter().find(contradicts) {
            let text = format!("the one in page {index} of segment {block} differs from its tags");
            self.found.add("summary", text);
            self.fixes.empty.push(block);
        }
        let is_head = segment.state == State::Open && !shape.tagged;
        let is_written = matches!(segment.state, State::Sealed | State::Stuck) || is_head;
        if !is_written || segment.valid == 0 || shape.summaries == 0 {
            return;
        }
        if let Some(from) = self.first_unnamed(block, segment, evidence) {
            let text = match from {
                0 => format!("none of segment {block} can be read"),
                _ => format!("no readable one names the contents of segment {block} from page {from} on"),
            };
            self.found.add("summary", text);
            self.unnamed.insert(block, from);
            self.fixes.empty.push(block);
            self.fixes.heads.push(block);
            return;
        }
        let last = evidence.summaries.last().map_or(0, |(index, _)| *index);
        let copies = evidence.summaries.iter().filter(|(index, _)| index + shape.summaries > last).count();
        // A tagged segment has one at its end alone.
        let is_due = !shape.tagged || evidence.used == shape.pages;
        if is_due && copies < shape.summaries as usize {
            let text = format!("segment {block} has {copies} in place of {}", shape.summaries);
            self.notes.add("summary", text);
        }
    }

    /// The first page with contents that no readable summary names.
    fn first_unnamed(&self, block: u32, segment: &Segment, evidence: &Evidence) -> Option<u32> {
        let Some(contents) = &evidence.contents else { return Some(0) };
        if self.ftl.log.shape.tagged {
            return None;
        }
        let head = self.ftl.log.heads.iter().find(|head| head.block == block);
        let used = head.map_or(u32::from(segment.used), |head| head.index);
        let named = count32(contents.sequences.len());
        (named..used).find(|index| evidence.is_proved(*index))
    }
}
