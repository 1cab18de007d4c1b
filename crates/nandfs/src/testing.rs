//! Simulated chips for the tests of this crate.

use alloc::boxed::Box;

use pumice_media::{AnyChip, SimChip};
use pumice_vfs::Timestamp;

use crate::mount::mount;
use crate::options::MountOptions;
use crate::volume::Volume;

/// A chip mounted for writing.
pub(crate) fn mounted(chip: SimChip, cache_bytes: usize) -> Volume<'static> {
    let clock = Box::new(Timestamp::default);
    mount(AnyChip::own(chip), MountOptions { read_only: false, cache_bytes, clock }).unwrap()
}

/// The chip of a volume that is left as it is.
pub(crate) fn chip_of(volume: Volume<'static>) -> SimChip {
    volume.into_chip().take().unwrap()
}
