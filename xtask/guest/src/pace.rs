//! The writes of one call on a volume that is nearly full.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use rustix::fs::statvfs;

const FILE: [u8; 16 << 10] = [0; 16 << 10];

/// Fills a volume to 85 % with files of 16 KiB; then makes one with fsync and removes the oldest, `rounds` times. Returns the most sectors
/// of 512 bytes that one call wrote, by the counters in `stat`, and all that were written.
pub(crate) fn sectors_of_calls(dir: &Path, stat: &Path, rounds: u32) -> io::Result<(u64, u64)> {
    let name = |number: u32| dir.join(number.to_string());
    let free = statvfs(dir)?.f_bavail;
    let mut count = 0;
    while statvfs(dir)?.f_bavail > free * 15 / 100 {
        fs::write(name(count), FILE)?;
        count += 1;
    }
    rustix::fs::sync();
    let (mut before, mut most, mut all) = (written(stat)?, 0, 0);
    let mut note = || {
        let now = written(stat)?;
        most = most.max(now - before);
        all += now - before;
        before = now;
        Ok::<(), io::Error>(())
    };
    for number in 0..rounds {
        let mut file = File::create(name(count + number))?;
        note()?;
        file.write_all(&FILE)?;
        note()?;
        file.sync_all()?;
        note()?;
        drop(file);
        fs::remove_file(name(number))?;
        note()?;
    }
    Ok((most, all))
}

/// Sectors written so far: the seventh counter of a disk's.
fn written(stat: &Path) -> io::Result<u64> {
    let text = fs::read_to_string(stat)?;
    let field = text.split_whitespace().nth(6).and_then(|field| field.parse().ok());
    field.ok_or_else(|| io::Error::other(format!("no seventh counter in {text:?}")))
}
