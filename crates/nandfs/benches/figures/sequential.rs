//! 155 MB in 5 MB files on the chip of the ScaleFFS paper (5.3): written, mounted again, read; and random reads.

use pumice_vfs::{FileSystem, Ino};

use crate::Figure;
use crate::chip::{create, during, formatted, mount, mount_cost, noise, reads, spec};

const FILES: usize = 31;
const FILE: usize = 5_000_000;

pub(crate) fn figures() -> Vec<Figure> {
    let spec = spec("scaleffs-256m", None);
    let (page, timing) = (spec.geometry().page_bytes as usize, spec.timing());
    let floor = (FILES * FILE.div_ceil(page)) as f64;
    let fs = mount(formatted("scaleffs-256m", None));
    let data: Vec<Vec<u8>> = (0..FILES).map(|n| noise(FILE, n as u64)).collect();
    let mut inos = Vec::new();
    let written = during(&fs, || {
        for (n, data) in data.iter().enumerate() {
            let ino = create(&fs, &format!("track {n}.mp3"));
            for (at, piece) in (0..).step_by(128 << 10).zip(data.chunks(128 << 10)) {
                fs.write(ino, at, piece).unwrap();
            }
            inos.push(ino);
        }
        fs.sync().unwrap();
    });
    let (fs, mounted) = mount_cost(fs.unmount().unwrap());
    let read = during(&fs, || {
        let mut buffer = vec![0; 128 << 10];
        for (ino, data) in inos.iter().zip(&data) {
            for (at, piece) in (0..).step_by(buffer.len()).zip(data.chunks(buffer.len())) {
                let got = fs.read(*ino, at, &mut buffer).unwrap();
                assert_eq!(&buffer[..got], piece);
            }
        }
    });
    let share = |ns: u64, busy: u64| 100.0 * floor * ns as f64 / busy as f64;
    vec![
        Figure::at_least(
            "sequential write, share of the raw program bandwidth",
            "%",
            share(timing.program_ns, written.device_ns),
            97.5,
        ),
        Figure::at_most("programs over the floor", "%", 100.0 * (written.programs as f64 / floor - 1.0), 2.5),
        Figure::at_least(
            "sequential read, share of the raw read bandwidth",
            "%",
            share(timing.read_page_ns, read.device_ns),
            98.5,
        ),
        Figure::at_most("pages read over the floor", "times", read.page_reads as f64 / floor, 1.015),
        Figure::at_most("mount with 155 MB stored", "reads", reads(mounted) as f64, 36.0),
        random_reads(page),
    ]
}

/// 4 KiB reads at random blocks of a 100 MB file, half of them, each at most once, after a fresh mount.
fn random_reads(page: usize) -> Figure {
    const BLOCKS: u64 = 100_000_000 / 4096;
    let fs = mount(formatted("scaleffs-256m", None));
    let ino = create(&fs, "movie");
    for n in 0..BLOCKS {
        fs.write(ino, n * 4096, &noise(4096, n)).unwrap();
    }
    let fs = mount(fs.unmount().unwrap());
    let mut order: Vec<u64> = (0..BLOCKS).collect();
    fastrand::Rng::with_seed(5).shuffle(&mut order);
    let count = 2000;
    let read = during(&fs, || order[..count].iter().for_each(|n| read_block(&fs, ino, *n)));
    let floor = (count * 4096 / page) as f64;
    Figure::at_most(
        "2,000 random 4 KiB reads in a 100 MB file, page reads over the data",
        "%",
        100.0 * (read.page_reads as f64 / floor - 1.0),
        3.0,
    )
}

fn read_block(fs: &dyn FileSystem, ino: Ino, n: u64) {
    let mut buffer = [0; 4096];
    assert_eq!(fs.read(ino, n * 4096, &mut buffer).unwrap(), 4096);
}
