//! The lines of the lookup table as a checkpoint holds them: six bytes, as a rule.
//!
//! They are most of a checkpoint, and a start reads them all. So a line tells its erases as the difference from the line
//! before, and its times as ages of four significant bits: policies compare them, and nothing depends on them.

use alloc::vec::Vec;

use pumice_cleaning::placement::MAX_CLASSES;
use pumice_flashlog::READS_MOST;

use crate::age::{age, rounded};
use crate::error::FtlError;
use crate::segment::{Segment, State};
use crate::segments::Segments;

/// Bytes of a line at the most.
pub(crate) const LINE_MOST: usize = 20;

/// A state that stands for a sealed segment with as many pages as the last, which was not read often.
const PLAIN: u8 = 7;
/// Where a byte has the mark of a weak segment, and where its class.
const WEAK: u32 = 3;
const CLASS: u32 = 4;
/// Mark beside the reads: pages, blocks and times follow.
const HOLDS: u8 = 1 << 4;
const _: () = assert!(MAX_CLASSES == 1 << (u8::BITS - CLASS) && READS_MOST < HOLDS);
/// A number of one byte is less.
const LONG: u8 = u8::MAX;

/// Writes or reads lines, one after the other.
pub(crate) struct Lines {
    now: u32,
    /// Of the line before.
    erases: u32,
    /// Of the last segment before that tells them.
    used: u16,
}

impl Lines {
    /// The first line of a checkpoint made at this time.
    pub(crate) fn at(now: u32) -> Lines {
        Lines { now, erases: 0, used: 0 }
    }

    fn put(&mut self, segment: &Segment, out: &mut Vec<u8>) {
        let is_plain = segment.state == State::Sealed && segment.used == self.used && segment.reads == 0;
        let state = if is_plain { PLAIN } else { segment.state as u8 };
        out.push(state | u8::from(segment.weak) << WEAK | segment.class << CLASS);
        let more = segment.erases.wrapping_sub(self.erases).cast_signed();
        put_number(((more << 1) ^ (more >> 31)).cast_unsigned(), out);
        self.erases = segment.erases;
        if !is_plain {
            // Blocks that moved from a free one are counted off when their leaf is read.
            let holds = segment.state.may_hold_data() || segment.valid > 0;
            out.push(segment.reads | if holds { HOLDS } else { 0 });
            if !holds {
                return;
            }
            put_number(segment.used.into(), out);
            self.used = segment.used;
        }
        put_number(segment.valid, out);
        let times = [segment.opened, segment.sealed, segment.changed];
        out.extend(times.map(|time| rounded(self.now.wrapping_sub(time))));
    }

    /// The next line, from the next bytes.
    pub(crate) fn take(&mut self, next: &mut impl FnMut() -> Taken<u8>) -> Taken<Segment> {
        let head = next()?;
        let code = head & PLAIN;
        let is_plain = code == PLAIN;
        let state = if is_plain { Some(State::Sealed) } else { State::from_byte(code) };
        let more = number(next)?;
        self.erases = self.erases.wrapping_add((more >> 1) ^ (more & 1).wrapping_neg());
        let mut segment = Segment {
            state: state.ok_or(Unread::Senseless)?,
            class: head >> CLASS,
            weak: head >> WEAK & 1 == 1,
            erases: self.erases,
            ..Segment::FRESH
        };
        if !is_plain {
            let reads = next()?;
            segment.reads = reads & !HOLDS;
            if segment.reads > READS_MOST {
                return Err(Unread::Senseless);
            }
            if reads & HOLDS == 0 {
                return Ok(segment);
            }
            self.used = u16::try_from(number(next)?).map_err(|_| Unread::Senseless)?;
        }
        (segment.used, segment.valid) = (self.used, number(next)?);
        for time in [&mut segment.opened, &mut segment.sealed, &mut segment.changed] {
            *time = self.now.wrapping_sub(age(next()?));
        }
        Ok(segment)
    }
}

/// The reason that a line cannot be read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// The bytes end, or make no sense.
    Senseless,
    /// The chip failed.
    Chip(FtlError),
}

pub(crate) type Taken<T> = core::result::Result<T, Unread>;

/// The lines of the lookup table in a checkpoint made now.
pub(crate) fn lines_of(segments: &Segments, now: u32) -> impl Iterator<Item = Vec<u8>> {
    let mut lines = Lines::at(now);
    segments.iter().map(move |(_, segment)| {
        let mut line = Vec::with_capacity(LINE_MOST);
        lines.put(&segment, &mut line);
        line
    })
}

/// A number in one byte, or in five.
fn put_number(number: u32, out: &mut Vec<u8>) {
    match u8::try_from(number) {
        Ok(byte) if byte < LONG => out.push(byte),
        _ => {
            out.push(LONG);
            out.extend(number.to_le_bytes());
        }
    }
}

fn number(next: &mut impl FnMut() -> Taken<u8>) -> Taken<u32> {
    match next()? {
        LONG => {
            let mut bytes = [0; 4];
            for byte in &mut bytes {
                *byte = next()?;
            }
            Ok(u32::from_le_bytes(bytes))
        }
        byte => Ok(byte.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(bytes: &[u8], now: u32, count: usize) -> Option<Vec<Segment>> {
        let (mut rest, mut lines) = (bytes.iter().copied(), Lines::at(now));
        let mut next = || rest.next().ok_or(Unread::Senseless);
        (0..count).map(|_| lines.take(&mut next).ok()).collect()
    }

    fn put(segments: &[Segment], now: u32) -> Vec<u8> {
        let (mut bytes, mut lines) = (Vec::new(), Lines::at(now));
        for segment in segments {
            lines.put(segment, &mut bytes);
        }
        bytes
    }

    fn random(rng: &mut fastrand::Rng, now: u32) -> Segment {
        let number = |rng: &mut fastrand::Rng| rng.u32(..) >> rng.u32(..32);
        let state = State::from_byte(rng.u8(..7)).unwrap();
        let told = Segment {
            state,
            class: rng.u8(..16),
            weak: rng.bool(),
            reads: if rng.bool() { 0 } else { rng.u8(..=READS_MOST) },
            erases: number(rng),
            ..Segment::FRESH
        };
        if !state.may_hold_data() && rng.bool() {
            return told;
        }
        let used = if rng.bool() { 64 } else { rng.u16(..) };
        let mut time = || now.wrapping_sub(number(rng));
        let (opened, sealed, changed) = (time(), time(), time());
        Segment { used, valid: number(rng).max(1), opened, sealed, changed, ..told }
    }

    #[test]
    fn lines_come_back_but_for_a_sixteenth_of_their_ages() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..200 {
            let now = rng.u32(..);
            let segments: Vec<Segment> = (0..50).map(|_| random(&mut rng, now)).collect();
            let bytes = put(&segments, now);
            assert!(bytes.len() <= segments.len() * LINE_MOST);
            let back = taken(&bytes, now, segments.len()).unwrap();
            for (one, other) in segments.iter().zip(&back) {
                let exact = |segment: &Segment| Segment { opened: 0, sealed: 0, changed: 0, ..*segment };
                assert_eq!(exact(one), exact(other));
                for (a, b) in
                    [(one.opened, other.opened), (one.sealed, other.sealed), (one.changed, other.changed)]
                {
                    let (a, b) = (now.wrapping_sub(a), now.wrapping_sub(b));
                    assert!(a.abs_diff(b) <= a / 16, "{a} became {b}");
                }
            }
            assert_eq!(put(&back, now), bytes, "another checkpoint rounds no further");
            assert_eq!(taken(&bytes[..bytes.len() - 1], now, segments.len()), None);
        }
    }

    #[test]
    fn a_sealed_segment_takes_six_bytes_and_a_free_one_three() {
        let sealed = Segment { state: State::Sealed, used: 64, valid: 30, erases: 1000, ..Segment::FRESH };
        let line =
            |more: &[Segment]| put(&[&[sealed], more].concat(), 9000).len() - put(&[sealed], 9000).len();
        assert_eq!(line(&[Segment { erases: 1020, class: 5, ..sealed }]), 6);
        assert_eq!(line(&[Segment { erases: 990, ..Segment::FRESH }]), 3);
        // A checkpoint takes free segments when its size is known.
        assert_eq!(line(&[Segment { erases: 990, state: State::Checkpoint, ..Segment::FRESH }]), 3);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let mut rng = fastrand::Rng::with_seed(2);
        for _ in 0..2000 {
            let bytes: Vec<u8> = (0..rng.usize(..40)).map(|_| rng.u8(..)).collect();
            let _ = taken(&bytes, rng.u32(..), 4);
        }
        assert_eq!(taken(&[1, 0, HOLDS << 1, 0, 0, 0, 0, 0], 0, 1), None);
        assert_eq!(taken(&[1, 0, HOLDS, LONG, 0, 0, 1, 0, 0, 0, 0, 0], 0, 1), None);
    }
}
