//! A line of the lookup table in memory: as many bits as its numbers need on this chip, some 14 bytes.

use crate::age::{age, rounded};
use crate::segment::{Segment, State};
use crate::shape::Shape;

/// Bits of a number of erases. No chip withstands a million.
const ERASES: u32 = 20;
/// Bits of the time from the opening to the sealing. It is exact: rounded like that of the last change, it made the
/// longest call of a spinand longer.
const BEFORE: u32 = 22;
/// Bits of all fields but those that depend on the chip.
const FIXED: u32 = 3 + 4 + 1 + 1 + 1 + 4 + BEFORE + 8 + 32 + ERASES;
/// Changes later than this were before.
const LATE: u32 = u32::MAX >> 1;

/// The widths of the fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packing {
    used: u32,
    valid: u32,
}

impl Packing {
    /// No line is packed as this: it has no state.
    pub(crate) const APART: u128 = 7;

    pub(crate) fn of(shape: &Shape) -> Packing {
        let bits = |most: u32| u32::BITS - most.leading_zeros();
        let used = bits(shape.pages);
        // On no chip that is sold are these too few; counts that do not fit are kept apart.
        Packing { used, valid: bits(shape.capacity()).min(u128::BITS - FIXED - used) }
    }

    /// Bytes of a packed line, 16 at the most.
    pub(crate) fn bytes(self) -> usize {
        (FIXED + self.used + self.valid).div_ceil(u8::BITS) as usize
    }

    /// A line in as many low bits. Exact but for the last change, whose time since the sealing has four significant bits.
    /// `None` for a line that does not fit.
    pub(crate) fn pack(self, line: &Segment) -> Option<u128> {
        let (before, after) = (line.sealed.wrapping_sub(line.opened), line.changed.wrapping_sub(line.sealed));
        if after > LATE {
            return None;
        }
        let fields = [
            (line.state as u32, 3),
            (line.class.into(), 4),
            (line.weak.into(), 1),
            (line.trims.into(), 1),
            (line.is_unasked.into(), 1),
            (line.reads.into(), 4),
            (before, BEFORE),
            (rounded(after).into(), 8),
            (line.sealed, 32),
            (line.erases, ERASES),
            (line.used.into(), self.used),
            (line.valid, self.valid),
        ];
        let (mut word, mut at) = (0, 0);
        for (number, bits) in fields {
            if u64::from(number) >> bits != 0 {
                return None;
            }
            word |= u128::from(number) << at;
            at += bits;
        }
        Some(word)
    }

    /// The line of so many bits; `None` if they have no state.
    pub(crate) fn unpack(self, mut word: u128) -> Option<Segment> {
        let mut take = |bits: u32| {
            let [a, b, c, d, ..] = (word & ((1 << bits) - 1)).to_le_bytes();
            word >>= bits;
            u32::from_le_bytes([a, b, c, d])
        };
        let mut byte = |bits| take(bits).to_le_bytes()[0];
        let (state, class) = (State::from_byte(byte(3))?, byte(4));
        let (weak, trims, is_unasked) = (byte(1) > 0, byte(1) > 0, byte(1) > 0);
        let reads = byte(4);
        let before = take(BEFORE);
        let [after, ..] = take(8).to_le_bytes();
        let (sealed, erases) = (take(32), take(ERASES));
        let [low, high, ..] = take(self.used).to_le_bytes();
        Some(Segment {
            state,
            class,
            used: u16::from_le_bytes([low, high]),
            weak,
            reads,
            trims,
            is_unasked,
            erases,
            opened: sealed.wrapping_sub(before),
            sealed,
            changed: sealed.wrapping_add(age(after)),
            valid: take(self.valid),
        })
    }
}

#[cfg(test)]
mod tests {
    use pumice_flashlog::READS_MOST;
    use pumice_media::ChipSpec;

    use super::*;

    fn packing(geometry: &str) -> (Packing, Shape) {
        let shape = Shape::of(&ChipSpec::parse_geometry(geometry).unwrap().geometry(), 4096, 0).unwrap();
        (Packing::of(&shape), shape)
    }

    fn exact(line: &Segment) -> Segment {
        Segment { changed: 0, ..*line }
    }

    #[test]
    fn lines_come_back_but_for_a_sixteenth_of_the_time_of_the_last_change() {
        let mut rng = fastrand::Rng::with_seed(4);
        for geometry in ["2048+64:64:1000", "8192+640:256:1000", "16384+1024:1024:64"] {
            let (packing, shape) = packing(geometry);
            for _ in 0..2000 {
                let limit = |rng: &mut fastrand::Rng, most: u32| match rng.u32(..4) {
                    0 => 0,
                    1 => most,
                    _ => rng.u32(..=most),
                };
                let sealed = limit(&mut rng, u32::MAX);
                let line = Segment {
                    state: State::from_byte(rng.u8(..7)).unwrap(),
                    class: rng.u8(..16),
                    used: u16::try_from(limit(&mut rng, shape.pages)).unwrap(),
                    weak: rng.bool(),
                    reads: rng.u8(..=READS_MOST),
                    trims: rng.bool(),
                    is_unasked: rng.bool(),
                    erases: limit(&mut rng, (1 << ERASES) - 1),
                    opened: sealed.wrapping_sub(limit(&mut rng, (1 << BEFORE) - 1)),
                    sealed,
                    changed: sealed.wrapping_add(limit(&mut rng, LATE)),
                    valid: limit(&mut rng, shape.capacity()),
                };
                let word = packing.pack(&line).unwrap();
                assert!(word >> (packing.bytes() * 8) == 0);
                let back = packing.unpack(word).unwrap();
                assert_eq!(exact(&line), exact(&back));
                let [one, other] = [line, back].map(|it| it.changed.wrapping_sub(sealed));
                assert!(one.abs_diff(other) <= one / 16, "{one} became {other}");
                assert_eq!(packing.pack(&back), Some(word), "packed once more, it rounds no further");
            }
        }
    }

    #[test]
    fn lines_of_the_largest_segments_have_room() {
        let shape = Shape::of(&ChipSpec::parse_geometry("65536+8192:65535:16").unwrap().geometry(), 512, 0);
        let packing = Packing::of(&shape.unwrap());
        assert_eq!(packing.bytes(), size_of::<u128>());
        for valid in [(1 << packing.valid) - 1, 1 << packing.valid] {
            let line = Segment { valid, ..Segment::FRESH };
            let back = packing.pack(&line).and_then(|word| packing.unpack(word));
            assert_eq!(back.is_some(), valid >> packing.valid == 0);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (packing, _) = packing("2048+64:64:1000");
        assert_eq!(packing.bytes(), 14);
        assert_eq!(packing.pack(&Segment::FRESH), Some(0));
        for line in [
            Segment { valid: u32::MAX, ..Segment::FRESH },
            Segment { used: u16::MAX, ..Segment::FRESH },
            Segment { erases: 1 << ERASES, ..Segment::FRESH },
            Segment { opened: 1, ..Segment::FRESH },
            Segment { changed: u32::MAX, ..Segment::FRESH },
            Segment { class: 16, ..Segment::FRESH },
            Segment { reads: 16, ..Segment::FRESH },
        ] {
            assert_eq!(packing.pack(&line), None, "{line:?}");
        }
        assert!(packing.unpack(Packing::APART).is_none());
    }
}
