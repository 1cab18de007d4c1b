//! Compressing to LZO1X and to Linux's variant of it with runs of zeros, after Documentation/staging/lzo.rst.

use super::repeats::{Reach, Repeat, Repeats};

/// The beginning of a stream that has runs of zeros: the mark of a version, and the version.
const VERSION: [u8; 2] = [17, 1];
/// The end of a stream: a far match at no distance.
const END: [u8; 3] = [17, 0, 0];
/// Literals at the start that their count alone says.
const START_MAX: usize = 238;
/// The farthest of near and middle matches, and the reach of a far one beyond its field.
const NEAR: usize = 0x800;
const MIDDLE: usize = 0x4000;
/// The farthest match; the last but one is a run of zeros.
const FAR: usize = 0xbffe;
/// Zeros of a run.
const ZEROS: std::ops::RangeInclusive<usize> = 4..=2051;
/// Longest match that takes no more bytes than a run of zeros.
const SHORT: usize = 288;
/// Bytes at the start that stay literals: a stream must not begin with a run of zeros.
const HEAD: usize = 4;

/// Appends the compressed bytes of `data`.
pub(super) fn compress(data: &[u8], zero_runs: bool, repeats: &mut Repeats, out: &mut Vec<u8>) {
    let mut stream = Stream { out, last: None, zero_runs };
    if zero_runs {
        stream.out.extend(VERSION);
    }
    let reach = Reach { distance: FAR, head: HEAD, begin_tail: 0, end_tail: 0 };
    let rest = repeats.cut(data, reach, |literals, repeat| {
        stream.literals(literals);
        let is_zeros =
            zero_runs && repeat.distance == 1 && repeat.length > SHORT && literals.last() == Some(&0);
        if is_zeros { stream.zeros(repeat.length) } else { stream.repeat(repeat) }
    });
    stream.literals(rest);
    stream.out.extend(END);
}

struct Stream<'a> {
    out: &'a mut Vec<u8>,
    /// The byte of the last match that says how many literals follow it, up to three.
    last: Option<usize>,
    zero_runs: bool,
}

impl Stream<'_> {
    fn literals(&mut self, bytes: &[u8]) {
        match (bytes.len(), self.last) {
            (0, _) => return,
            (count @ 1..=START_MAX, None) => self.out.push(low(17 + count)),
            (count @ 1..=3, Some(last)) => {
                if let Some(place) = self.out.get_mut(last) {
                    *place |= low(count);
                }
            }
            (count, _) => self.length(0, count - 3, 15),
        }
        self.out.extend_from_slice(bytes);
    }

    fn repeat(&mut self, repeat: Repeat) {
        let Repeat { distance, length } = repeat;
        if distance <= NEAR && length <= 8 {
            self.last = Some(self.out.len());
            let below = distance - 1;
            self.out.push(low((length - 1) << 5 | (below & 7) << 2));
            self.out.push(low(below >> 3));
        } else if distance <= MIDDLE {
            self.length(0x20, length - 2, 31);
            self.field(distance - 1);
        } else if self.zero_runs && (261..=264).contains(&length) {
            // Length and distance of such a match can look like a run of zeros.
            self.repeat(Repeat { distance, length: 130 });
            self.repeat(Repeat { distance, length: length - 130 });
        } else {
            let beyond = distance - MIDDLE;
            self.length(0x10 | low(beyond >> 11) & 8, length - 2, 7);
            self.field(beyond & 0x3fff);
        }
    }

    fn zeros(&mut self, mut count: usize) {
        while count > 0 {
            // The rest must be enough for a run of its own.
            let most = *ZEROS.end();
            let run = if count > most { most.min(count - ZEROS.start()) } else { count };
            let above = run - ZEROS.start();
            self.out.push(0x18 | low(above & 7));
            self.last = Some(self.out.len());
            self.out.extend([0xfc, 0xff, low(above >> 3)]);
            count -= run;
        }
    }

    /// A code with a length: up to `most` in the code itself, otherwise 0 there and the rest behind it.
    fn length(&mut self, code: u8, length: usize, most: usize) {
        if length <= most {
            self.out.push(code | low(length));
            return;
        }
        self.out.push(code);
        let mut beyond = length - most;
        while beyond > 255 {
            self.out.push(0);
            beyond -= 255;
        }
        self.out.push(low(beyond));
    }

    /// A distance in two bytes, with the number of following literals in the lowest two bits.
    fn field(&mut self, distance: usize) {
        self.last = Some(self.out.len());
        self.out.extend([low((distance << 2) & 0xff), low(distance >> 6)]);
    }
}

/// A number that has eight bits.
fn low(number: usize) -> u8 {
    let byte = u8::try_from(number);
    debug_assert!(byte.is_ok(), "a number beyond 8 bits");
    byte.unwrap_or(u8::MAX)
}
