//! `cargo bench -p pumice-f2fs --bench fsck`: the check beside `fsck.f2fs --dry-run`, on a volume of 20,000 files and
//! 1.2 GiB that mkfs.f2fs and sload.f2fs made. Prints wall and processor time of both, and the ratios.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

use std::{
    env, fs,
    fs::File,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use pumice_media::FileDisk;

const FILES: u32 = 20_000;
/// Bytes of the volume's files, together.
const BYTES: u64 = 1_288_490_188;
const IMAGE_BYTES: u64 = 2 << 30;
const FILES_PER_DIRECTORY: u32 = 200;
/// Runs of each, in turn.
const RUNS: u32 = 15;
/// Called with this and an image, the benchmark is the program that is measured.
const CHECK: &str = "--check-only";

fn main() {
    let args: Vec<String> = env::args().collect();
    if args.get(1).is_some_and(|arg| arg == CHECK) {
        return check(Path::new(&args[2]));
    }
    let image = volume();
    let this = env::current_exe().unwrap();
    let mut own = Command::new(this);
    own.arg(CHECK).arg(&image);
    let mut other = Command::new("fsck.f2fs");
    other.arg("--dry-run").arg(&image);
    // Warm.
    measure(&mut own);
    measure(&mut other);
    let mut times = [(Duration::ZERO, Duration::ZERO); 2];
    for _ in 0..RUNS {
        for (time, command) in times.iter_mut().zip([&mut own, &mut other]) {
            let (wall, cpu) = measure(command);
            *time = (time.0 + wall, time.1 + cpu);
        }
    }
    let [own, other] =
        times.map(|(wall, cpu)| (wall.as_secs_f64() / f64::from(RUNS), cpu.as_secs_f64() / f64::from(RUNS)));
    println!("20,000 files, 1.2 GiB, mean of {RUNS} runs | wall s | CPU s");
    println!("fsck.f2fs --dry-run | {:.3} | {:.3}", other.0, other.1);
    println!("check, two threads | {:.3} | {:.3}", own.0, own.1);
    println!("ratio (want at most 0.60, 1.00) | {:.2} | {:.2}", own.0 / other.0, own.1 / other.1);
}

fn check(image: &Path) {
    let disk = FileDisk::open(image, 512, true).unwrap();
    let report = pumice_f2fs::check::check(vec![Box::new(disk)], 2, &mut |_, _| ()).unwrap();
    assert_eq!(report.findings, []);
    assert!(report.files >= u64::from(FILES));
}

/// Wall and processor time of a program that must succeed.
fn measure(command: &mut Command) -> (Duration, Duration) {
    let before = cpu_of_children();
    let start = Instant::now();
    let status =
        command.stdout(Stdio::null()).stderr(Stdio::inherit()).status().expect("f2fs-tools are installed");
    let wall = start.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    (wall, cpu_of_children().saturating_sub(before))
}

/// Processor time of ended children, in the ticks of 10 ms that the kernel counts.
fn cpu_of_children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // User and system time of children are fields 16 and 17, counted from 1; the second is behind the bracket's.
    let ticks: u64 = fields[13..15].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

/// The volume, made once and kept below cargo's target folder.
fn volume() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fsck-bench");
    let image = folder.join("image");
    if image.exists() {
        return image;
    }
    fs::create_dir_all(&folder).unwrap();
    let tree = folder.join("tree");
    make_tree(&tree);
    let made = folder.join("making");
    File::create(&made).unwrap().set_len(IMAGE_BYTES).unwrap();
    run(Command::new("mkfs.f2fs").arg("-q").arg(&made));
    run(Command::new("sload.f2fs").arg("-f").arg(&tree).arg(&made));
    fs::remove_dir_all(&tree).unwrap();
    fs::rename(&made, &image).unwrap();
    image
}

fn run(command: &mut Command) {
    let output = command.output().expect("f2fs-tools are installed");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stdout));
}

/// Files of all sizes, most of them small.
fn make_tree(tree: &Path) {
    let mut random = fastrand::Rng::with_seed(20_000);
    let weights: Vec<f64> = (0..FILES).map(|_| random.f64().powi(6)).collect();
    let sum: f64 = weights.iter().sum();
    let mut contents = vec![0; 1 << 20];
    random.fill(&mut contents);
    for (number, weight) in (0..FILES).zip(weights) {
        let directory = tree.join(format!("d{}", number / FILES_PER_DIRECTORY));
        fs::create_dir_all(&directory).unwrap();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let bytes = (weight / sum * BYTES as f64) as usize;
        let file = directory.join(format!("file-{number}"));
        fs::write(file, &contents[..bytes.min(contents.len())]).unwrap();
    }
}
