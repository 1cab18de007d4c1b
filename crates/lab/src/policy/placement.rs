//! Placements by name.

use pumice_cleaning::{
    ByHeat, BySegment, OneLog, Placement, SepBit, Sorted, Static,
    placement::{Chain, Dac, MultiLog, Oracle, Sfs, Temperature},
};

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
    rule("chain", "a chain of four groups", |_| Box::new(Chain::new(4))),
    rule("midas", "MiDAS: a chain of groups as many as pay", |m| Box::new(m.midas())),
    rule("sepbit-3", "SepBIT, three heads", |_| Box::new(SepBit::new(3))),
    rule("sepbit", "SepBIT as published, six heads", |_| Box::new(SepBit::new(6))),
    rule("dac-3", "DAC, three regions", |m| Box::new(Dac::new(3, m.params.logical))),
    rule("dac-10", "DAC, ten regions", |m| Box::new(Dac::new(10, m.params.logical))),
    rule("multi-log-3", "three logs by update frequency", |m| Box::new(MultiLog::new(3, m.params.logical))),
    rule("multi-log-8", "eight logs by update frequency", |m| Box::new(MultiLog::new(8, m.params.logical))),
    rule("sfs-3", "SFS, three groups", |m| Box::new(Sfs::new(3, m.params.logical))),
    rule("sfs-6", "SFS, six groups", |m| Box::new(Sfs::new(6, m.params.logical))),
    rule("temperature", "F2FS: all writes warm, all copies cold", |m| {
        Box::new(Temperature::new(m.params.logical))
    }),
    rule(ORACLE, "knows all writes: a bound, with six heads", |m| {
        Box::new(Oracle::new(6, m.params.logical, &m.future))
    }),
];

/// The one that is told the future.
pub(super) const ORACLE: &str = "oracle";

const fn rule(
    name: &'static str,
    about: &'static str,
    make: fn(&Making) -> Box<dyn Placement + Send>,
) -> PlacementRule {
    PlacementRule { name, about, make }
}
