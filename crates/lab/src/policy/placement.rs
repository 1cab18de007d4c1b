//! Placements by name.

use pumice_cleaning::{OneLog, SepBit, Static};

use super::PlacementRule;

/// All of them.
pub(super) const TABLE: &[PlacementRule] = &[
    PlacementRule { name: "m1", about: "one log", make: |_| Box::new(OneLog) },
    PlacementRule { name: "static", about: "user and cleaner apart", make: |_| Box::new(Static) },
    PlacementRule { name: "sepbit", about: "inferred times of death", make: |_| Box::new(SepBit::new(6)) },
];
