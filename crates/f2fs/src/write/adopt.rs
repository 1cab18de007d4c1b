//! Rolled-forward blocks, taken over at their addresses: no checkpoint counts them yet.

use std::collections::BTreeMap;

use super::{Writer, head::Log};
use crate::{
    error::{Place, Result, corrupt},
    layout::{BlockAddr, Nid, SegNo, Summary},
};

impl Writer {
    /// Gives a new inode the number that it was promised with, and promises it a place.
    pub(crate) fn claim_inode(&mut self, ino: Nid) -> Result<()> {
        let entry = self.nat.entry(&self.medium, ino)?;
        if entry.is_used() {
            return Err(corrupt(
                Place::Inode(ino),
                "the number of a new inode is in use; its NAT entry's is",
                entry.ino.0,
                0_u32,
            ));
        }
        self.nat.add(&self.medium, ino, ino, BlockAddr::NEW)?;
        self.promised += 1;
        Ok(())
    }

    /// Counts blocks of data that stand where they are to stay, with their owners.
    pub(crate) fn adopt(&mut self, log: Log, blocks: &[(BlockAddr, Summary)]) -> Result<()> {
        let mut owners: BTreeMap<SegNo, Vec<(u32, Summary)>> = BTreeMap::new();
        for (addr, owner) in blocks {
            let (segno, offset) = self.main_place(*addr)?;
            self.sit.adopt(&self.medium, *addr, log.kind())?;
            owners.entry(segno).or_default().push((offset, *owner));
        }
        for (segno, owners) in owners {
            self.set_owners(log, segno, &owners)?;
        }
        Ok(())
    }

    /// The summary of an open segment is its head's; others stand in the SSA.
    fn set_owners(&mut self, log: Log, segno: SegNo, owners: &[(u32, Summary)]) -> Result<()> {
        let open = Log::ALL.into_iter().find(|log| self.heads.of(*log).place().0 == segno);
        if let Some(open) = open {
            let head = self.heads.of_mut(open);
            for (offset, owner) in owners {
                head.set_owner(*offset, *owner);
            }
            return Ok(());
        }
        let mut summary = self.summary(segno, log)?;
        for (offset, owner) in owners {
            summary.set_entry(*offset, *owner);
        }
        self.write_summary(segno, summary.as_bytes())
    }

    /// Keeps blocks of the main area as they are until the next checkpoint.
    pub(crate) fn withhold(&mut self, addrs: &[BlockAddr]) -> Result<()> {
        for addr in addrs {
            self.main_place(*addr)?;
            self.sit.withhold(&self.medium, *addr)?;
        }
        Ok(())
    }

    /// Has each log go on behind the adopted and withheld blocks.
    pub(crate) fn step_aside(&mut self) -> Result<()> {
        self.sit.count();
        for log in Log::ALL {
            let head = self.heads.of_mut(log);
            let (segno, next) = head.place();
            if !head.fills_holes() {
                head.skip_to(next.max(self.sit.behind_last(segno)));
            }
            let ahead = self.ahead(log, 0)?;
            self.advance(log, ahead)?;
        }
        Ok(())
    }

    fn main_place(&self, addr: BlockAddr) -> Result<(SegNo, u32)> {
        let (start, end) = (self.sb.main_start(), self.sb.main_end());
        if addr < start || u64::from(addr.0) >= end {
            return Err(corrupt(
                Place::Block(addr),
                "a block that fsync promised is outside the main area, which ends at",
                addr.0,
                end,
            ));
        }
        let inside = addr.0 - start.0;
        Ok((SegNo(inside / self.sb.blocks_per_segment()), inside % self.sb.blocks_per_segment()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::example::{medium, super_block};

    #[test]
    fn the_main_area_has_its_first_block_and_its_last() {
        let starts = [0, 1, 2, 3, 4, 5].map(SegNo);
        let writer = Writer::fresh(super_block(0), medium(), starts, 4).unwrap();
        let (start, end) = (writer.sb.main_start().0, u32::try_from(writer.sb.main_end()).unwrap());
        assert_eq!(writer.main_place(BlockAddr(start)), Ok((SegNo(0), 0)));
        assert_eq!(writer.main_place(BlockAddr(end - 1)), Ok((SegNo(23), 511)));
        for outside in [start - 1, end] {
            assert!(writer.main_place(BlockAddr(outside)).is_err(), "block {outside}");
        }
    }
}
