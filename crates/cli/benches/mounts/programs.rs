//! `get` and `fsck -n` beside f2fs-tools and `cp -a`, on volumes of 20,000 and 200,000 files.

use std::{
    env,
    ffi::OsString,
    fs,
    io::{self, Write},
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use crate::{files::Files, median, mounts};

const TURNS: usize = 7;
/// The interval at which a program is asked for its memory; it tells only the most that it had.
const GLANCE: Duration = Duration::from_millis(5);

/// The cost of one run.
struct Cost {
    wall: f64,
    processor: f64,
    memory_kib: u32,
}

/// A program, its arguments, and its name in the table.
struct Peer {
    name: &'static str,
    words: Vec<OsString>,
    /// The goal for pumice beside it, or at all.
    wanted: &'static str,
}

pub(crate) fn figures(files: &Files) {
    println!(
        "| {} files, 1.2 GiB, median of {TURNS} | wall s | CPU s | VmHWM MiB | pumice's wall to its | CPU | wanted |",
        files.count
    );
    println!("|---|---|---|---|---|---|---|");
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let to = place.path().join("copy");
    table(&copiers(files, &to), Some(&to));
    let image = files.image.clone().into_os_string();
    let own = Peer {
        name: "`pumice fsck -n`",
        words: vec![mounts::PUMICE.into(), "fsck".into(), "-n".into(), image.clone()],
        wanted: "24 MiB",
    };
    let peer = Peer {
        name: "`fsck.f2fs --dry-run`",
        words: vec!["fsck.f2fs".into(), "--dry-run".into(), image],
        wanted: if files.count > 20_000 { "CPU 0.3" } else { "CPU 0.2" },
    };
    table(&[own, peer], None);
}

/// The programs that copy the tree to tmpfs.
fn copiers(files: &Files, to: &Path) -> Vec<Peer> {
    let (tree, image, to) =
        (files.tree.clone().into(), files.image.clone().into(), to.to_path_buf().into_os_string());
    let image: OsString = image;
    let get = [mounts::PUMICE.into(), "get".into(), image.clone(), "/".into(), to.clone()];
    let mut copiers = vec![
        Peer { name: "`pumice get`", words: get.into(), wanted: "16 MiB" },
        Peer {
            name: "`cp -a` of the source",
            words: vec!["cp".into(), "-a".into(), tree, to.clone()],
            wanted: "",
        },
    ];
    match dump() {
        Some(dump) => {
            let options = ["-r", "-f", "-P", "-L", "-o"].map(OsString::from);
            let words = [dump].into_iter().chain(options).chain([to, image]);
            copiers.push(Peer { name: "`dump.f2fs -r -P`", words: words.collect(), wanted: "wall 0.5" });
        }
        None => {
            let _ = writeln!(
                io::stderr(),
                "SKIPPED: no dump.f2fs that knows -r (f2fs-tools after 1.15), on PATH or named by DUMP_F2FS: IT IS NOT COMPARED"
            );
        }
    }
    copiers
}

/// A `dump.f2fs` that can copy a tree.
fn dump() -> Option<OsString> {
    let program = env::var_os("DUMP_F2FS").unwrap_or_else(|| "dump.f2fs".into());
    let usage = Command::new(&program).output().ok()?;
    let usage = [usage.stdout, usage.stderr].concat();
    String::from_utf8_lossy(&usage).contains("\n  -r ").then_some(program)
}

/// Runs all in turn; ratios are to the first. `made` is the result of a run, and goes away after it.
fn table(peers: &[Peer], made: Option<&Path>) {
    let mut costs: Vec<Vec<Cost>> = peers.iter().map(|_| Vec::new()).collect();
    for _ in 0..TURNS {
        for (peer, costs) in peers.iter().zip(&mut costs) {
            // dump.f2fs wants its directory to be there.
            if let Some(made) = made.filter(|_| peer.name.contains("dump")) {
                fs::create_dir(made).unwrap();
            }
            costs.push(measure(&peer.words));
            if let Some(made) = made {
                fs::remove_dir_all(made).unwrap();
            }
        }
    }
    let mut first = None;
    for (peer, costs) in peers.iter().zip(costs) {
        let wall = median(costs.iter().map(|cost| cost.wall).collect());
        let processor = median(costs.iter().map(|cost| cost.processor).collect());
        let memory = f64::from(costs.iter().map(|cost| cost.memory_kib).max().unwrap_or(0)) / 1024.0;
        let own = *first.get_or_insert((wall, processor));
        println!(
            "| {} | {wall:.2} | {processor:.2} | {memory:.1} | {:.2} | {:.2} | {} |",
            peer.name,
            own.0 / wall,
            own.1 / processor,
            peer.wanted
        );
    }
}

/// Runs a program that must succeed.
fn measure(words: &[OsString]) -> Cost {
    let before = processor_of_children();
    let start = Instant::now();
    let mut child =
        Command::new(&words[0]).args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let mut memory_kib = 0;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        memory_kib = mounts::most_memory_kib(&child).unwrap_or(0).max(memory_kib);
        sleep(GLANCE);
    };
    let wall = start.elapsed().as_secs_f64();
    assert!(status.success(), "{words:?}: {status}");
    Cost { wall, processor: processor_of_children() - before, memory_kib }
}

/// Processor time of ended children in seconds, of the ticks of 10 ms that the kernel counts.
pub(crate) fn processor_of_children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // User and system time of children are fields 16 and 17, counted from 1; the second is behind the bracket's.
    let ticks: u32 = fields[13..15].iter().map(|field| field.parse::<u32>().unwrap()).sum();
    f64::from(ticks) / 100.0
}
