//! Wear rules by name.

use pumice_cleaning::{Wear, wear::Fifo};

use super::{Making, WearRule};

/// All of them.
pub(super) const TABLE: &[WearRule] = &[
    rule("default", "what measures best", |_| Box::new(Fifo::default())),
    rule("none", "free segments in the order of their erasing", |_| Box::new(Fifo::default())),
];

const fn rule(
    name: &'static str,
    about: &'static str,
    make: fn(&Making) -> Box<dyn Wear + Send>,
) -> WearRule {
    WearRule { name, about, make }
}
