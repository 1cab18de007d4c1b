//! Simulated chips for the tests of this crate.

use alloc::boxed::Box;

use pumice_media::{AnyChip, ChipSpec, SimChip};
use pumice_vfs::{FileKind, NewNode, Timestamp};

use crate::mount::{format, mount};
use crate::options::{FormatOptions, MountOptions};
use crate::volume::Volume;

/// A chip with an empty volume.
pub(crate) fn formatted(geometry: &str) -> SimChip {
    let mut chip = SimChip::new(&ChipSpec::parse_geometry(geometry).unwrap());
    let options = FormatOptions { erased: true, ..FormatOptions::default() };
    format(&mut chip, &options, &mut |_, _| {}).unwrap();
    chip
}

/// A chip mounted for writing.
pub(crate) fn mounted(chip: SimChip, cache_bytes: usize) -> Volume<'static> {
    let clock = Box::new(Timestamp::default);
    mount(AnyChip::own(chip), MountOptions { read_only: false, cache_bytes, clock }).unwrap()
}

/// The chip of a volume that is left as it is.
pub(crate) fn chip_of(volume: Volume<'static>) -> SimChip {
    volume.into_chip().take().unwrap()
}

impl Volume<'static> {
    pub(crate) fn make(&mut self, dir: u32, name: &str, kind: FileKind) -> u32 {
        let node = NewNode { kind, perm: 0o600, uid: 0, gid: 0, rdev: 0, target: b"" };
        self.create_node(dir, name.as_bytes(), &node).unwrap()
    }

    pub(crate) fn write(&mut self, ino: u32, at: u64, bytes: &[u8]) {
        self.files.write_file(&mut self.log, ino, at, bytes).unwrap();
    }

    pub(crate) fn read(&mut self, ino: u32, at: u64, bytes: &mut [u8]) {
        assert_eq!(self.files.read_file(&mut self.log, ino, at, bytes).unwrap(), bytes.len());
    }
}
