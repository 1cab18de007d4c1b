//! The conformance suite.

use crate::common::{Chip, support::conformance};
use pumice_knobs::SCALEFFS_CALLS;

const CHIPS: [Chip; 2] = [Chip(1024), Chip(4096)];

/// The feature that the paper does not have: space is taken when a block is written, and nothing can be reserved.
const LEFT_OUT: [&str; 1] = ["reserved space counts as allocated and can be given back"];

#[test]
fn scripted() {
    conformance::scripted(&CHIPS, &LEFT_OUT);
}

#[test]
fn random() {
    conformance::random(&CHIPS, &SCALEFFS_CALLS, 40, &|_| true);
}
