//! The two servers: this one, and the pass-through.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::Duration,
};

use tempfile::TempDir;

pub(crate) const PUMICE: &str = env!("CARGO_BIN_EXE_pumice");
/// The place of the examples in Debian's libfuse3-dev.
const EXAMPLE: &str = "/usr/share/doc/libfuse3-dev/examples/passthrough_ll.c";

/// A program that serves a mount in the foreground; the directory comes last.
pub(crate) struct Server {
    words: Vec<OsString>,
    /// The source of the big file's content.
    pub(crate) source: PathBuf,
}

pub(crate) fn pumice(image: &Path) -> Server {
    let words = vec![PUMICE.into(), "mount".into(), image.into()];
    Server { words, source: image.into() }
}

/// The same, to be written to, with these options of a mount.
pub(crate) fn pumice_to_write(image: &Path, options: &str) -> Server {
    let words = vec![PUMICE.into(), "mount".into(), "-o".into(), options.into(), image.into()];
    Server { words, source: image.into() }
}

/// libfuse's example over a tree, with its bytes from `content`, built in `folder`; `None` if it cannot be.
pub(crate) fn pass_through(folder: &Path, tree: &Path, content: &Path) -> Option<Server> {
    let program = folder.join("passthrough_ll");
    let flags = Command::new("pkg-config").args(["--cflags", "--libs", "fuse3"]).output().ok()?.stdout;
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-w", EXAMPLE, "-o"]).arg(&program);
    compiler.args(String::from_utf8(flags).ok()?.split_whitespace());
    compiler.status().ok().filter(std::process::ExitStatus::success)?;
    let source = format!("source={}", tree.display());
    let words = vec![program.into(), "-f".into(), "-o".into(), source.into()];
    Some(Server { words, source: content.into() })
}

/// The most memory that a program had so far; `None` once it has ended.
pub(crate) fn most_memory_kib(program: &Child) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{}/status", program.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// A mount, until it is dropped.
pub(crate) struct Mount {
    server: Child,
    dir: TempDir,
}

impl Mount {
    pub(crate) fn new(server: &Server) -> Mount {
        let dir = tempfile::tempdir().unwrap();
        let before = fs::metadata(dir.path()).unwrap().dev();
        let child = Command::new(&server.words[0])
            .args(&server.words[1..])
            .arg(dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while fs::metadata(dir.path()).unwrap().dev() == before {
            sleep(Duration::from_millis(2));
        }
        Mount { server: child, dir }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Processor time of the server so far in seconds, of the ticks of 10 ms that the kernel counts.
    pub(crate) fn processor(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.server.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        f64::from(fields[11..13].iter().map(|field| field.parse::<u32>().unwrap()).sum::<u32>()) / 100.0
    }

    /// The most memory that the server had.
    pub(crate) fn memory_kib(&self) -> u32 {
        most_memory_kib(&self.server).unwrap()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // The file read last may still be busy for a moment.
        while !Command::new("umount").arg(self.dir.path()).status().unwrap().success() {
            sleep(Duration::from_millis(50));
        }
        self.server.wait().unwrap();
    }
}
