//! The store that policies are made for.

use alloc::vec::Vec;
use core::cell::{Cell, OnceCell};

use crate::{Adaptive, Midas, Params, Regime, placement::Plan};

/// One store, for which a policy of each axis is made. If a victim rule depends on a placement, both have to be made of
/// the same `Store`.
pub struct Store {
    /// Its size.
    pub params: Params,
    /// Segments that the victim rule sees at a time, and the units that it counts in: all segments and pages, unless it is
    /// [for a pool](Self::with_slots).
    pub(super) slots: u32,
    pub(super) units: u32,
    /// Seed of random policies.
    pub seed: u64,
    pub(super) future: Vec<u32>,
    pub(super) read_only: Option<Vec<u32>>,
    adaptive: Pair<Adaptive, Regime>,
    midas: Pair<Midas, Plan>,
}

/// A placement that is made once, and its message to its victim rule.
type Pair<P, T> = OnceCell<(Cell<Option<P>>, T)>;

fn pair<P, T>(cell: &Pair<P, T>, make: impl FnOnce() -> (P, T)) -> &(Cell<Option<P>>, T) {
    cell.get_or_init(|| {
        let (placement, told) = make();
        (Cell::new(Some(placement)), told)
    })
}

impl Store {
    /// A store of this size.
    pub fn new(params: Params, seed: u64) -> Self {
        Self::with_future(params, seed, Vec::new())
    }

    /// A store with every write there will be, the filling first: for the oracle.
    pub fn with_future(params: Params, seed: u64, future: Vec<u32>) -> Self {
        let Params { segments: slots, pages: units, .. } = params;
        Self {
            params,
            slots,
            units,
            seed,
            future,
            read_only: None,
            adaptive: Pair::new(),
            midas: Pair::new(),
        }
    }

    /// The same with a victim rule for so many segments at a time, of so many units each
    /// ([`CandidatePool`](crate::CandidatePool)).
    #[must_use]
    pub fn with_slots(self, slots: u16, units: u32) -> Self {
        Self { slots: slots.into(), units, ..self }
    }

    /// The same with the pages that are written once and never again, for a placement that has them apart; without them
    /// it learns.
    #[must_use]
    pub fn with_read_only(self, pages: Vec<u32>) -> Self {
        Self { read_only: Some(pages), ..self }
    }

    fn new_adaptive(&self) -> (Adaptive, Regime) {
        Adaptive::new(self.params.segments, self.params.pages, self.params.logical)
    }

    fn new_midas(&self) -> (Midas, Plan) {
        Midas::new(self.params.segments, self.params.pages, self.params.logical, self.params.reserve)
    }

    /// The adaptive placement.
    pub(super) fn adaptive(&self) -> Adaptive {
        pair(&self.adaptive, || self.new_adaptive()).0.take().unwrap_or_else(|| self.new_adaptive().0)
    }

    /// The state of the adaptive placement; empty until it is made.
    pub(super) fn regime(&self) -> Regime {
        pair(&self.adaptive, || self.new_adaptive()).1.clone()
    }

    /// The placement of MiDAS.
    pub(super) fn midas(&self) -> Midas {
        pair(&self.midas, || self.new_midas()).0.take().unwrap_or_else(|| self.new_midas().0)
    }

    /// The plan of its groups.
    pub(super) fn plan(&self) -> Plan {
        pair(&self.midas, || self.new_midas()).1.clone()
    }
}
