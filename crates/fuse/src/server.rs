//! The threads that serve a mount, and unmounting when they end.

use std::{io, mem, os::fd::AsFd, os::fd::OwnedFd};

use fuser::{BackgroundSession, Filesystem, Session};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The reason why a session ends.
pub(crate) enum Event {
    /// The threads have stopped serving.
    Ended,
    /// The mount point was unmounted.
    Unmounted,
}

/// A session being served.
pub(crate) struct Server {
    session: BackgroundSession,
    /// fuser's session.
    device: OwnedFd,
}

impl Server {
    pub(crate) fn start<F: Filesystem + Send + 'static>(session: Session<F>) -> io::Result<Server> {
        let device = session.as_fd().try_clone_to_owned()?;
        Ok(Server { session: session.spawn()?, device })
    }

    /// Unmounts and waits for the threads; fails if the mount is in use.
    pub(crate) fn unmount(self) -> io::Result<()> {
        self.finish(BackgroundSession::umount_and_join)
    }

    /// Waits for the threads, and unmounts if that has not been done.
    pub(crate) fn join(self) -> io::Result<()> {
        self.finish(BackgroundSession::join)
    }

    /// A session that lost its mount is left as it is: fuser 0.18 takes it for mounted, and would unmount by its path,
    /// which somebody else may have mounted since.
    fn finish(self, end: fn(BackgroundSession) -> io::Result<()>) -> io::Result<()> {
        if self.is_mounted() {
            return end(self.session);
        }
        mem::forget(self.session);
        Ok(())
    }

    /// The kernel reports an error on the device once the mount is gone.
    fn is_mounted(&self) -> bool {
        let mut device = [PollFd::new(&self.device, PollFlags::empty())];
        let polled = poll(&mut device, Some(&Timespec::default()));
        polled.is_ok() && device.iter().all(|device| !device.revents().contains(PollFlags::ERR))
    }
}
