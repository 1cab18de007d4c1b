//! Wear rules by name.

use pumice_cleaning::wear::Fifo;

use super::WearRule;

/// All of them.
pub(super) const TABLE: &[WearRule] = &[WearRule {
    name: "none",
    about: "free segments in the order of their erasing",
    make: |_| Box::new(Fifo::default()),
}];
