//! `mkfs -t f2fs --from` beside mkfs.f2fs and sload.f2fs: processor time, median of 5, in turn, on tmpfs.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
    process::Command,
};

use crate::{median, programs::processor_of_children, run};

const TURNS: usize = 5;
const VOLUME_BYTES: u64 = 1200 << 20;

pub(crate) fn figures() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let (many, big) = (place.path().join("many"), place.path().join("big"));
    plant_many(&many);
    plant_big(&big);
    println!("| from | pumice CPU s | mkfs.f2fs and sload.f2fs CPU s | ratio | wanted |");
    println!("|---|---|---|---|---|");
    for (name, tree) in [("40,000 files, 381 MiB", &many), ("one file of 600 MiB", &big)] {
        let (mut own, mut peer) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            let image = place.path().join("own");
            let mut pumice = Command::new(env!("CARGO_BIN_EXE_pumice"));
            pumice.args(["mkfs", "-t", "f2fs", "--size", "1200M", "--from"]).arg(tree).arg(&image);
            own.push(cost(&mut [pumice]));
            fs::remove_file(image).unwrap();
            let image = place.path().join("peer");
            File::create(&image).unwrap().set_len(VOLUME_BYTES).unwrap();
            let (mut mkfs, mut sload) = (Command::new("mkfs.f2fs"), Command::new("sload.f2fs"));
            mkfs.arg("-q").arg(&image);
            sload.arg("-f").arg(tree).arg(&image);
            peer.push(cost(&mut [mkfs, sload]));
            fs::remove_file(image).unwrap();
        }
        let (own, peer) = (median(own), median(peer));
        println!("| {name} | {own:.2} | {peer:.2} | 1/{:.1} | 1/6 |", peer / own);
    }
}

/// Processor time of programs that must succeed, in seconds.
fn cost(programs: &mut [Command]) -> f64 {
    let before = processor_of_children();
    programs.iter_mut().for_each(run);
    processor_of_children() - before
}

/// 40,000 files of 10,000 bytes on average, half of them below 7,000.
fn plant_many(tree: &Path) {
    let mut random = fastrand::Rng::with_seed(1);
    let mut noise = vec![0; 1 << 20];
    random.fill(&mut noise);
    for number in 0..40_000 {
        let dir = tree.join(format!("d{}", number / 200));
        fs::create_dir_all(&dir).unwrap();
        let bytes = (0..=random.usize(0..6)).map(|_| random.usize(0..5710)).sum::<usize>();
        let start = random.usize(0..noise.len() / 2);
        fs::write(dir.join(format!("file-{number}")), &noise[start..start + bytes]).unwrap();
    }
}

fn plant_big(tree: &Path) {
    fs::create_dir(tree).unwrap();
    let mut file = File::create(tree.join("file")).unwrap();
    let (mut random, mut chunk) = (fastrand::Rng::with_seed(2), vec![0; 1 << 20]);
    for _ in 0..600 {
        random.fill(&mut chunk);
        file.write_all(&chunk).unwrap();
    }
}
