//! Families of workloads: what stores are made to bear, each from a number of pages and a seed.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_lossless,
    reason = "small numbers"
)]

use std::{collections::VecDeque, iter, iter::from_fn};

use fastrand::Rng;

use super::{Access, zipf::Zipf};

/// What a user does with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Write(u32),
    Trim(u32),
}

pub(crate) type Ops = Box<dyn Iterator<Item = Op>>;

/// A name, and its endless calls on so many pages.
pub(crate) type Family = (&'static str, fn(u32, u64) -> Ops);

/// All of them.
pub(crate) const FAMILIES: [Family; 40] = [
    ("uniform", |n, s| writes(Access::Random.pages(n, s))),
    ("zipf 0.8", |n, s| writes(Zipf::new(n, 0.8, 0.0, s))),
    ("zipf 0.99", |n, s| writes(Zipf::new(n, 0.99, 0.0, s))),
    ("zipf 1.2", |n, s| writes(Zipf::new(n, 1.2, 0.0, s))),
    ("churn 5 %", |n, s| writes(Zipf::new(n, 0.99, 0.05, s))),
    ("churn 20 %", |n, s| writes(Zipf::new(n, 0.99, 0.2, s))),
    ("80/20", |n, s| writes(Access::Locality(80).pages(n, s))),
    ("95/5", |n, s| writes(Access::Locality(95).pages(n, s))),
    ("half never written", |n, s| writes(Access::HalfWritten(90).pages(n, s))),
    ("drift", |n, s| drift(n, 40, s)),
    ("fast drift", |n, s| drift(n, 4, s)),
    ("jumps each turnover", |n, s| jumps(n, 1, s)),
    ("jumps every five", |n, s| jumps(n, 5, s)),
    ("widening", widening),
    ("bell that wanders", bell),
    ("two hot sets by turns", by_turns),
    ("log beside random", |n, s| beside(n, 2, 1, |n, s| writes(Access::Random.pages(n, s)), s)),
    ("short log beside random", |n, s| beside(n, 8, 1, |n, s| writes(Access::Random.pages(n, s)), s)),
    ("slow log beside random", |n, s| beside(n, 2, 3, |n, s| writes(Access::Random.pages(n, s)), s)),
    ("log beside zipf", |n, s| beside(n, 5, 1, |n, s| writes(Zipf::new(n, 0.99, 0.0, s)), s)),
    ("log beside 90/10", |n, s| beside(n, 3, 1, |n, s| writes(Access::Locality(90).pages(n, s)), s)),
    ("many rings", rings),
    ("sequential and strays", |n, s| beside(n, 1, 5, |n, s| writes(Access::Random.pages(n, s)), s)),
    ("files of 64", |n, s| writes(files(n, 64, s))),
    ("files of 16", |n, s| writes(files(n, 16, s))),
    ("files of all sizes", all_sizes),
    ("files made and removed", removed),
    ("pages trimmed and refilled", refilled),
    ("LSM store, levels", |n, s| lsm(n, 4, false, s)),
    ("LSM store, tiers", |n, s| lsm(n, 6, true, s)),
    ("B-tree", btree),
    ("B-tree with a log", |n, s| beside(n, 10, 2, btree, s)),
    ("double write", double),
    ("checkpoints in order", checkpoints),
    ("tenants", tenants),
    ("tenants that sleep", sleepers),
    ("bursts in order", bursts),
    ("snapshots", snapshots),
    ("loop of zipf", |n, s| looped(n, 2, |n, s| writes(Zipf::new(n, 0.9, 0.0, s)), s)),
    ("loop of files", |n, s| looped(n, 3, all_sizes, s)),
];

pub(super) fn writes(pages: impl Iterator<Item = u32> + 'static) -> Ops {
    Box::new(pages.map(Op::Write))
}

pub(super) fn moved(op: Op, by: u32) -> Op {
    match op {
        Op::Write(page) => Op::Write(page + by),
        Op::Trim(page) => Op::Trim(page + by),
    }
}

/// Zipf's law over places in order, the hottest of which moves through the store once in some turnovers.
fn drift(n: u32, turnovers: u32, seed: u64) -> Ops {
    let mut rng = Rng::with_seed(seed);
    let mut now = 0u64;
    writes(from_fn(move || {
        now += 1;
        let far = f64::from(n).powf(rng.f64()) - 1.0;
        let start = now / u64::from(turnovers) % u64::from(n);
        Some(((start + far as u64) % u64::from(n)) as u32)
    }))
}

/// 90/10 with another tenth each so many turnovers.
fn jumps(n: u32, turnovers: u32, seed: u64) -> Ops {
    let phases = (0..).flat_map(move |phase| {
        Access::Locality(90).pages(n, seed * 1000 + phase).take((n * turnovers) as usize)
    });
    writes(phases)
}

/// 90 % of the writes to a part that grows from a fiftieth to two fifths and back, in ten turnovers.
fn widening(n: u32, seed: u64) -> Ops {
    let mut rng = Rng::with_seed(seed);
    let mut order: Vec<u32> = (0..n).collect();
    rng.shuffle(&mut order);
    let mut now = 0.0;
    writes(from_fn(move || {
        now += 0.2 / f64::from(n);
        let wide = 0.02 + 0.38 * (1.0 - f64::from((now % 2.0 - 1.0) as f32).abs());
        let hot = ((f64::from(n) * wide) as usize).max(1);
        let at = if rng.u32(0..10) < 9 { rng.usize(0..hot) } else { rng.usize(0..n as usize) };
        Some(order[at])
    }))
}

/// Places about a centre that walks.
fn bell(n: u32, seed: u64) -> Ops {
    let mut rng = Rng::with_seed(seed);
    let mut centre = f64::from(n) / 2.0;
    writes(from_fn(move || {
        centre += (rng.f64() - 0.5) * 2.0;
        let off = (0..6).map(|_| rng.f64() - 0.5).sum::<f64>() * f64::from(n) / 6.0;
        Some((centre + off).rem_euclid(f64::from(n)) as u32 % n)
    }))
}

fn by_turns(n: u32, seed: u64) -> Ops {
    let sets = [seed, seed + 7777].map(|seed| Access::Locality(90).pages(n, seed));
    let mut now = 0;
    let mut sets = sets;
    writes(from_fn(move || {
        now += 1;
        sets[(now / (2 * n as usize)) % 2].next()
    }))
}

/// A log that goes round over one part in `part` of the pages, and `others` calls on the rest for each of its writes.
pub(super) fn beside(n: u32, part: u32, others: usize, rest: fn(u32, u64) -> Ops, seed: u64) -> Ops {
    let round = if part == 1 { n } else { n / part };
    let mut log = (0..round).cycle().map(Op::Write);
    // Beside a log of all pages the rest are strays, each so many writes of the log.
    if part == 1 {
        let mut rest = rest(n, seed);
        return Box::new(
            from_fn(move || Some((log.by_ref().take(others).collect::<Vec<_>>(), rest.next()?)))
                .flat_map(|(log, one)| log.into_iter().chain([one])),
        );
    }
    let mut rest = rest(n - round, seed);
    Box::new(
        from_fn(move || {
            let others: Vec<Op> = rest.by_ref().take(others).map(|op| moved(op, round)).collect();
            Some(log.next().into_iter().chain(others))
        })
        .flatten(),
    )
}

/// Rings of 2^4 to 2^10 pages, each written to as often.
fn rings(n: u32, seed: u64) -> Ops {
    let mut rng = Rng::with_seed(seed);
    let (mut all, mut start) = (Vec::new(), 0);
    while start < n {
        let size = (1 << rng.u32(4..11)).min(n - start);
        all.push((start, size, 0));
        start += size;
    }
    writes(from_fn(move || {
        let at = rng.usize(0..all.len());
        let (start, size, next) = &mut all[at];
        *next = (*next + 1) % *size;
        Some(*start + *next)
    }))
}

fn files(n: u32, size: u32, seed: u64) -> impl Iterator<Item = u32> {
    Zipf::new((n / size).max(1), 0.9, 0.0, seed).flat_map(move |file| file * size..(file + 1) * size)
}

/// Files of 1 to 256 pages, replaced as a whole by Zipf's law.
fn all_sizes(n: u32, seed: u64) -> Ops {
    let mut rng = Rng::with_seed(seed);
    let (mut list, mut start) = (Vec::new(), 0);
    while start < n {
        let end = (start + (1 << rng.u32(0..9))).min(n);
        list.push(start..end);
        start = end;
    }
    let many = u32::try_from(list.len()).unwrap();
    writes(Zipf::new(many, 0.8, 0.0, seed).flat_map(move |file| list[file as usize].clone()))
}

/// Pages that are handed out from the lowest free ones.
pub(super) struct Free {
    free: std::collections::BTreeSet<u32>,
}

impl Free {
    pub(super) fn new(n: u32) -> Self {
        Self { free: (0..n).collect() }
    }

    pub(super) fn len(&self) -> usize {
        self.free.len()
    }

    /// So many pages, or fewer.
    pub(super) fn take(&mut self, many: usize) -> Vec<u32> {
        iter::from_fn(|| self.free.pop_first()).take(many).collect()
    }

    pub(super) fn give(&mut self, pages: &[u32]) {
        self.free.extend(pages);
    }
}

/// Files of 1 to 64 pages; a random one in three lives long. Nine tenths of the pages are in use.
fn removed(n: u32, seed: u64) -> Ops {
    let mut rng = Rng::with_seed(seed);
    let (mut free, mut kinds) = (Free::new(n), [Vec::new(), Vec::new()]);
    let mut first = true;
    Box::new(
        from_fn(move || {
            let mut ops: Vec<Op> =
                if std::mem::take(&mut first) { (0..n).map(Op::Trim).collect() } else { Vec::new() };
            let want = 1 << rng.u32(0..7);
            while free.len() < want + n as usize / 10 {
                let kind: &mut Vec<Vec<u32>> = &mut kinds[usize::from(rng.u32(0..10) == 0)];
                if kind.is_empty() {
                    continue;
                }
                let old = kind.swap_remove(rng.usize(0..kind.len()));
                free.give(&old);
                ops.extend(old.into_iter().map(Op::Trim));
            }
            let new = free.take(want);
            ops.extend(new.iter().copied().map(Op::Write));
            kinds[usize::from(rng.u32(0..3) == 0)].push(new);
            Some(ops)
        })
        .flatten(),
    )
}

/// A tenth trimmed at random places, then written again in order.
fn refilled(n: u32, seed: u64) -> Ops {
    let mut rng = Rng::with_seed(seed);
    Box::new(
        from_fn(move || {
            let mut pages: Vec<u32> = (0..n / 10).map(|_| rng.u32(0..n)).collect();
            let trims: Vec<Op> = pages.iter().copied().map(Op::Trim).collect();
            pages.sort_unstable();
            pages.dedup();
            Some(trims.into_iter().chain(pages.into_iter().map(Op::Write)))
        })
        .flatten(),
    )
}

/// Sorted runs of 16 pages, merged from level to level; a level is full at `fan` runs (tiers) or rewritten with the
/// runs of the next that it meets (levels).
fn lsm(n: u32, fan: usize, tiers: bool, seed: u64) -> Ops {
    const RUN: usize = 16;
    let mut rng = Rng::with_seed(seed);
    let (mut free, mut levels, mut first) = (Free::new(n), vec![VecDeque::<Vec<u32>>::new(); 12], true);
    Box::new(
        from_fn(move || {
            let mut ops: Vec<Op> =
                if std::mem::take(&mut first) { (0..n).map(Op::Trim).collect() } else { Vec::new() };
            let mut born = vec![(0, free.take(RUN))];
            while let Some((level, run)) = born.pop() {
                ops.extend(run.iter().copied().map(Op::Write));
                levels[level].push_back(run);
                let limit = if tiers { fan } else { fan.pow(level as u32 + 1) };
                let used = n as usize - free.len();
                let full = used + RUN * (fan + 4) > n as usize * 9 / 10;
                if level + 1 < levels.len() && levels[level].len() > limit && !full {
                    let merged: Vec<Vec<u32>> = if tiers {
                        levels[level].drain(..fan).collect()
                    } else {
                        let mut some: Vec<_> = levels[level].pop_front().into_iter().collect();
                        let below = &mut levels[level + 1];
                        for _ in 0..(fan / 2).min(below.len()) {
                            some.extend(below.remove(rng.usize(0..below.len())));
                        }
                        some
                    };
                    let size: usize = merged.iter().map(Vec::len).sum();
                    let many = if tiers { vec![size] } else { vec![RUN; (size / RUN).max(1)] };
                    born.extend(many.into_iter().map(|size| (level + 1, free.take(size))));
                    for old in merged {
                        free.give(&old);
                        ops.extend(old.into_iter().map(Op::Trim));
                    }
                } else if full {
                    // Data at the bottom is thrown away.
                    let bottom = levels.iter_mut().rev().find(|level| !level.is_empty()).unwrap();
                    let at = rng.usize(0..bottom.len());
                    let old = bottom.remove(at).unwrap();
                    free.give(&old);
                    ops.extend(old.into_iter().map(Op::Trim));
                }
            }
            Some(ops)
        })
        .flatten(),
    )
}

/// Leaves anywhere, and each tenth time the node above, and each hundredth the one above that.
fn btree(n: u32, seed: u64) -> Ops {
    let mut rng = Rng::with_seed(seed);
    let (inner, top) = (n / 64 + 1, n / 4096 + 1);
    writes(
        from_fn(move || {
            let leaf = rng.u32(0..n - inner - top);
            let leaf = if rng.bool() { leaf / 8 } else { leaf };
            let above = top + leaf / 64;
            let mut pages = vec![top + inner + leaf];
            if rng.u32(0..10) == 0 {
                pages.push(above.min(top + inner - 1));
            }
            if rng.u32(0..100) == 0 {
                pages.push(leaf / 4096);
            }
            Some(pages)
        })
        .flatten(),
    )
}

/// Each page is written to a log of a sixteenth first; Zipf's law.
fn double(n: u32, seed: u64) -> Ops {
    beside(n, 16, 1, |n, s| writes(Zipf::new(n, 0.99, 0.01, s)), seed)
}

/// A log of a tenth; what it holds is written home in order when it has gone half round.
fn checkpoints(n: u32, seed: u64) -> Ops {
    let round = n / 10;
    let mut pages = Zipf::new(n - round, 0.9, 0.0, seed);
    let mut log = (0..round).cycle();
    writes(
        from_fn(move || {
            let mut dirty: Vec<u32> =
                pages.by_ref().take(round as usize / 2).map(|page| page + round).collect();
            let logged: Vec<u32> = log.by_ref().take(dirty.len()).collect();
            dirty.sort_unstable();
            dirty.dedup();
            Some(logged.into_iter().chain(dirty))
        })
        .flatten(),
    )
}

/// Four that have a quarter each: a log, Zipf's law, files and anything, in turns of 1 to 64 pages.
fn four(n: u32, seed: u64) -> [Ops; 4] {
    let quarter = n / 4;
    [
        writes((0..quarter).cycle()),
        writes(Zipf::new(quarter, 0.99, 0.0, seed)),
        writes(files(quarter, 32, seed)),
        writes(Access::Random.pages(quarter, seed)),
    ]
}

fn tenants(n: u32, seed: u64) -> Ops {
    let mut rng = Rng::with_seed(seed);
    let mut all = four(n, seed);
    Box::new(
        from_fn(move || {
            let who = [0, 1, 1, 1, 2, 2, 3][rng.usize(0..7)];
            let run: Vec<Op> = all[who]
                .by_ref()
                .take(1 << rng.u32(0..7))
                .map(|op| moved(op, who as u32 * (n / 4)))
                .collect();
            Some(run)
        })
        .flatten(),
    )
}

/// The same, but one at a time for half a turnover.
fn sleepers(n: u32, seed: u64) -> Ops {
    let mut rng = Rng::with_seed(seed);
    let mut all = four(n, seed);
    Box::new(
        from_fn(move || {
            let who = rng.usize(0..4);
            let run: Vec<Op> =
                all[who].by_ref().take(n as usize / 2).map(|op| moved(op, who as u32 * (n / 4))).collect();
            Some(run)
        })
        .flatten(),
    )
}

/// Zipf's law, and now and then a tenth of the store in order.
fn bursts(n: u32, seed: u64) -> Ops {
    let mut rng = Rng::with_seed(seed);
    let mut pages = Zipf::new(n, 0.99, 0.0, seed);
    writes(
        from_fn(move || {
            let start = rng.u32(0..n - n / 10);
            let some: Vec<u32> = pages.by_ref().take((n / 2) as usize).collect();
            Some(some.into_iter().chain(start..start + n / 10))
        })
        .flatten(),
    )
}

/// Copies on write of 60 % of the pages; a snapshot keeps what was, and the third last one goes.
fn snapshots(n: u32, seed: u64) -> Ops {
    let mut rng = Rng::with_seed(seed);
    let many = n * 6 / 10;
    let mut free = Free::new(n);
    let mut place = free.take(many as usize);
    let mut kept: VecDeque<Vec<u32>> = VecDeque::from([Vec::new()]);
    let mut fresh = vec![false; many as usize];
    let mut first = true;
    Box::new(
        from_fn(move || {
            let mut ops: Vec<Op> =
                if std::mem::take(&mut first) { (many..n).map(Op::Trim).collect() } else { Vec::new() };
            let block = (f64::from(many).powf(rng.f64()) - 1.0) as usize;
            if !fresh[block] {
                while free.len() < n as usize / 20 + 1 || kept.len() > 3 {
                    let Some(old) = kept.pop_front() else { break };
                    free.give(&old);
                    ops.extend(old.into_iter().map(Op::Trim));
                }
                if kept.is_empty() {
                    kept.push_back(Vec::new());
                }
                if let Some(new) = free.take(1).first() {
                    kept.back_mut().unwrap().push(std::mem::replace(&mut place[block], *new));
                    fresh[block] = true;
                }
            }
            ops.push(Op::Write(place[block]));
            if rng.u32(0..many / 4) == 0 {
                kept.push_back(Vec::new());
                fresh.fill(false);
            }
            Some(ops)
        })
        .flatten(),
    )
}

/// So many turnovers of another family, over and over.
pub(super) fn looped(n: u32, turnovers: u32, of: fn(u32, u64) -> Ops, seed: u64) -> Ops {
    let round: Vec<Op> = of(n, seed).take((n * turnovers) as usize).collect();
    Box::new((0..).map(move |at: usize| round[at % round.len()]))
}
