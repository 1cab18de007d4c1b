//! Running one setup.

use pumice_cleaning::{
    Placement, Selector, Sim, SimError, Wear, placement::MAX_CLASSES, registry::PlacementRule,
};

use super::{
    Access, Amount, Record, Room, Setup, Store,
    clock::Costs,
    events::{Event, Rounds},
    life::{Life, Watched},
    lifetime::Lifetime,
    plan::{Plan, Planned, plan},
    progress::Progress,
    queue::Queue,
    read_only::Counted,
    record::{Outcome, ReadOnlyRecord},
    rules::{Rules, Started, Told},
};
use crate::{
    LabError,
    workload::{Pages, Workload},
};

/// Writes between two words about progress.
const STEP: u64 = 1 << 16;

/// Any rules.
type AnySim = Sim<Box<dyn Selector + Send>, Counted<Box<dyn Placement + Send>>, Box<dyn Wear + Send>>;

/// Runs `setup`: fills the store in order, warms it up, writes and counts.
pub fn simulate(setup: &Setup, progress: &dyn Progress) -> Result<Record, LabError> {
    let planned = plan(std::slice::from_ref(setup))?;
    let [planned] = planned.as_slice() else { return Err(LabError::Setup("nothing to run".to_owned())) };
    progress.expect(planned.plan.total());
    run(planned, progress)
}

/// Runs `setup` as [`simulate`] does, and looks at the store while it counts.
pub fn watch(setup: &Setup, progress: &dyn Progress) -> Result<(Record, Life), LabError> {
    let planned = plan(std::slice::from_ref(setup))?;
    let [planned] = planned.as_slice() else { return Err(LabError::Setup("nothing to run".to_owned())) };
    if planned.plan.writes == u64::MAX {
        let why = "a life to look at has to end: want an amount of writes".to_owned();
        return Err(LabError::Setup(why));
    }
    progress.expect(planned.plan.total());
    let mut run = Run::new(setup, &planned.plan)?;
    let title = format!("{}, {}, {}", setup.access, setup.victim, setup.placement);
    run.life = Some(Watched::new(title, planned.plan.writes));
    run.whole(&planned.plan, progress)?;
    let watched = run.life.take();
    debug_assert!(watched.is_some(), "nobody watched the store");
    Ok((run.record(planned), watched.map(Watched::life).unwrap_or_default()))
}

/// Runs a setup already planned.
pub(super) fn run(planned: &Planned, progress: &dyn Progress) -> Result<Record, LabError> {
    let Planned { setup, plan, .. } = planned;
    let mut run = Run::new(setup, plan)?;
    match run.whole(plan, progress) {
        Ok(()) => Ok(run.record(planned)),
        Err(LabError::Sim(SimError::Full { .. })) => Err(too_full(setup, plan, run.heads())),
        Err(error) => Err(error),
    }
}

/// Writes of a trial of a smaller filling, in overwrites of the store.
const TRIAL: Amount = Amount::Turnovers(4.0);

/// A store that is too full is told the largest filling that fits: a segment is left for each head and for each one in
/// reserve. A trial says how many heads there are then.
fn too_full(setup: &Setup, plan: &Plan, heads: u32) -> LabError {
    let params = &plan.params;
    for heads in heads..=u32::from(MAX_CLASSES) {
        let usable = params.segments.saturating_sub(params.reserve).saturating_sub(heads);
        let (most, all) = (f64::from(usable), f64::from(params.segments));
        if usable == 0 {
            break;
        }
        // Rounded to the safe side.
        let (room, want) = match setup.store.room {
            Room::Fill(_) => {
                let percent = (most / all * 10_000.0).floor() / 100.0;
                (Room::Fill(percent / 100.0), format!("--fill {percent:.2}% or less"))
            }
            Room::Alpha(_) => {
                let alpha = (all / most * 10_000.0).ceil() / 10_000.0;
                (Room::Alpha(alpha), format!("--alpha {alpha:.4} or more"))
            }
        };
        let store = Store { room, ..setup.store };
        let trial = Setup { store, warm_up: Amount::Bytes(0), write: Some(TRIAL), ..setup.clone() };
        let fits = super::plan(std::slice::from_ref(&trial)).is_ok_and(|planned| {
            planned
                .iter()
                .all(|one| Run::new(&trial, &one.plan).is_ok_and(|mut run| run.whole(&one.plan, &()).is_ok()))
        });
        if fits {
            return LabError::Setup(format!(
                "{:.2} % full leaves nothing to reclaim (want {want})",
                100.0 / params.alpha()
            ));
        }
    }
    let (segments, reserve) = (params.segments, params.reserve);
    LabError::Setup(format!("{segments} segments are too few for these rules, with {reserve} in reserve"))
}

/// The users' accesses to the store, without end.
type AnyEvents = Box<dyn Iterator<Item = Result<Event, LabError>>>;

/// The pages of a generated workload.
fn pages(workload: Workload, setup: &Setup, plan: &Plan) -> Result<Pages, LabError> {
    Pages::new(workload, plan.params.logical, setup.seed)
        .ok_or_else(|| LabError::Setup("want at least 2 blocks to write to".to_owned()))
}

/// Those of them that are never written.
fn read_only(setup: &Setup, plan: &Plan) -> Result<Vec<u32>, LabError> {
    match &setup.access {
        Access::Pattern(workload) if workload.read_only > 0.0 => {
            Ok(pages(*workload, setup, plan)?.read_only().to_vec())
        }
        Access::Pattern(_) | Access::Trace(_) => Ok(Vec::new()),
    }
}

fn events(setup: &Setup, plan: &Plan) -> Result<AnyEvents, LabError> {
    match &setup.access {
        Access::Pattern(workload) => {
            Ok(Box::new(pages(*workload, setup, plan)?.map(|page| Ok(Event::Write(page)))))
        }
        Access::Trace(trace) => Ok(Box::new(Rounds::new(trace, setup.store.block))),
    }
}

/// All writes that the plan will make, for a placement that has to know them.
fn future(setup: &Setup, plan: &Plan) -> Result<Vec<u32>, LabError> {
    if !setup.placement.named().is_some_and(PlacementRule::needs_future) {
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
        Ok(Event::Trim(_) | Event::Read | Event::End) => None,
        Err(error) => Some(Err(error)),
    });
    for page in writes.take(count) {
        pages.push(page?);
    }
    Ok(pages)
}

/// A store and its observers.
struct Run<'a> {
    setup: &'a Setup,
    sim: AnySim,
    started: Started,
    costs: Costs,
    lifetime: Option<Lifetime>,
    queue: Option<Queue>,
    life: Option<Watched>,
    counts: bool,
    user_reads: u64,
    /// Read-only pages, and their copies before counting began.
    read_only: (u32, u64),
}

impl<'a> Run<'a> {
    fn new(setup: &'a Setup, plan: &Plan) -> Result<Self, LabError> {
        let params = plan.params;
        let told = Told { future: future(setup, plan)?, read_only: read_only(setup, plan)? };
        let read_only = u32::try_from(told.read_only.len()).unwrap_or(u32::MAX);
        let Rules { victim, placement, wear, started } = Rules::new(setup, params, &plan.modules, told)?;
        let sim = Sim::new(params, victim, placement, wear)?;
        let block = setup.store.block;
        let costs = Costs::of(&setup.chip, block, setup.store.segment);
        Ok(Self {
            setup,
            sim,
            started,
            costs,
            lifetime: setup.endurance.map(|_| Lifetime::new(params.segments, block)),
            queue: setup.rate.map(|rate| Queue::new(costs, rate, setup.seed)),
            life: None,
            counts: false,
            user_reads: 0,
            read_only: (read_only, 0),
        })
    }

    /// Fills, warms up and counts.
    fn whole(&mut self, plan: &Plan, progress: &dyn Progress) -> Result<(), LabError> {
        let done = self.filled(plan, progress);
        // A module that failed answers no more, which looks like a full store.
        self.started.fault().and(done)
    }

    fn filled(&mut self, plan: &Plan, progress: &dyn Progress) -> Result<(), LabError> {
        self.sim.fill()?;
        progress.done(u64::from(plan.params.logical));
        self.all(plan, events(self.setup, plan)?, progress)
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
        self.counts = true;
        self.user_reads = 0;
        self.read_only.1 = self.sim.placement().copies();
        self.queue = self.setup.rate.map(|rate| Queue::new(self.costs, rate, self.setup.seed));
        match (self.writes(plan.writes, &mut events, progress), &mut self.lifetime) {
            (Err(LabError::Sim(SimError::Full { .. })), Some(lifetime)) => {
                lifetime.exhausted(self.sim.stats());
                Ok(())
            }
            (Err(error), _) => Err(error),
            (Ok(()), _) => self.rest(&mut events),
        }
    }

    /// The events after the last write: reads and trims up to the next one, or the end of the trace.
    fn rest(&mut self, events: &mut impl Iterator<Item = Result<Event, LabError>>) -> Result<(), LabError> {
        if !matches!(self.setup.access, Access::Trace(_)) {
            return Ok(());
        }
        loop {
            match events.next() {
                Some(Ok(Event::Trim(page))) => self.sim.trim(page)?,
                Some(Ok(Event::Read)) => self.user_reads += 1,
                Some(Ok(Event::Write(_) | Event::End)) | None => return Ok(()),
                Some(Err(error)) => return Err(error),
            }
        }
    }

    /// Heads that the placement wants now.
    fn heads(&self) -> u32 {
        self.sim.placement().classes().into()
    }

    /// `count` writes, and the events between them.
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
            self.started.fault()?;
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
                Some(Ok(Event::End)) => {}
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
        if let Some(life) = self.life.as_mut().filter(|_| self.counts) {
            life.wrote(self.sim.segments());
        }
    }

    /// The copies of read-only pages, if the workload has such.
    fn read_only(&self) -> Option<ReadOnlyRecord> {
        let (read_only_blocks, before) = self.read_only;
        let read_only_copied = self.sim.placement().copies() - before;
        (read_only_blocks > 0).then_some(ReadOnlyRecord { read_only_blocks, read_only_copied })
    }

    fn record(&self, planned: &Planned) -> Record {
        let outcome = Outcome {
            stats: self.sim.stats(),
            wear: self.sim.wear(),
            user_reads: self.user_reads,
            costs: self.costs,
        };
        Record {
            lifetime: self.lifetime.as_ref().map(Lifetime::record),
            queue: self.queue.as_ref().map(Queue::record),
            read_only: self.read_only(),
            ..Record::new(planned.parameters.clone(), &outcome)
        }
    }
}
