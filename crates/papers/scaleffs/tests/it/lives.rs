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

/// By seed, with the sessions up to there. A removal was the last of the log, in an erase block of its own: a mount
/// erased it, and lost its power before its checkpoint. A mount that was cut had dropped blocks, and the next one wrote
/// to them. The oldest checkpoint of the ring seemed to be the newest, for its erase was cut.
#[test]
fn lives_that_failed_once() {
    for (seed, sessions) in [(103, 259), (1005, 300), (1078, 120)] {
        LIVES.life(seed, sessions);
    }
}
