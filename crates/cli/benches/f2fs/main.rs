//! `cargo bench -p pumice-cli --bench f2fs`: a mount of F2FS beside a pass-through FUSE file system over the tree that
//! the image was made from (libfuse's example passthrough_ll, built from its Debian package), and `get` beside `cp -a`.
//! Both take turns; each figure is the median. Needs f2fs-tools, libfuse3-dev, a C compiler, and root for /dev/fuse.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

mod figures;
mod mounts;
mod tree;

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use figures::FIGURES;
use mounts::{Mount, Server};
use tree::Input;

/// Turns of each; odd, for the median.
const TURNS: usize = 3;

fn main() {
    // `cargo test --benches` runs it, too, and wants no figures.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let input = Input::find_or_make();
    let Some(peer) = mounts::pass_through(&input) else {
        println!(
            "SKIPPED: libfuse's passthrough_ll cannot be built: libfuse3-dev and a C compiler are needed"
        );
        return;
    };
    println!("median of {TURNS} turns; load before: {}", load().trim());
    println!();
    println!("| mount | pumice | passthrough_ll | ratio | wanted |");
    println!("|---|---|---|---|---|");
    mount_figures(&[mounts::pumice(&input), peer]);
    println!();
    println!("| the tree to tmpfs | s | `cp -a` takes times as long |");
    println!("|---|---|---|");
    copy_figures(&input);
    println!();
    println!("load after: {}", load().trim());
}

/// How busy the machine is.
fn load() -> String {
    fs::read_to_string("/proc/loadavg").unwrap_or_default()
}

fn mount_figures(servers: &[Server; 2]) {
    let mut memory = [0, 0];
    for figure in FIGURES {
        let mut rates = [Vec::new(), Vec::new()];
        for _ in 0..TURNS {
            for ((server, rates), memory) in servers.iter().zip(&mut rates).zip(&mut memory) {
                let mount = Mount::new(server);
                rates.push((figure.measure)(server, mount.dir()));
                *memory = mount.memory_kib().max(*memory);
            }
        }
        let [own, peer] = rates.map(median);
        println!("| {}, {} | {own:.0} | {peer:.0} | {:.2} | 0.90 |", figure.name, figure.unit, own / peer);
    }
    let [own, peer] = memory.map(|kib| f64::from(kib) / 1024.0);
    println!(
        "| most memory (VmHWM), the cache of 8 MiB included, MiB | {own:.1} | {peer:.1} | | at most 40 |"
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn copy_figures(input: &Input) {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let to = place.path().join("copy");
    let mut get = Command::new(mounts::PUMICE);
    get.arg("get").arg(&input.image).arg("/").arg(&to);
    let mut cp = Command::new("cp");
    cp.arg("-a").arg(&input.tree).arg(&to);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..TURNS {
        for (command, times) in [&mut get, &mut cp].into_iter().zip(&mut times) {
            times.push(seconds(command));
            fs::remove_dir_all(&to).unwrap();
        }
    }
    let [get, cp] = times.map(median);
    println!("| `pumice get` | {get:.2} | {:.2} |", cp / get);
    println!("| `cp -a` of the source | {cp:.2} | 1.00 |");
}

/// How long a command takes that must succeed.
fn seconds(command: &mut Command) -> f64 {
    let start = Instant::now();
    run(command);
    start.elapsed().as_secs_f64()
}

fn run(command: &mut Command) {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "{command:?} failed");
}

/// Drops what the kernel keeps of a file's content.
fn forget(file: &Path) {
    let file = fs::File::open(file).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
}
