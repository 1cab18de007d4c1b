//! What rules are made for.

use std::cell::{Cell, OnceCell};

use pumice_cleaning::{Adaptive, Params, Regime};

/// One store, for which the rules of all three axes are made.
pub struct Making {
    /// The store.
    pub params: Params,
    /// For rules that draw lots.
    pub seed: u64,
    /// Every write there will be, the filling first; only for the rule that knows the future.
    pub future: Vec<u32>,
    /// The default placement tells the default victim rule what it sees.
    pair: OnceCell<(Cell<Option<Adaptive>>, Regime)>,
}

impl Making {
    /// For a store.
    pub fn new(params: Params, seed: u64, future: Vec<u32>) -> Self {
        Self { params, seed, future, pair: OnceCell::new() }
    }

    fn pair(&self) -> &(Cell<Option<Adaptive>>, Regime) {
        self.pair.get_or_init(|| {
            let (placement, regime) = self.fresh();
            (Cell::new(Some(placement)), regime)
        })
    }

    fn fresh(&self) -> (Adaptive, Regime) {
        Adaptive::new(self.params.segments, self.params.pages, self.params.logical)
    }

    /// The default placement.
    pub(super) fn adaptive(&self) -> Adaptive {
        self.pair().0.take().unwrap_or_else(|| self.fresh().0)
    }

    /// What the default placement sees; nothing, as long as it is not made.
    pub(super) fn regime(&self) -> Regime {
        self.pair().1.clone()
    }
}
