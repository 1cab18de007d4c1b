//! Section 2.3: reading and writing files in chunks of a page.

use pumice_vfs::{Errno, FileKind, Result, Seek, SetAttr, SpaceMode};

use super::Volume;
use crate::index::{Change, Index};
use crate::inode::Inode;
use crate::layout::Addr;
use crate::spare::{Kind, Mark};

/// Chunks of one call that are written with one inode: after a power cut all of them are there, or none.
const AT_ONCE: usize = 64;

/// A part of one chunk: which, from where in it, and how many bytes.
struct Piece {
    chunk: u32,
    from: usize,
    bytes: usize,
}

/// The parts of chunks that a range covers; it ends within the chunks that a file may have.
fn pieces(page_bytes: usize, offset: u64, length: usize) -> impl Iterator<Item = Piece> {
    let (mut at, mut left, each) = (offset, length, page_bytes as u64);
    core::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let from = usize::try_from(at % each).ok()?;
        let bytes = left.min(page_bytes - from);
        let piece = Piece { chunk: chunk_of(at, each), from, bytes };
        at += bytes as u64;
        left -= bytes;
        Some(piece)
    })
}

/// The chunk that holds a byte; files have fewer than 2^24.
fn chunk_of(offset: u64, page_bytes: u64) -> u32 {
    debug_assert!(offset / page_bytes <= 1 << 24, "byte {offset} of a file");
    u32::try_from(offset / page_bytes).unwrap_or(u32::MAX)
}

/// An inode and its index, while they are changed.
struct Open {
    ino: u32,
    inode: Inode,
    index: Index,
}

impl Volume<'_> {
    fn page_bytes(&self) -> usize {
        self.layout().page_bytes()
    }

    /// A regular file's inode.
    fn file(&mut self, ino: u32) -> Result<Inode> {
        let inode = self.inode(ino)?;
        match inode.kind {
            FileKind::File => Ok(inode),
            FileKind::Dir => Err(Errno::IsDir.into()),
            _ => Err(Errno::Invalid.into()),
        }
    }

    pub(crate) fn read(&mut self, ino: u32, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let inode = self.file(ino)?;
        let there =
            usize::try_from(inode.size.saturating_sub(offset)).unwrap_or(usize::MAX).min(buffer.len());
        self.read_chunks(ino, &inode, offset, buffer.get_mut(..there).unwrap_or_default())?;
        Ok(there)
    }

    /// Fills `buffer` from the chunks of an inode, which ends behind it.
    pub(super) fn read_chunks(
        &mut self,
        ino: u32,
        inode: &Inode,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<()> {
        let mut index = self.index_of(ino, inode);
        let mut rest = buffer;
        for Piece { chunk, from, bytes } in pieces(self.page_bytes(), offset, rest.len()) {
            let (part, behind) = rest.split_at_mut(bytes);
            rest = behind;
            match index.get(&mut self.store, chunk)? {
                Addr::NONE => part.fill(0),
                at => part.copy_from_slice(&self.store.data(at, ino, chunk)?[from..from + bytes]),
            }
        }
        Ok(())
    }

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
        if part.len() == self.page_bytes() {
            return self.put_chunk(open, change, piece.chunk, part);
        }
        let mut page = match open.index.get(&mut self.store, piece.chunk)? {
            Addr::NONE => vec![0; self.page_bytes()],
            at => self.store.data(at, open.ino, piece.chunk)?,
        };
        page[piece.from..piece.from + piece.bytes].copy_from_slice(part);
        self.put_chunk(open, change, piece.chunk, &page)
    }

    /// Index pages that so many chunks may need, wherever they lie, and the change of class.
    fn index_pages(&self, chunks: u32) -> u32 {
        let pointers = self.layout().pointers();
        chunks / pointers + self.layout().entries() / pointers + 5
    }

    pub(crate) fn write(&mut self, ino: u32, offset: u64, bytes: &[u8]) -> Result<()> {
        let inode = self.file(ino)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let end = offset.checked_add(bytes.len() as u64).filter(|end| *end <= self.layout().size_max());
        end.ok_or(Errno::FileTooBig)?;
        self.writable()?;
        let page_bytes = self.page_bytes();
        let mut index = self.index_of(ino, &inode);
        let mut new = 0;
        for Piece { chunk, .. } in pieces(page_bytes, offset, bytes.len()) {
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

    fn write_part(&mut self, ino: u32, offset: u64, bytes: &[u8]) -> Result<()> {
        let chunks = u32::try_from(AT_ONCE).unwrap_or(u32::MAX);
        self.make_room(chunks + self.index_pages(chunks), 1)?;
        self.change_file(ino, |volume, open, change| {
            let mut rest = bytes;
            for piece in pieces(volume.page_bytes(), offset, bytes.len()) {
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
        (inode.times[1], inode.times[2]) = (self.now(), self.now());
    }

    /// Writes the target of a new symbolic link; returns its index entries.
    pub(super) fn put_target(
        &mut self,
        change: &mut Change,
        ino: u32,
        inode: &mut Inode,
        target: &[u8],
    ) -> Result<()> {
        let page_bytes = self.page_bytes();
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

    pub(crate) fn set_attr(&mut self, ino: u32, wanted: &SetAttr) -> Result<Inode> {
        let inode = self.inode(ino)?;
        match (wanted.size, inode.kind) {
            (Some(_), FileKind::Dir) => return Err(Errno::IsDir.into()),
            (Some(size), FileKind::File) if size > self.layout().size_max() => {
                return Err(Errno::FileTooBig.into());
            }
            (None, _) | (_, FileKind::File) => {}
            _ => return Err(Errno::Invalid.into()),
        }
        if *wanted == SetAttr::default() {
            return Ok(inode);
        }
        self.writable()?;
        self.room_to_clear(&inode)?;
        self.change_file(ino, |volume, open, change| {
            if let Some(size) = wanted.size {
                let old = open.inode.size;
                if size < old {
                    volume.clear(open, change, size, old.next_multiple_of(volume.page_bytes() as u64))?;
                }
                open.inode.size = size;
                volume.touch(&mut open.inode);
            }
            let inode = &mut open.inode;
            inode.perm = wanted.perm.map_or(inode.perm, |perm| perm & 0o7777);
            inode.uid = wanted.uid.unwrap_or(inode.uid);
            inode.gid = wanted.gid.unwrap_or(inode.gid);
            let [atime, mtime, ctime, _] = &mut inode.times;
            *atime = wanted.atime.unwrap_or(*atime);
            *mtime = wanted.mtime.unwrap_or(*mtime);
            *ctime = wanted.ctime.unwrap_or(volume.now());
            Ok(())
        })
    }

    /// Room for the writes of clearing a range: two chunks in part, and the index.
    fn room_to_clear(&mut self, inode: &Inode) -> Result<()> {
        // Of index pages those at both ends of the range stay, with the double indirect one.
        let index = if inode.pages == 0 { 0 } else { 4 };
        self.make_room(2 + index, 1)
    }

    /// Makes a range read as zeros: whole chunks become holes.
    fn clear(&mut self, open: &mut Open, change: &mut Change, from: u64, to: u64) -> Result<()> {
        let each = self.page_bytes() as u64;
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
            for piece in pieces(self.page_bytes(), start, length) {
                if open.index.get(&mut self.store, piece.chunk)? != Addr::NONE {
                    self.put_part(open, change, &piece, &vec![0; piece.bytes])?;
                }
            }
        }
        let (first, last) = (chunk_of(from.next_multiple_of(each), each), chunk_of(to, each));
        let gone = open.index.punch(&mut self.store, change, first, last)?;
        open.inode.pages = open.inode.pages.saturating_sub(gone);
        Ok(())
    }

    pub(crate) fn allocate(&mut self, ino: u32, mode: SpaceMode, offset: u64, length: u64) -> Result<()> {
        let inode = self.file(ino)?;
        if length == 0 {
            return Err(Errno::Invalid.into());
        }
        let end = offset.checked_add(length).filter(|end| *end <= self.layout().size_max());
        let end = end.ok_or(Errno::FileTooBig)?;
        self.writable()?;
        self.room_to_clear(&inode)?;
        self.change_file(ino, |volume, open, change| {
            let size = open.inode.size;
            let (clears, grows) = match mode {
                SpaceMode::Reserve { keep_size } => (false, !keep_size),
                SpaceMode::PunchHole => (true, false),
                SpaceMode::Zero { keep_size } => (true, !keep_size),
            };
            if clears && offset < size {
                volume.clear(
                    open,
                    change,
                    offset,
                    end.min(size.next_multiple_of(volume.page_bytes() as u64)),
                )?;
            }
            if grows {
                open.inode.size = size.max(end);
            }
            volume.touch(&mut open.inode);
            Ok(())
        })?;
        Ok(())
    }

    pub(crate) fn seek(&mut self, ino: u32, offset: u64, what: Seek) -> Result<u64> {
        let inode = self.file(ino)?;
        if offset >= inode.size {
            return Err(Errno::NoAddress.into());
        }
        let each = self.page_bytes() as u64;
        let end = chunk_of(inode.size.next_multiple_of(each), each);
        let mut index = self.index_of(ino, &inode);
        let found = index.next(&mut self.store, chunk_of(offset, each), end, what == Seek::Data)?;
        match what {
            Seek::Data if found == end => Err(Errno::NoAddress.into()),
            Seek::Data => Ok(offset.max(u64::from(found) * each)),
            Seek::Hole => Ok(offset.max(u64::from(found) * each).min(inode.size)),
        }
    }
}
