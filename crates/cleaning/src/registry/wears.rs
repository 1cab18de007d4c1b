//! Wear rules by name.

use alloc::boxed::Box;

use super::Entry;
use crate::{
    Wear,
    wear::{DualPool, EndOfLife, Even, Fifo, LeastWorn},
};

/// All wear rules.
pub(super) const TABLE: &[Entry<Box<dyn Wear + Send>>] = &[
    Entry::plain("even", "of old segments that cost about the same a less worn one is cleaned", |s, _| {
        Box::new(Even::new(s.params.segments))
    }),
    Entry::plain("none", "free segments in the order of their erasing", |_, _| Box::new(Fifo::default())),
    Entry::plain("least-worn", "the least worn free segment first", |_, _| Box::new(LeastWorn::default())),
    Entry::plain("end-of-life", "the CAT paper's swap", |s, _| {
        Box::new(EndOfLife::new(s.params.segments, s.params.endurance))
    }),
    Entry::with("dual-pool", "cold data moves into worn segments, N erases apart", (1, 65535, 16), |s, n| {
        Box::new(DualPool::new(n, s.params.segments))
    }),
];
