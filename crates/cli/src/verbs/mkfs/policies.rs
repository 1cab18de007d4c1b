//! What a volume of nandfs is cleaned by.

use pumice_cleaning::registry::{PlacementRule, VictimRule};

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "nandfs")]
pub(super) struct Policies {
    /// Which erase block is cleaned next; `pumice sim --help` lists the policies [default: root-age]
    #[arg(long, value_name = "NAME")]
    pub(super) victim: Option<VictimRule>,
    /// Which head a block of a file is written to [default: sepbit:3; sepbit:2 on a chip of fewer than 512 erase blocks]
    #[arg(long, value_name = "NAME")]
    pub(super) placement: Option<PlacementRule>,
}

impl Policies {
    /// The first of them that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let options = [(self.victim.is_some(), "--victim"), (self.placement.is_some(), "--placement")];
        options.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
    }
}
