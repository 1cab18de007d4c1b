//! Wear rules by name.

use alloc::boxed::Box;

use super::{EVERY, Entry};
use crate::{
    Wear,
    wear::{Behind, DualPool, EndOfLife, Even, Fifo, LeastWorn, Never, Swap, Swapping},
};

/// The name of the one that asks how often a segment can be erased.
pub(super) const END_OF_LIFE: &str = "end-of-life";
/// The name of the one that takes the least worn free segment first, and moves nothing.
pub(super) const LEAST_WORN: &str = "least-worn";
/// The usual share of `behind`.
const BEHIND_USUAL: u32 = 8;

const BEHIND: Entry<Box<dyn Wear + Send>> = Entry::with(
    "behind",
    "cold data moves into worn segments, 16 erases or 1/N of theirs apart",
    (1, 65535, BEHIND_USUAL),
    |s, n| Box::new(Swapping::new(Behind::new(n), s.params.segments)),
);

/// The usual rule of nandfs.
pub(super) const USUAL: &[Entry<Box<dyn Wear + Send>>] = &[BEHIND];

/// All wear rules.
pub(super) const TABLE: &[Entry<Box<dyn Wear + Send>>] = &[
    Entry::plain("even", "of old segments that cost about the same a less worn one is cleaned", |s, _| {
        Box::new(Even::new(s.params.segments))
    }),
    Entry::plain("none", "free segments in the order of their erasing", |_, _| Box::new(Fifo::default())),
    Entry::plain(LEAST_WORN, "the least worn free segment first", |_, _| Box::new(LeastWorn::default())),
    Entry::plain(END_OF_LIFE, "the CAT paper's swap", |s, _| {
        Box::new(Swapping::new(EndOfLife::new(s.params.endurance), s.params.segments))
    }),
    BEHIND,
    Entry::with("dual-pool", "cold data moves into worn segments, N erases apart", (1, 65535, 16), |s, n| {
        Box::new(DualPool::new(n, s.params.segments))
    }),
];

/// A rule for swaps.
type AnySwap = Box<dyn Swap + Send>;

/// The name of one, and its constructor from the endurance and the parameter.
type Named = (&'static str, fn(u32, u32) -> AnySwap);

const SWAP_BEHIND: Named = ("behind", |_, part| Box::new(Behind::new(part)));

/// The rules among them that choose no free segment for each head, with the time when they move cold data into a worn one.
pub(super) const fn swaps() -> &'static [Named] {
    if EVERY { SWAPS } else { &[SWAP_BEHIND] }
}

const SWAPS: &[Named] = &[
    SWAP_BEHIND,
    (END_OF_LIFE, |endurance, _| Box::new(EndOfLife::new(endurance))),
    (LEAST_WORN, |_, _| Box::new(Never)),
    ("none", |_, _| Box::new(Never)),
];
