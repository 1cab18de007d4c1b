//! Memory of a mount, by the heap's growth: mounting and walking a volume leaves the chip's own memory as it is, so all
//! growth is the file system's.

use pumice_media::SimChip;
use pumice_vfs::{FileSystem, Ino};

use crate::Figure;
use crate::chip::{create, formatted, mount, mount_with};

fn filled(bytes: u64, files: u32) -> SimChip {
    let fs = mount(formatted("scaleffs-256m", Some(bytes)));
    for n in 0..files {
        create(&fs, &format!("file number {n}"));
    }
    fs.unmount().unwrap()
}

const BUDGET: usize = 1 << 20;

/// Peak growth of the heap over mount, a walk over all names with their attributes, and reads, in KiB.
fn peak(chip: SimChip, files: u32) -> f64 {
    // It is kept until the end, so that letting it go is not counted.
    let mut kept = None;
    let heap = allocation_counter::measure(|| {
        let fs = mount_with(chip, BUDGET);
        for n in 0..files {
            fs.lookup(Ino::ROOT, format!("file number {n}").as_bytes()).unwrap();
        }
        fs.readdir(Ino::ROOT, 0, &mut |_| true).unwrap();
        kept = Some(fs);
    });
    heap.bytes_max as f64 / 1024.0
}

/// All memory, cache and the rest, which alone has a bound.
fn figure(size: u64, files: u32, besides: usize, what: &str) -> Figure {
    let bound = ((BUDGET >> 10) + besides) as f64;
    let name = format!("memory with a cache budget of 1,024 KiB, {what} files");
    Figure::at_most(name, "KiB", peak(filled(size, files), files), bound)
}

pub(crate) fn figures() -> Vec<Figure> {
    vec![
        figure(256 << 20, 100_000, 128, "256 MiB, 100,000"),
        figure(64 << 30, 1_000_000, 1024, "64 GiB, 1,000,000"),
    ]
}
