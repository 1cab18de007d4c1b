//! The power goes while files are written: the promises of fsync are kept, and nothing is damaged.

use std::{
    fs::{self, File},
    io::{Read, Write},
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, channel},
};

use pumice_knobs::STANDSTILL;

use super::mounting::Bench;

/// The moments of the power cuts: so many files were promised since the mount. The writers are in the middle of the
/// next ones.
const CUTS: [usize; 8] = [0, 1, 2, 5, 10, 20, 40, 80];
const WRITERS: u64 = 3;

/// The content of file `number`: its number over and over, up to a length that depends on it.
fn content(number: u64) -> Vec<u8> {
    let length = (number * 7919 % 90_000) as usize;
    number.to_le_bytes().into_iter().cycle().take(length).collect()
}

/// A new file by way of another name, as careful programs do it.
fn write_one(dir: &Path, number: u64) -> std::io::Result<PathBuf> {
    let temporary = dir.join(format!("{number}.tmp"));
    let path = dir.join(number.to_string());
    let mut file = File::create(&temporary)?;
    file.write_all(&content(number))?;
    file.sync_all()?;
    fs::rename(&temporary, &path)?;
    File::open(dir)?.sync_all()?;
    // Something to be cleaned; whether it is gone after the cut, nobody promised.
    if number % 4 == 3 {
        fs::remove_file(dir.join((number - 3).to_string()))?;
    }
    Ok(path)
}

/// Writes until the power goes; sends the number of every file that was promised.
fn write_until_cut(dir: &Path, first: u64, promised: &std::sync::mpsc::Sender<u64>) {
    for number in (first..).step_by(1) {
        if write_one(dir, number).is_err() {
            return;
        }
        promised.send(number).unwrap();
    }
}

/// Every promised file is whole, if it was not taken away since.
fn compare(dir: &Path, promised: &[u64]) {
    for &number in promised {
        let name = dir.join((number >> 32).to_string()).join(number.to_string());
        match fs::read(&name) {
            Ok(got) => assert!(got == content(number), "{} is not what was written", name.display()),
            Err(error) => assert!(number % 4 == 0, "{}: {error}", name.display()),
        }
    }
}

/// So many files, once they are promised.
fn wait_for_promises(promised: &Receiver<u64>, count: usize) -> Vec<u64> {
    (0..count).map(|_| promised.recv_timeout(STANDSTILL).unwrap()).collect()
}

/// Everything that is there can be read to its end.
fn read_all(dir: &Path) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_all(&path);
        } else {
            File::open(&path).unwrap().read_to_end(&mut Vec::new()).unwrap();
        }
    }
}

#[test]
fn files_that_fsync_promised_survive_cuts_in_the_middle_of_writing() {
    let Some(mut bench) = Bench::new("128M") else { return };
    for (cut, after) in (0..).zip(CUTS) {
        bench.mount();
        let (sender, promised) = channel();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                // The upper half of a number says which directory the file is in.
                let place = cut * WRITERS + writer;
                let dir = bench.inside(&place.to_string());
                fs::create_dir(&dir).unwrap();
                let sender = sender.clone();
                std::thread::spawn(move || write_until_cut(&dir, place << 32, &sender))
            })
            .collect();
        drop(sender);
        let mut kept = wait_for_promises(&promised, after);
        bench.kill();
        for writer in writers {
            writer.join().unwrap();
        }
        bench.check();
        bench.mount();
        kept.extend(promised.try_iter());
        compare(&bench.path("mnt"), &kept);
        read_all(&bench.path("mnt"));
        for place in cut * WRITERS..(cut + 1) * WRITERS {
            // One in which nothing was promised yet may be gone.
            if let Err(error) = fs::remove_dir_all(bench.inside(&place.to_string())) {
                assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
            }
        }
        bench.unmount();
        bench.check();
    }
}
