//! Work in equal pieces, done by several threads.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// Does jobs 0 to `jobs` - 1 on `threads` threads, each with a worker of its own, and gives back the workers.
///
/// A worker takes the next job when it has done one, so that uneven jobs even out.
pub(super) fn share<W: Send>(
    threads: usize,
    jobs: usize,
    new: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, usize) + Sync,
) -> Vec<W> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut worker = new();
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= jobs {
                return worker;
            }
            work(&mut worker, job);
        }
    };
    let others = threads.min(jobs).saturating_sub(1);
    thread::scope(|scope| {
        let handles: Vec<_> = (0..others).map(|_| scope.spawn(run)).collect();
        let mut workers = vec![run()];
        workers.extend(handles.into_iter().filter_map(|handle| handle.join().ok()));
        workers
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_done_once() {
        for threads in [1, 2, 5] {
            let workers = share(threads, 100, Vec::new, |done: &mut Vec<usize>, job| done.push(job));
            assert!(workers.len() <= threads);
            let mut all = workers.concat();
            all.sort_unstable();
            assert_eq!(all, (0..100).collect::<Vec<_>>());
        }
        assert_eq!(share(4, 0, || 1, |_, _| ()), [1]);
    }
}
