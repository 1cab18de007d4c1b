//! Volumes that live for years: the campaign.

use crate::common::{
    Chip,
    support::{cut::Cuts, lives::Lives},
};
use crate::power_cut::CUTS;
use pumice_knobs::SCALEFFS_LIVES;

const LIVES: Lives<Chip> = Lives {
    campaign: &SCALEFFS_LIVES,
    cuts: Cuts { subject: Chip(128), ..CUTS },
    most_reads: 1200,
    failing: 5000,
};

#[test]
fn odd_seeds() {
    LIVES.lead(0);
}

#[test]
fn even_seeds() {
    LIVES.lead(1);
}

/// A removal was the last of the log, in an erase block of its own: a mount erased it, and lost its power before its
/// checkpoint.
#[test]
fn a_life_that_failed_once() {
    LIVES.life(103, 259);
}
