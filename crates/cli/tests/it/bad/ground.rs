//! Running the command on bad input: with an eye on its work, its messages, and its leftovers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::Read,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
    process::{Command, ExitStatus},
    sync::Mutex,
    time::Duration,
};

use pumice_knobs::Patience;

use crate::common::{Run, World};

/// Runs a command to its end, or to the end of all patience.
pub(crate) fn run(mut command: Command) -> Run {
    let [mut out, mut err] = [0, 1].map(|_| tempfile::tempfile().unwrap());
    command.stdout(out.try_clone().unwrap()).stderr(err.try_clone().unwrap());
    let status = patiently(&mut command);
    Run { code: code(status), out: text(&mut out), err: text(&mut err) }
}

/// Waits for a command; one that hangs ends here, and the test with it.
pub(crate) fn patiently(command: &mut Command) -> ExitStatus {
    let mut child = command.spawn().unwrap();
    let patience = Patience::with(Some(child.id()));
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if patience.is_over() {
            // With a chance to unmount.
            let id = rustix::process::Pid::from_child(&child);
            rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
            std::thread::sleep(Duration::from_secs(3));
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("hangs: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The exit code, or the signal as shells count it.
pub(crate) fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap())
}

fn text(file: &mut File) -> String {
    use std::io::Seek;
    file.rewind().unwrap();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The list of faults; all of a table is tried before anybody is told.
#[derive(Default)]
pub(crate) struct Ledger {
    faults: Mutex<Vec<String>>,
}

impl Ledger {
    /// Runs words that are written in one string, and wants one of these exit codes, no output, and one line in the
    /// manner of this command that holds each of `says`.
    pub(crate) fn refuses(&self, world: &World, line: &str, codes: &[i32], says: &[&str]) {
        let mut command = world.command();
        command.args(line.split_whitespace());
        self.refuses_command(command, codes, says);
    }

    pub(crate) fn refuses_command(&self, command: Command, codes: &[i32], says: &[&str]) {
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        let run = run(command);
        let said = &run.err;
        // One that asks for JSON is told in JSON, one that misspells that is told in words.
        let is_json = words.iter().any(|word| word == "--json");
        let start =
            if is_json { r#"{"schema":"pumice.message","version":1,"message":""# } else { "pumice: " };
        let is_one_line = said.lines().count() == 1 && said.starts_with(start) && said.len() < 700;
        let is_clear = !said.trim_end().ends_with('.') && !said.contains("panic");
        let is_right =
            codes.contains(&run.code) && run.out.is_empty() && says.iter().all(|word| said.contains(word));
        if !(is_one_line && is_clear && is_right) {
            self.note(format!("pumice {}: want {codes:?} and {says:?}: {run:?}", words.join(" ")));
        }
    }

    /// Notes the changes of `line` in the directory, but for the file `but`.
    pub(crate) fn unchanged(&self, world: &World, before: &mut Snapshot, line: &str, but: &str) {
        let after = snapshot(&world.path("."));
        let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        let is_changed = |name: &&&String| !name.ends_with(but) && before.get(**name) != after.get(**name);
        let changed: Vec<_> = names.iter().filter(is_changed).collect();
        if !changed.is_empty() {
            self.note(format!("pumice {line}: changed {changed:?}"));
        }
        *before = after;
    }

    pub(crate) fn note(&self, fault: String) {
        self.faults.lock().unwrap().push(fault);
    }

    /// Fails if anything was noted.
    #[track_caller]
    pub(crate) fn close(self) {
        let faults = self.faults.into_inner().unwrap();
        assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    }
}

/// Kind, length and time of last change of each name.
pub(crate) type Snapshot = BTreeMap<String, (String, u64, i64, i64)>;

/// The entries of a directory and all below it: kind, length and time of last change of each name.
pub(crate) fn snapshot(dir: &Path) -> Snapshot {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let kind = meta.file_type();
        let length = if kind.is_file() { meta.len() } else { 0 };
        let changed = if kind.is_fifo() { (0, 0) } else { (meta.mtime(), meta.mtime_nsec()) };
        let name = path.to_string_lossy().into_owned();
        found.insert(name, (format!("{kind:?}"), length, changed.0, changed.1));
        if kind.is_dir() {
            found.extend(snapshot(&path));
        }
    }
    found
}
