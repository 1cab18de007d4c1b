//! Write amplification in closed form, to hold simulations against.
//!
//! All are for stores with very many segments and pages that are written independently of each other. `a` is physical
//! over logical pages (above 1), A the pages written per page that users wrote. Tests/theory.rs compares them with
//! [`sim`](crate::sim): within 0.5 % from 2048 segments on.

mod choices;
mod hot_cold;
mod lambert;

pub use choices::choices;
pub use hot_cold::{HotCold, fifo_mixed, separated};

use lambert::lambert_w;

/// FIFO, uniform writes: A = a / (a + W(-a e^-a)), whatever the size of a segment (Desnoyers, ACM TOS 2014; Menon and
/// Stockmeyer, 1998). W is the principal branch of Lambert's function.
pub fn fifo(a: f64) -> f64 {
    a / (a + lambert_w(-a * libm::exp(-a)))
}

/// Greedy, uniform writes, `n` pages a segment: A = n / (n - X0 + 1) with X0 = 1/2 - n/a W(-c e^-c) and
/// c = (1 + 1/2n) a (Desnoyers, ACM TOS 2014). X0 is the valid count of a victim plus one half.
pub fn greedy(a: f64, n: f64) -> f64 {
    let c = (1.0 + 1.0 / (2.0 * n)) * a;
    let x0 = 0.5 - (n / a) * lambert_w(-c * libm::exp(-c));
    n / (n - x0 + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cat_papers_chip() {
        // The random, greedy row of table 4 has a write amplification of 4.492.
        let waf = greedy(5952.0 / 5356.0, 31.0);
        assert!((waf - 4.483).abs() < 0.005, "{waf}");
    }

    #[test]
    fn greedy_nears_fifo_as_segments_grow() {
        for a in [1.05, 1.2, 2.0] {
            assert!(greedy(a, 64.0) < fifo(a));
            assert!((greedy(a, 1e6) / fifo(a) - 1.0).abs() < 1e-3);
        }
    }

    #[test]
    fn many_choices_come_near_greedy() {
        for a in [1.1, 1.5] {
            let ratio = choices(a, 32, 60) / greedy(a, 32.0);
            assert!(ratio > 1.0 && ratio < 1.01, "{ratio}");
        }
    }

    #[test]
    fn one_choice_finds_the_mean() {
        // The victim is any segment, so it is as full as the store.
        for a in [1.05, 1.5] {
            assert!((choices(a, 32, 1) * (1.0 - 1.0 / a) - 1.0).abs() < 1e-6);
        }
    }
}
