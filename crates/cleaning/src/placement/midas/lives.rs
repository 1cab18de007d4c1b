//! The lifetimes of user writes.
#![expect(clippy::cast_precision_loss, reason = "estimates")]

use alloc::{vec, vec::Vec};

use crate::packed::NONE;

/// Classes of age, four to an octave from a 1024th of a turnover to sixteen turnovers.
const AGES: usize = 57;
/// Pages watched at most.
const SAMPLES: u32 = 1 << 15;

/// A life table: for each class of age the deaths, and the time that pages were in danger.
#[derive(Clone, Debug)]
pub(super) struct Lives {
    /// One page in so many is watched.
    stride: u32,
    /// The clock of the write of each watched page.
    born: Vec<u32>,
    /// The end of each class of age.
    ends: [f32; AGES],
    deaths: [f32; AGES],
    exposure: [f32; AGES],
    /// Pages written, and those of them that are watched.
    writes: f32,
    births: f32,
    /// Time before this clock is already in the table.
    seen: u32,
}

impl Lives {
    pub(super) fn new(pages: u32) -> Self {
        // Odd, so that it does not fall in with the powers of two of file systems.
        let stride = pages.div_ceil(SAMPLES) | 1;
        let grain = (pages as f32 / 1024.0).max(1.0);
        let mut ends = [grain; AGES];
        for at in 1..AGES {
            ends[at] = ends[at - 1] * 1.189_207_1;
        }
        Self {
            stride,
            born: vec![NONE; pages.div_ceil(stride) as usize],
            ends,
            deaths: [0.0; AGES],
            exposure: [0.0; AGES],
            writes: 0.0,
            births: 0.0,
            seen: 0,
        }
    }

    fn watched(&mut self, page: u32) -> Option<&mut u32> {
        let is_watched = page.is_multiple_of(self.stride);
        self.born.get_mut((page / self.stride) as usize).filter(|_| is_watched)
    }

    /// A page is written.
    pub(super) fn born(&mut self, now: u32, page: u32) {
        self.writes += 1.0;
        if let Some(born) = self.watched(page) {
            *born = now;
            self.births += 1.0;
        }
    }

    /// The copy of a page dies, if there is one.
    pub(super) fn died(&mut self, now: u32, page: u32) {
        let Some(born) = self.watched(page).map(|born| core::mem::replace(born, NONE)) else { return };
        if born != NONE {
            self.expose(born, now);
            let at = self.class(now.wrapping_sub(born) as f32);
            self.deaths[at] += 1.0;
        }
    }

    fn class(&self, age: f32) -> usize {
        self.ends.partition_point(|end| *end <= age).min(AGES - 1)
    }

    /// Counts the exposure of a page born then; exposure before `seen` is counted.
    fn expose(&mut self, born: u32, now: u32) {
        let age = now.wrapping_sub(born);
        let mut from = age.saturating_sub(now.wrapping_sub(self.seen)) as f32;
        let to = age as f32;
        for at in self.class(from)..AGES {
            let end = if at + 1 == AGES { to } else { to.min(self.ends[at]) };
            self.exposure[at] += (end - from).max(0.0);
            from = end;
            if from >= to {
                break;
            }
        }
    }

    /// The table's distribution, with `live` pages in all; older evidence counts half afterwards.
    pub(super) fn survival(&mut self, now: u32, live: u64) -> Survival {
        for at in 0..self.born.len() {
            let born = self.born[at];
            if born != NONE {
                self.expose(born, now);
            }
        }
        self.seen = now;
        // A few pages may get a good part of the writes; whether they are watched is chance.
        let part = self.births * self.stride as f32 / self.writes.max(1.0);
        let survival = Survival::new(&self.ends, &self.deaths, &self.exposure, part, live as f32);
        let sums = [&mut self.writes, &mut self.births];
        for sum in self.deaths.iter_mut().chain(&mut self.exposure).chain(sums) {
            *sum *= 0.5;
        }
        survival
    }
}

/// The part of user writes that outlives an age, in user writes.
#[derive(Clone, Debug)]
pub(super) struct Survival {
    pieces: Vec<Piece>,
}

/// A stretch of ages at one death rate.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: f32,
    rate: f32,
    /// The part that reaches it.
    alive: f32,
    /// The integral over all ages from here on.
    rest: f32,
}

impl Piece {
    fn alive(&self, age: f32) -> f32 {
        self.alive * libm::expf(-self.rate * (age - self.from))
    }

    /// The integral from its beginning to `age`.
    fn lived(&self, age: f32) -> f32 {
        let time = age - self.from;
        match self.rate * time {
            small if small < 1e-3 => self.alive * time * (1.0 - small / 2.0),
            grown => self.alive * (1.0 - libm::expf(-grown)) / self.rate,
        }
    }
}

impl Survival {
    /// A distribution from classes of age with their ends, which are about a part of all writes; the others are taken
    /// to die at once. (If they are more than 1, there are too many short lives among them.) After the last class with
    /// exposure pages die at such a rate that `live` pages live at a time: one is born with each user write.
    pub(super) fn new(ends: &[f32], deaths: &[f32], exposure: &[f32], part: f32, live: f32) -> Self {
        let known = exposure.iter().rposition(|time| *time > 0.0).map_or(0, |at| at + 1);
        let mut pieces: Vec<Piece> = Vec::with_capacity(known + 1);
        let (mut from, mut alive, mut lived) = (0.0, part, 0.0);
        for ((end, deaths), exposure) in ends.iter().zip(deaths).zip(exposure).take(known) {
            let piece = Piece { from, rate: deaths / exposure.max(1.0), alive, rest: lived };
            pieces.push(piece);
            (alive, lived, from) = (piece.alive(*end).max(1e-6), lived + piece.lived(*end), *end);
        }
        let tail = (live - lived).max(1.0);
        pieces.push(Piece { from, rate: alive / tail, alive, rest: lived });
        let total = lived + tail;
        for piece in &mut pieces {
            piece.rest = total - piece.rest;
        }
        Self { pieces }
    }

    fn piece(&self, age: f32) -> Piece {
        let at = self.pieces.partition_point(|piece| piece.from <= age);
        self.pieces[at.saturating_sub(1)]
    }

    /// The part that outlives `age`.
    pub(super) fn alive(&self, age: f32) -> f32 {
        if age > 0.0 { self.piece(age).alive(age).min(1.0) } else { 1.0 }
    }

    /// Pages older than `age` that live at a time.
    pub(super) fn older(&self, age: f32) -> f32 {
        let piece = self.piece(age);
        (piece.rest - piece.lived(age)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 of 1000 pages are written nine times in ten.
    #[test]
    fn two_rates_are_found() {
        let mut lives = Lives::new(1000);
        let mut rng = fastrand::Rng::with_seed(1);
        for now in 0..40_000 {
            let page = if rng.u8(0..10) < 9 { rng.u32(0..100) } else { rng.u32(100..1000) };
            lives.died(now, page);
            lives.born(now, page);
            if now % 1000 == 999 {
                lives.survival(now, 1000);
            }
        }
        let survival = lives.survival(40_000, 1000);
        for (age, tolerance) in [(50.0, 0.02), (200.0, 0.02), (1000.0, 0.01), (9000.0, 0.02)] {
            let want = 0.9 * f32::exp(-age * 0.009) + 0.1 * f32::exp(-age / 9000.0);
            assert!((survival.alive(age) - want).abs() < tolerance, "{age}: {} {want}", survival.alive(age));
        }
        let (old, want) = (survival.older(1000.0), 900.0 * f32::exp(-1000.0 / 9000.0));
        assert!((old - want).abs() < 40.0, "{old} {want}");
        assert!((survival.older(0.0) - 1000.0).abs() < 60.0);
    }

    #[test]
    fn what_is_never_written_again_lives_on() {
        let mut lives = Lives::new(100);
        (0..100).for_each(|now| lives.born(now, now));
        for now in 100..1000 {
            lives.died(now, now % 10);
            lives.born(now, now % 10);
        }
        let survival = lives.survival(1000, 100);
        assert!(survival.alive(9.0) > 0.9 && survival.alive(13.0) < 0.2);
        assert!((80.0..100.0).contains(&survival.older(20.0)), "{}", survival.older(20.0));
    }

    /// Half of the writes go to one page that is not watched.
    #[test]
    fn what_is_not_watched_dies_at_once() {
        let mut lives = Lives::new(100_000);
        assert!(lives.stride > 1);
        for now in 0..100_000 {
            let page = if now % 2 == 0 { 1 } else { now * 7919 % 100_000 };
            lives.died(now, page);
            lives.born(now, page);
        }
        let survival = lives.survival(100_000, 50_001);
        assert!((survival.alive(200.0) - 0.5).abs() < 0.01, "{}", survival.alive(200.0));
        assert!((survival.older(0.0) - 50_001.0).abs() < 1000.0, "{}", survival.older(0.0));
    }
}
