//! Section 3.1: the log of segments. Chunks, then nodes of the mu-tree, then parity; at the end of a segment its summary.

use std::collections::VecDeque;

use pumice_common::Identity;
use pumice_ecc::Parity;
use pumice_media::AnyChip;
use pumice_vfs::{Errno, FsError, Result, Timestamp};

use crate::error::code;
use crate::layout::{Addr, Layout, count};
use crate::mutree::{Header, Image, Key, NodeShape, Place, Sink};
use crate::open::Open;
use crate::pack::{Chunk, Packer};
use crate::segment::{Info, NEXT, NODE, UPPER, Use, reverse_pages, usage_byte};
use crate::spare::{Kind, Tag, signature};
use crate::store::Store;

/// Pages written since the mount, by contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// Chunks of files and of metadata.
    pub data: u64,
    /// Nodes of the mu-tree.
    pub tree: u64,
    /// Reverse index, segment usage, segment information.
    pub summary: u64,
    /// Parity pages, and pages of parity blocks.
    pub parity: u64,
}

/// The place where a log goes on.
pub(crate) struct Position {
    pub(crate) sequence: u32,
    /// The newest root that counts.
    pub(crate) root: Addr,
    pub(crate) next: VecDeque<u32>,
    pub(crate) usage: Vec<Use>,
}

pub(crate) struct Log<'c> {
    store: Store<'c>,
    position: Position,
    identity: Identity,
    open: Option<Open>,
    packer: Packer,
    placed: Vec<(Key, Place)>,
    written: Written,
    now: Timestamp,
}

impl<'c> Log<'c> {
    pub(crate) fn new(store: Store<'c>, position: Position, identity: Identity) -> Log<'c> {
        let packer = Packer::new(store.layout().page_bytes());
        let (open, written, now) = (None, Written::default(), Timestamp::default());
        Log { store, position, identity, open, packer, placed: Vec::new(), written, now }
    }

    pub(crate) fn layout(&self) -> Layout {
        self.store.layout()
    }

    pub(crate) fn store(&mut self) -> &mut Store<'c> {
        &mut self.store
    }

    pub(crate) fn shared_store(&self) -> &Store<'c> {
        &self.store
    }

    pub(crate) fn into_chip(self) -> AnyChip<'c> {
        self.store.into_chip()
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(crate) fn written(&self) -> Written {
        self.written
    }

    /// The time that segments are stamped with.
    pub(crate) fn set_time(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// The use of each segment.
    pub(crate) fn usage(&self) -> &[Use] {
        &self.position.usage
    }

    pub(crate) fn open_segment(&self) -> Option<u32> {
        self.open.as_ref().map(|open| open.segment)
    }

    /// Segments that can be opened.
    pub(crate) fn free_segments(&self) -> u32 {
        count(self.position.usage.iter().filter(|of| **of == Use::Free).count())
    }

    /// Nothing in a segment counts any more.
    pub(crate) fn free(&mut self, segment: u32) {
        self.position.usage[segment as usize] = Use::Free;
    }

    /// So many bytes of a segment are live.
    pub(crate) fn set_live(&mut self, segment: u32, bytes: u64) {
        self.position.usage[segment as usize] = Use::Live(bytes);
    }

    /// Counts bytes at a place as live, or dead. The counts of segments are rounded after a mount.
    pub(crate) fn count_live(&mut self, at: Addr, bytes: u64, is_live: bool) {
        let segment = self.layout().segment_of(at) as usize;
        if let Some(Use::Live(live)) = self.position.usage.get_mut(segment) {
            *live = if is_live { *live + bytes } else { live.saturating_sub(bytes) };
        }
    }

    /// All that was written with this root counts from now on.
    pub(crate) fn set_root(&mut self, root: Addr) {
        self.position.root = root;
    }

    fn no_segment() -> FsError {
        FsError::new(Errno::NoSpace, "no segment is free".into())
    }

    /// The open segment; opens the next in the list.
    fn open(&mut self) -> Result<&mut Open> {
        let layout = self.layout();
        while self.open.is_none() {
            if self.position.next.is_empty() {
                self.choose_next();
            }
            let segment = self.position.next.pop_front().ok_or_else(Self::no_segment)?;
            let blocks = self.store.erase(segment)?;
            if count(blocks.len()) < layout.shape.parity_blocks + 2 {
                self.position.usage[segment as usize] = Use::Bad;
                continue;
            }
            self.position.sequence += 1;
            self.set_live(segment, 0);
            self.open = Some(Open::new(layout, segment, self.position.sequence, blocks)?);
        }
        self.open.as_mut().ok_or_else(Self::no_segment)
    }

    /// Fills the list of the next k segments with free ones, those behind the last in it first.
    pub(crate) fn choose_next(&mut self) {
        let segments = self.layout().segments();
        let position = &mut self.position;
        let last = position.next.back().copied().or(self.open.as_ref().map(|open| open.segment));
        let first = last.map_or(0, |last| last + 1);
        for segment in (0..segments).map(|number| (first + number) % segments) {
            if position.next.len() >= NEXT {
                return;
            }
            if position.usage[segment as usize] == Use::Free && !position.next.contains(&segment) {
                position.next.push_back(segment);
            }
        }
    }

    fn tag(&self, sequence: u32, data: &[u8], kind: Kind) -> Result<Tag> {
        let shape = self.layout().shape;
        let signature = signature(data, shape)?;
        Ok(Tag { signature, sequence, kind, group: 0, number: 0, shape })
    }

    /// Programs the next page; `None` if it failed and is void. (`group`, `number`) of parity pages.
    fn put(&mut self, kind: Kind, data: &[u8], (group, number): (u32, usize)) -> Result<Option<Addr>> {
        let open = self.open()?;
        let (at, sequence) = (open.here(), open.sequence);
        let mut tag = self.tag(sequence, data, kind)?;
        tag.group = u16::try_from(group).unwrap_or(u16::MAX);
        tag.number = number.to_le_bytes()[0];
        let is_done = self.store.flash().program(at, data, &tag)?;
        self.open()?.take(data, kind == Kind::Parity, !is_done)?;
        self.count_written(kind);
        Ok(is_done.then_some(at))
    }

    fn count_written(&mut self, kind: Kind) {
        *match kind {
            Kind::Data => &mut self.written.data,
            Kind::Tree | Kind::Commit => &mut self.written.tree,
            Kind::Summary => &mut self.written.summary,
            Kind::Parity | Kind::Stripe => &mut self.written.parity,
        } += 1;
    }

    /// Section 3.2: ends the parity group with its parity pages. False if one of them failed.
    fn end_group(&mut self) -> Result<bool> {
        let Some(open) = self.open.as_mut() else { return Ok(true) };
        let group = open.group_pages();
        if group == 0 {
            return Ok(true);
        }
        let mut all_done = true;
        for (number, page) in open.end_group().iter().enumerate() {
            all_done &= self.put(Kind::Parity, page, (group, number))?.is_some();
        }
        Ok(all_done)
    }

    /// Goes on in the next block, or ends the segment.
    fn leave_block(&mut self) -> Result<()> {
        self.end_group()?;
        match self.open.as_mut() {
            Some(open) if open.is_last_block() => self.end_segment(),
            Some(open) => open.next_block(),
            None => Ok(()),
        }
    }

    /// Table 1: ends the segment with its summary. The parity blocks go first: whoever finds the information finds them.
    pub(crate) fn end_segment(&mut self) -> Result<()> {
        if self.open.is_none() {
            return Ok(());
        }
        self.end_group()?;
        self.choose_next();
        let layout = self.layout();
        let usage = self.usage_pages();
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let first = open.go_to_summary()?;
        let info = Info {
            sequence: open.sequence,
            uuid: self.identity.uuid,
            label: self.identity.label.clone(),
            written: self.now,
            root: self.position.root,
            next: self.position.next.iter().copied().collect(),
            reverse: count(open.reverse.len()),
            void: open.void.clone(),
        };
        let mut pages = reverse_pages(&open.reverse, layout.page_bytes());
        pages.extend(usage);
        pages.push(info.encode(&layout));
        let group = count(pages.len());
        for page in &pages {
            open.take(page, false, false)?;
        }
        let parity = open.end_group();
        for page in &parity {
            open.take(page, true, false)?;
        }
        self.write_parity_blocks(&open)?;
        let summary = pages.iter().map(|page| (Kind::Summary, page, 0));
        let behind = parity.iter().enumerate().map(|(number, page)| (Kind::Parity, page, number));
        for (at, (kind, page, number)) in (first.0..).map(Addr).zip(summary.chain(behind)) {
            let mut tag = self.tag(open.sequence, page, kind)?;
            if kind == Kind::Parity {
                tag.group = u16::try_from(group).unwrap_or(u16::MAX);
                tag.number = number.to_le_bytes()[0];
            }
            self.put_at(at, page, &tag)?;
        }
        self.store.forget_void(open.segment);
        Ok(())
    }

    fn write_parity_blocks(&mut self, open: &Open) -> Result<()> {
        let layout = self.layout();
        let k = layout.shape.parity_pages;
        for (number, block) in open.parity_blocks().into_iter().enumerate() {
            let mut own = Parity::new(k as usize, layout.page_bytes()).map_err(code)?;
            for index in open.places() {
                let Some(pages) = open.stripe(index) else {
                    own.push(&vec![0; layout.page_bytes()]).map_err(code)?;
                    continue;
                };
                own.push(&pages[number]).map_err(code)?;
                let tag = self.tag(open.sequence, &pages[number], Kind::Stripe)?;
                self.put_at(layout.page(block, index), &pages[number], &tag)?;
            }
            for (index, page) in own.pages().enumerate() {
                let mut tag = self.tag(open.sequence, page, Kind::Parity)?;
                tag.group = u16::try_from(layout.pages() - k).unwrap_or(u16::MAX);
                tag.number = index.to_le_bytes()[0];
                self.put_at(layout.page(block, layout.pages() - k + count(index)), page, &tag)?;
            }
        }
        Ok(())
    }

    /// Programs a page of which parity is made. If it fails it is a page that is wrong, and parity has it.
    fn put_at(&mut self, at: Addr, page: &[u8], tag: &Tag) -> Result<()> {
        self.store.flash().program(at, page, tag)?;
        self.count_written(tag.kind);
        Ok(())
    }

    /// The segment usage nodes.
    fn usage_pages(&self) -> Vec<Vec<u8>> {
        let (layout, page_bytes) = (self.layout(), self.layout().page_bytes());
        let segment_bytes = u64::from(layout.pages_of_segment()) * page_bytes as u64;
        let bytes: Vec<u8> = self.usage().iter().map(|of| usage_byte(*of, segment_bytes)).collect();
        let page = |part: &[u8]| {
            let mut page = part.to_vec();
            page.resize(page_bytes, 0);
            page
        };
        bytes.chunks(page_bytes).map(page).collect()
    }

    /// Puts a chunk behind those before it. It lies in one erase block.
    pub(crate) fn append(&mut self, chunk: Chunk) -> Result<()> {
        let mut queue = VecDeque::from([chunk]);
        while let Some(chunk) = queue.pop_front() {
            let (filled, pending) = (self.packer.filled(), self.packer.pending());
            let page_bytes = self.layout().page_bytes();
            let open = self.open()?;
            let room = open.room(pending + 1) as usize * page_bytes;
            let page = open.here();
            if room < filled + chunk.bytes.len() {
                queue.push_front(chunk);
                for again in self.program_buffer()?.into_iter().rev() {
                    queue.push_front(again);
                }
                if self.packer.pending() == 0 && self.packer.filled() == 0 && filled == 0 {
                    self.leave_block()?;
                }
                continue;
            }
            self.packer.begin(chunk, page);
            for again in self.fill()?.into_iter().rev() {
                queue.push_front(again);
            }
        }
        Ok(())
    }

    /// Puts the newest chunk into the buffer, and programs it as often as it is full; gives back chunks of a page that failed.
    fn fill(&mut self) -> Result<Vec<Chunk>> {
        let mut from = 0;
        loop {
            let bytes = self.packer.fill(from);
            from += bytes;
            if !self.packer.is_full() {
                return Ok(Vec::new());
            }
            let again = self.program_buffer()?;
            if !again.is_empty() {
                return Ok(again);
            }
            if self.packer.pending() == 0 {
                return Ok(Vec::new());
            }
        }
    }

    /// Programs the buffer; gives back the chunks of a page that failed.
    fn program_buffer(&mut self) -> Result<Vec<Chunk>> {
        if self.packer.filled() == 0 {
            return Ok(Vec::new());
        }
        let page = self.packer.page();
        match self.put(Kind::Data, &page, (0, 0))? {
            Some(at) => {
                for (key, place) in self.packer.programmed(at) {
                    self.note(key.0, place.page, place.offset);
                    self.placed.push((key, place));
                }
                Ok(Vec::new())
            }
            None => Ok(self.packer.failed()),
        }
    }

    /// Programs the buffer; returns the new places of all chunks since the last call.
    pub(crate) fn end_data(&mut self) -> Result<Vec<(Key, Place)>> {
        loop {
            let again = self.program_buffer()?;
            if again.is_empty() {
                break;
            }
            for chunk in again {
                self.append(chunk)?;
            }
        }
        Ok(core::mem::take(&mut self.placed))
    }

    /// Notes chunks in the reverse index of their segment, if that is still open.
    fn note(&mut self, key: u64, page: Addr, offset: u16) {
        if let Some(open) = self.open.as_mut() {
            debug_assert_eq!(open.segment, self.store.layout().segment_of(page), "of the open segment");
            open.note(key, page, offset);
        }
    }

    /// Everything that was written outlives a power cut, if true.
    pub(crate) fn seal(&mut self) -> Result<bool> {
        let all_done = self.end_group()?;
        self.store.flash().flush()?;
        Ok(all_done)
    }
}

impl Sink for Log<'_> {
    fn write(&mut self, image: &Image, is_root: bool) -> Result<Addr> {
        let kind = if is_root { Kind::Commit } else { Kind::Tree };
        loop {
            if self.open()?.room(1) == 0 {
                self.leave_block()?;
                continue;
            }
            let Some(at) = self.put(kind, &image.bytes, (0, 0))? else { continue };
            let shape = NodeShape::new(self.layout().page_bytes());
            let is_leaf =
                Header::of(&image.bytes, shape).is_some_and(|page| page.nodes().any(|(level, _)| level == 0));
            self.note(image.first, at, if is_leaf { NODE } else { UPPER });
            if is_leaf {
                self.count_live(at, self.layout().page_bytes() as u64, true);
            }
            return Ok(at);
        }
    }
}
