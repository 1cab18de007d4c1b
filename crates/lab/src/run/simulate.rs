//! Running one setup.

use pumice_cleaning::{Placement, Selector, Sim, SimError, Wear, registry::Store};

use super::{
    Access, Record, Setup,
    clock::Costs,
    events::{Event, Rounds},
    lifetime::Lifetime,
    plan::{Plan, Planner},
    progress::Progress,
    queue::Queue,
    record::Outcome,
};
use crate::{LabError, workload::Pages};

/// Writes between two words about progress.
const STEP: u64 = 1 << 16;

/// Any rules.
type AnySim = Sim<Box<dyn Selector + Send>, Box<dyn Placement + Send>, Box<dyn Wear + Send>>;

/// Runs `setup`: fills the store in order, warms it up, writes and counts.
pub fn simulate(setup: &Setup, progress: &dyn Progress) -> Result<Record, LabError> {
    let plan = Planner::default().plan(setup)?;
    progress.expect(plan.total());
    planned(setup, &plan, progress)
}

/// Runs a setup already planned.
pub(super) fn planned(setup: &Setup, plan: &Plan, progress: &dyn Progress) -> Result<Record, LabError> {
    let mut run = Run::new(setup, plan)?;
    run.sim.fill()?;
    progress.done(u64::from(plan.params.logical));
    run.all(plan, events(setup, plan)?, progress)?;
    Ok(run.record())
}

/// What users do to the store, without end.
type AnyEvents = Box<dyn Iterator<Item = Result<Event, LabError>>>;

fn events(setup: &Setup, plan: &Plan) -> Result<AnyEvents, LabError> {
    match &setup.access {
        Access::Pattern(pattern) => {
            let pages = Pages::new(*pattern, plan.params.logical, setup.seed)
                .ok_or_else(|| LabError::Setup("want at least 2 blocks to write to".to_owned()))?;
            Ok(Box::new(pages.map(|page| Ok(Event::Write(page)))))
        }
        Access::Trace(trace) => Ok(Box::new(Rounds::new(trace, setup.store.block))),
    }
}

/// All writes that the plan will make, for a placement that has to know them.
fn future(setup: &Setup, plan: &Plan) -> Result<Vec<u32>, LabError> {
    if !setup.placement.needs_future() {
        return Ok(Vec::new());
    }
    let count = usize::try_from(plan.warm_up.saturating_add(plan.writes)).unwrap_or(usize::MAX);
    if u32::try_from(count).is_err() {
        let why =
            "the oracle has to know fewer than 2^32 writes beforehand; --write says how many".to_owned();
        return Err(LabError::Setup(why));
    }
    let mut pages: Vec<u32> = (0..plan.params.logical).collect();
    let writes = events(setup, plan)?.filter_map(|event| match event {
        Ok(Event::Write(page)) => Some(Ok(page)),
        Ok(Event::Trim(_) | Event::Read) => None,
        Err(error) => Some(Err(error)),
    });
    for page in writes.take(count) {
        pages.push(page?);
    }
    Ok(pages)
}

/// A store and what watches it.
struct Run<'a> {
    setup: &'a Setup,
    sim: AnySim,
    costs: Costs,
    lifetime: Option<Lifetime>,
    queue: Option<Queue>,
    user_reads: u64,
    warm_up_writes: u64,
}

impl<'a> Run<'a> {
    fn new(setup: &'a Setup, plan: &Plan) -> Result<Self, LabError> {
        let params = plan.params;
        let store = Store::with_future(params, setup.seed, future(setup, plan)?);
        let (victim, placement) = (setup.victim.build(&store), setup.placement.build(&store));
        let sim = Sim::new(params, victim, placement, setup.wear.build(&store))?;
        let block = setup.store.block;
        let costs = Costs::of(&setup.chip, block, setup.store.segment);
        Ok(Self {
            setup,
            sim,
            costs,
            lifetime: setup.endurance.map(|erases| Lifetime::new(erases, params.segments, block)),
            queue: setup.rate.map(|rate| Queue::new(costs, rate, setup.seed)),
            user_reads: 0,
            warm_up_writes: plan.warm_up,
        })
    }

    /// Warms up and counts.
    fn all(
        &mut self,
        plan: &Plan,
        mut events: impl Iterator<Item = Result<Event, LabError>>,
        progress: &dyn Progress,
    ) -> Result<(), LabError> {
        self.writes(plan.warm_up, &mut events, progress)?;
        self.sim.reset_stats();
        self.user_reads = 0;
        self.queue = self.setup.rate.map(|rate| Queue::new(self.costs, rate, self.setup.seed));
        match (self.writes(plan.writes, &mut events, progress), &mut self.lifetime) {
            (Err(LabError::Sim(SimError::Full { .. })), Some(lifetime)) => {
                lifetime.exhausted(self.sim.stats());
                Ok(())
            }
            (result, _) => result,
        }
    }

    /// `count` writes, and what lies between them.
    fn writes(
        &mut self,
        count: u64,
        events: &mut impl Iterator<Item = Result<Event, LabError>>,
        progress: &dyn Progress,
    ) -> Result<(), LabError> {
        let mut left = count;
        while left > 0 {
            let step = left.min(STEP);
            self.step(step, events)?;
            progress.done(step);
            left -= step;
        }
        Ok(())
    }

    fn step(
        &mut self,
        count: u64,
        events: &mut impl Iterator<Item = Result<Event, LabError>>,
    ) -> Result<(), LabError> {
        let mut left = count;
        while left > 0 {
            match events.next() {
                Some(Ok(Event::Write(page))) => {
                    self.sim.write(page)?;
                    self.watch();
                    left -= 1;
                }
                Some(Ok(Event::Trim(page))) => self.sim.trim(page)?,
                Some(Ok(Event::Read)) => self.user_reads += 1,
                Some(Err(error)) => return Err(error),
                None => break,
            }
        }
        Ok(())
    }

    #[inline]
    fn watch(&mut self) {
        if let Some(lifetime) = &mut self.lifetime {
            lifetime.wrote(self.sim.stats());
        }
        if let Some(queue) = &mut self.queue {
            queue.wrote(self.sim.stats());
        }
    }

    fn record(&self) -> Record {
        let outcome = Outcome {
            params: self.sim.params(),
            stats: self.sim.stats(),
            wear: self.sim.wear(),
            warm_up_writes: self.warm_up_writes,
            user_reads: self.user_reads,
            costs: self.costs,
        };
        Record {
            lifetime: self.lifetime.as_ref().map(Lifetime::record),
            queue: self.queue.as_ref().map(Queue::record),
            ..Record::new(self.setup, &outcome)
        }
    }
}
