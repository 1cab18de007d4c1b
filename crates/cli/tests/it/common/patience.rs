//! Waits that last as long as a busy machine needs.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::Duration,
};

use pumice_knobs::Patience;
use rustix::{io::Errno, mount::UnmountFlags};

/// Waits until something has come about.
#[track_caller]
pub(crate) fn wait_for(what: &str, child: Option<&mut Child>, mut done: impl FnMut() -> bool) {
    let mut child = child;
    let patience = Patience::with(child.as_deref().map(Child::id));
    while !done() {
        if let Some(ended) = child.as_mut().and_then(|child| child.try_wait().unwrap()) {
            // It may have come about with its last step.
            assert!(done(), "{what} did not come about: {ended}");
            return;
        }
        assert!(!patience.is_over(), "{what} did not come about");
        sleep(Duration::from_millis(5));
    }
}

/// Unmounts. A process that is being started by another test may hold this one's open files for a moment.
#[track_caller]
pub(crate) fn unmount(place: &Path) {
    let helped = || {
        let mut helper = Command::new("fusermount3");
        helper.arg("-u").arg(place).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    wait_for("an unmount", None, || match rustix::mount::unmount(place, UnmountFlags::empty()) {
        Err(Errno::BUSY) => false,
        Err(Errno::PERM) => helped(),
        done => done.map(|()| true).unwrap(),
    });
}
