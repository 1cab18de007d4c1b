//! Section 2.3: reading and writing files in chunks of a page.

use core::ops::Range;

use pumice_common::{Content, Cover, Inodes, Piece, number_of, pieces};
use pumice_vfs::{Result, SetAttr};

use super::Volume;
use crate::index::{Change, Index};
use crate::inode::Inode;
use crate::layout::Addr;
use crate::spare::{Kind, Mark};

/// Chunks of one call that are written with one inode: after a power cut all of them are there, or none.
const AT_ONCE: usize = 64;

/// An inode and its index, while they are changed.
struct Open {
    ino: u32,
    inode: Inode,
    index: Index,
}

impl Content for Volume<'_> {
    fn block_bytes(&self) -> usize {
        self.layout().page_bytes()
    }

    fn size_max(&self) -> u64 {
        self.layout().size_max()
    }

    fn fill(&mut self, ino: u32, inode: &Inode, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let mut index = self.index_of(ino, inode);
        let mut rest = buffer;
        for Piece { number: chunk, from, bytes } in pieces(self.block_bytes(), offset, rest.len()) {
            let (part, behind) = rest.split_at_mut(bytes);
            rest = behind;
            match index.get(&mut self.store, chunk)? {
                Addr::NONE => part.fill(0),
                at => part.copy_from_slice(&self.store.data(at, ino, chunk)?[from..from + bytes]),
            }
        }
        Ok(())
    }

    fn put_bytes(&mut self, ino: u32, inode: Inode, offset: u64, bytes: &[u8]) -> Result<()> {
        let page_bytes = self.block_bytes();
        let mut index = self.index_of(ino, &inode);
        let mut new = 0;
        for Piece { number: chunk, .. } in pieces(page_bytes, offset, bytes.len()) {
            new += u32::from(index.get(&mut self.store, chunk)? == Addr::NONE);
        }
        self.admit(if new > 0 { new + self.index_pages(new) } else { 0 })?;
        let first = page_bytes - usize::try_from(offset % page_bytes as u64).unwrap_or(0);
        let mut done = 0;
        while done < bytes.len() {
            // Each part but the first begins with a chunk.
            let whole = if done == 0 { first + (AT_ONCE - 1) * page_bytes } else { AT_ONCE * page_bytes };
            let end = (done + whole).min(bytes.len());
            self.write_part(ino, offset + done as u64, &bytes[done..end])?;
            done = end;
        }
        Ok(())
    }

    fn apply(&mut self, ino: u32, inode: Inode, wanted: &SetAttr) -> Result<Inode> {
        self.room_to_clear(&inode)?;
        self.change_file(ino, |volume, open, change| {
            if let Some(size) = wanted.size {
                let old = open.inode.size;
                if size < old {
                    volume.clear(open, change, size, old.next_multiple_of(volume.block_bytes() as u64))?;
                }
                open.inode.size = size;
                volume.touch(&mut open.inode);
            }
            open.inode.change(wanted, volume.now());
            Ok(())
        })
    }

    fn cover(&mut self, ino: u32, inode: Inode, cover: Cover, range: Range<u64>) -> Result<()> {
        self.room_to_clear(&inode)?;
        self.change_file(ino, |volume, open, change| {
            let size = open.inode.size;
            if cover.clears && range.start < size {
                let end = range.end.min(size.next_multiple_of(volume.block_bytes() as u64));
                volume.clear(open, change, range.start, end)?;
            }
            if cover.grows {
                open.inode.size = size.max(range.end);
            }
            volume.touch(&mut open.inode);
            Ok(())
        })?;
        Ok(())
    }

    fn next_block(&mut self, ino: u32, inode: &Inode, range: Range<u32>, there: bool) -> Result<u32> {
        let mut index = self.index_of(ino, inode);
        index.next(&mut self.store, range.start, range.end, there)
    }
}

impl Volume<'_> {
    /// Changes an inode with its index, and writes both.
    fn change_file(
        &mut self,
        ino: u32,
        work: impl FnOnce(&mut Volume<'_>, &mut Open, &mut Change) -> Result<()>,
    ) -> Result<Inode> {
        let inode = self.inode(ino)?;
        let index = self.index_of(ino, &inode);
        let (mut open, mut change) = (Open { ino, inode, index }, Change::default());
        let done = match work(self, &mut open, &mut change) {
            Ok(()) => self.finish(open, &mut change),
            Err(error) => Err(error),
        };
        self.end_change(change, done)
    }

    fn finish(&mut self, open: Open, change: &mut Change) -> Result<Inode> {
        let Open { ino, mut inode, mut index } = open;
        let more = index.write(&mut self.store, change)?;
        inode.pages = inode.pages.saturating_add_signed(more);
        inode.class = index.class();
        inode.entries = index.into_entries();
        self.put_inode(change, ino, &inode)?;
        Ok(inode)
    }

    /// Writes a chunk.
    fn put_chunk(&mut self, open: &mut Open, change: &mut Change, chunk: u32, page: &[u8]) -> Result<()> {
        let at = self.store.append(Mark { kind: Kind::Data, ino: open.ino, number: chunk }, page)?;
        change.fresh.push(at);
        let was = open.index.class();
        let old = open.index.set(&mut self.store, change, chunk, at)?;
        if was != open.index.class() {
            // The only index page of class 1 is dead; those of class 2 are counted when they are written.
            let had = open.inode.entries.last().is_some_and(|at| *at != Addr::NONE);
            open.inode.pages = open.inode.pages.saturating_sub(u32::from(had));
        }
        if old == Addr::NONE {
            open.inode.pages = open.inode.pages.saturating_add(1);
        } else {
            change.dead.push(old);
        }
        Ok(())
    }

    /// Changes a part of a chunk.
    fn put_part(&mut self, open: &mut Open, change: &mut Change, piece: &Piece, part: &[u8]) -> Result<()> {
        debug_assert_eq!(part.len(), piece.bytes, "a part of another length");
        if part.len() == self.block_bytes() {
            return self.put_chunk(open, change, piece.number, part);
        }
        let mut page = match open.index.get(&mut self.store, piece.number)? {
            Addr::NONE => vec![0; self.block_bytes()],
            at => self.store.data(at, open.ino, piece.number)?,
        };
        page[piece.from..piece.from + piece.bytes].copy_from_slice(part);
        self.put_chunk(open, change, piece.number, &page)
    }

    /// Index pages that so many chunks may need, wherever they lie, and the change of class.
    fn index_pages(&self, chunks: u32) -> u32 {
        let pointers = self.layout().pointers();
        chunks / pointers + self.layout().entries() / pointers + 5
    }

    fn write_part(&mut self, ino: u32, offset: u64, bytes: &[u8]) -> Result<()> {
        let chunks = u32::try_from(AT_ONCE).unwrap_or(u32::MAX);
        self.make_room(chunks + self.index_pages(chunks), 1)?;
        self.change_file(ino, |volume, open, change| {
            let mut rest = bytes;
            for piece in pieces(volume.block_bytes(), offset, bytes.len()) {
                let (part, behind) = rest.split_at(piece.bytes);
                rest = behind;
                volume.put_part(open, change, &piece, part)?;
            }
            open.inode.size = open.inode.size.max(offset + bytes.len() as u64);
            volume.touch(&mut open.inode);
            Ok(())
        })?;
        Ok(())
    }

    /// Notes a change of content.
    fn touch(&self, inode: &mut Inode) {
        inode.touch(self.now());
    }

    /// Writes the target of a new symbolic link; returns its index entries.
    pub(super) fn put_target(
        &mut self,
        change: &mut Change,
        ino: u32,
        inode: &mut Inode,
        target: &[u8],
    ) -> Result<()> {
        let page_bytes = self.block_bytes();
        let mut index = self.index_of(ino, inode);
        for (number, part) in (0..).zip(target.chunks(page_bytes)) {
            let mut page = part.to_vec();
            page.resize(page_bytes, 0);
            let at = self.store.append(Mark { kind: Kind::Data, ino, number }, &page)?;
            change.fresh.push(at);
            index.set(&mut self.store, change, number, at)?;
            inode.pages += 1;
        }
        inode.pages = inode.pages.saturating_add_signed(index.write(&mut self.store, change)?);
        inode.class = index.class();
        inode.entries = index.into_entries();
        Ok(())
    }

    /// Room for the writes of clearing a range: two chunks in part, and the index.
    fn room_to_clear(&mut self, inode: &Inode) -> Result<()> {
        // Of index pages those at both ends of the range stay, with the double indirect one.
        let index = if inode.pages == 0 { 0 } else { 4 };
        self.make_room(2 + index, 1)
    }

    /// Makes a range read as zeros: whole chunks become holes.
    fn clear(&mut self, open: &mut Open, change: &mut Change, from: u64, to: u64) -> Result<()> {
        let each = self.block_bytes() as u64;
        let (first, last) = (from.div_ceil(each), to / each);
        let ends = [(from, to.min(first * each)), (from.max(last * each), to)];
        for (number, (start, end)) in ends.into_iter().enumerate() {
            // A range within one chunk has one end.
            if start >= end || (number == 1 && ends[0] == ends[1]) {
                continue;
            }
            // The cleared range lies within one chunk.
            debug_assert!(end - start <= each, "bytes {start} to {end}");
            let length = usize::try_from(end - start).unwrap_or(usize::MAX);
            for piece in pieces(self.block_bytes(), start, length) {
                if open.index.get(&mut self.store, piece.number)? != Addr::NONE {
                    self.put_part(open, change, &piece, &vec![0; piece.bytes])?;
                }
            }
        }
        let bytes = self.block_bytes();
        let (first, last) = (number_of(bytes, from.next_multiple_of(each)), number_of(bytes, to));
        let gone = open.index.punch(&mut self.store, change, first, last)?;
        open.inode.pages = open.inode.pages.saturating_sub(gone);
        Ok(())
    }
}
