//! `cargo run -p xtask-peers`: the workloads of the F2FS paper's figures 3 to 5 and of the CFFS paper's table 4 on
//! Linux's file systems. They run on a disk of the flash memory server on a simulated chip, in QEMU. It prints lines of
//! `crates/lab/src/experiment/peers.csv` and, in braces, of `peers.jsonl`; takes an hour.
//!
//! It needs mkfs.ext4, mkfs.ext2, mkfs.vfat, mkfs.btrfs, mkfs.nilfs2 and mkfs.f2fs, and the packages of
//! `scripts/setup.sh test`. A word selects the file systems or workloads that have it in their names; `--traces DIR` is
//! the place of recorded calls.

mod measure;
mod nbd;

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

fn run() -> Result<(), Failure> {
    let mut words: Vec<String> = env::args().skip(1).collect();
    let mut traces = None;
    if let Some(at) = words.iter().position(|word| word == "--traces") {
        traces = Some(PathBuf::from(words.get(at + 1).ok_or("--traces needs a directory")?));
        words.drain(at..at + 2);
    }
    let machine = Machine::find()?;
    let date = jiff::Timestamp::now().strftime("%F").to_string();
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
            let linux = format!("(Linux {})", release(&machine));
            match measure(&machine, peer, &workload, recorded.as_deref()) {
                Ok((lines, map)) => {
                    if let Some(map) = map {
                        let (experiment, file_system) =
                            (workload.experiment.to_owned(), format!("{} {linux}", peer.name));
                        let (workload, date) = (workload.x.to_owned(), date.clone());
                        let map = PeerMap { experiment, file_system, workload, date, map };
                        writeln!(stdout(), "{}", serde_json::to_string(&map)?)?;
                    }
                    for Line { experiment, on, figure, value } in lines {
                        let (name, x, figure) = (peer.name, workload.x, figure.name());
                        writeln!(stdout(), "{experiment},{name}{on} {linux},{x},{figure},{value},{date}")?;
                    }
                }
                Err(error) => failures.push(format!("{} {linux}, {}: {error}", peer.name, workload.x)),
            }
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

/// The first two numbers of the kernel's version.
fn release(machine: &Machine) -> String {
    machine.version().split('.').take(2).collect::<Vec<_>>().join(".")
}
