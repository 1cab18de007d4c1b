//! Compressing to LZ4 blocks by a longer search, as Linux's lz4hc does; the fast form is a library's.

use super::repeats::{Reach, Repeat, Repeats};

/// Shortest match.
const MATCH_MIN: usize = 4;
/// The most that half of a token says; more follows behind it.
const NIBBLE_MAX: usize = 15;
/// No match begins in the last 12 bytes, or reaches into the last 5.
const REACH: Reach = Reach { distance: 0xffff, head: 0, begin_tail: 12, end_tail: 5 };

/// Appends the compressed bytes of `data`.
pub(super) fn compress(data: &[u8], repeats: &mut Repeats, out: &mut Vec<u8>) {
    let rest = repeats.cut(data, REACH, |literals, repeat| sequence(literals, Some(repeat), out));
    sequence(rest, None, out);
}

fn sequence(literals: &[u8], repeat: Option<Repeat>, out: &mut Vec<u8>) {
    let above = repeat.map_or(0, |repeat| repeat.length - MATCH_MIN);
    let nibble = |number: usize| u8::try_from(number.min(NIBBLE_MAX)).unwrap_or(0);
    out.push(nibble(literals.len()) << 4 | nibble(above));
    more(literals.len(), out);
    out.extend_from_slice(literals);
    if let Some(repeat) = repeat {
        out.extend(crate::word::half(repeat.distance).to_le_bytes());
        more(above, out);
    }
}

/// The part of a number beyond its token.
fn more(number: usize, out: &mut Vec<u8>) {
    let Some(mut left) = number.checked_sub(NIBBLE_MAX) else { return };
    while let Some(next) = left.checked_sub(255) {
        out.push(255);
        left = next;
    }
    out.push(u8::try_from(left).unwrap_or(0));
}
