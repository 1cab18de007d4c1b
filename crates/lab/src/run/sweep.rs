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

use super::{
    Progress, Record, Setup,
    plan::{Plan, Planner},
    simulate::planned,
};
use crate::LabError;

/// Runs all setups, as many at a time as there are cores, and hands each record to `each` in the order of the setups,
/// as soon as it and all before it are there. The first failure, of a run or of `each`, ends it.
pub fn sweep<E: From<LabError>>(
    setups: &[Setup],
    progress: &dyn Progress,
    mut each: impl FnMut(usize, &Record) -> Result<(), E>,
) -> Result<(), E> {
    let mut planner = Planner::default();
    let plans = setups.iter().map(|setup| planner.plan(setup)).collect::<Result<Vec<Plan>, _>>()?;
    for plan in &plans {
        progress.expect(plan.total());
    }
    let next = AtomicUsize::new(0);
    let cores = thread::available_parallelism().map_or(1, NonZero::get).min(setups.len());
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..cores {
            let (sender, next, plans) = (sender.clone(), &next, &plans);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((setup, plan)) = setups.get(at).zip(plans.get(at)) else { return };
                    // A closed channel: nobody wants any more.
                    if sender.send((at, planned(setup, plan, progress))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        in_order(receiver.iter(), &mut each).inspect_err(|_| next.store(setups.len(), Ordering::Relaxed))
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
