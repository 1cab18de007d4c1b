//! Volumes that live for years: the campaign.

use crate::common::{
    Chip,
    support::{cut::Cuts, lives::Lives},
};
use crate::power_cut::CUTS;
use pumice_knobs::CFFS_LIVES;

const LIVES: Lives<Chip> = Lives {
    campaign: &CFFS_LIVES,
    cuts: Cuts { subject: Chip("512+16:32:128"), ..CUTS },
    // Every spare area, the mark of each block, and the inodes.
    most_reads: 4096 + 128 + 128,
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

/// A block was erased that held an inode's older pages with the one that says that it was removed; the power went in
/// the middle.
#[test]
fn a_life_that_failed_once() {
    LIVES.life(1049, 97);
}
