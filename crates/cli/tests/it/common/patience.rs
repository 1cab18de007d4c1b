//! The patience of a test that waits for a process. It is not measured by the clock, which runs as fast on a machine
//! that is busy with something else, but by the work of that process.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::{io::Errno, mount::UnmountFlags};

/// Processor time after which a process hangs; the slowest of all takes a hundredth.
const WORK: Duration = Duration::from_secs(60);
/// The limit if nobody works at all: long enough for the busiest machine, against deadlocks alone.
pub(crate) const STANDSTILL: Duration = Duration::from_secs(1800);
/// The unit of times in `/proc`, on every machine that Linux runs these tests on.
const TICKS_A_SECOND: u64 = 100;

/// Waits for a process.
pub(crate) struct Patience {
    process: Option<u32>,
    worked: Duration,
    begun: Instant,
}

impl Patience {
    /// Patience with the process that does the work; nobody knows one that has gone into the background.
    pub(crate) fn with(child: Option<&Child>) -> Patience {
        let process = child.map(Child::id);
        Patience { process, worked: worked(process), begun: Instant::now() }
    }

    pub(crate) fn is_over(&self) -> bool {
        worked(self.process).saturating_sub(self.worked) > WORK || self.begun.elapsed() > STANDSTILL
    }
}

/// Processor time of a process and of those that it has waited for; nothing of one that is gone.
fn worked(process: Option<u32>) -> Duration {
    let Some(text) = process.and_then(|id| fs::read_to_string(format!("/proc/{id}/stat")).ok()) else {
        return Duration::ZERO;
    };
    // Its name, in parentheses, may hold anything. Behind it the times are fields 12 to 15.
    let (_, behind) = text.rsplit_once(')').unwrap();
    let times = behind.split_whitespace().skip(11).take(4);
    let ticks: u64 = times.map(|time| time.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 1000 / TICKS_A_SECOND)
}

/// Waits until something has come about.
#[track_caller]
pub(crate) fn wait_for(what: &str, child: Option<&mut Child>, mut done: impl FnMut() -> bool) {
    let mut child = child;
    let patience = Patience::with(child.as_deref());
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

#[test]
fn work_is_counted_and_sleep_is_not() {
    let mut shell = Command::new("sh");
    let mut child =
        shell.args(["-c", "read line; while :; do :; done"]).stdin(Stdio::piped()).spawn().unwrap();
    let still = worked(Some(child.id()));
    assert!(still < Duration::from_millis(500), "{still:?}");
    drop(child.stdin.take());
    wait_for("half a second of work", None, || worked(Some(child.id())) > Duration::from_millis(500));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(worked(Some(child.id())), Duration::ZERO);
}
