//! Many runs on all cores.

use std::{
    collections::BTreeMap,
    num::NonZero,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use super::{Planned, Progress, Record, simulate::run};
use crate::LabError;

/// Makes all planned runs, as many at a time as there are cores, and hands each record to `each` in their order,
/// as soon as it and all before it are there. The first failure, of a run or of `each`, ends it.
pub fn sweep<E: From<LabError>>(
    planned: &[Planned],
    progress: &dyn Progress,
    mut each: impl FnMut(usize, &Record) -> Result<(), E>,
) -> Result<(), E> {
    for run in planned {
        progress.expect(run.plan.total());
    }
    let next = AtomicUsize::new(0);
    let cores = thread::available_parallelism().map_or(1, NonZero::get).min(planned.len());
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..cores {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(one) = planned.get(at) else { return };
                    // A closed channel: nobody wants any more.
                    if sender.send((at, run(one, progress))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        in_order(receiver.iter(), &mut each).inspect_err(|_| next.store(planned.len(), Ordering::Relaxed))
    })
}

/// Hands results on in order of their number.
fn in_order<E: From<LabError>>(
    results: impl Iterator<Item = (usize, Result<Record, LabError>)>,
    each: &mut impl FnMut(usize, &Record) -> Result<(), E>,
) -> Result<(), E> {
    let mut waiting = BTreeMap::new();
    let mut wanted = 0;
    for (at, result) in results {
        waiting.insert(at, result?);
        while let Some(record) = waiting.remove(&wanted) {
            each(wanted, &record)?;
            wanted += 1;
        }
    }
    Ok(())
}
