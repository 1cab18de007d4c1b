//! `cargo bench -p pumice-cli --bench mounts` measures Pumice's mounts, and its F2FS, beside other programs:
//! - a mount of F2FS, beside a pass-through FUSE file system over the tree that the image was made from (libfuse's example
//!   passthrough_ll, built from its Debian package);
//! - `get`, beside `dump.f2fs -r` and `cp -a`;
//! - `fsck -n`, beside fsck.f2fs;
//! - a cold `find -ls` of a mount, beside ext4 on a loop device and the pass-through over that;
//! - `mkfs -t f2fs --from`, beside mkfs.f2fs and sload.f2fs;
//! - a mount of nandfs in a chip container, beside the pass-through on the same file system, tmpfs and the disk.
//!
//! All take turns; each figure is the median. Needs f2fs-tools, e2fsprogs, libfuse3-dev, a C compiler, and root for
//! /dev/fuse and the loop device. `DUMP_F2FS` names a `dump.f2fs` newer than the system's. `-- find files` runs two of
//! the six parts `mount`, `write`, `find`, `files`, `mkfs` and `container`. `write` and `container` also need sqlite3, git and
//! make, and take words of the names of their figures (`-- write SQLite`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

mod changes;
mod containers;
mod figures;
mod files;
mod find;
mod mkfs;
mod mounts;
mod programs;
mod side_by_side;
mod tree;
mod work;

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use figures::FIGURES;
use files::Files;
use mounts::Mount;
use tree::Input;

fn main() {
    // `cargo test --benches` runs it, too, and wants no figures.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let parts: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let runs = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    println!("medians; load before: {}", load().trim());
    if runs("mount") {
        mount_figures();
    }
    if runs("write") {
        println!();
        changes::figures(&parts);
    }
    if runs("find") {
        println!();
        find::figures();
    }
    for count in files::COUNTS.into_iter().filter(|_| runs("files")) {
        println!();
        programs::figures(&Files::find_or_make(count));
    }
    if runs("mkfs") {
        println!();
        mkfs::figures();
    }
    if runs("container") {
        println!();
        containers::figures(&parts);
    }
    println!();
    println!("load after: {}", load().trim());
}

/// The load of the machine.
fn load() -> String {
    fs::read_to_string("/proc/loadavg").unwrap_or_default()
}

fn mount_figures() {
    let input = Input::find_or_make();
    let Some(peer) = mounts::pass_through(&input.folder, &input.tree, &input.tree.join("big")) else {
        println!(
            "SKIPPED: libfuse's passthrough_ll cannot be built: libfuse3-dev and a C compiler are needed"
        );
        return;
    };
    let servers = [mounts::pumice(&input.image), peer];
    println!();
    println!("| mount | pumice | passthrough_ll | ratio | wanted |");
    println!("|---|---|---|---|---|");
    let mut memory = [0, 0];
    for figure in FIGURES {
        let mut rates = [Vec::new(), Vec::new()];
        for _ in 0..figure.turns {
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

fn run(command: &mut Command) {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "{command:?} failed");
}

/// Drops the kernel's cache of a file's content.
fn forget(file: &Path) {
    let file = fs::File::open(file).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
}
