//! Host time of a call with 64,000 files over that with 4,000, with all metadata in memory: the rest is the effect of a
//! processor's caches.

use std::time::Instant;

use pumice_vfs::{FileSystem, Ino};

use crate::Figure;
use crate::chip::{create, formatted, mount_with};

const CACHE: usize = 128 << 20;
const FEW: u32 = 4000;
const MANY: u32 = 16 * FEW;

/// The timed calls, in their order.
const CALLS: [&str; 3] = ["look up", "write of 100 B and fsync", "unlink"];

pub(crate) fn figures() -> Vec<Figure> {
    // The first is not counted: it makes room on the heap.
    let [_, few, many] = [FEW, FEW, MANY].map(times);
    CALLS.into_iter().zip(few.into_iter().zip(many)).map(|(call, (few, many))| row(call, few, many)).collect()
}

fn row(call: &str, few: f64, many: f64) -> Figure {
    let name = format!("host time of {call}, {MANY} files over {FEW}, cache 128 MiB ({many:.1} us)");
    Figure::at_most(name, "times", many / few, 2.0)
}

/// Microseconds of each call on each of so many files.
fn times(files: u32) -> [f64; CALLS.len()] {
    let fs = mount_with(formatted("slc-2k-2g", Some(1 << 30)), CACHE);
    let name = |number: u32| format!("file number {number}");
    for number in 0..files {
        create(&fs, &name(number));
    }
    fs.sync().unwrap();
    let find = |number| fs.lookup(Ino::ROOT, name(number).as_bytes()).unwrap().ino;
    let calls: [&dyn Fn(u32); CALLS.len()] = [
        &|number| assert!(find(number) != Ino::ROOT),
        &|number| {
            let ino = find(number);
            fs.write(ino, 0, &[7; 100]).unwrap();
            fs.fsync(ino, false).unwrap();
        },
        &|number| fs.unlink(Ino::ROOT, name(number).as_bytes()).unwrap(),
    ];
    calls.map(|call| {
        let start = Instant::now();
        (0..files).for_each(call);
        start.elapsed().as_secs_f64() * 1e6 / f64::from(files)
    })
}
