//! One run of the machine.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::{Failure, Machine, about, initramfs::Initramfs};

/// A guest that takes longer hangs; on a busy host one takes ten times as long as on an idle one.
const PATIENCE: Duration = Duration::from_secs(1800);
const PAUSE: Duration = Duration::from_millis(50);

/// Memory of a guest, unless another is set.
const MEMORY_MIB: u32 = 768;

/// The kernel's own options. On a busy host its timer may seem not to tick, which would be the end. Its defences and its
/// tests of its own ciphers cost much of an emulated processor's time.
const KERNEL: &str = "console=ttyS0 quiet panic=-1 no_timer_check mitigations=off nokaslr no5lvl init_on_alloc=0 \
    cryptomgr.notests";

/// A machine about to be started: files put in here are in the guest.
pub struct Guest {
    machine: Machine,
    files: Initramfs,
    /// Holds the directory `host`, which the guest has as /host, and QEMU's output.
    place: TempDir,
    disks: Vec<PathBuf>,
    memory_mib: u32,
    counts_instructions: bool,
}

/// The end of a run.
#[derive(Debug)]
pub struct Report {
    /// The script's exit status; `None` if the machine went down before it ended.
    pub status: Option<i32>,
    /// The output of the script, stdout and stderr.
    pub output: String,
    /// The kernel's output to its console.
    pub console: String,
}

impl Report {
    /// The output of the script, if it ended well.
    pub fn good(self) -> Result<String, Failure> {
        if self.status == Some(0) { Ok(self.output) } else { Err(self.to_string().into()) }
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.status {
            Some(status) => writeln!(f, "the script in the guest ended with {status}:")?,
            None => writeln!(f, "the guest went down before its script ended:")?,
        }
        write!(f, "{}--- console:\n{}", self.output, self.console)
    }
}

impl Guest {
    /// A guest with busybox and the kernel's modules (`modprobe` works).
    pub fn new(machine: &Machine) -> Result<Guest, Failure> {
        let files = Initramfs::new(machine)?;
        let place = tempfile::tempdir().map_err(about("a temporary directory"))?;
        fs::create_dir(place.path().join("host")).map_err(about("the shared directory"))?;
        Ok(Guest {
            machine: machine.clone(),
            files,
            place,
            disks: Vec::new(),
            memory_mib: MEMORY_MIB,
            counts_instructions: false,
        })
    }

    /// The directory that the guest sees as /host, both ways.
    pub fn shared(&self) -> PathBuf {
        self.place.path().join("host")
    }

    /// Puts a program of this machine, with the libraries it needs, into the guest's /usr/bin.
    pub fn add_program(&self, program: &Path) -> Result<(), Failure> {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        self.files.add_program(program, &format!("usr/bin/{name}"))
    }

    /// Gives the guest a disk: the first is /dev/vda. Writes to it are in `image` at once.
    pub fn add_disk(&mut self, image: &Path) {
        self.disks.push(image.into());
    }

    /// Gives the guest more or less memory.
    pub fn set_memory(&mut self, mib: u32) {
        self.memory_mib = mib;
    }

    /// Lets the guest's clock count a nanosecond an instruction, and go on at once where the guest has nothing to do: it
    /// knows nothing of the host's load.
    pub fn count_instructions(&mut self) {
        self.counts_instructions = true;
    }

    /// Boots, runs `script` in this machine's sh as root, in an empty directory, and waits for the end. Can be
    /// called again: the guest then boots afresh, with the same disks and the same shared directory.
    pub fn run(&self, script: &str) -> Result<Report, Failure> {
        let shared = self.shared();
        fs::write(shared.join("script"), script).map_err(about("script"))?;
        for name in ["status", "output"] {
            // Left by an earlier run, or not there.
            let _ = fs::remove_file(shared.join(name));
        }
        let archive = self.place.path().join("initramfs");
        self.files.pack(&self.machine.busybox, &archive)?;
        let mut qemu = self.command(&archive).spawn().map_err(about(self.machine.qemu.display()))?;
        let status = wait(&mut qemu)?;
        let text = |path: PathBuf| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        let console = text(self.place.path().join("console"));
        if !status.success() {
            return Err(format!("QEMU: {status}\n{console}\n{}", text(self.place.path().join("qemu"))).into());
        }
        let status = text(shared.join("status")).trim().parse().ok();
        Ok(Report { status, output: text(shared.join("output")), console })
    }

    fn command(&self, archive: &Path) -> Command {
        let mut qemu = Command::new(&self.machine.qemu);
        qemu.args(["-accel", "tcg", "-cpu", "max", "-nodefaults", "-no-user-config", "-display", "none"]);
        qemu.args(["-no-reboot", "-m", &format!("{}M", self.memory_mib)]);
        if self.counts_instructions {
            qemu.args(["-icount", "shift=0,sleep=off"]);
        }
        qemu.arg("-serial").arg(joined("file:", &self.place.path().join("console")));
        qemu.arg("-kernel").arg(&self.machine.kernel).arg("-initrd").arg(archive);
        qemu.args(["-append", KERNEL]);
        let share = joined("local,mount_tag=host,security_model=none,path=", &self.shared());
        qemu.arg("-virtfs").arg(share);
        for image in &self.disks {
            qemu.arg("-drive").arg(joined("if=virtio,format=raw,cache=writeback,file=", image));
        }
        qemu.stdin(Stdio::null()).stdout(Stdio::null());
        match fs::File::create(self.place.path().join("qemu")) {
            Ok(complaints) => qemu.stderr(complaints),
            Err(_) => qemu.stderr(Stdio::null()),
        };
        qemu
    }
}

/// An option of QEMU that ends in a path; a comma in it is doubled.
fn joined(option: &str, path: &Path) -> String {
    format!("{option}{}", path.to_string_lossy().replace(',', ",,"))
}

/// Waits for the end of QEMU, and brings it about if it does not come.
fn wait(qemu: &mut Child) -> Result<ExitStatus, Failure> {
    let give_up = Instant::now() + PATIENCE;
    while Instant::now() < give_up {
        if let Some(status) = qemu.try_wait().map_err(about("QEMU"))? {
            return Ok(status);
        }
        thread::sleep(PAUSE);
    }
    qemu.kill().map_err(about("QEMU"))?;
    qemu.wait().map_err(about("QEMU"))
}
