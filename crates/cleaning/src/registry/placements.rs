//! Placements by name.

use alloc::boxed::Box;

use super::{Entry, Store, Wrapper};
use crate::{
    ByHeat, BySegment, OneLog, Placement, ReadOnly, SepBit, SepBitPublished, Sorted, Static,
    placement::{Chain, Dac, MAX_CLASSES, MultiLog, Oracle, Sfs, Temperature},
};

/// The name of the oracle, which is given all future writes.
pub(super) const ORACLE: &str = "oracle";

/// The names of those that keep nothing for each page, or for a bounded number of them.
pub(super) const WITHOUT_PAGES: &[&str] = &["adaptive", "m1", "m4", "static", "chain", "sepbit"];

const MOST: u32 = MAX_CLASSES as u32;

const SEPBIT: Entry<Box<dyn Placement + Send>> =
    Entry::with("sepbit", "SepBIT, N heads; ages of segments in place of blocks", (2, 6, 6), |_, n| {
        Box::new(SepBit::new(heads(n)))
    });

/// The usual rule of nandfs.
pub(super) const USUAL: &[Entry<Box<dyn Placement + Send>>] = &[SEPBIT];

/// All placements.
pub(super) const TABLE: &[Entry<Box<dyn Placement + Send>>] = &[
    Entry::plain("adaptive", "heads by measured rewrite rates", |s, _| Box::new(s.adaptive())),
    Entry::plain("m1", "one log", |_, _| Box::new(OneLog)),
    Entry::plain("m2", "one log, survivors by age", |s, _| Box::new(Sorted::by_age(s.params.logical))),
    Entry::plain("m3", "one log, survivors by hot degree", |s, _| {
        Box::new(Sorted::by_heat(s.params.logical))
    }),
    Entry::plain("m4", "survivors of cold segments apart", |_, _| Box::new(BySegment)),
    Entry::plain("m5", "survivors apart by number of updates", |s, _| {
        Box::new(ByHeat::updates(s.params.logical))
    }),
    Entry::plain("m6", "survivors apart by hot degree", |s, _| Box::new(ByHeat::degree(s.params.logical))),
    Entry::plain("static", "user and cleaner apart", |_, _| Box::new(Static)),
    Entry::with("chain", "a chain of N groups; survivors go one down", (2, MOST, 4), |_, n| {
        Box::new(Chain::new(heads(n)))
    }),
    Entry::plain("midas", "MiDAS: hot pages apart, and as many groups as pay", |s, _| Box::new(s.midas())),
    SEPBIT,
    Entry::plain("sepbit-published", "SepBIT by each block's own lifespan, six heads", |s, _| {
        Box::new(SepBitPublished::new(s.params.logical))
    }),
    Entry::with("dac", "DAC, N regions, without thresholds of age", (2, MOST, 6), |s, n| {
        Box::new(Dac::new(heads(n), s.params.logical))
    }),
    Entry::with("multi-log", "N logs by update frequency, at fixed steps", (2, MOST, 6), |s, n| {
        Box::new(MultiLog::new(heads(n), s.params.logical))
    }),
    Entry::with("sfs", "SFS, N groups around centres of hotness", (2, MOST, 6), |s, n| {
        Box::new(Sfs::new(heads(n), s.params.logical))
    }),
    Entry::plain("temperature", "F2FS: all writes warm, all copies cold", |s, _| {
        Box::new(Temperature::new(s.params.logical))
    }),
    Entry::with(ORACLE, "knows all writes: a bound, not for disks; N heads", (2, MOST, 6), oracle),
];

/// Placements around others. Those that a victim rule follows have numbers of their own for classes, and vary these;
/// the oracle knows; and the last name would be too long for a disk.
pub(super) const WRAPPERS: &[Wrapper<Box<dyn Placement + Send>>] = &[Wrapper {
    name: "read-only",
    about: "blocks that are never written over apart, others by PLACEMENT",
    usual: "m6",
    never: &["adaptive", "midas", ORACLE, "sepbit-published"],
    most: MOST - 1,
    make: read_only,
}];

fn read_only(rest: Box<dyn Placement + Send>, store: &Store) -> Box<dyn Placement + Send> {
    let pages = store.params.logical;
    Box::new(match &store.read_only {
        Some(told) => ReadOnly::told(rest, pages, told.iter().copied()),
        None => ReadOnly::learning(rest, pages),
    })
}

fn oracle(store: &Store, n: u32) -> Box<dyn Placement + Send> {
    Box::new(Oracle::new(heads(n), store.params.logical, &store.future))
}

/// The parameter as a number of heads; its range is within that of heads.
fn heads(n: u32) -> u8 {
    debug_assert!(n <= MOST, "parameters are checked where names are read");
    u8::try_from(n).unwrap_or(MAX_CLASSES)
}
