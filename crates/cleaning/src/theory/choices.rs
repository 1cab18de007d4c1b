//! d-choices.

/// The emptiest of `d` segments drawn at random, uniform writes, `n` pages a segment: the fixed point of the mean field
/// (Van Houdt, SIGMETRICS 2013). d = 1 is random, large d greedy.
///
/// p(i) is the part of the segments that has i valid pages, F(i) that with at most i. A segment leaves i valid pages
/// downwards as often as victims with fewer than i are taken, so p(i) i / c = 1 - (1 - F(i - 1))^d, where c = A / a.
/// p(0) follows from F(n) = 1, c from the mean of n / a valid pages. About 3600 n logarithms and exponentials. p(0)
/// must be a number that a double can hold, so d A / a must stay below 700 / ln n.
pub fn choices(a: f64, n: u32, d: u32) -> f64 {
    let mean = f64::from(n) / a;
    a * bisect(0.0, 1000.0, |c| shape(c, empty(c, n, d), n, d).1 > mean)
}

/// p(0) with which all parts sum to 1.
fn empty(c: f64, n: u32, d: u32) -> f64 {
    // Its logarithm, because it may be very small.
    libm::exp(bisect(-700.0, 0.0, |log| shape(c, libm::exp(log), n, d).0 > 1.0))
}

/// The sum of all parts and the mean of the valid pages, cut off where the sum passes 1.
fn shape(c: f64, empty: f64, n: u32, d: u32) -> (f64, f64) {
    let (mut sum, mut mean) = (empty, 0.0);
    for i in (1..=n).map(f64::from) {
        let taken = if sum < 1.0 { -libm::expm1(f64::from(d) * libm::log1p(-sum)) } else { 1.0 };
        sum += c * taken / i;
        mean += c * taken;
    }
    (sum, mean)
}

/// The number between two at which a condition begins to hold.
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if holds(middle) { high = middle } else { low = middle }
    }
    f64::midpoint(low, high)
}
