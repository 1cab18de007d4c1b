//! Families that nobody developed on: they were drawn up when the default was as it is, to see its regret there.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_lossless,
    reason = "small numbers"
)]

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    iter::from_fn,
};

use fastrand::Rng;

use super::{
    Access,
    families::{Family, Free, Op, Ops, beside, looped, moved, writes},
    zipf::Zipf,
};

/// All of them.
pub(crate) const NEWCOMERS: [Family; 16] = [
    ("zipf 0.65, churn 1 %", |n, s| writes(Zipf::new(n, 0.65, 0.01, s))),
    ("zipf 1.1, churn 50 %", |n, s| writes(Zipf::new(n, 1.1, 0.5, s))),
    ("70/30", |n, s| writes(Access::Locality(70).pages(n, s))),
    ("lives by Pareto's law", |n, s| lives(n, |rng| rng.f64().powf(-0.8), s)),
    ("lives of two lengths", |n, s| lives(n, |rng| if rng.bool() { 0.1 + rng.f64() / 20.0 } else { 3.0 }, s)),
    ("bulk loads between updates", bulk),
    ("three logs beside 90/10", three_logs),
    ("series by time", |n, s| series(n, 12, s)),
    ("eight machines", machines),
    ("days", days),
    ("table that is hashed anew", hashed),
    ("spool", spool),
    ("sorted batches", batches),
    ("heads of files", heads),
    ("loop of a spool", |n, s| looped(n, 2, spool, s)),
    ("series beside zipf", |n, s| beside(n, 3, 2, |n, s| writes(Zipf::new(n, 0.8, 0.02, s)), s)),
];

/// Each page is written again after a life drawn for it, in turnovers or shares of one.
fn lives(n: u32, life: fn(&mut Rng) -> f64, seed: u64) -> Ops {
    let mut rng = Rng::with_seed(seed);
    let due = move |rng: &mut Rng, now: u64| now + 1 + (life(rng) * f64::from(n)).min(1e12) as u64;
    let mut queue: BinaryHeap<Reverse<(u64, u32)>> =
        (0..n).map(|page| Reverse((due(&mut rng, 0), page))).collect();
    writes(from_fn(move || {
        let Reverse((now, page)) = queue.pop()?;
        queue.push(Reverse((due(&mut rng, now), page)));
        Some(page)
    }))
}

/// A quarter of the store in order, another each time, then a turnover by Zipf's law.
fn bulk(n: u32, seed: u64) -> Ops {
    let mut pages = Zipf::new(n, 0.9, 0.0, seed);
    let mut quarter = 0;
    writes(
        from_fn(move || {
            let start = quarter % 4 * (n / 4);
            quarter += 1;
            Some((start..start + n / 4).chain(pages.by_ref().take(n as usize).collect::<Vec<_>>()))
        })
        .flatten(),
    )
}

/// Logs of a sixteenth, an eighth and a quarter, and 90/10 on the rest, in turns by lot.
fn three_logs(n: u32, seed: u64) -> Ops {
    let mut rng = Rng::with_seed(seed);
    let sizes = [n / 16, n / 8, n / 4];
    let logs: u32 = sizes.iter().sum();
    let mut next = [0; 3];
    let mut rest = Access::Locality(90).pages(n - logs, seed);
    writes(from_fn(move || {
        let who = rng.usize(0..6);
        if who >= 3 {
            return rest.next().map(|page| logs + page);
        }
        next[who] = (next[who] + 1) % sizes[who];
        Some(sizes.iter().take(who).sum::<u32>() + next[who])
    }))
}

/// So many series that grow by a page in turns by lot; the oldest pages of all go when nine tenths are in use.
fn series(n: u32, many: usize, seed: u64) -> Ops {
    let mut rng = Rng::with_seed(seed);
    let (mut free, mut parts) = (Free::new(n), vec![VecDeque::new(); many]);
    let mut first = true;
    Box::new(
        from_fn(move || {
            let mut ops: Vec<Op> =
                if std::mem::take(&mut first) { (0..n).map(Op::Trim).collect() } else { Vec::new() };
            // The lower a series's number, the faster it grows.
            let who = rng.usize(0..many).min(rng.usize(0..many));
            while free.len() < n as usize / 10 + 32 {
                let longest = (0..many).max_by_key(|part| parts[*part].len()).unwrap();
                let some = parts[longest].len().min(32);
                let old: Vec<u32> = parts[longest].drain(..some).collect();
                free.give(&old);
                ops.extend(old.into_iter().map(Op::Trim));
            }
            let new = free.take(1 << rng.u32(0..4));
            ops.extend(new.iter().copied().map(Op::Write));
            parts[who].extend(new);
            Some(ops)
        })
        .flatten(),
    )
}

/// Eight with an eighth each and Zipf's law of another exponent; each writes half as often as the one before.
fn machines(n: u32, seed: u64) -> Ops {
    let mut rng = Rng::with_seed(seed);
    let part = n / 8;
    let mut all: Vec<Zipf> =
        (0_u32..8).map(|at| Zipf::new(part, 0.5 + 0.1 * f64::from(at), 0.0, seed + u64::from(at))).collect();
    writes(from_fn(move || {
        let who = (rng.u32(1..256).leading_zeros() - 24).min(7);
        all[who as usize].next().map(|page| page + who * part)
    }))
}

/// Two hot sets whose shares of the writes go up and down in four turnovers.
fn days(n: u32, seed: u64) -> Ops {
    let mut rng = Rng::with_seed(seed);
    let mut sets = [seed + 31, seed + 62].map(|seed| Access::Locality(90).pages(n, seed));
    let mut now = 0.0;
    writes(from_fn(move || {
        now += 1.0;
        let share = 0.5 + 0.5 * (now / f64::from(n) * std::f64::consts::FRAC_PI_2).sin();
        sets[usize::from(rng.f64() < share)].next()
    }))
}

/// A table at random places of one half; then all goes to the other half in order, and the old one is trimmed.
fn hashed(n: u32, seed: u64) -> Ops {
    let half = n / 2;
    let mut pages = Zipf::new(half, 0.5, 0.0, seed);
    let mut phase = 0;
    Box::new(
        from_fn(move || {
            let at = phase % 2 * half;
            phase += 1;
            let copied = (at..at + half).map(Op::Write);
            let old = (half - at..2 * half - at).map(Op::Trim);
            let used: Vec<Op> =
                pages.by_ref().take(n as usize).map(|page| moved(Op::Write(page), at)).collect();
            Some(copied.chain(old).chain(used))
        })
        .flatten(),
    )
}

/// Letters of 1 to 4 pages; most go soon, some stay. Each touches one of a few pages of names. 85 % are in use.
fn spool(n: u32, seed: u64) -> Ops {
    let mut rng = Rng::with_seed(seed);
    let names = n / 50 + 1;
    let (mut free, mut young, mut old) = (Free::new(n - names), VecDeque::new(), Vec::new());
    let mut first = true;
    Box::new(
        from_fn(move || {
            let mut ops: Vec<Op> =
                if std::mem::take(&mut first) { (names..n).map(Op::Trim).collect() } else { Vec::new() };
            while free.len() < n as usize * 15 / 100 {
                let gone: Vec<u32> = match rng.u32(0..20) {
                    0 if !old.is_empty() => old.swap_remove(rng.usize(0..old.len())),
                    _ => match young.pop_front() {
                        Some(letter) => letter,
                        None => old.swap_remove(rng.usize(0..old.len())),
                    },
                };
                free.give(&gone);
                ops.extend(gone.into_iter().map(|page| Op::Trim(page + names)));
            }
            let letter = free.take(rng.usize(1..5));
            ops.extend(letter.iter().map(|page| Op::Write(page + names)));
            ops.push(Op::Write((f64::from(names).powf(rng.f64()) - 1.0) as u32));
            if rng.u32(0..8) == 0 {
                old.push(letter);
            } else {
                young.push_back(letter);
            }
            Some(ops)
        })
        .flatten(),
    )
}

/// Zipf's law, gathered and written in order of places.
fn batches(n: u32, seed: u64) -> Ops {
    let mut pages = Zipf::new(n, 0.95, 0.0, seed);
    writes(
        from_fn(move || {
            let mut batch: Vec<u32> = pages.by_ref().take((n / 8).max(1) as usize).collect();
            batch.sort_unstable();
            batch.dedup();
            Some(batch)
        })
        .flatten(),
    )
}

/// Files of 128 pages that are written in order, a few pages at a time, each time with the first page again.
fn heads(n: u32, seed: u64) -> Ops {
    const FILE: u32 = 128;
    let mut rng = Rng::with_seed(seed);
    let many = (n / FILE).max(1);
    let mut next = vec![1; many as usize];
    writes(
        from_fn(move || {
            let file = rng.u32(0..many).min(rng.u32(0..many));
            let at = &mut next[file as usize];
            let size = FILE.min(n);
            let more: Vec<u32> = (*at..(*at + 6).min(size)).map(|page| file * FILE + page).collect();
            *at = if *at + 6 >= size { 1 } else { *at + 6 };
            Some(more.into_iter().chain([file * FILE]))
        })
        .flatten(),
    )
}
