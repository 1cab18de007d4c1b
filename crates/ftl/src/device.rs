//! The disk: reads, writes, trims and flushes of logical blocks.

use pumice_media::{BlockDevice, BlockError, BlockShape, Lba};

use crate::error::{FtlError, Result};
use crate::server::Server;
use crate::status::Mode;
use crate::tag::Entry;
use crate::trims;

impl Server<'_> {
    fn block_shape(&self) -> BlockShape {
        BlockShape { block_bytes: self.log.shape.block_bytes, blocks: u64::from(self.map.table.len()) }
    }

    fn read_block(&mut self, lba: u32, out: &mut [u8]) -> Result<()> {
        if let Some(bytes) = self.log.unsure_block(lba) {
            out.copy_from_slice(bytes);
            return Ok(());
        }
        let addr = self.map.addr(&mut self.log, lba)?;
        if addr.is_none() {
            out.fill(0);
            return Ok(());
        }
        self.log.fetch(lba, addr, out)
    }

    fn write_block(&mut self, lba: u32, data: &[u8]) -> Result<()> {
        self.admit_write()?;
        self.log.clock = self.log.clock.wrapping_add(1);
        self.log.status.counters.user_writes += 1;
        if self.overwrite_buffered(lba, data)? {
            return Ok(());
        }
        let old = self.map.old(&mut self.log, lba)?;
        let class = self.log.policies.placement.user_write(self.log.clock, lba, old);
        self.clean_beside()?;
        let at = self.head_for_user(class.0)?;
        self.log.heads.trims.remove(lba);
        self.append(at, Entry { lba, written: self.log.clock }, data)?;
        self.after_change()
    }

    /// A block that waits in a page not yet programmed is replaced there.
    fn overwrite_buffered(&mut self, lba: u32, data: &[u8]) -> Result<bool> {
        let (addr, now, shape) = (self.map.addr(&mut self.log, lba)?, self.log.clock, self.log.shape);
        for head in self.log.heads.iter_mut() {
            let Some(slot) = head.buffered(&shape, addr) else { continue };
            head.buffer_slot(&shape, slot, |bytes| bytes.copy_from_slice(data));
            head.filled.iter_mut().skip(slot as usize).take(1).for_each(|entry| entry.written = now);
            return Ok(true);
        }
        Ok(false)
    }

    fn trim_block(&mut self, lba: u32) -> Result<()> {
        if self.map.addr(&mut self.log, lba)?.is_none() {
            return Ok(());
        }
        if let Some(old) = self.map.old(&mut self.log, lba)? {
            self.log.policies.placement.trimmed(self.log.clock, lba, old);
        }
        // Known before its segment can become free.
        self.log.heads.trims.add(lba);
        self.map.forget_copy(&mut self.log, lba)?;
        self.log.status.counters.trimmed += 1;
        if self.log.heads.trims.len() >= trims::per_page(self.log.shape.payload()) {
            self.room_for_trims()?;
            self.write_trims()?;
        }
        self.pace_map()
    }

    fn sync(&mut self) -> Result<()> {
        match self.log.status.mode() {
            Mode::Dirty | Mode::WornOut => {
                self.room_for_trims()?;
                self.commit()?;
            }
            Mode::ReadOnly | Mode::Missing(_) | Mode::Clean => {}
            // All blocks read since the start count as flushed from now on.
            Mode::Replayed { undone } => match self.checkpoint_replayed(undone, false) {
                Err(FtlError::WornOut) => {}
                done => done?,
            },
            Mode::Failed(error) => return Err(error.into()),
        }
        Ok(self.log.flash.medium.flush()?)
    }
}

/// Logical blocks have 32-bit numbers; the shape was checked.
fn number(lba: u64) -> Result<u32> {
    u32::try_from(lba).map_err(|_| FtlError::Unreadable(u32::MAX))
}

impl BlockDevice for Server<'_> {
    fn block_bytes(&self) -> u32 {
        self.log.shape.block_bytes
    }

    fn blocks(&self) -> u64 {
        u64::from(self.map.table.len())
    }

    fn read(&mut self, first: Lba, buffer: &mut [u8]) -> core::result::Result<(), BlockError> {
        self.block_shape().locate(first, buffer.len())?;
        for (lba, bytes) in (first.0..).zip(buffer.chunks_exact_mut(self.log.shape.block_bytes as usize)) {
            self.read_block(number(lba)?, bytes)?;
        }
        Ok(())
    }

    fn write(&mut self, first: Lba, buffer: &[u8]) -> core::result::Result<(), BlockError> {
        self.block_shape().locate(first, buffer.len())?;
        for (lba, bytes) in (first.0..).zip(buffer.chunks_exact(self.log.shape.block_bytes as usize)) {
            let done = self.write_block(number(lba)?, bytes);
            self.log.status.noted(done)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> core::result::Result<(), BlockError> {
        let done = self.sync();
        Ok(self.log.status.noted(done)?)
    }

    fn discard(&mut self, first: Lba, count: u64) -> core::result::Result<(), BlockError> {
        self.block_shape().locate_blocks(first, count)?;
        self.admit_write()?;
        for lba in first.0..first.0 + count {
            let done = self.trim_block(number(lba)?);
            self.log.status.noted(done)?;
        }
        let done = self.after_change();
        Ok(self.log.status.noted(done)?)
    }
}
