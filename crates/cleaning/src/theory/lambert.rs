//! Lambert's W.

/// The principal branch: w from -1 to 0 with w e^w = x, for x from -1/e to 0. Newton's method from 0, which comes from
/// the side where it cannot overshoot.
pub(super) fn lambert_w(x: f64) -> f64 {
    let step = |w: f64| w - (w - x * libm::exp(-w)) / (w + 1.0);
    (0..200).fold(0.0, |w, _| step(w).max(-1.0 + f64::EPSILON))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverts() {
        for w in [-0.999, -0.9, -0.5, -0.1, -1e-9] {
            let found = lambert_w(w * f64::exp(w));
            assert!((found - w).abs() < 1e-6, "{w} {found}");
        }
    }
}
