//! Memory besides the cache budget, by what the heap holds: mounting and walking a volume leaves the chip's own
//! memory as it is, so all growth is the file system's.

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

/// Peak growth of the heap over mount, a walk over all names with their attributes, and reads, less the budget.
fn besides_cache(chip: SimChip, files: u32) -> f64 {
    const BUDGET: usize = 1 << 20;
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let fs = mount_with(chip, BUDGET);
    for n in 0..files {
        fs.lookup(Ino::ROOT, format!("file number {n}").as_bytes()).unwrap();
    }
    fs.readdir(Ino::ROOT, 0, &mut |_| true).unwrap();
    let peak = PEAK.load(Ordering::Relaxed);
    (peak - before).saturating_sub(BUDGET) as f64 / 1024.0
}

pub(crate) fn figures() -> Vec<Figure> {
    let small = besides_cache(filled(256 << 20, 100_000), 100_000);
    let large = besides_cache(filled(64 << 30, 1_000_000), 1_000_000);
    vec![
        Figure::at_most("memory besides the cache, 256 MiB, 100,000 files", "KiB", small, 128.0),
        Figure::at_most("memory besides the cache, 64 GiB, 1,000,000 files", "KiB", large, 1024.0),
    ]
}
