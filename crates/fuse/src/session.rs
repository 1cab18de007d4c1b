//! Mounting, serving and unmounting.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};

use fuser::Config;
use parking_lot::Mutex;
use pumice_vfs::FileSystem;

use crate::{
    MountError, MountOptions,
    front::Front,
    idle::Idle,
    server::{Event, Server},
    table::Mount,
    volume::Volume,
};

/// The time that requests in progress get after the mount point is gone.
const GRACE: Duration = Duration::from_secs(3);

/// A mounted file system; see [`mount`].
pub struct Session<F: FileSystem + Send + Sync + ?Sized + 'static> {
    volume: Arc<Volume<F>>,
    idle: Idle,
    events: Receiver<Event>,
    unmounter: Unmounter,
}

/// Ends a session from any thread.
#[derive(Clone)]
pub struct Unmounter {
    mountpoint: PathBuf,
    server: Arc<Mutex<Option<Server>>>,
    events: Sender<Event>,
}

/// Mounts `fs` on the directory `mountpoint` and serves it on threads of its own. Root calls mount(2);
/// others need `fusermount3`.
pub fn mount<F: FileSystem + Send + Sync + ?Sized + 'static>(
    fs: Arc<F>,
    mountpoint: &Path,
    options: &MountOptions,
) -> Result<Session<F>, MountError> {
    let mountpoint = checked_mountpoint(mountpoint)?;
    fs::OpenOptions::new().read(true).write(true).open("/dev/fuse").map_err(MountError::NoFuse)?;
    let volume = Arc::new(Volume::new(fs));
    let mut config = Config::default();
    config.mount_options = options.to_fuser();
    config.acl = options.acl();
    // One more than can run, so that one is ready for the next request; each with a queue of its own.
    config.n_threads = Some(std::thread::available_parallelism().map_or(2, |n| n.get().min(4) + 1));
    config.clone_fd = true;
    let (sender, events) = channel();
    let front = Front::new(volume.clone(), options, sender.clone());
    let session = fuser::Session::new(front, &mountpoint, &config)
        .map_err(|error| MountError::Refused(mountpoint.clone(), one_line(&error)))?;
    if let Some(mount) = Mount::on(&mountpoint) {
        volume.mounted(mount);
    }
    let server = Arc::new(Mutex::new(Some(Server::start(session).map_err(MountError::Session)?)));
    let unmounter = Unmounter { mountpoint, server, events: sender };
    let idle = Idle::start(volume.clone()).map_err(MountError::Session)?;
    Ok(Session { volume, idle, events, unmounter })
}

impl<F: FileSystem + Send + Sync + ?Sized + 'static> Session<F> {
    /// A handle that ends the session.
    pub fn unmounter(&self) -> Unmounter {
        self.unmounter.clone()
    }

    /// Waits until the mount has ended: by [`Unmounter::unmount`], umount(8) or fusermount3. Afterwards the caller's
    /// `Arc` is the only one left, so that it can close the file system.
    pub fn wait(self) -> Result<(), MountError> {
        if let Ok(Event::Unmounted) = self.events.recv() {
            // Files may still be open. Programs that hold them get errors from now on.
            let _ = self.events.recv_timeout(GRACE);
        }
        let result = self.unmounter.server.lock().take().map_or(Ok(()), Server::join);
        drop(self.idle);
        self.volume.close();
        result.map_err(MountError::Session)
    }
}

impl Unmounter {
    /// Unmounts. If files are still open, the mount point is detached at once and the session ends a few seconds
    /// later.
    pub fn unmount(&self) {
        if let Some(server) = self.server.lock().take()
            && let Err(error) = server.unmount()
        {
            log::warn!("{} is in use ({error}); detached", self.mountpoint.display());
            self.detach();
        }
        // Nobody listens if the session has ended by itself.
        let _ = self.events.send(Event::Unmounted);
    }

    fn detach(&self) {
        if rustix::mount::unmount(&self.mountpoint, rustix::mount::UnmountFlags::DETACH).is_ok() {
            return;
        }
        let status = Command::new("fusermount3")
            .args(["-u", "-q", "-z", "--"])
            .arg(&self.mountpoint)
            .stdin(Stdio::null())
            .status();
        if !status.is_ok_and(|status| status.success()) {
            log::error!("{} cannot be unmounted", self.mountpoint.display());
        }
    }
}

/// The mount point as an absolute path without links; it must be a directory.
fn checked_mountpoint(path: &Path) -> Result<PathBuf, MountError> {
    let refuse = |error| MountError::Mountpoint(path.into(), error);
    let full = fs::canonicalize(path).map_err(refuse)?;
    let found = fs::metadata(&full).map_err(refuse)?;
    if !found.is_dir() || found.nlink() == 0 {
        return Err(refuse(io::Error::from(io::ErrorKind::NotADirectory)));
    }
    Ok(full)
}

fn one_line(error: &io::Error) -> String {
    let text = error.to_string();
    text.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}
