//! Placements by name.

use pumice_cleaning::{ByHeat, BySegment, OneLog, Placement, SepBit, Sorted, Static};

use super::{Making, PlacementRule};

/// All of them.
pub(super) const TABLE: &[PlacementRule] = &[
    rule("default", "heads by measured rewrite rates", |m| Box::new(m.adaptive())),
    rule("m1", "one log", |_| Box::new(OneLog)),
    rule("m2", "one log, survivors by age", |m| Box::new(Sorted::by_age(m.params.logical))),
    rule("m3", "one log, survivors by hot degree", |m| Box::new(Sorted::by_heat(m.params.logical))),
    rule("m4", "survivors of cold segments apart", |_| Box::new(BySegment)),
    rule("m5", "survivors apart by number of updates", |m| Box::new(ByHeat::updates(m.params.logical))),
    rule("m6", "survivors apart by hot degree", |m| Box::new(ByHeat::degree(m.params.logical))),
    rule("static", "user and cleaner apart", |_| Box::new(Static)),
    rule("sepbit", "inferred times of death, six heads", |_| Box::new(SepBit::new(6))),
];

const fn rule(
    name: &'static str,
    about: &'static str,
    make: fn(&Making) -> Box<dyn Placement + Send>,
) -> PlacementRule {
    PlacementRule { name, about, make }
}
