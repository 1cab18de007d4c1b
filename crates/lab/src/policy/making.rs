//! What rules are made for.

use std::cell::{Cell, OnceCell};

use pumice_cleaning::{Adaptive, Midas, Params, Regime, placement::Sizes};

/// One store, for which the rules of all three axes are made.
pub struct Making {
    /// The store.
    pub params: Params,
    /// For rules that draw lots.
    pub seed: u64,
    /// Every write there will be, the filling first; only for the rule that knows the future.
    pub future: Vec<u32>,
    adaptive: Pair<Adaptive, Regime>,
    midas: Pair<Midas, Sizes>,
}

/// A placement that is made once, and what it tells its victim rule.
type Pair<P, T> = OnceCell<(Cell<Option<P>>, T)>;

fn pair<P, T>(cell: &Pair<P, T>, make: impl FnOnce() -> (P, T)) -> &(Cell<Option<P>>, T) {
    cell.get_or_init(|| {
        let (placement, told) = make();
        (Cell::new(Some(placement)), told)
    })
}

impl Making {
    /// For a store.
    pub fn new(params: Params, seed: u64, future: Vec<u32>) -> Self {
        Self { params, seed, future, adaptive: Pair::new(), midas: Pair::new() }
    }

    fn new_adaptive(&self) -> (Adaptive, Regime) {
        Adaptive::new(self.params.segments, self.params.pages, self.params.logical)
    }

    fn new_midas(&self) -> (Midas, Sizes) {
        Midas::new(self.params.logical)
    }

    /// The default placement.
    pub(super) fn adaptive(&self) -> Adaptive {
        pair(&self.adaptive, || self.new_adaptive()).0.take().unwrap_or_else(|| self.new_adaptive().0)
    }

    /// What the default placement sees; nothing, as long as it is not made.
    pub(super) fn regime(&self) -> Regime {
        pair(&self.adaptive, || self.new_adaptive()).1.clone()
    }

    /// The placement of MiDAS.
    pub(super) fn midas(&self) -> Midas {
        pair(&self.midas, || self.new_midas()).0.take().unwrap_or_else(|| self.new_midas().0)
    }

    /// The sizes of its groups; of none, as long as it is not made.
    pub(super) fn sizes(&self) -> Sizes {
        pair(&self.midas, || self.new_midas()).1.clone()
    }
}
