//! Memory of a mount, by what the heap holds: mounting and walking a volume leaves the chip's own memory as it is,
//! so all growth is the file system's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use pumice_media::SimChip;
use pumice_vfs::{FileSystem, Ino};

use crate::Figure;
use crate::chip::{create, formatted, mount, mount_with};

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's heap, with what is live counted.
pub(crate) struct Counting;

#[expect(
    unsafe_code,
    reason = "a global allocator is an unsafe trait; every call goes to the system's unchanged"
)]
// SAFETY: layouts and pointers are handed through to the system's allocator as they come.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's promises are the system's conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the pointer came from `alloc` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

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
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let fs = mount_with(chip, BUDGET);
    for n in 0..files {
        fs.lookup(Ino::ROOT, format!("file number {n}").as_bytes()).unwrap();
    }
    fs.readdir(Ino::ROOT, 0, &mut |_| true).unwrap();
    let peak = PEAK.load(Ordering::Relaxed);
    (peak - before) as f64 / 1024.0
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
