//! Pages that were verified: every read checks the signature (3.2), and a wrong page is repaired before anyone sees it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pumice_common::{PageCache, damaged};
use pumice_media::AnyChip;
use pumice_vfs::Result;

use crate::flash::Flash;
use crate::layout::{Addr, Layout, count};
use crate::mutree::Pages;
use crate::segment::Info;

/// Wrong pages since the mount, and their repairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Repairs {
    /// Pages brought back by the parity pages of their erase block.
    pub in_block: u64,
    /// Pages brought back by the parity blocks of their segment.
    pub in_segment: u64,
    /// Pages that could not be brought back.
    pub lost: u64,
}

/// Pages of the smallest read cache: the paper's.
const CACHE_MIN: usize = 10;

/// The chip's pages.
pub(crate) struct Store<'c> {
    pub(super) flash: Flash<'c>,
    /// Section 4: pages that were verified. The root and others that are used often stay.
    cache: PageCache<Addr, Arc<Vec<u8>>>,
    bad: BTreeMap<u32, bool>,
    /// The void pages of segments that were asked for; of the open one the log knows them.
    pub(super) void: BTreeMap<u32, Option<Arc<Vec<bool>>>>,
    /// The segment of which the information is being brought back, so that its void pages are not known.
    pub(super) sought: Option<u32>,
    pub(super) repairs: Repairs,
    /// Segments in which something was repaired: their data moves.
    damaged: BTreeSet<u32>,
}

impl<'c> Store<'c> {
    pub(crate) fn new(flash: Flash<'c>, cache_bytes: usize) -> Store<'c> {
        let cache = PageCache::new((cache_bytes / flash.layout().page_bytes()).max(CACHE_MIN));
        Store {
            flash,
            cache,
            bad: BTreeMap::new(),
            void: BTreeMap::new(),
            sought: None,
            repairs: Repairs::default(),
            damaged: BTreeSet::new(),
        }
    }

    pub(crate) fn layout(&self) -> Layout {
        self.flash.layout()
    }

    pub(crate) fn flash(&mut self) -> &mut Flash<'c> {
        &mut self.flash
    }

    pub(crate) fn chip(&self) -> &AnyChip<'c> {
        self.flash.chip()
    }

    pub(crate) fn into_chip(self) -> AnyChip<'c> {
        self.flash.into_chip()
    }

    pub(crate) fn repairs(&self) -> Repairs {
        self.repairs
    }

    /// Pages in the cache.
    pub(crate) fn cached(&self) -> usize {
        self.cache.len()
    }

    /// Segments in which pages were wrong.
    pub(crate) fn damaged(&self) -> &BTreeSet<u32> {
        &self.damaged
    }

    /// Notes that a segment has a wrong page.
    pub(crate) fn mark_damaged(&mut self, at: Addr) {
        self.damaged.insert(self.layout().segment_of(at));
    }

    fn is_bad(&mut self, block: u32) -> Result<bool> {
        if let Some(known) = self.bad.get(&block) {
            return Ok(*known);
        }
        let is_bad = self.flash.is_bad(block)?;
        self.bad.insert(block, is_bad);
        Ok(is_bad)
    }

    /// The good erase blocks of a segment; the last of them are its parity blocks.
    pub(crate) fn good_blocks(&mut self, segment: u32) -> Result<Vec<u32>> {
        let mut good = Vec::new();
        for block in self.layout().blocks_of(segment) {
            if !self.is_bad(block)? {
                good.push(block);
            }
        }
        Ok(good)
    }

    /// Erases a segment; its good blocks.
    pub(crate) fn erase(&mut self, segment: u32) -> Result<Vec<u32>> {
        let layout = self.layout();
        self.cache.forget(layout.first_page(segment), layout.first_page(segment + 1));
        self.void.remove(&segment);
        self.damaged.remove(&segment);
        let mut good = Vec::new();
        for block in self.good_blocks(segment)? {
            if self.flash.erase(block)? {
                good.push(block);
            } else {
                self.bad.insert(block, true);
            }
        }
        Ok(good)
    }

    /// The place of the segment information: in the last regular block.
    fn info_addr(&mut self, segment: u32) -> Result<Option<Addr>> {
        let layout = self.layout();
        let mut behind = layout.shape.parity_blocks;
        for block in layout.blocks_of(segment).rev() {
            if self.is_bad(block)? {
                continue;
            }
            if behind == 0 {
                return Ok(Some(layout.page(block, layout.info_page())));
            }
            behind -= 1;
        }
        Ok(None)
    }

    /// The information of a segment; `None` if it was not written to its end.
    pub(crate) fn info(&mut self, segment: u32) -> Result<Option<Info>> {
        let Some(at) = self.info_addr(segment)? else { return Ok(None) };
        let layout = self.layout();
        let read = self.flash.read(at)?;
        if read.is_sound {
            return Ok(Info::decode(&read.data, &layout));
        }
        if read.is_blank {
            return Ok(None);
        }
        self.sought = Some(segment);
        let repaired = match self.repair_in_block(at) {
            Ok(None) => self.repair_in_segment(at),
            done => done,
        };
        self.sought = None;
        Ok(repaired?.and_then(|page| Info::decode(&page, &layout)))
    }

    /// A segment was ended: its information says now which pages are void.
    pub(crate) fn forget_void(&mut self, segment: u32) {
        self.void.remove(&segment);
    }

    /// The void pages of a segment, where its information can be read.
    pub(super) fn void_of(&mut self, segment: u32) -> Result<Option<Arc<Vec<bool>>>> {
        if self.sought == Some(segment) {
            return Ok(None);
        }
        if let Some(known) = self.void.get(&segment) {
            return Ok(known.clone());
        }
        let void = self.info(segment)?.map(|info| Arc::new(info.void));
        self.void.insert(segment, void.clone());
        Ok(void)
    }

    /// The pages of a segment's summary that follow each other: reverse index, or usage.
    pub(crate) fn summary(&mut self, segment: u32, back: u32, pages: u32) -> Result<Vec<Arc<Vec<u8>>>> {
        let Some(info) = self.info_addr(segment)? else {
            return Err(damaged(format_args!("segment {segment} has no summary")));
        };
        let first = Addr(info.0 - back);
        (0..pages).map(|number| self.page(Addr(first.0 + number))).collect()
    }

    /// The bytes of a chunk as they stand on flash.
    pub(crate) fn stored(&mut self, place: crate::mutree::Place) -> Result<Vec<u8>> {
        let layout = self.layout();
        let mut bytes = Vec::with_capacity(usize::from(place.bytes));
        let (mut at, mut offset) = (place.page, usize::from(place.offset));
        while bytes.len() < usize::from(place.bytes) {
            if !layout.has(at) || offset >= layout.page_bytes() {
                return Err(damaged(format_args!("a chunk is said to be in page {}", at.0)));
            }
            let page = self.page(at)?;
            let rest = usize::from(place.bytes) - bytes.len();
            bytes.extend_from_slice(&page[offset..(offset + rest).min(page.len())]);
            (at, offset) = (Addr(at.0 + 1), 0);
        }
        debug_assert_eq!(count(bytes.len()), u32::from(place.bytes), "all of the chunk");
        Ok(bytes)
    }
}

impl Pages for Store<'_> {
    /// A page with a right signature, repaired if need be.
    fn page(&mut self, at: Addr) -> Result<Arc<Vec<u8>>> {
        if let Some(page) = self.cache.get(at) {
            return Ok(page.clone());
        }
        if !self.layout().has(at) {
            return Err(damaged(format_args!("page {} is not on the chip", at.0)));
        }
        let read = self.flash.read(at)?;
        let page = Arc::new(if read.is_sound { read.data } else { self.repair(at)? });
        self.cache.insert(at, page.clone());
        Ok(page)
    }
}
