//! A cold `find -ls` over 100,000 files: a mount of F2FS, ext4 on a loop device, and the pass-through over that, all on files
//! of the same disk.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::mount::{MountFlags, mount_remount};
use tempfile::TempDir;

use crate::{forget, median, mounts, run};

const TURNS: usize = 7;
/// The pass-through keeps a file open for every name that the kernel keeps, and may have 20,000: so each part is walked by
/// itself, and forgotten off the clock.
const PARTS: u32 = 10;
const DIRECTORIES: u32 = 50;
const FILES: u32 = 200;
const IMAGE_BYTES: u64 = 2 << 30;
const PAUSE_AFTER_FORGETTING: Duration = Duration::from_millis(300);

/// Seconds of a walk, and of the server's processor.
type Cost = (f64, f64);

struct Images {
    folder: PathBuf,
    f2fs: PathBuf,
    ext4: PathBuf,
}

impl Images {
    fn find_or_make() -> Images {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("f2fs-bench-find");
        let images = Images { f2fs: folder.join("f2fs"), ext4: folder.join("ext4"), folder };
        if !images.ext4.exists() {
            images.make();
        }
        images
    }

    fn make(&self) {
        let tree = self.folder.join("tree");
        for directory in 0..PARTS * DIRECTORIES {
            let dir = tree.join(format!("p{}/d{directory}", directory / DIRECTORIES));
            fs::create_dir_all(&dir).unwrap();
            for file in 0..FILES {
                fs::write(dir.join(format!("file-{file}")), [b'x'; 100]).unwrap();
            }
        }
        let making = self.folder.join("making");
        for path in [&self.f2fs, &making] {
            File::create(path).unwrap().set_len(IMAGE_BYTES).unwrap();
        }
        run(Command::new("mkfs.f2fs").args(["-q", "-f"]).arg(&self.f2fs));
        run(Command::new("sload.f2fs").arg("-f").arg(&tree).arg(&self.f2fs));
        run(Command::new("mke2fs").args(["-q", "-t", "ext4", "-d"]).arg(&tree).arg(&making));
        // Pages that are not on the disk yet cannot be forgotten.
        run(Command::new("sync").arg("-f").arg(&making));
        fs::remove_dir_all(&tree).unwrap();
        fs::rename(&making, &self.ext4).unwrap();
    }
}

/// ext4 on a loop device, until it is dropped.
struct Loop(TempDir);

impl Loop {
    fn new(image: &Path) -> Loop {
        forget(image);
        let dir = tempfile::tempdir().unwrap();
        run(Command::new("mount").args(["-o", "loop,ro"]).arg(image).arg(dir.path()));
        Loop(dir)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        while !Command::new("umount").arg(self.0.path()).status().unwrap().success() {
            sleep(Duration::from_millis(50));
        }
    }
}

pub(crate) fn figures() {
    let images = Images::find_or_make();
    let mut costs: [Vec<Cost>; 3] = Default::default();
    for _ in 0..TURNS {
        let turn = [on_f2fs(&images), on_ext4(&images), on_pass_through(&images)];
        for (costs, cost) in costs.iter_mut().zip(turn) {
            costs.push(cost);
        }
    }
    let medians = |costs: Vec<Cost>| {
        let (wall, processor): (Vec<f64>, Vec<f64>) = costs.into_iter().unzip();
        [median(wall), median(processor)]
    };
    let [own, ext4, pass_through] = costs.map(medians);
    println!(
        "| cold `find -ls`, 100,000 files, median of {TURNS} | wall s | CPU s of the server | ratio | wanted |"
    );
    println!("|---|---|---|---|---|");
    println!("| `pumice mount` | {:.2} | {:.2} | | |", own[0], own[1]);
    println!("| ext4, loop device | {:.2} | | {:.2} times its time | at most 2 |", ext4[0], own[0] / ext4[0]);
    println!(
        "| passthrough_ll over it | {:.2} | {:.2} | {:.2} times as fast | at least 1.2 |",
        pass_through[0],
        pass_through[1],
        pass_through[0] / own[0]
    );
}

fn on_f2fs(images: &Images) -> Cost {
    forget(&images.f2fs);
    let mount = mounts::Mount::new(&mounts::pumice(&images.f2fs));
    (walk(mount.dir()), mount.processor())
}

fn on_ext4(images: &Images) -> Cost {
    let mount = Loop::new(&images.ext4);
    (walk(mount.0.path()), 0.0)
}

fn on_pass_through(images: &Images) -> Cost {
    let below = Loop::new(&images.ext4);
    let server = mounts::pass_through(&images.folder, below.0.path(), &images.ext4).unwrap();
    let mount = mounts::Mount::new(&server);
    (walk(mount.dir()), mount.processor())
}

/// Seconds for all parts; the kernel's caches are dropped in between.
fn walk(dir: &Path) -> f64 {
    let mut time = Duration::ZERO;
    for part in 0..PARTS {
        let start = Instant::now();
        let mut find = Command::new("find");
        find.arg(dir.join(format!("p{part}"))).arg("-ls").stderr(Stdio::inherit());
        let lines = find.output().unwrap().stdout.split(|byte| *byte == b'\n').count() - 1;
        time += start.elapsed();
        assert_eq!(lines, usize::try_from(1 + DIRECTORIES * (1 + FILES)).unwrap());
        mount_remount(dir, MountFlags::RDONLY, c"").unwrap();
        sleep(PAUSE_AFTER_FORGETTING);
    }
    time.as_secs_f64()
}
