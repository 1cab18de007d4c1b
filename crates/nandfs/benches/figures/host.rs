//! Speed of simulator and file system on this host, in memory, on one core.

use std::time::Instant;

use pumice_vfs::FileSystem;

use crate::Figure;
use crate::chip::{create, formatted, mount, noise};

pub(crate) fn figures() -> Vec<Figure> {
    const BYTES: u64 = 1 << 30;
    let fs = mount(formatted("slc-2k-2g", Some(BYTES + BYTES / 4)));
    let ino = create(&fs, "stream");
    let data = noise(128 << 10, 1);
    let speed = |start: Instant| BYTES as f64 / 1e6 / start.elapsed().as_secs_f64();
    let start = Instant::now();
    for at in (0..BYTES).step_by(data.len()) {
        fs.write(ino, at, &data).unwrap();
    }
    fs.sync().unwrap();
    let write = speed(start);
    let fs = mount(fs.unmount().unwrap());
    let mut buffer = vec![0; data.len()];
    let start = Instant::now();
    for at in (0..BYTES).step_by(data.len()) {
        fs.read(ino, at, &mut buffer).unwrap();
    }
    let read = speed(start);
    vec![
        Figure::at_least("host speed, sequential write of 1 GiB", "MB/s", write, 400.0),
        Figure::at_least("host speed, sequential read of 1 GiB", "MB/s", read, 400.0),
    ]
}
