//! The bytes of files and the targets of links: inside the inode, or in blocks.

use std::ops::Range;

use pumice_vfs::{Errno, FileKind, Seek, SpaceMode};

use super::{
    blocks::{Blocks, Stand},
    xattrs,
};
use crate::{
    error::{Error, Place, Result, corrupt},
    layout::{Advise, InlineFlags, Inode, XattrSpace},
    sealed::Bytes,
    verity,
};

/// Blocks that a run is read in at a time.
const RUN_MAX: u64 = 1 << 20;

/// Reads from byte `offset` on; returns how many bytes, fewer only at the end.
pub(super) fn read(blocks: &Blocks, inode: &Inode, offset: u64, buffer: &mut [u8]) -> Result<usize> {
    let left = inode.size.saturating_sub(offset);
    let length = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
    let (buffer, _) = buffer.split_at_mut(length);
    if inode.is_verity() {
        let file = File { blocks, inode };
        let location = || xattrs::hidden(blocks.nodes(), inode, XattrSpace::Verity, verity::XATTR_NAME);
        let sb = blocks.nodes().writer().super_block();
        blocks.verifiers().open(sb, &file, location)?.read(offset, buffer)?;
    } else {
        fill(blocks, inode, offset, buffer)?;
    }
    Ok(length)
}

/// A file with the bytes behind its end.
struct File<'a> {
    blocks: &'a Blocks,
    inode: &'a Inode,
}

impl Bytes for File<'_> {
    fn inode(&self) -> &Inode {
        self.inode
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        fill(self.blocks, self.inode, offset, buffer)
    }
}

/// Fills `buffer` from byte `offset` on, as if the file had no end.
fn fill(blocks: &Blocks, inode: &Inode, offset: u64, buffer: &mut [u8]) -> Result<()> {
    let mut rest = buffer;
    let length = rest.len();
    if inode.has_inline_data() {
        let limit = inode.inline_range().len() as u64;
        if length > 0 && offset.saturating_add(length as u64) > limit {
            return Err(corrupt(Place::Inode(inode.ino), "bytes are", inode.size, limit));
        }
        let block = blocks.nodes().inode_block(inode.ino)?;
        let data = block.get(inode.inline_range()).unwrap_or_default();
        let from = usize::try_from(offset).ok().and_then(|offset| data.get(offset..)).unwrap_or_default();
        rest.fill(0);
        rest.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        return Ok(());
    }
    let width = blocks.nodes().size().width();
    let mut at = offset;
    while !rest.is_empty() {
        let (index, inside) = (at / width as u64, small(at % width as u64));
        let most = ((inside + rest.len()).div_ceil(width) as u64).min(RUN_MAX);
        let (stand, count) = blocks.stand(inode, index, most)?;
        let part = (small(count) * width - inside).min(rest.len());
        let (now, later) = rest.split_at_mut(part);
        read_stand(blocks, inode, index, &stand, inside, now)?;
        at += part as u64;
        rest = later;
    }
    Ok(())
}

/// The content of block `index`, from its byte `inside` on.
fn read_stand(
    blocks: &Blocks,
    inode: &Inode,
    index: u64,
    stand: &Stand,
    inside: usize,
    buffer: &mut [u8],
) -> Result<()> {
    let width = blocks.nodes().size().width();
    match stand {
        Stand::Hole | Stand::Promised => buffer.fill(0),
        Stand::Waiting(block) => {
            copy(block, inside, buffer);
        }
        Stand::Packed(cluster) => {
            let before = small(index - cluster.first) * width;
            copy(&blocks.unpacked(inode, cluster)?, before + inside, buffer);
        }
        Stand::At(addr) if inside == 0 && buffer.len().is_multiple_of(width) => {
            blocks.read_run(inode, index, *addr, buffer)?;
        }
        Stand::At(addr) => {
            let mut whole = vec![0; (inside + buffer.len()).next_multiple_of(width)];
            blocks.read_run(inode, index, *addr, &mut whole)?;
            copy(&whole, inside, buffer);
        }
    }
    Ok(())
}

/// All bytes of a file, which may not claim more than the volume has.
pub(super) fn whole(blocks: &Blocks, inode: &Inode) -> Result<Vec<u8>> {
    let most = blocks.nodes().writer().super_block().main_bytes();
    let size = usize::try_from(inode.size).ok().filter(|_| inode.size <= most);
    let too_long = || corrupt(Place::Inode(inode.ino), "bytes of a file are", inode.size, most);
    let mut bytes = vec![0; size.ok_or_else(too_long)?];
    read(blocks, inode, 0, &mut bytes)?;
    Ok(bytes)
}

/// All bytes of a file, whatever it claims; zeros for what cannot be read.
pub(super) fn scraps(blocks: &Blocks, inode: &Inode) -> Vec<u8> {
    let width = blocks.nodes().size().width();
    // As many of its blocks as there are may be gone.
    let most = inode.blocks.saturating_mul(2).saturating_mul(width as u64);
    let mut bytes = vec![0; usize::try_from(inode.size.min(most)).unwrap_or(0)];
    for (at, piece) in (0_u64..).step_by(width).zip(bytes.chunks_mut(width)) {
        if read(blocks, inode, at, piece).is_err() {
            piece.fill(0);
        }
    }
    bytes
}

/// Writes `data` from byte `offset` on; the file grows as needed. The caller puts the inode.
pub(super) fn write(blocks: &mut Blocks, inode: &mut Inode, offset: u64, data: &[u8]) -> Result<()> {
    let end = offset.saturating_add(data.len() as u64);
    if inode.has_inline_data() {
        if end <= inode.inline_range().len() as u64 {
            return write_inline(blocks, inode, offset, data);
        }
        spill(blocks, inode)?;
    }
    if offset > inode.size {
        clear_tail(blocks, inode)?;
    }
    let width = blocks.nodes().size().width();
    let mut at = offset;
    let mut rest = data;
    while !rest.is_empty() {
        let (index, inside) = (at / width as u64, small(at % width as u64));
        let whole = if inside == 0 { rest.len() / width * width } else { 0 };
        let (now, later) = rest.split_at(if whole > 0 { whole } else { (width - inside).min(rest.len()) });
        if whole > 0 {
            blocks.put(inode, index, now)?;
        } else {
            let block = blocks.edit(inode, index)?;
            copy(now, 0, part(block, inside, now.len()));
        }
        at += now.len() as u64;
        rest = later;
    }
    inode.size = inode.size.max(end);
    Ok(())
}

/// Writes `data` behind the end of a file, which stays where it is. The caller puts the inode.
pub(super) fn write_behind(blocks: &mut Blocks, inode: &mut Inode, offset: u64, data: &[u8]) -> Result<()> {
    debug_assert!(offset >= inode.size, "byte {offset} is not behind the end");
    if inode.has_inline_data() {
        spill(blocks, inode)?;
    }
    let size = inode.size;
    let done = write(blocks, inode, offset, data);
    inode.size = size;
    done
}

fn write_inline(blocks: &mut Blocks, inode: &mut Inode, offset: u64, data: &[u8]) -> Result<()> {
    let start = inode.inline_range().start + small(offset);
    let block = blocks.nodes_mut().edit(inode.ino)?;
    copy(data, 0, part(block, start, data.len()));
    inode.size = inode.size.max(offset + data.len() as u64);
    if !data.is_empty() {
        inode.inline = inode.inline.with(InlineFlags::DATA_EXIST);
    }
    Ok(())
}

/// Copies the block from byte `inside` on, as far as the buffer goes.
fn copy(block: &[u8], inside: usize, buffer: &mut [u8]) {
    let from = block.get(inside..inside + buffer.len());
    debug_assert!(from.is_some(), "{inside} of {}", block.len());
    if let Some(from) = from {
        buffer.copy_from_slice(from);
    }
}

/// `count` bytes of a block from `start` on, which it has.
fn part(block: &mut [u8], start: usize, count: usize) -> &mut [u8] {
    debug_assert!(start + count <= block.len(), "{start} and {count} of {}", block.len());
    block.get_mut(start..start + count).unwrap_or_default()
}

/// The place of inline data, to be changed. The caller puts the inode.
fn inline_mut<'a>(blocks: &'a mut Blocks, inode: &Inode) -> Result<&'a mut [u8]> {
    let (range, width) = (inode.inline_range(), blocks.nodes().size().width() as u64);
    let end = range.end as u64;
    let place = blocks.nodes_mut().edit(inode.ino)?.get_mut(range);
    place.ok_or_else(|| corrupt(Place::Inode(inode.ino), "inline data end at byte", end, width))
}

/// Moves inline data into a block of its own. The caller puts the inode.
pub(super) fn spill(blocks: &mut Blocks, inode: &mut Inode) -> Result<()> {
    let (range, width) = (inode.inline_range(), blocks.nodes().size().width());
    let limit = range.len() as u64;
    if inode.size > limit {
        return Err(corrupt(Place::Inode(inode.ino), "bytes are", inode.size, limit));
    }
    let place = inline_mut(blocks, inode)?;
    let mut bytes = place.to_vec();
    place.fill(0);
    inode.inline = inode.inline.without(InlineFlags::DATA).without(InlineFlags::DATA_EXIST);
    if inode.size > 0 {
        bytes.resize(width, 0);
        blocks.put(inode, 0, &bytes)?;
    }
    Ok(())
}

/// Makes zeros of the bytes behind the end in its block, so that the file can grow over it.
fn clear_tail(blocks: &mut Blocks, inode: &mut Inode) -> Result<()> {
    let width = blocks.nodes().size().bytes_u64();
    let (index, inside) = (inode.size / width, small(inode.size % width));
    if inside == 0 {
        return Ok(());
    }
    let is_clean = |block: &[u8]| block.iter().skip(inside).all(|byte| *byte == 0);
    if blocks.read(inode, index)?.is_none_or(|block| is_clean(&block)) {
        return Ok(());
    }
    blocks.edit(inode, index)?.iter_mut().skip(inside).for_each(|byte| *byte = 0);
    Ok(())
}

/// Makes the file end at `size`. The caller puts the inode.
pub(super) fn set_size(blocks: &mut Blocks, inode: &mut Inode, size: u64) -> Result<()> {
    if inode.has_inline_data() {
        let range = inode.inline_range();
        if size > range.len() as u64 {
            spill(blocks, inode)?;
        } else {
            inline_mut(blocks, inode)?.iter_mut().skip(small(size)).for_each(|byte| *byte = 0);
            if size == 0 {
                inode.inline = inode.inline.without(InlineFlags::DATA_EXIST);
            }
            inode.size = size;
            return Ok(());
        }
    }
    let width = blocks.nodes().size().bytes_u64();
    if size <= inode.size {
        blocks.cut(inode, size.div_ceil(width))?;
        inode.size = size;
        clear_tail(blocks, inode)?;
        if size == 0 {
            inode.inline = inode.inline.without(InlineFlags::RELEASED);
            gather(inode);
        }
        inode.advise = inode.advise.without(Advise::KEEP_SIZE);
    } else {
        clear_tail(blocks, inode)?;
        inode.size = size;
    }
    Ok(())
}

/// An empty file stands in its inode again.
fn gather(inode: &mut Inode) {
    if inode.kind == FileKind::File && inode.compression().is_none() && !inode.is_encrypted() {
        inode.inline = inode.inline.with(InlineFlags::DATA);
    }
}

/// Reserves, punches or zeroes a range, which ends at most where a file can. The caller puts the inode.
pub(super) fn allocate(
    blocks: &mut Blocks,
    inode: &mut Inode,
    mode: SpaceMode,
    range: Range<u64>,
) -> Result<()> {
    if inode.has_inline_data() {
        if mode == SpaceMode::PunchHole {
            return punch_inline(blocks, inode, range);
        }
        spill(blocks, inode)?;
    }
    let width = blocks.nodes().size().bytes_u64();
    if !matches!(mode, SpaceMode::Reserve { .. }) {
        punch(blocks, inode, range.clone())?;
    }
    if let SpaceMode::Reserve { keep_size } | SpaceMode::Zero { keep_size } = mode {
        for index in range.start / width..range.end.div_ceil(width) {
            blocks.promise(inode, index)?;
        }
        if range.end > inode.size {
            if keep_size {
                inode.advise = inode.advise.with(Advise::KEEP_SIZE);
            } else {
                clear_tail(blocks, inode)?;
                inode.size = range.end;
            }
        }
        inode.extent.blocks = 0;
    }
    Ok(())
}

fn punch_inline(blocks: &mut Blocks, inode: &Inode, range: Range<u64>) -> Result<()> {
    let bytes = inline_mut(blocks, inode)?;
    let (start, end) = (small(range.start), small(range.end));
    bytes.iter_mut().take(end).skip(start).for_each(|byte| *byte = 0);
    Ok(())
}

/// Makes a range read as zeros, with holes in place of whole blocks.
fn punch(blocks: &mut Blocks, inode: &mut Inode, range: Range<u64>) -> Result<()> {
    let width = blocks.nodes().size().bytes_u64();
    let mut index = range.start / width;
    while index < range.end.div_ceil(width) {
        let (stand, count) = blocks.stand(inode, index, u64::MAX)?;
        if stand == Stand::Hole {
            index = index.saturating_add(count);
            continue;
        }
        let start = range.start.max(index * width) - index * width;
        let end = range.end.min((index + 1) * width) - index * width;
        if end - start == width {
            blocks.punch(inode, index)?;
        } else if stand != Stand::Promised {
            let block = blocks.edit(inode, index)?;
            block.iter_mut().take(small(end)).skip(small(start)).for_each(|byte| *byte = 0);
        }
        index += 1;
    }
    Ok(())
}

/// Blocks of a range that have no place yet.
pub(super) fn missing(blocks: &Blocks, inode: &Inode, range: Range<u64>) -> Result<u64> {
    let width = blocks.nodes().size().bytes_u64();
    let (mut index, end) = (range.start / width, range.end.div_ceil(width));
    if inode.has_inline_data() {
        let stays = range.end <= inode.inline_range().len() as u64;
        // What stands in the inode gets the first block.
        return Ok(if stays { 0 } else { end - index + u64::from(index > 0) });
    }
    let mut missing = 0;
    while index < end {
        let (stand, count) = blocks.stand(inode, index, end - index)?;
        missing += if stand == Stand::Hole { count } else { 0 };
        index = index.saturating_add(count);
    }
    Ok(missing)
}

/// The next data or hole at or behind `offset`, which is in front of the end.
pub(super) fn seek(blocks: &Blocks, inode: &Inode, offset: u64, what: Seek) -> Result<u64> {
    if inode.has_inline_data() {
        return Ok(if what == Seek::Data { offset } else { inode.size });
    }
    let width = blocks.nodes().size().bytes_u64();
    let (mut index, end) = (offset / width, inode.size.div_ceil(width));
    while index < end {
        let (stand, count) = blocks.stand(inode, index, end - index)?;
        let is_data = matches!(stand, Stand::Waiting(_) | Stand::Packed(_) | Stand::At(_));
        if is_data == (what == Seek::Data) {
            return Ok((index * width).max(offset));
        }
        index = index.saturating_add(count);
    }
    if what == Seek::Hole { Ok(inode.size) } else { Err(Error::Errno(Errno::NoAddress)) }
}

/// A number of bytes in memory; a number that does not fit is never smaller than any buffer.
fn small(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
