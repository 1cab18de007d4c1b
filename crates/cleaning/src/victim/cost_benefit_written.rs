//! Cost-benefit with the one timestamp that a segment has.

use super::{CostBenefit, Victim};
use crate::{SegmentView, select::Grouped};

/// [`CostBenefit`] with the age since the last write into the segment.
///
/// The CAT paper says that age runs from the last invalidation, but its lookup table (figure 9) has one timestamp, and
/// only with this age are its figures met (tests/it/table4.rs). A segment's last invalidation is mostly chance, which
/// under random writes costs a tenth more erasures than the paper reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CostBenefitWritten;

impl Victim for CostBenefitWritten {
    fn cost(&self, s: &SegmentView) -> u64 {
        CostBenefit.cost(&SegmentView { invalidated: s.written, ..*s })
    }
}

impl Grouped for CostBenefitWritten {}
