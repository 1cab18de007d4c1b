//! The log: blocks are put into the pages of open heads, pages are programmed, full segments are sealed.

use alloc::vec::Vec;

use pumice_cleaning::Class;
use pumice_media::NandError;

use crate::error::{FtlError, Result};
use crate::head::{Head, MOVING};
use crate::layout::{Kind, TRIM_BLOCK};
use crate::listed::Told;
use crate::segments::State;
use crate::server::Server;
use crate::shape::{Addr, Place};
use crate::summary::Summary;
use crate::tag::{Entry, Tag};
use crate::trims;

/// Times that each page of trimmed ranges is written.
pub(crate) const TRIM_COPIES: u32 = 2;

impl Server<'_> {
    /// Puts a block into head `at`, which is open, and points the table there.
    pub(crate) fn append(&mut self, at: usize, entry: Entry, data: &[u8]) -> Result<()> {
        let shape = self.log.shape;
        let Some(head) = self.log.heads.open.get_mut(at).and_then(Option::as_mut) else {
            return Err(FtlError::WornOut);
        };
        let addr = head.put(&shape, entry, data);
        let full = head.filled.len() >= shape.slots as usize;
        self.point(entry.lba, addr)?;
        if full {
            self.program(at, Kind::Data)?;
        }
        Ok(())
    }

    /// Programs the page of head `at` as it is. False if the chip failed to, and the head has moved to those failing.
    pub(crate) fn program(&mut self, at: usize, kind: Kind) -> Result<bool> {
        let Some(mut head) = self.log.heads.open.get_mut(at).and_then(Option::take) else { return Ok(false) };
        debug_assert!(self.is_live(&head), "segment {} gets garbage", head.block);
        head.filled.resize(self.log.shape.slots as usize, Entry::NONE);
        let tag = self.tag(&head, kind, head.filled.clone());
        match self.log.flash.program(head.place(), &tag, &head.buffer) {
            Ok(()) => {}
            Err(NandError::ProgramFailed(_)) => {
                self.give_up(head);
                return Ok(false);
            }
            Err(error) => {
                self.log.heads.failing.push(head);
                return self.log.status.fail(error);
            }
        }
        head.advance(&self.log.shape, tag.sequence);
        if kind == Kind::Trim {
            self.log.segments.change(head.block, |segment| segment.trims = true);
        }
        // A summary counts sequence numbers from its first in 32 bits.
        if tag.sequence - head.contents.first() >= u64::from(u32::MAX) {
            self.seal(at, head)?;
        } else {
            self.go_on(at, head)?;
        }
        Ok(true)
    }

    /// True if the table points to all blocks that wait in a head's page, as far as it is in memory.
    fn is_live(&self, head: &Head) -> bool {
        (0..).zip(&head.filled).all(|(slot, entry)| {
            let is_here = |addr| addr == self.log.shape.addr(head.place(), slot);
            entry.lba >= self.map.table.len() || self.map.table.peek(entry.lba).is_none_or(is_here)
        })
    }

    /// Has a head go on to its next page, or ends its segment if that has no room.
    fn go_on(&mut self, at: usize, mut head: Head) -> Result<()> {
        if !self.log.shape.has_room(head.index, head.kept) {
            return self.seal(at, head);
        }
        self.pass_over(&mut head);
        if let Some(slot) = self.log.heads.open.get_mut(at) {
            *slot = Some(head);
        }
        Ok(())
    }

    /// Moves a head on to the next page that puts no promised page at risk by its program; false if there is none.
    fn pass_over(&mut self, head: &mut Head) -> bool {
        let Some(next) = self.log.shape.medium.next_safe(head.index, head.kept) else { return false };
        while head.index < next {
            let sequence = self.log.flash.next_sequence();
            head.pass(&self.log.shape, sequence);
        }
        true
    }

    /// Keeps the programmed pages of head `at`, which are about to be promised: from here on, no page is programmed
    /// that shares cells with them.
    fn keep(&mut self, at: usize) -> Result<()> {
        let shape = self.log.shape;
        let is_at_risk = |head: &mut Head| head.is_at_risk(&shape);
        let Some(mut head) = self.log.heads.open.get_mut(at).and_then(|slot| slot.take_if(is_at_risk)) else {
            return Ok(());
        };
        head.kept = head.written;
        if !self.log.shape.has_room(head.index, head.kept) {
            return self.seal(at, head);
        }
        self.pass_over(&mut head);
        if head.index > head.kept {
            // No page has the number before that of the next: a start looks at that one's record of the page before.
            self.log.flash.next_sequence();
            self.log.flash.promise();
        }
        // Passed-over pages need no summary.
        head.covered = head.index;
        if let Some(slot) = self.log.heads.open.get_mut(at) {
            *slot = Some(head);
        }
        Ok(())
    }

    fn tag(&mut self, head: &Head, kind: Kind, entries: Vec<Entry>) -> Tag {
        let contents = &head.contents;
        let (class, erases, opened) = (contents.class, contents.erases, contents.opened);
        Tag {
            kind,
            class,
            sequence: self.log.flash.next_sequence(),
            erases,
            opened,
            entries,
            before: None,
            promised: false,
        }
    }

    /// A program failed in the segment of this head.
    fn give_up(&mut self, head: Head) {
        self.log.segments.change(head.block, |segment| segment.state = State::Bad);
        self.log.heads.failing.push(head);
    }

    /// Ends a segment: its header is written behind its pages, and it may be cleaned.
    pub(crate) fn seal(&mut self, at: usize, head: Head) -> Result<()> {
        let Some(head) = self.summarise(head)? else { return Ok(()) };
        match self.log.flash.medium.program_parity(head.block) {
            Ok(()) => {}
            Err(NandError::ProgramFailed(_)) => {
                self.give_up(head);
                return Ok(());
            }
            Err(error) => {
                self.log.heads.failing.push(head);
                return self.log.status.fail(error);
            }
        }
        let (now, used) = (self.log.clock, u16::try_from(head.index).unwrap_or(u16::MAX));
        self.log.segments.change(head.block, |segment| {
            (segment.state, segment.used) = (State::Sealed, used);
            if at != MOVING {
                (segment.sealed, segment.changed) = (now, now);
            }
        });
        let view = self.log.segments.get(head.block).view(self.log.shape.capacity(), now);
        self.log.policies.selector.sealed(head.block, &view, now);
        self.log.policies.wear.sealed(head.block, &view);
        if at != MOVING {
            self.log.policies.placement.sealed(now, Class(head.contents.class));
        }
        Ok(())
    }

    /// Ends all heads before they are full where segments have parity, so that all live blocks have it.
    pub(crate) fn end_heads(&mut self) -> Result<()> {
        if !self.log.shape.has_parity() {
            return Ok(());
        }
        // A rescue out of a segment that fails meanwhile opens one again.
        while let Some((at, head)) =
            (0..).zip(&mut self.log.heads.open).find_map(|(at, head)| Some((at, head.take()?)))
        {
            self.seal(at, head)?;
            self.commit_blocks()?;
        }
        Ok(())
    }

    /// Writes the header of a segment behind its pages, as often as it is wanted; `None` if a program failed, and the
    /// head has moved to those failing.
    fn summarise(&mut self, mut head: Head) -> Result<Option<Head>> {
        let (listed, named) = (self.list_for(head.block), head.index);
        for _ in 0..self.log.shape.summaries {
            if !self.pass_over(&mut head) {
                debug_assert!(self.log.shape.tagged, "no room for the summary of segment {}", head.block);
                break;
            }
            let tag = self.tag(&head, Kind::Summary, Vec::new());
            let (contents, listed) = (head.contents.clone(), listed.clone());
            let payload =
                Summary { contents, sequence: tag.sequence, listed }.encode(&self.log.shape, head.block);
            match self.log.flash.program(head.place(), &tag, &payload) {
                Ok(()) => head.advance(&self.log.shape, tag.sequence),
                Err(NandError::ProgramFailed(_)) => {
                    self.give_up(head);
                    return Ok(None);
                }
                Err(error) => return self.log.status.fail(error),
            }
        }
        self.log.recorded.listed.name(head.block, named);
        let medium = self.log.shape.medium;
        self.log.recorded.listed.tell(listed.iter().map(|page| medium.block_of(*page)), Told::Summary);
        Ok(Some(head))
    }

    /// The segments that the next summary lists, which lies in segment `own`. If it is the last of a commit, those in
    /// which nothing is needed any more are left out from now on.
    fn list_for(&mut self, own: u32) -> Vec<u32> {
        let shape = self.log.shape;
        if shape.tagged {
            return Vec::new();
        }
        if self.is_last_summary() {
            let segments = &self.log.segments;
            self.log.recorded.listed.keep(|block| {
                let segment = segments.get(block);
                block == own || segment.state == State::Open || segment.is_needed()
            });
        }
        self.log
            .recorded
            .listed
            .others(own, shape.listed_most())
            .into_iter()
            .map(|place| shape.page(place))
            .collect()
    }

    /// True if all that was accepted is on the chip once the next summary is, in a segment that has no head here.
    fn is_last_summary(&self) -> bool {
        let is_pending = |head: &Head| !head.filled.is_empty() || head.covered < head.index;
        self.trims.is_empty()
            && !self.log.heads.failing.iter().any(|head| self.log.segments.get(head.block).is_needed())
            && !self.log.heads.open.iter().flatten().any(is_pending)
    }

    /// Makes everything accepted so far outlive a power cut. Segments that waited for that may be erased afterwards.
    pub(crate) fn commit(&mut self) -> Result<()> {
        // Blocks go first: cleaned segments are free after a power cut then, whatever trims take.
        self.commit_blocks()?;
        while !self.trims.is_empty() {
            self.write_trims()?;
            self.commit_blocks()?;
        }
        self.bury()?;
        for block in self.log.waiting.committed(&self.log.segments) {
            self.let_go(block);
        }
        // Those just handed back may be needed for that.
        self.record_untold()
    }

    /// The same for blocks alone: a checkpoint holds trims without pages of their own.
    pub(crate) fn commit_blocks(&mut self) -> Result<()> {
        while self.has_pending_blocks() {
            if self.has_unwritten() {
                for at in 0..self.log.heads.open.len() {
                    self.commit_head(at)?;
                }
            } else {
                // What one head promises before another has written all that it promises with it is not true yet: a cut
                // may destroy an earlier page of that one.
                for at in 0..self.log.heads.open.len() {
                    self.keep(at)?;
                }
            }
            self.rescue()?;
        }
        Ok(())
    }

    /// Programs the page being filled, and a summary of pages without tags of their own.
    fn commit_head(&mut self, at: usize) -> Result<()> {
        let is_filled = |head: &Option<Head>| head.as_ref().is_some_and(|head| !head.filled.is_empty());
        if self.log.heads.open.get(at).is_some_and(is_filled) && !self.program(at, Kind::Data)? {
            return Ok(());
        }
        let uncovered = |head: &mut Head| head.covered < head.index;
        let slot = self.log.heads.open.get_mut(at).filter(|_| !self.log.shape.tagged);
        let Some(head) = slot.and_then(|slot| slot.take_if(uncovered)) else { return Ok(()) };
        let next = self.log.shape.behind_summaries(head.index, head.kept);
        if !self.log.shape.has_room(next, next) {
            return self.seal(at, head);
        }
        let Some(mut head) = self.summarise(head)? else { return Ok(()) };
        head.covered = head.index;
        if let Some(slot) = self.log.heads.open.get_mut(at) {
            *slot = Some(head);
        }
        Ok(())
    }

    /// Writes pages that tell of trimmed ranges, each of them twice: if a single one were lost, its blocks would come
    /// back.
    pub(crate) fn write_trims(&mut self) -> Result<()> {
        while !self.trims.is_empty() {
            let ranges = self.trims.first(trims::per_page(self.log.shape.payload()));
            // A segment that fails may have held the first copy.
            let _ = self.write_trim_page(&ranges, false)? && self.write_trim_page(&ranges, true)?;
        }
        Ok(())
    }

    /// Writes a page of trims without a range.
    pub(crate) fn write_no_trims(&mut self) -> Result<()> {
        while !self.write_trim_page(&[], true)? {}
        self.commit_blocks()
    }

    /// Writes a page of trimmed ranges, behind the page that is being filled. With the last copy they are forgotten. False
    /// if a segment failed, perhaps the one that holds it.
    fn write_trim_page(&mut self, ranges: &[(u32, u32)], is_last: bool) -> Result<bool> {
        loop {
            let at = self.head_for_cleaner(0)?;
            let Some(head) = self.log.heads.open.get_mut(at).and_then(Option::as_mut) else {
                return Err(FtlError::WornOut);
            };
            if !head.filled.is_empty() {
                let is_done = self.program(at, Kind::Data)?;
                self.rescue()?;
                if is_done {
                    continue;
                }
                return Ok(false);
            }
            head.buffer = trims::encode(ranges, self.log.shape.payload());
            head.filled.push(Entry::TRIM);
            if is_last {
                // Before a summary is written behind it, which is the last of a commit.
                self.trims.forget(ranges);
            }
            let programmed = self.program(at, Kind::Trim);
            let is_done = programmed == Ok(true) && self.log.heads.failing.is_empty();
            if is_last && !is_done {
                for (first, end) in ranges {
                    self.trims.add_range(*first, *end);
                }
            }
            programmed?;
            self.rescue()?;
            return Ok(is_done);
        }
    }

    /// Moves the live blocks out of segments in which a program failed.
    pub(crate) fn rescue(&mut self) -> Result<()> {
        while let Some(head) = self.log.heads.failing.pop() {
            self.log.segments.change(head.block, |segment| segment.state = State::Bad);
            if let Err(error) = self.move_all(&head) {
                self.log.heads.failing.push(head);
                if error == FtlError::WornOut {
                    // The next start must not take those that were left for good ones.
                    self.bury()?;
                }
                return Err(error);
            }
            self.log.waiting.doom(head.block);
        }
        Ok(())
    }

    fn move_all(&mut self, head: &Head) -> Result<()> {
        let shape = self.log.shape;
        let mut data = alloc::vec![0; shape.block_bytes as usize];
        let entries = head.contents.entries.iter().chain(&head.filled).copied();
        let first = shape.addr(Place { block: head.block, index: 0 }, 0);
        for (addr, entry) in (first.0..).map(Addr).zip(entries) {
            if entry.lba == TRIM_BLOCK && head.buffered(&shape, addr).is_none() {
                self.trim_again(addr)?;
            }
            if entry.lba >= self.map.table.len() || self.addr(entry.lba)? != addr {
                continue;
            }
            match head.buffered(&shape, addr) {
                Some(slot) => {
                    let bytes = head.buffer.get(shape.slot_range(slot)).unwrap_or_default();
                    data.copy_from_slice(bytes);
                }
                None => match self.fetch(entry.lba, addr, &mut data) {
                    Ok(()) => {}
                    // The block is lost; its reader will be told.
                    Err(FtlError::Unreadable(_)) => continue,
                    Err(error) => return Err(error),
                },
            }
            let at = self.head_for_cleaner(head.contents.class)?;
            self.append(at, entry, &data)?;
            self.log.status.counters.copied += 1;
        }
        Ok(())
    }

    /// Trims again the ranges in the page at this address, which is given up.
    fn trim_again(&mut self, addr: Addr) -> Result<()> {
        let (place, _) = self.log.shape.place(addr);
        // If it cannot be read, its copy can.
        let Some((_, page)) = self.log.flash.read(place)?.of_kind(Kind::Trim) else { return Ok(()) };
        for (first, end) in trims::decode(&page.payload, self.map.table.len()) {
            for lba in first..end {
                if self.addr(lba)?.is_none() {
                    self.trims.add(lba);
                }
            }
        }
        Ok(())
    }

    /// Marks segments bad that have been emptied.
    pub(crate) fn bury(&mut self) -> Result<()> {
        while let Some(block) = self.log.waiting.take_doomed() {
            self.log.flash.medium.mark_bad(block)?;
            self.log.segments.change(block, |segment| segment.state = State::Bad);
        }
        self.check_wear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use pumice_media::{BlockDevice, ChipSpec, CutMode, Lba, Pairing, SimChip};

    use super::*;
    use crate::PolicyNames;
    use crate::open::{CreateOptions, Export, OpenOptions, create};
    use crate::testing::{chip_of, end_all, served};

    /// Copies of blocks wait in three heads, a number of them in each, for a commit of so many operations.
    fn with_copies(chip: SimChip) -> Server<'static> {
        let mut disk = served(chip);
        disk.admit_write().unwrap();
        end_all(&mut disk);
        for (class, blocks) in [(0, 0..8), (1, 8..9), (2, 9..14)] {
            for lba in blocks {
                let (at, addr) = (disk.head_above(class, 0).unwrap(), disk.addr(lba).unwrap());
                let entry = disk.entry_at(addr).unwrap().unwrap();
                disk.append(at, entry, &vec![1; 4096]).unwrap();
            }
        }
        disk
    }

    /// The last page that a commit writes shares cells with one of an earlier page's segment. What another head wrote in
    /// between does not promise that one.
    #[test]
    fn a_commit_promises_nothing_before_its_last_page() {
        let spec = ChipSpec::parse_geometry("8192+448:8:40").unwrap().with_pairing(Pairing::Dist3).unwrap();
        let mut chip = SimChip::new(&spec);
        let policies = PolicyNames { placement: "m6".parse().unwrap(), ..PolicyNames::default() };
        let options = CreateOptions { policies, export: Export::Permille(500), ..CreateOptions::default() };
        create(&mut chip, &options, &mut |_, _| {}).unwrap();
        let mut disk = served(chip);
        (0..100).for_each(|lba| disk.write(Lba(lba), &[1; 4096]).unwrap());
        let disk = Server::open(disk.close().unwrap(), OpenOptions::default()).unwrap();
        let fresh = chip_of(&disk);
        let before = chip_of(&with_copies(fresh.clone())).operations() - fresh.operations();
        for (after, seed) in (0..6).flat_map(|after| (0..8).map(move |seed| (after, seed))) {
            let mut chip = fresh.clone();
            chip.cut_after(before + after, CutMode::Half { seed });
            let mut disk = with_copies(chip);
            let _ = disk.commit();
            let mut chip = chip_of(&disk);
            chip.power_on();
            let mut disk = served(chip);
            let mut bytes = [0; 4096];
            for lba in 0..100 {
                let done = disk.read(Lba(lba), &mut bytes);
                assert!(done.is_ok(), "cut {after} of the commit, seed {seed}, block {lba}: {done:?}");
            }
        }
    }
}
