//! fsx: one file, every way to change it, each read compared.

use std::{fs, process::Command};

use pumice_knobs::CLI_FILES;

use super::mounting::{Bench, said, tool};

const SEED: u64 = 20_260_101;
const OPERATIONS: u64 = 30_000;
/// Fewer on F2FS, where each fsync is a checkpoint.
const OPERATIONS_F2FS: u64 = 8_000;

/// Every operation fsx has. Lengths of 0 are left out: fallocate(2) refuses them on every file system.
const CONFIGURATION: &str = "
flen = 262144

[opsize]
min = 1
max = 65536

[weights]
close_open = 1
read = 10
write = 10
mapread = 10
mapwrite = 10
invalidate = 1
truncate = 5
fsync = 1
fdatasync = 1
posix_fallocate = 5
punch_hole = 5
sendfile = 3
posix_fadvise = 1
copy_file_range = 3
";

#[test]
fn fsx_reads_what_it_wrote() {
    if let Some(bench) = Bench::new("64M") {
        fsx(bench, OPERATIONS);
    }
}

#[test]
fn fsx_reads_what_it_wrote_to_f2fs() {
    if let Some(bench) = Bench::of_f2fs("128M") {
        fsx(bench, OPERATIONS_F2FS);
    }
}

fn fsx(mut bench: Bench, operations: u64) {
    let (seed, operations) = (CLI_FILES.first_seed(SEED), CLI_FILES.count().unwrap_or(operations));
    bench.mount();
    let configuration = bench.path("fsx.toml");
    fs::write(&configuration, CONFIGURATION).unwrap();
    let mut command = Command::new(tool("fsx"));
    command.arg("-f").arg(&configuration).arg("-P").arg(bench.path("."));
    command.args(["-S", &seed.to_string(), "-N", &operations.to_string()]).arg(bench.inside("file"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "PUMICE_SEED={seed}: {}", said(&output));
    bench.unmount();
    bench.check();
    CLI_FILES.ran(seed..seed + 1, operations);
}
