//! Plays a workload of the laboratory on a directory, inside the guest. When all is prepared and when all is done, everything
//! is on the disk and in no cache; then a mark goes into the kernel's trace.

mod directory;

use std::{fs, io::Write, path::Path};

use directory::Directory;
use pumice_lab::{LabError, files::Script};

/// The seed of all draws, as of the first run of the laboratory.
const SEED: u64 = 1;

/// Marks in the trace.
pub(crate) const BEGIN: &str = "begin";
pub(crate) const END: &str = "end";

/// Plays it: `WORKLOAD DIR MARKER [RECORDED]`.
pub(crate) fn play(words: &[String]) -> Result<(), LabError> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (script, dir, marker, recorded) = match words[..] {
        [script, dir, marker] => (script, dir, marker, None),
        [script, dir, marker, recorded] => (script, dir, marker, Some(Path::new(recorded))),
        _ => return Err(LabError::Setup("usage: play WORKLOAD DIR MARKER [RECORDED]".into())),
    };
    let fs = Directory::new(dir);
    let work = script.parse::<Script>()?.prepare(&fs, recorded, SEED)?;
    mark(marker, BEGIN)?;
    work()?;
    mark(marker, END)
}

fn mark(marker: &str, word: &str) -> Result<(), LabError> {
    let failed = |path: &str, error| LabError::File { path: path.into(), error };
    let caches = "/proc/sys/vm/drop_caches";
    rustix::fs::sync();
    fs::write(caches, "3").map_err(|error| failed(caches, error))?;
    let mut file = fs::File::options().write(true).open(marker).map_err(|error| failed(marker, error))?;
    file.write_all(word.as_bytes()).map_err(|error| failed(marker, error))
}
