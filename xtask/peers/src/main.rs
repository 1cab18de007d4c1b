//! `cargo run --release -p xtask-peers`: the workloads of the F2FS paper's figures 3 to 5, of the CFFS paper's table 4 and of
//! the ScaleFFS paper's figures 5 to 9 on Linux's file systems, in QEMU. It prints lines of
//! `crates/lab/src/experiment/peers.csv` and, in braces, of `peers.jsonl`.
//!
//! The disk is the flash memory server's on a simulated chip: it plays the requests that the guest's kernel sent to a disk
//! in its memory. JFFS2 has a chip of its own. The guest's clock counts instructions, so the host's load moves no figure.
//!
//! It needs mkfs.ext4, mkfs.ext2, mkfs.vfat, mkfs.btrfs, mkfs.nilfs2, mkfs.f2fs and addpart, and the packages of
//! `scripts/setup.sh test`. A word selects the file systems or workloads that have it in their names; `--traces DIR` is
//! the place of recorded calls.

mod jffs2;
mod measure;
mod play;
mod trace;

use std::{
    env,
    io::{Write, stderr, stdout},
    path::PathBuf,
    process::ExitCode,
};

use measure::{Line, WORKLOADS, measure};
use pumice_lab::experiment::PeerMap;
use xtask::{Failure, Machine};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// The word by which this program, inside of a guest, plays a workload.
const PLAY: &str = "play";

fn run() -> Result<(), Failure> {
    let mut words: Vec<String> = env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == PLAY) {
        return Ok(play::play(&words[1..])?);
    }
    let mut traces = None;
    if let Some(at) = words.iter().position(|word| word == "--traces") {
        traces = Some(PathBuf::from(words.get(at + 1).ok_or("--traces needs a directory")?));
        words.drain(at..at + 2);
    }
    let machine = Machine::find()?;
    let date = jiff::Timestamp::now().strftime("%F").to_string();
    let linux = format!("(Linux {})", release(&machine));
    let print = |name: &str, x: &str, lines: Vec<Line>| -> Result<(), Failure> {
        for Line { experiment, on, figure, value } in lines {
            let figure = figure.name();
            writeln!(stdout(), "{experiment},{name}{on} {linux},{x},{figure},{value},{date}")?;
        }
        Ok(())
    };
    // One that cannot be measured keeps nobody else from it.
    let mut failures: Vec<String> = Vec::new();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    for workload in WORKLOADS {
        let recorded = workload.recorded.map(|file| traces.as_ref().map(|dir| dir.join(file)));
        let recorded = match recorded {
            // Without the file there is nothing to play.
            Some(None) => continue,
            Some(Some(path)) => Some(path),
            None => None,
        };
        for peer in workload.peers() {
            if !wanted(&format!("{} {}", peer.name, workload.x)) {
                continue;
            }
            match measure(&machine, peer, &workload, recorded.as_deref()) {
                Ok((lines, map)) => {
                    if let Some(map) = map {
                        let file_system = format!("{} {linux}", peer.name);
                        let (experiment, workload) = (workload.experiment.into(), workload.x.into());
                        let map = PeerMap { experiment, file_system, workload, date: date.clone(), map };
                        writeln!(stdout(), "{}", serde_json::to_string(&map)?)?;
                    }
                    print(peer.name, workload.x, lines)?;
                }
                Err(error) => failures.push(format!("{} {linux}, {}: {error}", peer.name, workload.x)),
            }
        }
    }
    for case in jffs2::cases() {
        if wanted(&format!("{} {}", jffs2::NAME, case.experiment)) {
            match jffs2::measure(&machine, &case) {
                Ok(lines) => print(jffs2::NAME, &case.x, lines)?,
                Err(error) => failures.push(format!("{} {linux}, {}: {error}", jffs2::NAME, case.x)),
            }
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

/// The first two numbers of the kernel's version.
fn release(machine: &Machine) -> String {
    machine.version().split('.').take(2).collect::<Vec<_>>().join(".")
}
