//! Finds repeats in a cluster: chains of places that begin with the same four bytes, the newest first.

/// Bytes that places of a chain have in common.
const COMMON: usize = 4;
/// Long enough not to look for a longer one.
const ENOUGH: usize = 256;
/// Stands for no place.
const NONE: u32 = u32::MAX;
/// Chains there are at least and at most, as a power of two.
const CHAINS: std::ops::RangeInclusive<u32> = 10..=16;

/// Bytes that stand further in front, too.
#[derive(Clone, Copy)]
pub(super) struct Repeat {
    /// The distance in front.
    pub(super) distance: usize,
    /// The number of bytes.
    pub(super) length: usize,
}

/// The effort of the search.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// Places of a chain to compare with.
    pub(super) places: usize,
    /// Look whether the repeat that begins a byte later is longer.
    pub(super) lazy: bool,
}

/// The limits of a format.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    /// Farthest repeat.
    pub(super) distance: usize,
    /// Bytes at the start that are no repeats.
    pub(super) head: usize,
    /// Bytes at the end that no repeat begins in, and that none reaches into.
    pub(super) begin_tail: usize,
    pub(super) end_tail: usize,
}

/// The chains of a cluster; kept from one to the next for the sake of their memory.
pub(super) struct Repeats {
    effort: Effort,
    /// The newest place of each chain.
    newest: Vec<u32>,
    /// The place before each place in its chain.
    before: Vec<u32>,
    bits: u32,
    /// Places up to here are in their chains.
    noted: usize,
}

impl Repeats {
    pub(super) fn new(effort: Effort) -> Repeats {
        Repeats { effort, newest: Vec::new(), before: Vec::new(), bits: *CHAINS.start(), noted: 0 }
    }

    /// Cuts `data` into literals and repeats, which `found` gets pair by pair, and returns the literals that are left.
    pub(super) fn cut<'a>(
        &mut self,
        data: &'a [u8],
        reach: Reach,
        mut found: impl FnMut(&'a [u8], Repeat),
    ) -> &'a [u8] {
        self.begin(data.len());
        let last = data.len().saturating_sub(reach.begin_tail.max(COMMON));
        let (mut at, mut from) = (reach.head, 0);
        while at < last {
            let Some(mut best) = self.longest(data, at, reach) else {
                // Bytes that do not repeat are passed over faster and faster.
                at += 1 + if self.effort.lazy { 0 } else { (at - from) >> 6 };
                continue;
            };
            while self.effort.lazy
                && best.length < ENOUGH
                && at + 1 < last
                && let Some(later) =
                    self.longest(data, at + 1, reach).filter(|later| later.length > best.length)
            {
                at += 1;
                best = later;
            }
            found(data.get(from..at).unwrap_or_default(), best);
            at += best.length;
            from = at;
        }
        data.get(from..).unwrap_or_default()
    }

    fn begin(&mut self, bytes: usize) {
        self.bits = bytes.max(1).ilog2().clamp(*CHAINS.start(), *CHAINS.end());
        self.newest.clear();
        self.newest.resize(1 << self.bits, NONE);
        self.before.resize(bytes, NONE);
        self.noted = 0;
    }

    /// The longest repeat that begins at a place, which is behind all that were asked for before.
    fn longest(&mut self, data: &[u8], at: usize, reach: Reach) -> Option<Repeat> {
        self.note_until(data, at);
        let end = data.len() - reach.end_tail;
        let ahead = data.get(at..end)?;
        let chain = self.chain(ahead)?;
        let mut place = self.newest.get(chain).copied().unwrap_or(NONE);
        let mut best: Option<Repeat> = None;
        for _ in 0..self.effort.places {
            let Some(distance) = at.checked_sub(place as usize).filter(|far| *far <= reach.distance) else {
                break;
            };
            let length = best.map_or(0, |best| best.length);
            // A longer one has the byte behind the longest so far in common, too.
            let behind = |start: usize| data.get(start + length);
            if behind(place as usize) == behind(at) {
                let length = common(data.get(place as usize..).unwrap_or_default(), ahead);
                if length >= COMMON && best.is_none_or(|best| length > best.length) {
                    best = Some(Repeat { distance, length });
                }
                if length == ahead.len() || length >= ENOUGH {
                    break;
                }
            }
            place = self.before.get(place as usize).copied().unwrap_or(NONE);
        }
        best
    }

    fn note_until(&mut self, data: &[u8], end: usize) {
        for at in self.noted..end {
            let Some(chain) = data.get(at..).and_then(|ahead| self.chain(ahead)) else { break };
            if let (Some(newest), Some(before)) = (self.newest.get_mut(chain), self.before.get_mut(at)) {
                *before = *newest;
                *newest = crate::word::word(at);
            }
        }
        self.noted = self.noted.max(end);
    }

    /// The chain of a place, of the bytes from there on.
    fn chain(&self, ahead: &[u8]) -> Option<usize> {
        let bytes: &[u8; COMMON] = ahead.first_chunk()?;
        let mixed = u32::from_le_bytes(*bytes).wrapping_mul(0x9e37_79b1);
        Some((mixed >> (u32::BITS - self.bits)) as usize)
    }
}

/// The number of bytes that both begin with.
fn common(first: &[u8], second: &[u8]) -> usize {
    const STEP: usize = 8;
    let words = first.chunks_exact(STEP).zip(second.chunks_exact(STEP));
    let whole = words.take_while(|(first, second)| first == second).count() * STEP;
    let bytes = first.iter().zip(second).skip(whole);
    whole + bytes.take_while(|(first, second)| first == second).count()
}
