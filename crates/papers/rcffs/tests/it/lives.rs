//! Volumes that live for years: the campaign.

use crate::common::{
    Chip,
    support::{cut::Cuts, lives::Lives},
    usual,
};
use crate::power_cut::CUTS;
use pumice_knobs::RCFFS_LIVES;

const LIVES: Lives<Chip> = Lives {
    campaign: &RCFFS_LIVES,
    cuts: Cuts { subject: usual("2048+64:16:160"), ..CUTS },
    most_reads: 640,
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
