//! Simulated chips for the tests of this crate.

use pumice_media::{AnyChip, SimChip};

use crate::open::OpenOptions;
use crate::server::Server;

/// A server on a chip.
pub(crate) fn served_with(chip: SimChip, options: OpenOptions) -> Server<'static> {
    Server::open(AnyChip::own(chip), options).unwrap()
}

/// The same, opened as usual.
pub(crate) fn served(chip: SimChip) -> Server<'static> {
    served_with(chip, OpenOptions::default())
}

/// The chip's content now, as a power cut would leave it.
pub(crate) fn chip_of(disk: &Server<'static>) -> SimChip {
    disk.chip().get::<SimChip>().unwrap().clone()
}
