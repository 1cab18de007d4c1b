//! Runs in a guest: the work that no tool of Debian does.
//!
//! ```text
//! guest-control key MOUNT HEX [DESCRIPTOR]    give a file system a key; says the name that policies have for it
//! guest-control policy DIR CONTENTS NAMES FLAGS NAME    encrypt the later contents of an empty directory
//! guest-control socket PATH           make a socket
//! guest-control rename FROM TO        move a name, and nothing else where that cannot be
//! guest-control pace DIR STAT ROUNDS    fill 85 % with files of 16 KiB, then make one with fsync and remove the oldest, so often;
//!                                     says the most sectors that one call wrote, by a disk's counters, and all of them
//! guest-control clean MOUNT START END STEP    have F2FS clean each section of its main area; says how many it did
//! ```

mod control;
mod pace;
mod words;

use std::{
    fmt::Write as _,
    fs::File,
    io::{Write, stdout},
    os::unix::net::UnixListener,
    path::Path,
    process::ExitCode,
};

use words::Outcome;

fn main() -> ExitCode {
    words::run("guest-control", run)
}

fn run(words: &[&str]) -> Outcome {
    match words {
        ["key", mount, key] => {
            let identifier = control::add_key(&File::open(mount)?, None, &bytes(key)?)?;
            Ok(writeln!(stdout(), "{}", hex(&identifier))?)
        }
        ["key", mount, key, descriptor] => {
            let name = <[u8; 8]>::try_from(bytes(descriptor)?.as_slice())?;
            control::add_key(&File::open(mount)?, Some(name), &bytes(key)?)?;
            Ok(writeln!(stdout(), "{descriptor}")?)
        }
        ["policy", dir, contents, names, flags, name] => {
            let (contents, names, flags) = (contents.parse()?, names.parse()?, flags.parse()?);
            Ok(control::set_policy(&File::open(dir)?, contents, names, flags, &bytes(name)?)?)
        }
        ["clean", mount, start, end, step] => {
            let (start, end, step): (u64, u64, usize) = (start.parse()?, end.parse()?, step.parse()?);
            let mount = File::open(mount)?;
            let mut cleaned = 0;
            for block in (start..end).step_by(step) {
                cleaned += u32::from(control::clean(&mount, block));
                // Only a checkpoint frees moved blocks, and without free segments the kernel goes down.
                mount.sync_all()?;
            }
            Ok(writeln!(stdout(), "{cleaned}")?)
        }
        ["pace", dir, stat, rounds] => {
            let (most, all) = pace::sectors_of_calls(Path::new(dir), Path::new(stat), rounds.parse()?)?;
            Ok(writeln!(stdout(), "{most} {all}")?)
        }
        ["rename", from, to] => Ok(std::fs::rename(from, to)?),
        ["socket", path] => Ok(UnixListener::bind(path).map(drop)?),
        _ => Err("no such verb, or not its arguments".into()),
    }
}

fn bytes(hex: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let pair = |at| hex.get(at..at + 2).ok_or("odd number of digits");
    (0..hex.len()).step_by(2).map(|at| Ok(u8::from_str_radix(pair(at)?, 16)?)).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
