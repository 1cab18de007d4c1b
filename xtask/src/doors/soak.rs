//! `cargo xtask soak`: every campaign, round by round, within a budget of time.
//!
//! Campaigns that end, those taken in parts, come first and get the larger share, so that a night runs them whole; the
//! rest of their share falls to the others.

use std::{
    collections::VecDeque,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use pumice_knobs::{CAMPAIGNS, Campaign, PART, Rounds, SEED};
use xtask::Failure;

use super::{
    AT_ONCE,
    programs::{Program, Run, build, run},
    ran::{Line, Ran},
    say,
    table::{Outcome, Row, table},
};

/// A round takes about so long where it can be chosen.
const ROUND: Duration = Duration::from_secs(60);

/// A round that takes so long has no end.
const LIMIT: Duration = Duration::from_secs(1800);

/// The share of a campaign that ends, as a multiple of that of a campaign by seeds.
const SHARE_OF_WHOLE: u32 = 4;

/// A round is at most so many times as large as the one before.
const GROWTH: u32 = 4;

/// The order given.
struct Order {
    hours: f64,
    campaigns: Vec<Campaign>,
    /// Arguments for everything, or for some crates.
    arguments: Vec<String>,
    seed: u64,
}

impl Order {
    fn of_environment() -> Result<Order, Failure> {
        let text = |name: &str| env::var(name).ok().filter(|text| !text.is_empty());
        let hours = text("SOAK_HOURS").map_or(Ok(1.0), |text| match text.parse() {
            Ok(hours) if hours > 0.0 && hours < 1000.0 => Ok(hours),
            _ => Err(format!("SOAK_HOURS={text}: want hours, such as 0.5 or 10")),
        })?;
        // Another hour, other seeds; each takes a few from there on.
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / 60;
        let seed = text("SOAK_SEED").map_or(Ok(now), |text| {
            text.parse().map_err(|_| format!("SOAK_SEED={text}: want a whole number"))
        })?;
        let words = text("SOAK").unwrap_or_default();
        let (campaigns, arguments) = chosen(&words.split([' ', ',']).collect::<Vec<_>>())?;
        Ok(Order { hours, campaigns, arguments, seed })
    }
}

/// The campaigns of the named crates, all if none is named, and the arguments that build their tests.
fn chosen(words: &[&str]) -> Result<(Vec<Campaign>, Vec<String>), Failure> {
    let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
    let is_wanted = |campaign: &Campaign| words.is_empty() || words.contains(&campaign.of_crate());
    let mut campaigns: Vec<Campaign> = CAMPAIGNS.into_iter().filter(is_wanted).collect();
    for word in &words {
        if !campaigns.iter().any(|campaign| campaign.of_crate() == *word) {
            let mut crates: Vec<&str> = CAMPAIGNS.iter().map(Campaign::of_crate).collect();
            crates.dedup();
            return Err(format!("SOAK={}: want some of {}", word, crates.join(" ")).into());
        }
    }
    campaigns.sort_by_key(|campaign| matches!(campaign.rounds, Rounds::Seeds(_)));
    // All is chosen out of the whole workspace, so that dependencies are those that `make test` built.
    let mut arguments = vec!["--workspace".to_owned()];
    let mut programs: Vec<&str> = campaigns.iter().map(|campaign| campaign.tests.program).collect();
    programs.sort_unstable();
    programs.dedup();
    arguments.extend(programs.into_iter().flat_map(|program| ["--test".to_owned(), program.to_owned()]));
    Ok((campaigns, arguments))
}

/// Runs the order in the environment. Logs go to `place`.
pub(crate) fn soak(place: &Path) -> Result<(), Failure> {
    let order = Order::of_environment()?;
    let programs = build(&order.arguments.iter().map(String::as_str).collect::<Vec<_>>())?;
    fs::create_dir_all(place)?;
    let budget = Duration::from_secs_f64(order.hours * 3600.0);
    say(&format!(
        "soak: {} campaigns in {:.0} s; SOAK_SEED={}\n",
        order.campaigns.len(),
        budget.as_secs_f64(),
        order.seed
    ))?;
    let queue = Queue::new(order.campaigns, Instant::now() + budget);
    let rows = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let workers: Vec<_> =
            (0..AT_ONCE).map(|_| scope.spawn(|| work(&queue, &programs, order.seed, place, &rows))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Err("a worker ended early".into())))
    })?;
    let rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    say(&format!("\n{}", table(&rows)))?;
    let found = rows.iter().filter(|row| matches!(row.outcome, Outcome::Found(_))).count();
    match found {
        0 => Ok(()),
        _ => {
            Err(format!("soak: {found} campaigns found something; their logs are in {}", place.display())
                .into())
        }
    }
}

/// Campaigns that wait, and the time that is left for them.
struct Queue {
    deadline: Instant,
    /// Those that wait, by their places in the table, and the weight of those that run.
    waiting: Mutex<(VecDeque<(usize, Campaign)>, u32)>,
}

fn weight(campaign: &Campaign) -> u32 {
    if matches!(campaign.rounds, Rounds::Parts(_)) { SHARE_OF_WHOLE } else { 1 }
}

impl Queue {
    fn new(campaigns: Vec<Campaign>, deadline: Instant) -> Queue {
        Queue { deadline, waiting: Mutex::new((campaigns.into_iter().enumerate().collect(), 0)) }
    }

    /// The next campaign, and its share of the time that is left.
    fn take(&self, now: Instant) -> Option<(usize, Campaign, Duration)> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let (campaigns, running) = &mut *waiting;
        let all = *running + campaigns.iter().map(|(_, campaign)| weight(campaign)).sum::<u32>();
        let (place, campaign) = campaigns.pop_front()?;
        let (own, left) = (weight(&campaign), self.deadline.saturating_duration_since(now));
        *running += own;
        let workers = u32::try_from(AT_ONCE).unwrap_or(1);
        Some((place, campaign, left.min(left * workers * own / all)))
    }

    fn done(&self, campaign: &Campaign) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).1 -= weight(campaign);
    }
}

/// Runs campaigns until none waits.
fn work(
    queue: &Queue,
    programs: &[Program],
    seed: u64,
    place: &Path,
    rows: &Mutex<Vec<Row>>,
) -> Result<(), Failure> {
    while let Some((number, campaign, share)) = queue.take(Instant::now()) {
        let is_of = |program: &&Program| {
            program.name.split_once(": ").is_some_and(|(_, name)| name == campaign.tests.program)
        };
        let program = programs.iter().find(is_of).ok_or("a campaign's program was not built")?;
        let log = place.join(format!("{number}"));
        let row = Rounder { campaign, program, share, begun: Instant::now(), seed, log }.play()?;
        queue.done(&campaign);
        say(&format!("{row}\n"))?;
        rows.lock().unwrap_or_else(PoisonError::into_inner).push(row);
    }
    Ok(())
}

/// Runs one campaign, round by round.
struct Rounder<'a> {
    campaign: Campaign,
    program: &'a Program,
    share: Duration,
    begun: Instant,
    seed: u64,
    log: PathBuf,
}

impl Rounder<'_> {
    fn play(&self) -> Result<Row, Failure> {
        let mut row = Row::new(self.campaign.name);
        let mut next = Next::new(self.campaign.rounds, self.seed, self.share);
        while row.rounds == 0 || next.fits(self.left()) {
            if self.left().is_zero() {
                break;
            }
            let settings = next.settings(&self.campaign);
            let (run, ran) = self.round(&settings)?;
            row.rounds += 1;
            let mut lines = ran.lines()?;
            lines.retain(|line| line.campaign == self.campaign.name);
            for line in &lines {
                row.add(line);
            }
            let end = lines.iter().filter_map(Line::seeds).map(|(_, end)| end).max();
            row.outcome = Outcome::of(&run, next.has_run(&lines), &self.replay(&settings));
            row.time = self.begun.elapsed();
            if !matches!(row.outcome, Outcome::Nothing) || !next.advance(run.wall, end, self.left()) {
                break;
            }
        }
        Ok(row)
    }

    fn left(&self) -> Duration {
        self.share.saturating_sub(self.begun.elapsed())
    }

    fn round(&self, settings: &[(&str, String)]) -> Result<(Run, Ran), Failure> {
        let ran = Ran::new(self.log.with_extension("ran"))?;
        let mut command = Command::new("timeout");
        command.arg("--signal=KILL").arg(LIMIT.as_secs().to_string()).arg(&self.program.path);
        command.current_dir(&self.program.directory).env("CARGO_MANIFEST_DIR", &self.program.directory);
        command.args(self.campaign.tests.names).arg("--show-output");
        command.envs(settings.iter().map(|(name, value)| (name, value)));
        ran.asked_of(&mut command);
        let name = self.log.file_name().unwrap_or_default().to_string_lossy();
        Ok((run(&name, &command, self.log.parent().unwrap_or(Path::new(".")))?, ran))
    }

    /// The command that runs a round again.
    fn replay(&self, settings: &[(&str, String)]) -> String {
        let tests = self.campaign.tests;
        let settings: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let names = tests.names.join(" ");
        format!("{} cargo test --test {} -- {names}", settings.join(" "), tests.program)
    }
}

/// The next round of a campaign.
enum Next {
    Seeds {
        first: u64,
        size: u64,
        /// The shortest round so far.
        least: Duration,
    },
    Parts {
        first: u64,
        done: u64,
        of: u64,
        /// The longest part so far.
        most: Duration,
    },
}

impl Next {
    fn new(rounds: Rounds, seed: u64, share: Duration) -> Next {
        match rounds {
            Rounds::Seeds(size) => Next::Seeds { first: seed, size, least: Duration::MAX },
            Rounds::Parts(parts) => {
                // Where there is little time, the parts are smaller.
                let smaller = ROUND.as_secs() / share.as_secs().clamp(1, ROUND.as_secs());
                let of = parts * smaller;
                Next::Parts { first: seed % of, done: 0, of, most: Duration::ZERO }
            }
        }
    }

    /// The knobs that ask for it.
    fn settings(&self, campaign: &Campaign) -> Vec<(&'static str, String)> {
        match self {
            Next::Seeds { first, size, .. } => {
                vec![(SEED.name, first.to_string()), (campaign.size.name, size.to_string())]
            }
            Next::Parts { first, done, of, .. } => {
                let part = format!("{}/{of}", (first + done) % of);
                vec![(campaign.size.name, campaign.longer.to_owned()), (PART.name, part)]
            }
        }
    }

    /// Whether a round's notes say that it ran. With more parts than cases, some parts have none.
    fn has_run(&self, lines: &[Line]) -> bool {
        let cases: u64 = lines.iter().map(|line| line.cases).sum();
        cases > 0 || matches!(self, Next::Parts { .. }) && !lines.is_empty()
    }

    fn fits(&self, left: Duration) -> bool {
        match self {
            Next::Seeds { least, .. } => left >= *least,
            Next::Parts { most, .. } => left >= *most,
        }
    }

    /// Goes on behind a round that took so long and ended in front of this seed; false if that was all.
    fn advance(&mut self, took: Duration, end: Option<u64>, left: Duration) -> bool {
        match self {
            Next::Seeds { first, size, least } => {
                *first = end.unwrap_or(*first + *size);
                *least = took.min(*least);
                let fitting = left.min(ROUND).as_secs_f64() / took.as_secs_f64().max(0.001);
                *size = grown(*size, fitting.min(GROWTH.into()));
                true
            }
            Next::Parts { done, of, most, .. } => {
                *done += 1;
                *most = took.max(*most);
                done < of
            }
        }
    }
}

/// A size so many times as large, and 1 at least.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a round"
)]
fn grown(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_chosen_by_name() {
        let all = chosen(&[""]).unwrap();
        assert_eq!(all.0.len(), CAMPAIGNS.len());
        assert_eq!(all.1[0], "--workspace");
        let (some, arguments) = chosen(&["ftl", "media"]).unwrap();
        assert!(some.iter().all(|campaign| ["ftl", "media"].contains(&campaign.of_crate())));
        assert_eq!(arguments, ["--workspace", "--test", "ftl", "--test", "media"]);
        let refused = chosen(&["nothing"]).unwrap_err().to_string();
        assert!(refused.starts_with("SOAK=nothing: want some of flashlog media "), "{refused}");
    }

    #[test]
    fn shares_are_all_of_the_time() {
        let begin = Instant::now();
        let hour = Duration::from_secs(3600);
        let queue = Queue::new(chosen(&[]).unwrap().0, begin + hour);
        // Each worker takes the campaign that is next when it is free.
        let (mut ends, mut place) = ([begin; AT_ONCE], 0);
        let mut running: [Option<Campaign>; AT_ONCE] = [None; AT_ONCE];
        while let Some(worker) = (0..AT_ONCE).min_by_key(|worker| ends[*worker]) {
            if let Some(campaign) = running[worker].take() {
                queue.done(&campaign);
            }
            let Some((at, campaign, share)) = queue.take(ends[worker]) else { break };
            assert_eq!(at, place);
            place += 1;
            ends[worker] += share;
            running[worker] = Some(campaign);
        }
        assert_eq!(place, CAMPAIGNS.len());
        for end in ends {
            assert!(end > begin + hour * 9 / 10 && end <= begin + hour, "{:?}", end - begin);
        }
    }

    #[test]
    fn rounds_by_seeds_follow_each_other_and_fit() {
        let campaign =
            *CAMPAIGNS.iter().find(|campaign| matches!(campaign.rounds, Rounds::Seeds(_))).unwrap();
        let mut next = Next::new(Rounds::Seeds(10), 500, Duration::from_secs(300));
        let seed = |next: &Next| next.settings(&campaign)[0].1.clone();
        let size = |next: &Next| next.settings(&campaign)[1].1.clone();
        assert_eq!((seed(&next), size(&next)), ("500".into(), "10".into()));
        assert!(next.advance(Duration::from_secs(2), Some(510), Duration::from_secs(298)));
        assert_eq!((seed(&next), size(&next)), ("510".into(), "40".into()));
        assert!(next.advance(Duration::from_secs(30), Some(550), Duration::from_secs(15)));
        assert_eq!((seed(&next), size(&next)), ("550".into(), "20".into()));
        assert!(next.fits(Duration::from_secs(2)) && !next.fits(Duration::from_secs(1)));
    }

    #[test]
    fn a_part_may_be_empty_and_seeds_may_not() {
        let line = |cases| Line { campaign: String::new(), covered: String::new(), cases };
        let parts = Next::new(Rounds::Parts(8), 0, ROUND);
        assert!(parts.has_run(&[line(0)]) && !parts.has_run(&[]));
        let seeds = Next::new(Rounds::Seeds(8), 0, ROUND);
        assert!(seeds.has_run(&[line(0), line(1)]) && !seeds.has_run(&[line(0)]));
    }

    #[test]
    fn parts_are_all_taken_once() {
        let campaign =
            *CAMPAIGNS.iter().find(|campaign| matches!(campaign.rounds, Rounds::Parts(_))).unwrap();
        let parts = |share| {
            let mut next = Next::new(Rounds::Parts(4), 7, share);
            let mut parts = vec![next.settings(&campaign)[1].1.clone()];
            while next.advance(Duration::from_secs(1), None, share) {
                parts.push(next.settings(&campaign)[1].1.clone());
            }
            parts
        };
        assert_eq!(parts(ROUND), ["3/4", "0/4", "1/4", "2/4"]);
        assert_eq!(parts(ROUND / 2).len(), 8);
    }
}
