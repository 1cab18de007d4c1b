//! Write amplification of placements, by simulation.

use crate::common::Access;
use pumice_cleaning::{CostBenefit, Params, Placement, SepBit, Sim, Static, select::ByChange, wear::Fifo};

/// 400 segments of 64 pages, 77 % full: 30 turnovers of warm-up, 8 measured.
fn cost_benefit(placement: impl Placement, access: Access) -> f64 {
    let params = Params::new(400, 64, 19_712);
    let selector = ByChange::new(CostBenefit, params.segments, params.pages);
    let mut sim = Sim::new(params, selector, placement, Fifo::default()).unwrap();
    sim.fill().unwrap();
    let mut pages = access.pages(params.logical, 1);
    let logical = usize::try_from(params.logical).unwrap();
    sim.run(pages.by_ref().take(30 * logical)).unwrap();
    sim.reset_stats();
    sim.run(pages.take(8 * logical)).unwrap();
    sim.stats().waf()
}

#[test]
fn sepbit_beats_static_on_skewed_writes() {
    let fixed = cost_benefit(Static, Access::Locality(90));
    for classes in [3, 4] {
        let sepbit = cost_benefit(SepBit::new(classes), Access::Locality(90));
        assert!(sepbit < fixed * 0.95, "{classes} classes: {sepbit:.3}, static {fixed:.3}");
    }
}
