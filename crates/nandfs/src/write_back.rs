//! Changed blocks of files and directories go to the log.

use alloc::vec::Vec;

use pumice_vfs::{FileKind, Result};

use crate::codec::size;
use crate::files::Files;
use crate::log::Log;
use crate::pack::Compression;
use crate::packer::{AHEAD, Job};
use crate::pages::{META, SYNC};
use crate::pointers::MAX_ODD;
use crate::tag::{ChunkKind, desc};
use crate::xattr_list;

impl Files {
    /// Bytes of a block that lie before the end of its file.
    fn tail_of(&self, index: u32, file_size: u64) -> usize {
        size(file_size.saturating_sub(u64::from(index) * u64::from(self.params.block)))
    }

    /// Writes one changed block to the log.
    pub(crate) fn write_back(&mut self, log: &mut Log<'_>, ino: u32, index: u32, sync: bool) -> Result<()> {
        let old = self.map_get(log, ino, index)?;
        let is_dir = self.inode(log, ino)?.kind == FileKind::Dir;
        let (how, file_size) = self.how_of(log, ino)?;
        let Some(bytes) = self.cache.take(ino, index, is_dir) else { return Ok(()) };
        let head = match (is_dir, sync) {
            (true, _) => META,
            (false, true) => SYNC,
            (false, false) => log.user_head(ino, index, old)?,
        };
        if !is_dir {
            log.blocks.tick();
        }
        let tail = self.tail_of(index, file_size);
        let partial = !is_dir && (1..bytes.len()).contains(&tail);
        // Behind a short chunk no whole block fits in its page; fsync ends the page there anyway.
        let short = partial && self.may_be_short(log, ino, index, sync)?;
        let content = bytes.get(..tail).filter(|_| short).unwrap_or(&bytes);
        let packed = self.packer.pack((ino, index), how, content);
        let (kind, chunk) = match &packed {
            Some(packed) => (ChunkKind::Packed, packed.as_slice()),
            None => (ChunkKind::Data, content),
        };
        let addr = match log.append(self, head, desc(kind, ino, index, chunk.len()), chunk) {
            Ok(addr) => addr,
            Err(error) => {
                // The block's chunk on the chip may have been let go of.
                self.cache.insert(ino, index, bytes, true);
                return Err(error);
            }
        };
        let old = self.map_put(log, ino, index, addr)?;
        log.release(old)?;
        // The tag of a padded chunk does not tell where the file ends.
        if !sync || (partial && !short) {
            self.pend(ino).unlogged = true;
        }
        Ok(())
    }

    /// True if the last block of a file may be stored without the zeros behind it.
    fn may_be_short(&mut self, log: &mut Log<'_>, ino: u32, index: u32, sync: bool) -> Result<bool> {
        let is_last = sync || self.params.slots == 1;
        Ok(self.params.packs || (is_last && self.odd_pointers(log, ino, index)? < MAX_ODD))
    }

    /// The compression of a file's blocks: its own, or the mount's.
    fn compression_of(&mut self, log: &mut Log<'_>, ino: u32) -> Result<Compression> {
        let inode = self.inode(log, ino)?;
        let own = match inode.xattr_ino {
            0 => xattr_list::compression(&inode.xattr),
            _ => xattr_list::compression(&self.xattr_bytes(log, ino)?),
        };
        Ok(own.unwrap_or(self.packer.usual))
    }

    /// Writes changed blocks from `from` on, in order of inode and index, until `stop` says so.
    pub(crate) fn write_back_from(
        &mut self,
        log: &mut Log<'_>,
        from: (u32, u32),
        until: impl FnMut(&Files, (u32, u32)) -> bool,
        sync: bool,
    ) -> Result<()> {
        let done = self.write_back_each(log, from, until, sync);
        self.packer.drop_ahead();
        done
    }

    fn write_back_each(
        &mut self,
        log: &mut Log<'_>,
        from: (u32, u32),
        mut until: impl FnMut(&Files, (u32, u32)) -> bool,
        sync: bool,
    ) -> Result<()> {
        let (mut place, mut ahead) = (from, 0);
        while let Some((ino, index)) = self.cache.next_dirty(place) {
            if until(self, (ino, index)) {
                break;
            }
            if ahead == 0 && self.params.packs {
                ahead = self.pack_ahead(log, (ino, index), &mut until)?;
            }
            self.write_back(log, ino, index, sync)?;
            ahead = ahead.saturating_sub(1);
            place = (ino, index.saturating_add(1));
        }
        Ok(())
    }

    /// Compresses the blocks that are written next; returns their number.
    fn pack_ahead(
        &mut self,
        log: &mut Log<'_>,
        from: (u32, u32),
        until: &mut impl FnMut(&Files, (u32, u32)) -> bool,
    ) -> Result<usize> {
        let (mut place, mut seen) = (from, 0);
        let mut jobs: Vec<Job> = Vec::new();
        let mut known = None;
        while let Some((ino, index)) = self.cache.next_dirty(place).filter(|_| seen < AHEAD) {
            if until(self, (ino, index)) {
                break;
            }
            (seen, place) = (seen + 1, (ino, index.saturating_add(1)));
            let (how, file_size) = match known {
                Some((of, how, file_size)) if of == ino => (how, file_size),
                _ => self.how_of(log, ino)?,
            };
            known = Some((ino, how, file_size));
            if how == Compression::None || !self.packer.may_pack(ino, index) {
                continue;
            }
            let tail = self.tail_of(index, file_size);
            let bytes = self.cache.get(ino, index);
            debug_assert!(bytes.is_some(), "block {index} of inode {ino} has changed and is gone");
            let Some(bytes) = bytes else { continue };
            let content = bytes.get(..tail).filter(|content| !content.is_empty()).unwrap_or(bytes);
            jobs.push(((ino, index), how, content.to_vec()));
        }
        self.packer.pack_ahead(&jobs);
        Ok(seen)
    }

    /// The compression of an inode's blocks, none for a directory, and the inode's length.
    fn how_of(&mut self, log: &mut Log<'_>, ino: u32) -> Result<(Compression, u64)> {
        let inode = self.inode(log, ino)?;
        let (is_dir, file_size) = (inode.kind == FileKind::Dir, inode.size);
        let how = match is_dir || !self.params.packs {
            true => Compression::None,
            false => self.compression_of(log, ino)?,
        };
        Ok((how, file_size))
    }

    /// Writes everything changed of all files and directories.
    pub(crate) fn write_back_all(&mut self, log: &mut Log<'_>) -> Result<()> {
        self.write_back_from(log, (0, 0), |_, _| false, false)
    }
}
