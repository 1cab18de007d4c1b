//! The closed form for greedy cleaning of uniformly written data in one log.

/// Desnoyers, "Analytic models of SSD write performance" (ACM TOS 2014): a = physical / logical pages, `n` pages per
/// segment.
pub(crate) fn greedy_waf(a: f64, n: f64) -> f64 {
    let c = (1.0 + 1.0 / (2.0 * n)) * a;
    let x0 = 0.5 - (n / a) * lambert(-c * (-c).exp());
    n / (n - x0 + 1.0)
}

/// The principal branch of Lambert's W: w with w e^w = x, for -1/e < x < 0, by Newton from 0.
fn lambert(x: f64) -> f64 {
    (0..100).fold(0.0, |w: f64, _| w - (w * w.exp() - x) / (w.exp() * (w + 1.0)))
}
