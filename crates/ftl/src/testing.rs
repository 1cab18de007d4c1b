//! Simulated chips for the tests of this crate.

use pumice_media::{AnyChip, BlockDevice, ChipSpec, Lba, SimChip};

use crate::open::{CreateOptions, OpenOptions, create};
use crate::policy::PolicyNames;
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
    disk.log.chip().get::<SimChip>().unwrap().clone()
}

/// A disk with short tags on which nothing was written since its start, and no head is open.
pub(crate) fn without_heads() -> Server<'static> {
    let mut chip = SimChip::new(&ChipSpec::parse_geometry("4096+54:16:40").unwrap());
    let policies = PolicyNames { placement: "sepbit".parse().unwrap(), ..PolicyNames::default() };
    create(&mut chip, &CreateOptions { policies, ..CreateOptions::default() }, &mut |_, _| {}).unwrap();
    let mut disk = served(chip);
    (0..100).for_each(|lba| disk.write(Lba(lba), &[1; 4096]).unwrap());
    let mut disk = Server::open(disk.close().unwrap(), OpenOptions::default()).unwrap();
    disk.admit_write().unwrap();
    end_all(&mut disk);
    disk
}

/// Ends all heads.
pub(crate) fn end_all(disk: &mut Server<'static>) {
    while let Some((at, head)) = disk.log.heads.take_first() {
        disk.log.seal(at, head).unwrap();
    }
}
