//! Plays a workload of the laboratory on a directory: `guest-play WORKLOAD DIR BEGIN END [RECORDED]`. When all is prepared and
//! when all is done, everything is on the disk and in no cache; then a file is made, BEGIN or END, and waited for until somebody
//! has removed it.

mod directory;

use std::{
    env, fs,
    io::{Write, stderr},
    path::Path,
    process::ExitCode,
    thread,
    time::Duration,
};

use directory::Directory;
use pumice_lab::{LabError, files::Script};

const PAUSE: Duration = Duration::from_millis(5);
/// The seed of all draws, as of the first run of the laboratory.
const SEED: u64 = 1;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        [script, dir, begin, end] => play(script, dir, [begin, end], None),
        [script, dir, begin, end, recorded] => play(script, dir, [begin, end], Some(Path::new(recorded))),
        _ => Err(LabError::Setup("usage: guest-play WORKLOAD DIR BEGIN END [RECORDED]".into())),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(stderr(), "guest-play: {error}");
            ExitCode::FAILURE
        }
    }
}

fn play(script: &str, dir: &str, [begin, end]: [&str; 2], recorded: Option<&Path>) -> Result<(), LabError> {
    let fs = Directory::new(dir);
    let work = script.parse::<Script>()?.prepare(&fs, recorded, SEED)?;
    mark(begin)?;
    work()?;
    mark(end)
}

fn mark(name: &str) -> Result<(), LabError> {
    let failed = |error| LabError::File { path: name.into(), error };
    rustix::fs::sync();
    fs::write("/proc/sys/vm/drop_caches", "3").map_err(failed)?;
    // The one that waits for it may remove it at once: it has to be whole when it gets its name.
    let new = format!("{name}.new");
    fs::write(&new, "").and_then(|()| fs::rename(&new, name)).map_err(failed)?;
    while Path::new(name).exists() {
        thread::sleep(PAUSE);
    }
    Ok(())
}
