//! `pumice mount`: mounts an image through FUSE.

mod f2fs;

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{Read, Write},
    os::unix::{ffi::OsStrExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use pumice_fuse::{MountOptions, Session, Unmounter};
use pumice_nandfs::Compression;
use pumice_vfs::FileSystem;
use rustix::mount::MountFlags;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

use crate::{
    context::Context,
    failure::{Failure, Outcome, code},
    image::{Access, Volume},
    logger, options,
};

/// The exit code of mount(8) for a wrong command line.
pub(crate) const HELPER_USAGE: u8 = 1;
/// The exit code of mount(8) for a mount that failed.
const HELPER_FAILED: u8 = 32;

fn options_help() -> String {
    let [obeyed, nothing, refused] = f2fs::help();
    format!(
        "Options, separated by commas: ro, rw, remount, allow_other, allow_root, auto_unmount, norecovery, cache=SIZE, \
         patrol=DAYS, compress=none|lz4|zstd:3|..., fsname=NAME, uid=N, gid=N, umask=MODE, suid, dev, noexec, ... Of F2FS: \
         {obeyed}. Accepted, and without effect: {nothing}. Refused: {refused}"
    )
}

/// Mount an image on a directory
///
/// Runs in the foreground until the directory is unmounted (umount, fusermount3 -u) or SIGINT or SIGTERM
/// arrives; then it writes everything and marks the volume clean.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Chip container, /dev/mtdN, or F2FS image or disk
    image: PathBuf,
    #[command(flatten)]
    how: How,
}

/// The place and options of a mount.
#[derive(clap::Args, Debug)]
pub(crate) struct How {
    /// Directory to mount on
    dir: PathBuf,
    #[arg(short, value_name = "OPTIONS", value_delimiter = ',', help = options_help())]
    options: Vec<String>,
    /// Return once mounted, and serve in the background
    #[arg(long)]
    daemon: bool,
    /// Open the image without mounting it
    #[arg(long)]
    dry_run: bool,
    #[arg(skip)]
    role: Role,
}

/// Who runs the verb, which the name of the program tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Role {
    #[default]
    User,
    /// mount(8), which has exit codes of its own.
    Helper,
    /// The background half of `--daemon`, which says `ready` on stdout once it is mounted.
    Background,
}

/// The name that the background half is called by.
pub(crate) const BACKGROUND: &str = "pumice-mounted";

/// The arguments mount(8) gives its helpers, in our words.
pub(crate) fn from_helper(rest: &[OsString]) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["--daemon".into()];
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        match word.as_bytes() {
            b"-r" => words.extend(["-o".into(), "ro".into()]),
            b"-w" => words.extend(["-o".into(), "rw".into()]),
            b"-f" => words.push("--dry-run".into()),
            b"-n" | b"-s" | b"-v" => {}
            b"-t" | b"-N" => {
                rest.next();
            }
            _ => words.push(word.clone()),
        }
    }
    words
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        self.how.run(&self.image, &["mount"], context, Volume::open_to_mount)
    }

    pub(crate) fn how_mut(&mut self) -> &mut How {
        &mut self.how
    }

    /// The exit code of a failure, by the rules of our caller.
    pub(crate) fn exit_code(&self, failed: u8) -> u8 {
        match failed {
            code::USAGE if self.how.role == Role::Helper => HELPER_USAGE,
            code::FAILED if self.how.role == Role::Helper => HELPER_FAILED,
            other => other,
        }
    }
}

impl How {
    pub(crate) fn set_role(&mut self, role: Role) {
        self.role = role;
    }

    /// Mounts `image`, which `verb` opens with `open`.
    pub(crate) fn run(
        &self,
        image: &Path,
        verb: &[&str],
        context: &Context,
        open: impl FnOnce(&Path, Access, &Context) -> Outcome<Volume>,
    ) -> Outcome {
        let (mut options, context, wanted) = self.options(image, context)?;
        if !self.dir.is_dir() {
            let why = if self.dir.exists() { "not a directory" } else { "no such directory" };
            return Err(Failure::new(format!("cannot mount on {}: {why}", self.dir.display())));
        }
        if self.options.iter().any(|word| word == "remount") {
            return self.remount(&options);
        }
        if self.daemon && !self.dry_run {
            return self.start(image, verb, &context);
        }
        let access = Access::write_unless(options.read_only || self.dry_run);
        let volume = open(image, access, &context)?;
        options.read_only |= volume.is_read_only();
        let served = self.serve_as(&volume, &options, &wanted, &context);
        let closed = volume.close();
        let done = served.and(closed);
        if let Err(failure) = &done {
            // Whoever unmounts is told of no error, and nobody reads the stderr of a background process.
            logger::to_system(&failure.to_string());
        }
        done
    }

    /// Serves the volume by these options, and adds repairs to the meter, if there is a patrol.
    fn serve_as(
        &self,
        volume: &Volume,
        options: &MountOptions,
        wanted: &Wanted,
        context: &Context,
    ) -> Outcome {
        if let Some(compression) = wanted.compression
            && !volume.set_compression(compression)?
        {
            return Err(Failure::usage("compress= is for nandfs; leave it out"));
        }
        if let Some(Days(days)) = wanted.patrol
            && !volume.set_patrol_period(u64::from(days) * SECONDS_OF_DAY)?
        {
            return Err(Failure::usage("patrol= is for nandfs and logical disks; leave it out"));
        }
        let before = volume.mended()?;
        if !self.dry_run {
            self.serve(volume, options)?;
        }
        if let Some((before, after)) = before.zip(volume.mended()?) {
            context.meter.mend(after - before);
        }
        Ok(())
    }

    fn options(&self, image: &Path, context: &Context) -> Outcome<(MountOptions, Context, Wanted)> {
        let mut context = context.clone();
        let mut wanted = Wanted::default();
        let source = std::path::absolute(image).unwrap_or_else(|_| image.to_path_buf());
        let mut options = MountOptions::default();
        options.source = source.to_string_lossy().into_owned();
        for word in self.words() {
            if let Some(size) = word.strip_prefix("cache=") {
                let bytes = options::cache_size(size).map_err(Failure::usage)?;
                context.cache_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            } else if let Some(days) = word.strip_prefix("patrol=") {
                wanted.patrol = Some(days.parse().map_err(Failure::usage)?);
            } else if let Some(method) = word.strip_prefix("compress=") {
                let method = method.parse::<Compression>();
                wanted.compression = Some(method.map_err(|error| Failure::usage(error.to_string()))?);
            } else if word == "rw" {
                context.must_write = true;
                options.read_only = false;
            } else if word == "norecovery" {
                context.recover = false;
            } else if word != "remount" && !f2fs::take(&word, &mut context.f2fs).map_err(Failure::usage)? {
                options.apply(&word).map_err(|error| Failure::usage(error.to_string()))?;
            }
        }
        Ok((options, context, wanted))
    }

    /// The options one by one. A comma behind a backslash is part of its option. So is one in a name: a word after
    /// `fsname=` that is no option goes on with it.
    fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for word in &self.options {
            let is_known = || {
                let is_own = OWN.iter().any(|own| word.starts_with(own)) || f2fs::is_option(word);
                is_own || MountOptions::default().apply(word).is_ok()
            };
            match words.last_mut() {
                Some(last) if last.ends_with('\\') => {
                    last.pop();
                    *last = format!("{last},{word}");
                }
                Some(last) if last.starts_with("fsname=") && !is_known() => *last = format!("{last},{word}"),
                _ => words.push(word.clone()),
            }
        }
        words
    }

    /// Changes the accesses that the kernel lets through; the file system behind it goes on as it is.
    fn remount(&self, options: &MountOptions) -> Outcome {
        let shown = self.dir.display();
        let place = self.dir.canonicalize().map_err(|error| Failure::host(&self.dir, &error))?;
        let flags =
            mount_flags(&place).ok_or_else(|| Failure::new(format!("{shown}: no mount of pumice")))?;
        let read_only = if options.read_only { MountFlags::RDONLY } else { MountFlags::empty() };
        if self.dry_run {
            return Ok(());
        }
        rustix::mount::mount_remount(&place, flags | read_only, c"")
            .map_err(|error| Failure::host(&self.dir, &error.into()))
    }

    fn serve(&self, volume: &Volume, options: &MountOptions) -> Outcome {
        let broken = |error: std::io::Error| Failure::new(format!("cannot catch signals: {error}"));
        // Before the mount, so that no signal can come between the two and leave it behind.
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(broken)?;
        let failed = |error: pumice_fuse::MountError| Failure::new(error.to_string());
        let session = pumice_fuse::mount(volume.shared(), &self.dir, options).map_err(failed)?;
        if self.role == Role::Background {
            detach()?;
        }
        wait(session, signals).map_err(failed)
    }

    /// Starts this program again in the background and waits until it has mounted or failed.
    fn start(&self, image: &Path, verb: &[&str], context: &Context) -> Outcome {
        let program =
            std::env::current_exe().map_err(|error| Failure::host(Path::new("/proc/self/exe"), &error))?;
        let mut command = Command::new(&program);
        command.arg0(BACKGROUND).arg(format!("--cache={}", context.cache_bytes));
        for path in &context.key_files {
            command.arg("--key-file").arg(absolute(path)?);
        }
        if !context.recover {
            command.arg("--no-recovery");
        }
        command.args(verb);
        if !self.options.is_empty() {
            command.arg("-o").arg(self.options.join(","));
        }
        command.arg("--").arg(absolute(image)?).arg(absolute(&self.dir)?);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| Failure::host(&program, &error))?;
        let mut word = String::new();
        if let Some(stdout) = &mut child.stdout {
            // A child that dies says nothing; its own words on stderr count then.
            let _ = stdout.read_to_string(&mut word);
        }
        // Warnings, if it has mounted: it closes the stream then.
        let mut complaint = String::new();
        if let Some(stderr) = &mut child.stderr {
            let _ = stderr.read_to_string(&mut complaint);
        }
        if word == READY {
            complaint.lines().for_each(|line| crate::message::complain(line.trim_start_matches("pumice: ")));
            return Ok(());
        }
        // Reaped, so that nothing is left of it; what it said tells more than its code.
        let _ = child.wait();
        let complaint = complaint.trim().trim_start_matches("pumice: ").to_owned();
        Err(Failure::new(if complaint.is_empty() { "the background process died".into() } else { complaint }))
    }
}

/// Options that are for no kernel, besides those of F2FS.
const OWN: [&str; 5] = ["cache=", "patrol=", "compress=", "norecovery", "remount"];

/// The options of a mount for a volume of ours.
#[derive(Clone, Copy, Default)]
struct Wanted {
    patrol: Option<Days>,
    compression: Option<Compression>,
}

/// Days in which all that lives is read once; 0 never.
#[derive(Clone, Copy)]
struct Days(u32);

/// Nobody patrols less often than in ten years.
const DAYS_MOST: u32 = 3650;
const SECONDS_OF_DAY: u64 = 24 * 3600;

impl std::str::FromStr for Days {
    type Err = String;

    fn from_str(text: &str) -> Result<Days, String> {
        let days = text.parse().ok().filter(|days| *days <= DAYS_MOST);
        days.map(Days).ok_or_else(|| format!("invalid patrol `{text}` (want 0 to {DAYS_MOST} days)"))
    }
}

/// The kernel's flags of our mount on `place`, but for whether it can be written to.
fn mount_flags(place: &Path) -> Option<MountFlags> {
    let words = pumice_fuse::mount_options(place)?;
    let flags = words.iter().filter_map(|word| {
        Some(match word.as_str() {
            "nosuid" => MountFlags::NOSUID,
            "nodev" => MountFlags::NODEV,
            "noexec" => MountFlags::NOEXEC,
            "noatime" => MountFlags::NOATIME,
            "relatime" => MountFlags::RELATIME,
            _ => return None,
        })
    });
    Some(flags.fold(MountFlags::empty(), MountFlags::union))
}

/// The word of the background half once it has mounted.
const READY: &str = "ready";

/// Tells the parent, and leaves its terminal, its directory and its streams.
fn detach() -> Outcome {
    let failed = |what: &str, error: &dyn std::fmt::Display| Failure::new(format!("{what}: {error}"));
    // Fails only for a group leader, who has no terminal to lose then.
    let _ = rustix::process::setsid();
    std::env::set_current_dir("/").map_err(|error| failed("cannot leave the directory", &error))?;
    logger::to_system_log();
    let mut stdout = std::io::stdout();
    let said = stdout.write_all(READY.as_bytes()).and_then(|()| stdout.flush());
    said.map_err(|error| failed("cannot tell that it is mounted", &error))?;
    let null = File::options().read(true).write(true).open("/dev/null");
    let null = null.map_err(|error| failed("cannot open /dev/null", &error))?;
    rustix::stdio::dup2_stdout(&null).map_err(|error| failed("cannot close stdout", &error))?;
    rustix::stdio::dup2_stderr(&null).map_err(|error| failed("cannot close stderr", &error))
}

/// Waits for the end of the session, and lets a signal bring it about.
fn wait<F: FileSystem + Send + Sync + ?Sized>(
    session: Session<F>,
    mut signals: Signals,
) -> Result<(), pumice_fuse::MountError> {
    let unmounter: Unmounter = session.unmounter();
    let handle = signals.handle();
    let catcher = std::thread::spawn(move || {
        for _ in signals.forever() {
            unmounter.unmount();
        }
    });
    let result = session.wait();
    handle.close();
    // It has nothing to return, and a panic in it was reported already.
    let _ = catcher.join();
    result
}

fn absolute(path: &Path) -> Outcome<OsString> {
    let full = std::path::absolute(path).map_err(|error| Failure::host(path, &error))?;
    Ok(OsStr::to_owned(full.as_os_str()))
}
