//! A log-structured store in a few lines: pages are numbers, time is the count of user writes.
//!
//! All of the segments count as physical space: the open heads and the free segments kept for the cleaner too.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

mod random;
pub(crate) mod theory;

use pumice_cleaning::{Class, Placement, SegmentView, VictimPolicy, choose};
use random::Random;

/// Pages of a segment.
pub(crate) const PAGES: u32 = 64;

const NOWHERE: u32 = u32::MAX;

/// Which pages are overwritten.
#[derive(Clone, Copy)]
pub(crate) enum Access {
    /// Any, equally often.
    Uniform,
    /// 90 % of the writes go to 10 % of the pages.
    Hot90,
}

impl Access {
    fn page(self, random: &mut Random, pages: u32) -> u32 {
        let hot = pages / 10;
        match self {
            Self::Uniform => random.below(pages),
            Self::Hot90 if random.below(10) < 9 => random.below(hot),
            Self::Hot90 => hot + random.below(pages - hot),
        }
    }
}

/// How old a page is said to be.
#[derive(Clone, Copy)]
pub(crate) enum Clocks {
    /// By its own last user write.
    Page,
    /// By its segment's first write, a copy counting as a write.
    Segment,
}

#[derive(Clone, Default)]
struct Segment {
    pages: Vec<u32>,
    valid: u32,
    class: u8,
    opened: u32,
    changed: u32,
    erases: u32,
}

/// The store.
pub(crate) struct Sim<'a> {
    placement: &'a mut dyn Placement,
    victim: VictimPolicy,
    clocks: Clocks,
    segments: Vec<Segment>,
    free: Vec<u32>,
    heads: Vec<Option<u32>>,
    place: Vec<u32>,
    stamp: Vec<u32>,
    now: u32,
    copies: u32,
}

impl<'a> Sim<'a> {
    /// Segments, of which `percent` is filled with data.
    pub(crate) fn new(
        segments: u32,
        percent: u32,
        victim: VictimPolicy,
        placement: &'a mut dyn Placement,
        clocks: Clocks,
    ) -> Self {
        let pages = usize::try_from(segments * PAGES * percent / 100).unwrap();
        let heads = vec![None; usize::from(placement.classes())];
        let all = vec![Segment::default(); usize::try_from(segments).unwrap()];
        let free = (0..segments).rev().collect();
        let (place, stamp) = (vec![NOWHERE; pages], vec![0; pages]);
        Self { placement, victim, clocks, segments: all, free, heads, place, stamp, now: 0, copies: 0 }
    }

    /// Fills it in random order, overwrites `warm` times its size, and measures over `measured` times: writes of pages per user write.
    pub(crate) fn waf(&mut self, access: Access, warm: u32, measured: u32, seed: u64) -> f64 {
        let pages = u32::try_from(self.place.len()).unwrap();
        let mut random = Random(seed);
        for page in shuffled(pages, &mut random) {
            self.write(page);
        }
        for _ in 0..warm * pages {
            self.write(access.page(&mut random, pages));
        }
        let before = self.copies;
        for _ in 0..measured * pages {
            self.write(access.page(&mut random, pages));
        }
        1.0 + f64::from(self.copies - before) / f64::from(measured * pages)
    }

    fn write(&mut self, page: u32) {
        self.now += 1;
        while self.free.len() <= self.heads.len() {
            self.clean();
        }
        let at = self.place[ix(page)];
        let age = (at != NOWHERE).then(|| self.age(page, at));
        let class = self.placement.user_write(age);
        if at != NOWHERE {
            let old = &mut self.segments[ix(at)];
            old.valid -= 1;
            old.changed = self.now;
        }
        self.append(page, class);
        self.stamp[ix(page)] = self.now;
    }

    /// Copies what is valid in the victim and erases it.
    fn clean(&mut self) {
        let id = choose(&self.victim, self.closed()).expect("something to reclaim");
        let pages = std::mem::take(&mut self.segments[ix(id)].pages);
        let class = Class(self.segments[ix(id)].class);
        for (slot, &page) in (0..).zip(&pages) {
            // A page overwritten within its own segment is there twice; the later one is valid.
            if self.place[ix(page)] == id && !pages[slot + 1..].contains(&page) {
                let age = self.age(page, id);
                let to = self.placement.cleaner_copy(class, age);
                self.append(page, to);
                self.copies += 1;
            }
        }
        let lifespan = self.now - self.segments[ix(id)].opened;
        self.placement.reclaimed(class, lifespan);
        self.segments[ix(id)] = Segment { erases: self.segments[ix(id)].erases + 1, ..Segment::default() };
        self.free.push(id);
    }

    fn closed(&self) -> impl Iterator<Item = (u32, SegmentView)> {
        let full = |s: &&Segment| s.pages.len() == ix(PAGES);
        let view = |s: &Segment| SegmentView {
            valid: s.valid,
            capacity: PAGES,
            age: self.now - s.changed,
            erases: s.erases,
        };
        (0..).zip(&self.segments).filter(move |(_, s)| full(s)).map(move |(id, s)| (id, view(s)))
    }

    fn age(&self, page: u32, segment: u32) -> u32 {
        let segment = &self.segments[ix(segment)];
        self.now
            - match self.clocks {
                Clocks::Page => self.stamp[ix(page)],
                Clocks::Segment => segment.opened,
            }
    }

    fn append(&mut self, page: u32, class: Class) {
        let head = &mut self.heads[usize::from(class.0)];
        let id = head.unwrap_or_else(|| self.free.pop().expect("a free segment"));
        let segment = &mut self.segments[ix(id)];
        if segment.pages.is_empty() {
            (segment.class, segment.opened) = (class.0, self.now);
        }
        segment.pages.push(page);
        segment.valid += 1;
        segment.changed = self.now;
        *head = (segment.pages.len() < ix(PAGES)).then_some(id);
        self.place[ix(page)] = id;
    }
}

fn shuffled(pages: u32, random: &mut Random) -> Vec<u32> {
    let mut order: Vec<u32> = (0..pages).collect();
    for last in 1..pages {
        order.swap(ix(last), ix(random.below(last + 1)));
    }
    order
}

fn ix(number: u32) -> usize {
    usize::try_from(number).unwrap()
}
