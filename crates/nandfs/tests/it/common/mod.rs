//! Chips and mounts that the tests share.

pub(crate) mod examine;
pub(crate) mod fuzz;

use pumice_media::{ChipSpec, SimChip};
use pumice_nandfs::{Compression, FormatOptions, FsyncProtection, MountOptions, NandFs, format};
use pumice_vfs::{Clock, Timestamp};

/// Chips of every layout: superpages of small pages, tag in the page, one block in a page, several, and odd shapes.
pub(crate) const GEOMETRIES: [&str; 7] = [
    "512+16:32:1024",
    "2048+64:64:128",
    "2048+64:16:96",
    "4096+128:16:80",
    "8192+448:32:64",
    "16384+1952:16:64",
    "1024+32:64:256",
];

pub(crate) fn blank(geometry: &str) -> SimChip {
    SimChip::new(&spec(geometry))
}

pub(crate) fn spec(geometry: &str) -> ChipSpec {
    match geometry.split_once(':') {
        Some(_) => ChipSpec::parse_geometry(geometry).unwrap(),
        None => ChipSpec::named(geometry).unwrap(),
    }
}

/// A fresh volume; it compresses with `@` and a method behind the geometry.
pub(crate) fn formatted(geometry: &str, created: Timestamp) -> SimChip {
    match geometry.split_once('@') {
        Some((geometry, method)) => compressed(geometry, created, method.parse().unwrap()),
        None => protected(geometry, created, 0, FsyncProtection::AtClose),
    }
}

/// The same with so many parity pages in each erase block, and protection from the given moment on.
pub(crate) fn protected(
    geometry: &str,
    created: Timestamp,
    parity_pages: u8,
    fsync_protection: FsyncProtection,
) -> SimChip {
    made(
        geometry,
        FormatOptions::default().with(|it| {
            it.created = created;
            it.parity_pages = parity_pages;
            it.fsync_protection = fsync_protection;
        }),
    )
}

/// The same with blocks of files compressed.
pub(crate) fn compressed(geometry: &str, created: Timestamp, compression: Compression) -> SimChip {
    made(
        geometry,
        FormatOptions::default().with(|it| {
            it.created = created;
            it.compression = Some(compression);
        }),
    )
}

fn made(geometry: &str, options: FormatOptions) -> SimChip {
    let mut chip = blank(geometry);
    let options = options.with(|it| {
        it.uuid = *b"0123456789abcdef";
        it.erased = true;
    });
    format(&mut chip, &options, &mut |_, _| {}).unwrap();
    chip
}

pub(crate) fn mount(chip: SimChip, clock: Clock) -> NandFs<SimChip> {
    let options = MountOptions::new(1 << 20, clock);
    NandFs::mount(chip, options).unwrap()
}
