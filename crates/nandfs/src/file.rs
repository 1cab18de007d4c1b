//! The content of files: read, write, truncate, reserve, seek.

use alloc::{vec, vec::Vec};
use core::ops::Range;

use pumice_vfs::{Errno, FileKind, Result, Seek, SpaceMode};

use crate::addr::Addr;
use crate::codec::size;
use crate::error::Damage;
use crate::files::Files;
use crate::log::Log;
use crate::node::{Body, Inode, Map};
use crate::pack;
use crate::room::Room;
use crate::tag::ChunkKind;
use crate::volume::block_index;

impl Files {
    fn block_bytes(&self) -> u64 {
        self.params.block.into()
    }

    /// The largest file, in bytes: as many blocks as tags can count.
    pub(crate) fn file_max(&self) -> u64 {
        u64::from(u32::MAX) * self.block_bytes()
    }

    /// Parts of `offset..offset + length` by block: block index, start within it, length.
    fn parts(&self, offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, usize)> + use<> {
        let block = self.block_bytes();
        let (mut at, end) = (offset, offset + length as u64);
        core::iter::from_fn(move || {
            (at < end).then(|| {
                let (index, start) = (at / block, at % block);
                let length = (block - start).min(end - at);
                at += length;
                (index, size(start), size(length))
            })
        })
    }

    /// Reads a block into `out` from `start` on; zeros follow the chunk's end.
    pub(crate) fn read_block(
        &mut self,
        log: &mut Log<'_>,
        ino: u32,
        index: u32,
        start: usize,
        out: &mut [u8],
    ) -> Result<()> {
        if let Some(bytes) = self.cache.get(ino, index) {
            out.copy_from_slice(&bytes[start..start + out.len()]);
            return Ok(());
        }
        self.losses.check_block(ino, index)?;
        let addr = self.map_get(log, ino, index)?;
        if !addr.is_stored() {
            out.fill(0);
            return Ok(());
        }
        let most = self.params.block as usize;
        let unpacked = log.pages.read_block(addr, ino, index, |bytes, kind| {
            if kind == ChunkKind::Packed {
                return pack::unpack(bytes, most, Damage::packed(addr)).map(Some);
            }
            copy_padded(bytes.get(start..).unwrap_or_default(), out);
            Ok(None)
        })??;
        if let Some(mut bytes) = unpacked {
            copy_padded(bytes.get(start..).unwrap_or_default(), out);
            if out.len() < most {
                // Readers in small pieces need it again.
                bytes.resize(most, 0);
                self.cache.insert(ino, index, bytes, false);
            }
        }
        Ok(())
    }

    /// Reads the chunk of a block and proves it.
    pub(crate) fn prove_block(&mut self, log: &mut Log<'_>, addr: Addr, ino: u32, index: u32) -> Result<()> {
        let most = self.params.block as usize;
        log.pages.read_block(addr, ino, index, |bytes, kind| match kind {
            ChunkKind::Packed => pack::unpack(bytes, most, Damage::packed(addr)).map(|_| ()),
            _ => Ok(()),
        })?
    }

    /// A whole block in memory for a change, read if need be.
    fn block_mut(&mut self, log: &mut Log<'_>, ino: u32, index: u32, fill: bool) -> Result<&mut Vec<u8>> {
        self.soil_pointer(log, ino, index)?;
        let is_new = !self.cache.is_dirty(ino, index);
        if self.cache.get(ino, index).is_none() {
            let mut bytes = vec![0; self.params.block as usize];
            if fill {
                self.read_block(log, ino, index, 0, &mut bytes)?;
            }
            self.cache.insert(ino, index, bytes, true);
        }
        if is_new && self.params.packs {
            self.let_go(log, ino, index)?;
        }
        self.cache.get_mut(ino, index).ok_or(Errno::Io.into())
    }

    /// Counts a block that is about to be changed as large as it may become: it may not compress again.
    fn let_go(&mut self, log: &mut Log<'_>, ino: u32, index: u32) -> Result<()> {
        let addr = self.map_get(log, ino, index)?;
        if addr.is_stored() {
            self.map_put(log, ino, index, Addr::RESERVED)?;
            log.discard_block(ino, index, addr)?;
        }
        Ok(())
    }

    /// Claims the space of a block that is about to be written; true if it had none.
    fn claim_block(&mut self, log: &mut Log<'_>, ino: u32, index: u32) -> Result<bool> {
        if self.cache.is_dirty(ino, index) {
            return Ok(false);
        }
        let addr = self.map_get(log, ino, index)?;
        let fresh = addr == Addr::NONE;
        if fresh {
            self.claim_blocks(log, 1)?;
        } else {
            self.claim_growth(log, addr)?;
        }
        Ok(fresh)
    }

    /// The same, and keeps it for the block.
    fn reserve_block(&mut self, log: &mut Log<'_>, ino: u32, index: u32) -> Result<bool> {
        let fresh = self.claim_block(log, ino, index)?;
        if fresh {
            self.map_put(log, ino, index, Addr::RESERVED)?;
        }
        Ok(fresh)
    }

    /// Fails if there is no room for all bytes of a write, which comes in pieces. Claims what these will claim.
    pub(crate) fn check_room(&mut self, log: &mut Log<'_>, ino: u32, at: u64, length: usize) -> Result<()> {
        let end =
            at.checked_add(length as u64).filter(|end| *end <= self.file_max()).ok_or(Errno::FileTooBig)?;
        for index in at / self.block_bytes()..end.div_ceil(self.block_bytes()) {
            if self.claim_block(log, ino, block_index(index)?)? {
                // Its pointer may come to lie in a new node.
                self.claim(log, self.params.share_of_node().into())?;
            }
            if index.is_multiple_of(1024) {
                self.trim(log);
            }
        }
        Ok(())
    }

    /// The same for several; true if any of them had none. An error leaves everything as it was.
    fn reserve_blocks(&mut self, log: &mut Log<'_>, ino: u32, blocks: Range<u64>) -> Result<bool> {
        let mut done = Vec::new();
        for index in blocks {
            match self.reserve_block(log, ino, block_index(index)?) {
                Ok(fresh) => done.extend(fresh.then_some(index)),
                Err(error) => {
                    done.into_iter().try_for_each(|index| self.unmap(log, ino, index, index + 1))?;
                    return Err(error);
                }
            }
        }
        Ok(!done.is_empty())
    }

    /// Moves an inline body into blocks.
    pub(crate) fn spill(&mut self, log: &mut Log<'_>, ino: u32) -> Result<()> {
        let Body::Inline(bytes) = self.inode(log, ino)?.body.clone() else { return Ok(()) };
        let block = self.params.block as usize;
        self.claim_blocks(log, bytes.len().div_ceil(block) as u64)?;
        self.inode_mut(log, ino)?.body = Body::Mapped(Map::new());
        for (index, part) in (0..).zip(bytes.chunks(block)) {
            self.map_put(log, ino, index, Addr::RESERVED)?;
            let mut whole = part.to_vec();
            whole.resize(block, 0);
            self.cache.insert(ino, index, whole, true);
        }
        Ok(())
    }

    /// Reads; returns the number of bytes, fewer only at the end.
    pub(crate) fn read_file(&mut self, log: &mut Log<'_>, ino: u32, at: u64, to: &mut [u8]) -> Result<usize> {
        let inode = self.inode(log, ino)?;
        let length = size(inode.size.saturating_sub(at)).min(to.len());
        let to = &mut to[..length];
        if length == 0 {
            return Ok(0);
        }
        if let Body::Inline(bytes) = &inode.body {
            copy_padded(bytes.get(size(at)..).unwrap_or_default(), to);
            return Ok(length);
        }
        let mut rest = to;
        for (index, start, length) in self.parts(at, length) {
            let (part, tail) = rest.split_at_mut(length);
            self.read_block(log, ino, block_index(index)?, start, part)?;
            rest = tail;
        }
        Ok(length)
    }

    /// Writes, growing the file as needed; times are the caller's work.
    pub(crate) fn write_file(&mut self, log: &mut Log<'_>, ino: u32, offset: u64, data: &[u8]) -> Result<()> {
        let end = offset.checked_add(data.len() as u64).filter(|end| *end <= self.file_max());
        let end = end.ok_or(Errno::FileTooBig)?;
        if self.write_inline(log, ino, offset, data, end)? {
            return Ok(());
        }
        let block = self.block_bytes();
        self.reserve_blocks(log, ino, offset / block..end.div_ceil(block))?;
        let old_size = self.inode(log, ino)?.size;
        let mut rest = data;
        for (index, start, length) in self.parts(offset, data.len()) {
            let (part, tail) = rest.split_at(length);
            let whole = length == self.params.block as usize;
            let fill = !whole && index * block < old_size;
            let bytes = self.block_mut(log, ino, block_index(index)?, fill)?;
            bytes[start..start + length].copy_from_slice(part);
            rest = tail;
        }
        if end > old_size {
            self.nodes.inode_mut(&mut log.pages, ino)?.size = end;
        }
        Ok(())
    }

    fn write_inline(&mut self, log: &mut Log<'_>, ino: u32, at: u64, data: &[u8], end: u64) -> Result<bool> {
        let params = self.params;
        let inode = self.inode(log, ino)?;
        let Body::Inline(bytes) = &inode.body else { return Ok(false) };
        // Bytes in the inode already have their space, unless they lie there compressed, and may not compress again.
        let grown = match params.packs {
            true => data.len() as u64,
            false => end.saturating_sub(bytes.len() as u64),
        };
        if end > Inode::inline_room(&params) as u64 {
            self.spill(log, ino)?;
            return Ok(false);
        }
        if grown > 0 {
            self.claim(log, grown)?;
        }
        let inode = self.inode_mut(log, ino)?;
        inode.size = inode.size.max(end);
        if let Body::Inline(bytes) = &mut inode.body {
            let start = size(at);
            bytes.resize(bytes.len().max(size(end)), 0);
            bytes[start..start + data.len()].copy_from_slice(data);
        }
        Ok(true)
    }

    /// Sets the length; bytes beyond it are gone, new ones are a hole.
    pub(crate) fn truncate(&mut self, log: &mut Log<'_>, ino: u32, length: u64) -> Result<()> {
        if length > self.file_max() {
            return Err(Errno::FileTooBig.into());
        }
        let params = self.params;
        let inode = self.inode(log, ino)?;
        let (old, room) = (inode.size, Inode::inline_room(&params));
        if matches!(inode.body, Body::Inline(_)) && length > room as u64 {
            self.spill(log, ino)?;
        }
        if length < old {
            self.clear(log, ino, length, self.file_max())?;
        }
        let inode = self.inode_mut(log, ino)?;
        inode.size = length;
        if let Body::Inline(bytes) = &mut inode.body {
            bytes.truncate(size(length));
        }
        // An emptied file may be small again.
        if length == 0 && inode.blocks == 0 && inode.kind != FileKind::Dir {
            let had_nodes =
                matches!(&inode.body, Body::Mapped(map) if map.children.iter().any(|nid| *nid != 0));
            if !had_nodes {
                inode.body = Body::Inline(Vec::new());
            }
        }
        Ok(())
    }

    /// Makes a range read as zeros: whole blocks become holes, parts are written.
    pub(crate) fn clear(&mut self, log: &mut Log<'_>, ino: u32, from: u64, to: u64) -> Result<()> {
        let block = self.block_bytes();
        if let Body::Inline(_) = self.inode(log, ino)?.body {
            if let Body::Inline(bytes) = &mut self.inode_mut(log, ino)?.body {
                let end = bytes.len().min(size(to));
                bytes.get_mut(size(from)..end).unwrap_or_default().fill(0);
            }
            return Ok(());
        }
        let (first, last) = (from.div_ceil(block), to / block);
        if first > last {
            return self.clear_part(log, ino, from, to);
        }
        self.clear_part(log, ino, from, first * block)?;
        self.clear_part(log, ino, last * block, to)?;
        if first < last {
            self.pend(ino).unlogged = true;
            self.cache.discard(ino, block_index(first)?, block_index(last - 1)?);
            self.unmap(log, ino, first, last)?;
        }
        Ok(())
    }

    /// The same within a single block.
    fn clear_part(&mut self, log: &mut Log<'_>, ino: u32, from: u64, to: u64) -> Result<()> {
        let (index, start) = (from / self.block_bytes(), size(from % self.block_bytes()));
        let length = size(to.saturating_sub(from));
        if length == 0 || from >= self.inode(log, ino)?.size {
            return Ok(());
        }
        let index = block_index(index)?;
        if self.map_get(log, ino, index)?.is_stored() || self.cache.is_dirty(ino, index) {
            self.block_mut(log, ino, index, true)?[start..start + length].fill(0);
        }
        Ok(())
    }

    /// Reserves, punches or zeroes a range.
    pub(crate) fn allocate_file(
        &mut self,
        log: &mut Log<'_>,
        ino: u32,
        mode: SpaceMode,
        offset: u64,
        length: u64,
    ) -> Result<()> {
        let end = offset.checked_add(length).filter(|end| *end <= self.file_max());
        let end = end.ok_or(Errno::FileTooBig)?;
        let (clear, reserve, keep_size) = match mode {
            SpaceMode::PunchHole => (true, false, true),
            SpaceMode::Reserve { keep_size } => (false, true, keep_size),
            SpaceMode::Zero { keep_size } => (true, true, keep_size),
        };
        if reserve {
            self.reserve_range(log, ino, offset, end)?;
        }
        if clear {
            self.clear(log, ino, offset, end)?;
        }
        if reserve && clear {
            self.reserve_again(log, ino, offset, end)?;
        }
        let inode = self.inode_mut(log, ino)?;
        if !keep_size {
            inode.size = inode.size.max(end);
        }
        Ok(())
    }

    fn reserve_range(&mut self, log: &mut Log<'_>, ino: u32, offset: u64, end: u64) -> Result<()> {
        let params = self.params;
        let inode = self.inode(log, ino)?;
        if matches!(inode.body, Body::Inline(_)) {
            if end <= Inode::inline_room(&params) as u64 {
                return Ok(());
            }
            self.spill(log, ino)?;
        }
        let block = self.block_bytes();
        let (first, last) = (offset / block, end.div_ceil(block));
        // A request beyond all space is refused before the index is filled with promises.
        if (last - first).saturating_mul(block) > Room::of(log, self).total_bytes() {
            return Err(Errno::NoSpace.into());
        }
        let fresh = self.reserve_blocks(log, ino, first..last)?;
        self.pend(ino).unlogged |= fresh;
        Ok(())
    }

    /// Reserves the holes that clearing made. Their space was claimed a moment ago: a second claim might fail with the
    /// content gone.
    fn reserve_again(&mut self, log: &mut Log<'_>, ino: u32, offset: u64, end: u64) -> Result<()> {
        if matches!(self.inode(log, ino)?.body, Body::Inline(_)) {
            return Ok(());
        }
        let block = self.block_bytes();
        for index in offset / block..end.div_ceil(block) {
            let index = block_index(index)?;
            if !self.cache.is_dirty(ino, index) && self.map_get(log, ino, index)? == Addr::NONE {
                self.map_put(log, ino, index, Addr::RESERVED)?;
            }
        }
        self.pend(ino).unlogged = true;
        Ok(())
    }

    /// The next data or hole.
    pub(crate) fn seek_file(&mut self, log: &mut Log<'_>, ino: u32, offset: u64, what: Seek) -> Result<u64> {
        self.losses.check_blocks(ino)?;
        let inode = self.inode(log, ino)?;
        let length = inode.size;
        if offset >= length {
            return Err(Errno::NoAddress.into());
        }
        if matches!(inode.body, Body::Inline(_)) {
            return Ok(if what == Seek::Data { offset } else { length });
        }
        let block = self.block_bytes();
        let mut at = offset / block;
        // A damaged file may seem to have more blocks than the chip.
        for _ in 0..=self.params.blocks_most() {
            let found = self.next_data(log, ino, at)?;
            match (what, found) {
                (Seek::Data, Some(index)) if index * block < length => return Ok((index * block).max(offset)),
                (Seek::Data, _) => return Err(Errno::NoAddress.into()),
                (Seek::Hole, Some(index)) if index == at && at * block < length => at += 1,
                (Seek::Hole, _) => return Ok((at * block).max(offset).min(length)),
            }
        }
        Err(Damage::Node(ino).into())
    }

    /// The first block at or behind `at` with data, written or not.
    fn next_data(&mut self, log: &mut Log<'_>, ino: u32, mut at: u64) -> Result<Option<u64>> {
        for _ in 0..=self.params.blocks_most() {
            let Some((index, addr)) = self.map_next(log, ino, at)? else { return Ok(None) };
            if addr.is_stored() || self.cache.is_dirty(ino, block_index(index)?) {
                return Ok(Some(index));
            }
            at = index + 1;
        }
        Err(Damage::Node(ino).into())
    }
}

/// Copies the present bytes and fills the rest with zeros.
fn copy_padded(from: &[u8], to: &mut [u8]) {
    let length = from.len().min(to.len());
    let (head, tail) = to.split_at_mut(length);
    head.copy_from_slice(&from[..length]);
    tail.fill(0);
}
