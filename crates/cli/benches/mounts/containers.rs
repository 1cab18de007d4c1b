//! A mount of a chip container, on tmpfs and on the disk, beside a pass-through over a tree there.

use std::{fs, path::Path, process::Command};

use crate::{
    mounts::PUMICE,
    run,
    side_by_side::{Part, Place},
    work::{database, jobs, random, sequential, uncached},
};

const SEQUENTIAL: Part = Part {
    options: "rw",
    figures: &[
        ("sequential write of 512 MiB", "MB/s"),
        ("sequential read of it, in the host's cache", "MB/s"),
    ],
    measure: sequential,
};
const UNCACHED: Part =
    Part { options: "rw", figures: &[("uncached read of 512 MiB", "MB/s")], measure: uncached };
const RANDOM: Part = Part {
    options: "rw",
    figures: &[("1,000 random writes of 4 KiB, each with fsync", "writes/s")],
    measure: random,
};
const DATABASE: Part = Part {
    options: "rw",
    figures: &[("SQLite, WAL, synchronous=full, 1,000 transactions", "transactions/s")],
    measure: database,
};
const JOBS: Part =
    Part { options: "rw", figures: &[("random reads of 4 KiB, four jobs", "reads/s")], measure: jobs };

/// An empty volume on a simulated chip, in a file without holes.
fn make_container(image: &Path) {
    let template = image.with_extension("template");
    if !template.exists() {
        let mut mkfs = Command::new(PUMICE);
        run(mkfs.args(["mkfs", "--chip", "slc-2k-2g", "--size", "1G"]).arg(&template));
    }
    run(Command::new("cp").arg("--sparse=never").args([&template, image]));
}

/// Words on the command line choose figures by their names.
pub(crate) fn figures(parts: &[String]) {
    let words: Vec<&String> = parts.iter().filter(|word| *word != "container").collect();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let on_tmpfs = [SEQUENTIAL, DATABASE, RANDOM, JOBS];
    Place::new(memory.path(), make_container).compare("container on tmpfs", &on_tmpfs, 0.8, &words);
    drop(memory);
    println!();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("container-bench");
    let on_disk = [RANDOM, DATABASE, UNCACHED, JOBS];
    Place::new(&folder, make_container).compare("container on the disk", &on_disk, 0.8, &words);
    fs::remove_dir_all(&folder).unwrap();
}
