//! Hot and cold data.

/// A store with two temperatures: part `space` of the logical pages gets part `writes` of the writes. Both are above 0
/// and below 1. 90/10 has a space of 0.1 and writes of 0.9.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HotCold {
    /// Part of the logical pages that is hot.
    pub space: f64,
    /// Part of the writes that go to it.
    pub writes: f64,
}

/// FIFO, both temperatures in one log (after Desnoyers, ACM TOS 2014, section 5).
///
/// A page is written by users x times on average in a round of the log, and is found valid, and copied, with
/// probability e^-x. So it takes x / (1 - e^-x) physical pages a round. Summed over the logical pages that is a; A is a
/// over the mean x. Bisection.
pub fn fifo_mixed(a: f64, load: HotCold) -> f64 {
    let HotCold { space, writes } = load;
    let taken = |x: f64| x / -libm::expm1(-x);
    let all = |x: f64| {
        space * taken(writes / space * x) + (1.0 - space) * taken((1.0 - writes) / (1.0 - space) * x)
    };
    // A page takes no less than x and no less than 1 physical page, so x lies below a.
    let (mut low, mut high) = (a * 1e-12, a);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if all(middle) > a { high = middle } else { low = middle }
    }
    a / low
}

/// Both temperatures in logs of their own, which share the spare space in the best way. It is the least of w A(ah) + (1
/// - w) A(ac) with s ah + (1 - s) ac = a. `waf` is A of one temperature alone, such as [`greedy`](super::greedy)
/// (Desnoyers, ACM TOS 2014, section 6).
///
/// A placement with this rule for each of its classes could reach it if it knew the temperatures. Golden section: 100
/// evaluations.
pub fn separated(a: f64, load: HotCold, waf: impl Fn(f64) -> f64) -> f64 {
    let HotCold { space, writes } = load;
    let spare = a - 1.0;
    let total = |hot: f64| {
        let (a_hot, a_cold) = (1.0 + spare * hot / space, 1.0 + spare * (1.0 - hot) / (1.0 - space));
        writes * waf(a_hot) + (1.0 - writes) * waf(a_cold)
    };
    let ratio = 0.618_033_988_749_894_9;
    let (mut low, mut high) = (0.001, 0.999);
    for _ in 0..50 {
        let (left, right) = (high - ratio * (high - low), low + ratio * (high - low));
        if total(left) < total(right) { high = right } else { low = left }
    }
    total(f64::midpoint(low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::{fifo, greedy};

    #[test]
    fn without_skew_there_is_one_temperature() {
        let even = HotCold { space: 0.3, writes: 0.3 };
        for a in [1.05, 1.2, 2.0] {
            assert!((fifo_mixed(a, even) / fifo(a) - 1.0).abs() < 1e-9);
            assert!((separated(a, even, fifo) / fifo(a) - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn skew_hurts_when_mixed_and_helps_when_apart() {
        let skew = HotCold { space: 0.1, writes: 0.9 };
        assert!(fifo_mixed(1.11, skew) > fifo(1.11));
        assert!(separated(1.11, skew, fifo) < fifo(1.11));
    }

    #[test]
    fn the_cat_papers_locality_row_lies_between() {
        let (a, load) = (5952.0 / 5356.0, HotCold { space: 0.1, writes: 0.9 });
        let cat = (49152.0 + 75005.0) / 49152.0;
        let greedy_alone = (49152.0 + 225_068.0) / 49152.0;
        assert!(separated(a, load, |a| greedy(a, 31.0)) < cat);
        assert!(fifo_mixed(a, load) > greedy_alone);
    }
}
