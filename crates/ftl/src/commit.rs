//! Commits: blocks are put into the pages of heads, the pages programmed, and the blocks of a segment in which a program
//! failed moved out of it.

use crate::error::{FtlError, Result};
use crate::head::{HEADS, Head};
use crate::layout::{Kind, TRIM_BLOCK};
use crate::segment::State;
use crate::server::Server;
use crate::shape::{Addr, Place};
use crate::tag::Entry;
use crate::trims;

/// Times that each page of trimmed ranges is written.
pub(crate) const TRIM_COPIES: u32 = 2;

impl Server<'_> {
    /// Puts a block into head `at`, which is open, and points the table there.
    pub(crate) fn append(&mut self, at: usize, entry: Entry, data: &[u8]) -> Result<()> {
        let shape = self.log.shape;
        let Some(head) = self.log.heads.get_mut(at) else {
            return Err(FtlError::WornOut);
        };
        let addr = head.put(&shape, entry, data);
        let full = head.filled.len() >= shape.slots as usize;
        self.map.point(&mut self.log, entry.lba, addr)?;
        if full {
            self.program(at, Kind::Data)?;
        }
        Ok(())
    }

    /// Programs the page of head `at` as it is. False if the chip failed to, and the head has moved to those failing.
    pub(crate) fn program(&mut self, at: usize, kind: Kind) -> Result<bool> {
        let Some(mut head) = self.log.heads.take(at) else { return Ok(false) };
        debug_assert!(self.is_live(&head), "segment {} gets garbage", head.block);
        head.filled.resize(self.log.shape.slots as usize, Entry::NONE);
        let tag = self.log.tag(&head, kind, head.filled.clone());
        let programmed = self.log.flash.program(head.place(), &tag, &head.buffer);
        let Some(mut head) = self.log.unless_failed(head, programmed)? else { return Ok(false) };
        head.advance(&self.log.shape, tag.sequence);
        if kind == Kind::Trim {
            self.log.segments.change(head.block, |segment| segment.trims = true);
        }
        // A summary counts sequence numbers from its first in 32 bits.
        if tag.sequence - head.contents.first() >= u64::from(u32::MAX) {
            self.log.seal(at, head)?;
        } else {
            self.log.go_on(at, head)?;
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

    /// Ends all heads before they are full where segments have parity, so that all live blocks have it.
    pub(crate) fn end_heads(&mut self) -> Result<()> {
        if !self.log.shape.has_parity() {
            return Ok(());
        }
        // A rescue out of a segment that fails meanwhile opens one again.
        while let Some((at, head)) = self.log.heads.take_first() {
            self.log.seal(at, head)?;
            self.commit_blocks()?;
        }
        Ok(())
    }

    /// Makes everything accepted so far outlive a power cut. Segments that waited for that may be erased afterwards.
    pub(crate) fn commit(&mut self) -> Result<()> {
        // Blocks go first: cleaned segments are free after a power cut then, whatever trims take.
        self.commit_blocks()?;
        while !self.log.heads.trims.is_empty() {
            self.write_trims()?;
            self.commit_blocks()?;
        }
        self.log.bury()?;
        for block in self.log.waiting.committed(&self.log.segments) {
            self.log.let_go(block);
        }
        // Those just handed back may be needed for that.
        self.record_untold()
    }

    /// The same for blocks alone: a checkpoint holds trims without pages of their own.
    pub(crate) fn commit_blocks(&mut self) -> Result<()> {
        while self.log.heads.has_pending_blocks(&self.log.shape) {
            if self.log.heads.has_unwritten(&self.log.shape) {
                for at in 0..HEADS {
                    self.commit_head(at)?;
                }
            } else {
                // What one head promises before another has written all that it promises with it is not true yet: a cut
                // may destroy an earlier page of that one.
                for at in 0..HEADS {
                    self.log.keep(at)?;
                }
            }
            self.rescue()?;
        }
        Ok(())
    }

    /// Programs the page being filled, and a summary of pages without tags of their own.
    fn commit_head(&mut self, at: usize) -> Result<()> {
        let is_filled = self.log.heads.get(at).is_some_and(|head| !head.filled.is_empty());
        if is_filled && !self.program(at, Kind::Data)? {
            return Ok(());
        }
        let shape = self.log.shape;
        let is_uncovered = |head: &mut Head| !shape.tagged && head.covered < head.index;
        let Some(head) = self.log.heads.take_if(at, is_uncovered) else { return Ok(()) };
        let next = self.log.shape.behind_summaries(head.index, head.kept);
        if !self.log.shape.has_room(next, next) {
            return self.log.seal(at, head);
        }
        let Some(mut head) = self.log.summarise(head)? else { return Ok(()) };
        head.covered = head.index;
        self.log.heads.put(at, head);
        Ok(())
    }

    /// Writes pages that tell of trimmed ranges, each of them twice: if a single one were lost, its blocks would come
    /// back.
    pub(crate) fn write_trims(&mut self) -> Result<()> {
        while !self.log.heads.trims.is_empty() {
            let ranges = self.log.heads.trims.first(trims::per_page(self.log.shape.payload()));
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
            let Some(head) = self.log.heads.get_mut(at) else {
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
                self.log.heads.trims.forget(ranges);
            }
            let programmed = self.program(at, Kind::Trim);
            let is_done = programmed == Ok(true) && self.log.heads.failing().is_empty();
            if is_last && !is_done {
                for (first, end) in ranges {
                    self.log.heads.trims.add_range(*first, *end);
                }
            }
            programmed?;
            self.rescue()?;
            return Ok(is_done);
        }
    }

    /// Moves the live blocks out of segments in which a program failed.
    pub(crate) fn rescue(&mut self) -> Result<()> {
        while let Some(head) = self.log.heads.take_failing() {
            self.log.segments.change(head.block, |segment| segment.state = State::Bad);
            if let Err(error) = self.move_all(&head) {
                self.log.heads.fail(head);
                if error == FtlError::WornOut {
                    // The next start must not take those that were left for good ones.
                    self.log.bury()?;
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
            if entry.lba >= self.map.table.len() || self.map.addr(&mut self.log, entry.lba)? != addr {
                continue;
            }
            match head.buffered(&shape, addr) {
                Some(slot) => {
                    let bytes = head.buffer.get(shape.slot_range(slot)).unwrap_or_default();
                    data.copy_from_slice(bytes);
                }
                None => match self.log.fetch(entry.lba, addr, &mut data) {
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
                if self.map.addr(&mut self.log, lba)?.is_none() {
                    self.log.heads.trims.add(lba);
                }
            }
        }
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
                let (at, addr) =
                    (disk.head_above(class, 0).unwrap(), disk.map.addr(&mut disk.log, lba).unwrap());
                let entry = disk.log.entry_at(addr).unwrap().unwrap();
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
