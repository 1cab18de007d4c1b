//! The command, run in a directory of its own.

pub(crate) mod patience;

use std::{
    ffi::OsStr,
    path::PathBuf,
    process::{Command, Stdio},
};

use tempfile::TempDir;

/// A chip small enough for tests.
pub(crate) const CHIP: [&str; 4] = ["--chip", "slc-2k-2g", "--size", "16M"];

/// The results of a run of the command.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// It went well and said nothing on stderr.
    #[track_caller]
    pub(crate) fn good(self) -> String {
        assert!(self.code == 0 && self.err.is_empty(), "{self:?}");
        self.out
    }

    /// It failed with this code and one line that holds every one of `words`.
    #[track_caller]
    pub(crate) fn bad(self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        let [message] = &*self.messages() else { panic!("{self:?}") };
        assert!(!message.ends_with('.'), "{self:?}");
        for word in words {
            assert!(message.contains(word), "no `{word}` in {self:?}");
        }
    }

    /// What it said on stderr, a message for each line: text, or JSON where that was asked for.
    #[track_caller]
    pub(crate) fn messages(&self) -> Vec<String> {
        let message = |line: &str| match line.strip_prefix("pumice: ") {
            Some(message) => message.to_owned(),
            None => document(line, "message")["message"].as_str().unwrap().to_owned(),
        };
        self.err.lines().map(message).collect()
    }
}

/// A directory to work in.
pub(crate) struct World {
    dir: TempDir,
}

impl World {
    pub(crate) fn new() -> World {
        World { dir: tempfile::tempdir().unwrap() }
    }

    /// One with an empty file system in `image`.
    pub(crate) fn formatted() -> World {
        let world = World::new();
        world.run(&[&["mkfs"], &CHIP[..], &["image"]].concat()).good();
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs `pumice` with words.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, words: &[S]) -> Run {
        finish(self.command().args(words))
    }

    /// Runs `pumice` with words that are written in one string, separated by blanks.
    pub(crate) fn say(&self, line: &str) -> Run {
        self.run(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// The command, in this directory.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pumice"));
        command.current_dir(self.dir.path()).stdin(Stdio::null());
        command
    }
}

/// Runs any command to its end.
pub(crate) fn finish(command: &mut Command) -> Run {
    let output = command.output().unwrap();
    Run {
        code: output.status.code().unwrap(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The document a reader printed.
#[track_caller]
pub(crate) fn document(text: &str, schema: &str) -> serde_json::Value {
    let document: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(document["schema"], format!("pumice.{schema}"));
    assert_eq!(document["version"], 1);
    document
}

/// True if this process may mount overlayfs; otherwise a line on stderr says that nothing was tested.
pub(crate) fn can_overlay() -> bool {
    // Where it is a module, and can be loaded.
    let _ = Command::new("modprobe").arg("overlay").stderr(Stdio::null()).status();
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let can = is_root() && known.contains("overlay");
    if !can {
        eprintln!("SKIPPED: only root may mount overlayfs, if the kernel has it, so nothing was tested");
    }
    can
}

pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}
