//! The measurements of a mount that is written to.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::mount::{MountFlags, mount_remount};

use crate::{
    mounts::{self, Mount, Server},
    run,
    side_by_side::{Part, Place},
    work::{PIECE, database, random, sequential},
};

const IMAGE_BYTES: u64 = 2 << 30;
pub(crate) const FILES: u32 = 20_000;
const FILES_PER_DIRECTORY: u32 = 200;
const AT_A_TIME: u32 = 10_000;
const PAUSE_AFTER_FORGETTING: Duration = Duration::from_millis(500);
const SOURCES: u32 = 60;

/// An empty volume. The image keeps its blocks, which it gets once.
fn make_image(image: &Path) {
    if !image.exists() {
        let mut file = File::create(image).unwrap();
        let zeros = vec![0; PIECE];
        (0..IMAGE_BYTES / zeros.len() as u64).for_each(|_| file.write_all(&zeros).unwrap());
        file.sync_all().unwrap();
    }
    run(Command::new("mkfs.f2fs").args(["-q", "-f", "-t", "0"]).arg(image));
}

/// Freed blocks stay part of the image.
const NO_DISCARD: &str = "nodiscard";

const PARTS: [Part; 7] = [
    Part {
        options: NO_DISCARD,
        figures: &[
            ("sequential write of 512 MiB", "MB/s"),
            ("sequential read of it, in the host's cache", "MB/s"),
        ],
        measure: sequential,
    },
    Part {
        options: NO_DISCARD,
        figures: &[("1,000 random writes of 4 KiB, each with fsync", "writes/s")],
        measure: random,
    },
    Part {
        options: "nodiscard,in_place=never",
        figures: &[("the same random writes with in_place=never", "writes/s")],
        measure: random,
    },
    Part {
        options: NO_DISCARD,
        figures: &[
            ("20,000 files created, 200 a directory", "files/s"),
            ("their stat", "files/s"),
            ("their unlink", "files/s"),
        ],
        measure: files,
    },
    Part {
        options: NO_DISCARD,
        figures: &[("SQLite, WAL, synchronous=full, 1,000 transactions", "transactions/s")],
        measure: database,
    },
    Part { options: NO_DISCARD, figures: &[("git clone of this repository", "clones/min")], measure: clone },
    Part { options: NO_DISCARD, figures: &[("make -j2 of 60 C files", "builds/min")], measure: make },
];

/// A mount of F2FS, and a pass-through, on the same file system: each gets a fresh start for every part.
pub(crate) fn figures(parts: &[String]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("f2fs-bench-changes");
    let place = Place::new(&folder, make_image);
    let words: Vec<&String> = parts.iter().filter(|word| *word != "write").collect();
    if !place.compare("mount, written to", &PARTS, 0.9, &words) {
        return;
    }
    if words.is_empty() || words.iter().any(|word| *word == "processor") {
        println!();
        processor(&place, &mounts::pumice_to_write(&place.image, NO_DISCARD));
    }
    if words.is_empty() || words.iter().any(|word| *word == "memory") {
        println!();
        memory(&folder);
    }
}

fn files(dir: &Path) -> Vec<f64> {
    make_directories(dir, 0);
    [create as Work, stat, unlink].map(|work| rate_of(dir, 0, work)).to_vec()
}

type Work = fn(&mut dyn Iterator<Item = PathBuf>);

/// Files in a second, in parts that the kernel forgets in between, off the clock: the pass-through keeps a file open for every name
/// that the kernel keeps, and may have 20,000.
fn rate_of(dir: &Path, first: u32, work: Work) -> f64 {
    let mut time = Duration::ZERO;
    for part in (first..first + FILES).step_by(AT_A_TIME as usize) {
        // Mounting it once more drops all names that the kernel keeps, and tells the server.
        mount_remount(dir, MountFlags::empty(), c"").unwrap();
        sleep(PAUSE_AFTER_FORGETTING);
        let mut paths = (part..part + AT_A_TIME).map(|at| directory(dir, at).join(format!("file-{at}")));
        let start = Instant::now();
        work(&mut paths);
        time += start.elapsed();
    }
    f64::from(FILES) / time.as_secs_f64()
}

fn directory(dir: &Path, file: u32) -> PathBuf {
    dir.join(format!("d{}", file / FILES_PER_DIRECTORY))
}

fn make_directories(dir: &Path, first: u32) {
    let firsts = (first..first + FILES).step_by(FILES_PER_DIRECTORY as usize);
    firsts.for_each(|file| fs::create_dir(directory(dir, file)).unwrap());
}

fn create(paths: &mut dyn Iterator<Item = PathBuf>) {
    paths.for_each(|path| drop(File::create(path).unwrap()));
}

fn stat(paths: &mut dyn Iterator<Item = PathBuf>) {
    paths.for_each(|path| assert_eq!(fs::symlink_metadata(path).unwrap().len(), 0));
}

fn unlink(paths: &mut dyn Iterator<Item = PathBuf>) {
    paths.for_each(|path| fs::remove_file(path).unwrap());
}

/// Processor time of the server for a file, on an empty volume and behind 40,000 files.
fn processor(place: &Place, server: &Server) {
    println!(
        "| server, microseconds of processor for a file | of 0 to 20,000 | of 40,000 to 60,000 | ratio |"
    );
    println!("|---|---|---|---|");
    place.renew();
    let mount = Mount::new(server);
    let cost = |first: u32, work: Work| {
        let before = mount.processor();
        rate_of(mount.dir(), first, work);
        (mount.processor() - before) * 1e6 / f64::from(FILES)
    };
    let creates = [0, 20_000, 40_000].map(|first| {
        make_directories(mount.dir(), first);
        cost(first, create)
    });
    let [stats, unlinks] = [stat, unlink].map(|work: Work| [0, 40_000].map(|first| cost(first, work)));
    for (name, [few, many]) in
        [("create", [creates[0], creates[2]]), ("stat", stats), ("unlink, of 60,000 and of 40,000", unlinks)]
    {
        println!("| {name} | {few:.1} | {many:.1} | {:.2} |", many / few);
    }
}

/// The most memory of a server on a large volume. The kernel knows all its files, and some of them change.
fn memory(folder: &Path) {
    const MILLION: u32 = 1_000_000;
    let (archive, image) = (folder.join("million.tar"), folder.join("million"));
    let mut tar = tar::Builder::new(BufWriter::new(File::create(&archive).unwrap()));
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    let path = |at: u32| format!("d{}/file-{at}", at / 1000);
    (0..MILLION).for_each(|at| tar.append_data(&mut header, path(at), io::empty()).unwrap());
    tar.into_inner().unwrap().flush().unwrap();
    let mut mkfs = Command::new(mounts::PUMICE);
    mkfs.args(["mkfs", "-t", "f2fs", "--force", "--size", "256G", "--from"]).arg(&archive).arg(&image);
    run(&mut mkfs);
    fs::remove_file(&archive).unwrap();
    let mount = Mount::new(&mounts::pumice_to_write(&image, NO_DISCARD));
    for at in 0..MILLION {
        let path = mount.dir().join(path(at));
        match at % 100 {
            7 => fs::remove_file(path).unwrap(),
            8 => fs::write(path, [7; 5000]).unwrap(),
            _ => assert_eq!(fs::symlink_metadata(path).unwrap().len(), 0),
        }
    }
    println!("| server on 256 GiB with a million files, all looked at, 20,000 changed | measured | wanted |");
    println!("|---|---|---|");
    let kib = f64::from(mount.memory_kib());
    println!("| most memory (VmHWM), the cache of 8 MiB included, MiB | {:.1} | 72 |", kib / 1024.0);
    drop(mount);
    fs::remove_file(&image).unwrap();
}

fn clone(dir: &Path) -> Vec<f64> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let start = Instant::now();
    run(Command::new("git").args(["clone", "-q", "--no-local"]).arg(source).arg(dir.join("clone")));
    vec![60.0 / start.elapsed().as_secs_f64()]
}

fn make(dir: &Path) -> Vec<f64> {
    let objects: Vec<String> = (0..SOURCES).map(|number| format!("f{number}.o")).collect();
    for number in 0..SOURCES {
        let lines: Vec<String> = (0..50)
            .map(|at| format!("int f{number}_{at}(int x) {{ return x * {at} + {number}; }}\n"))
            .collect();
        fs::write(dir.join(format!("f{number}.c")), format!("#include <stdio.h>\n{}", lines.concat()))
            .unwrap();
    }
    fs::write(dir.join("main.c"), "int main(void) { return 0; }\n").unwrap();
    let objects = objects.join(" ");
    fs::write(dir.join("Makefile"), format!("main: main.o {objects}\n\t$(CC) -o $@ $^\n")).unwrap();
    let start = Instant::now();
    run(Command::new("make").args(["-s", "-j2", "-C"]).arg(dir));
    vec![60.0 / start.elapsed().as_secs_f64()]
}
