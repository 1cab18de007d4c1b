//! The patience of a test that waits. It is not measured by the clock, which runs as fast on a machine that is busy with
//! something else, but by the work of the process that is waited for.

use std::{
    fs,
    io::{Write, stderr},
    process,
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use crate::environment::fail;

/// Processor time after which a process hangs; the slowest of all takes a hundredth.
const WORK: Duration = Duration::from_secs(60);
/// The limit if nobody works at all: long enough for the busiest machine, against deadlocks alone.
pub const STANDSTILL: Duration = Duration::from_secs(1800);
/// The time between two looks at a case that runs.
const PAUSE: Duration = Duration::from_secs(1);
/// The unit of times in `/proc`, on every machine that Linux runs these tests on.
const TICKS_A_SECOND: u64 = 100;

/// Waits for a process.
pub struct Patience {
    process: Option<u32>,
    worked: Duration,
    begun: Instant,
}

impl Patience {
    /// Patience with the process that does the work; nobody knows one that has gone into the background.
    #[must_use]
    pub fn with(process: Option<u32>) -> Patience {
        Patience { process, worked: worked(process), begun: Instant::now() }
    }

    /// True once the process has worked for a minute, or half an hour has gone by.
    #[must_use]
    pub fn is_over(&self) -> bool {
        worked(self.process).saturating_sub(self.worked) > WORK || self.begun.elapsed() > STANDSTILL
    }
}

/// Processor time of a process and of those that it has waited for; nothing of one that is gone.
fn worked(process: Option<u32>) -> Duration {
    let Some(text) = process.and_then(|id| fs::read_to_string(format!("/proc/{id}/stat")).ok()) else {
        return Duration::ZERO;
    };
    let ticks = ticks(&text).unwrap_or_else(|| fail(&format!("the times of a process in `{text}`")));
    Duration::from_millis(ticks * 1000 / TICKS_A_SECOND)
}

/// The times of a process and of those that it has waited for, in all: fields 12 to 15 behind its name in parentheses,
/// which may hold anything.
fn ticks(stat: &str) -> Option<u64> {
    let (_, behind) = stat.rsplit_once(')')?;
    let mut fields = behind.split_whitespace().skip(11);
    (0..4).map(|_| fields.next()?.parse::<u64>().ok()).sum()
}

/// Runs a case on a thread of its own. One that never ends cannot be stopped: its name is printed, and the test
/// program ends.
///
/// # Errors
///
/// The panic of the case.
pub fn watched<R: Send>(name: &str, case: impl FnOnce() -> R + Send) -> thread::Result<R> {
    let patience = Patience::with(Some(process::id()));
    thread::scope(|scope| {
        let (running, ended) = channel::<()>();
        let case = scope.spawn(move || {
            let _running = running;
            case()
        });
        while ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
            if patience.is_over() {
                // The test runner would keep the output of `eprintln` to itself.
                let _ = writeln!(stderr(), "{name} does not end");
                process::abort();
            }
        }
        case.join()
    })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::{Duration, ticks, watched, worked};

    #[test]
    fn work_is_counted_and_sleep_is_not() {
        let mut shell = Command::new("sh");
        let mut child =
            shell.args(["-c", "read line; while :; do :; done"]).stdin(Stdio::piped()).spawn().unwrap();
        let still = worked(Some(child.id()));
        assert!(still < Duration::from_millis(500), "{still:?}");
        drop(child.stdin.take());
        while worked(Some(child.id())) < Duration::from_millis(500) {
            assert!(child.try_wait().unwrap().is_none());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(worked(Some(child.id())), Duration::ZERO);
    }

    #[test]
    fn times_that_are_not_there_are_no_idleness() {
        assert_eq!(ticks("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 1 20 300 4000 5"), Some(4321));
        assert_eq!(ticks("7 (a) S 1 2 3 4 5 6 7 8 9 10 1 20 300"), None);
        assert_eq!(ticks("7 a"), None);
    }

    #[test]
    fn a_watched_case_ends_with_its_value_or_its_panic() {
        assert_eq!(watched("a case", || 5).unwrap(), 5);
        let panic = watched("a case", || panic!("the canary sings")).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"the canary sings"));
    }
}
