//! Asynchronous direct writes beside buffered readers: a read after the end of a write returns its bytes.

use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use super::mounting::{Bench, run};

/// Bytes that are written at a time, more than the kernel hands over in one request.
const BYTES: usize = 640 << 10;
const ROUNDS: u8 = 120;

/// A loop device: its driver writes directly and asynchronously; it goes when dropped.
struct Loop {
    device: PathBuf,
}

impl Loop {
    fn on(file: &Path) -> Loop {
        let said = run(Command::new("losetup").args(["--find", "--show", "--direct-io=on"]).arg(file));
        Loop { device: said.trim().into() }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.device).status();
    }
}

/// Writes to the start of `file` again and again, through a loop device, while others read it.
fn compare(file: &Path) {
    let device = Loop::on(file);
    let direct = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).unwrap();
    let disk = OpenOptions::new().write(true).custom_flags(direct).open(&device.device).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let (file, mut bytes) = (File::open(file).unwrap(), vec![0; BYTES]);
                while !done.load(Ordering::Relaxed) {
                    file.read_exact_at(&mut bytes, 0).unwrap();
                }
            });
        }
        let stale = (1..=ROUNDS).find_map(|round| write_and_read(&disk, file, round));
        done.store(true, Ordering::Relaxed);
        assert_eq!(stale, None, "round, byte and what was read there");
    });
}

/// The first wrong byte of a round's bytes when they are read back: the round, the place, and the byte.
fn write_and_read(disk: &File, file: &Path, round: u8) -> Option<(u8, usize, u8)> {
    let mut room = vec![round; BYTES + 4096];
    let start = room.as_ptr().align_offset(4096);
    disk.write_all_at(&room[start..start + BYTES], 0).unwrap();
    let bytes = &mut room[..BYTES];
    File::open(file).unwrap().read_exact_at(bytes, 0).unwrap();
    let wrong = bytes.iter().position(|byte| *byte != round)?;
    Some((round, wrong, bytes[wrong]))
}

#[test]
fn a_file_is_read_as_it_was_written_directly() {
    let Some(mut bench) = Bench::new("64M") else { return };
    bench.mount();
    let file = bench.inside("file");
    fs::write(&file, vec![0; BYTES]).unwrap();
    compare(&file);
    bench.unmount();
    bench.check();
}

#[test]
fn a_logical_disk_is_read_as_it_was_written_directly() {
    let Some(mut bench) = Bench::of_disk(&["--chip", "slc-2k-2g", "--size", "64M"]) else { return };
    bench.mount_disk();
    compare(&bench.inside("disk"));
    bench.unmount();
}
