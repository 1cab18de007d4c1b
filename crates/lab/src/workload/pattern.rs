//! A workload as a command line names it.

use std::{fmt, str::FromStr};

use super::Drift;

/// The frequency of writes of each page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// One page after the other, over and over.
    Sequential,
    /// Every page equally often.
    Random,
    /// `accesses` of the writes (0 to 1) go to `data` of the pages (above 0, below 1), the rest to the rest: the CAT
    /// paper's x/y (section 5.2). Hot pages lie all over the store.
    Locality {
        /// The part of the writes.
        accesses: f64,
        /// The part of the pages.
        data: f64,
        /// The way the hot part moves.
        drift: Drift,
    },
    /// Metadata and files as on a workstation's disk: a stand-in for the HP traces of the CAT paper (section 6.1.2).
    Workstation,
    /// The page of rank r is written in proportion to r^-exponent; pages have their ranks at random.
    Zipf {
        /// The exponent, above 0.
        exponent: f64,
        /// The way the ranks move.
        drift: Drift,
    },
}

/// A text that names no workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown workload `{0}` (want sequential, random, workstation, locality:90/10 or zipf:0.99, the last two also with \
     +churn:5% or +shift:1000, and all with +read-only:30% behind that)"
)]
pub struct PatternError(pub(super) String);

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        parse(text).ok_or_else(|| PatternError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Pattern> {
    let (base, drift) = match text.split_once('+') {
        Some((base, drift)) => (base, drift.parse().ok()?),
        None => (text, Drift::None),
    };
    match base.split_once(':') {
        None if drift != Drift::None => None,
        None => match base {
            "sequential" => Some(Pattern::Sequential),
            "random" => Some(Pattern::Random),
            "workstation" => Some(Pattern::Workstation),
            _ => None,
        },
        Some(("locality", parts)) => {
            let (accesses, data) = parts.split_once('/')?;
            let part = |text: &str| text.parse::<f64>().ok().map(|percent| percent / 100.0);
            let (accesses, data) = (part(accesses)?, part(data)?);
            let fits = (0.0..=1.0).contains(&accesses) && data > 0.0 && data < 1.0;
            fits.then_some(Pattern::Locality { accesses, data, drift })
        }
        Some(("zipf", exponent)) => {
            let exponent = exponent.parse::<f64>().ok().filter(|s| *s > 0.0 && s.is_finite())?;
            Some(Pattern::Zipf { exponent, drift })
        }
        Some(_) => None,
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Two digits after the point undo the rounding of the division by 100.
        let percent = |part: f64| (part * 1e4).round() / 1e2;
        match *self {
            Pattern::Sequential => f.write_str("sequential"),
            Pattern::Random => f.write_str("random"),
            Pattern::Workstation => f.write_str("workstation"),
            Pattern::Locality { accesses, data, drift } => {
                write!(f, "locality:{}/{}{drift}", percent(accesses), percent(data))
            }
            Pattern::Zipf { exponent, drift } => write!(f, "zipf:{exponent}{drift}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for text in [
            "sequential",
            "random",
            "workstation",
            "locality:90/10",
            "locality:62.5/37.5+shift:1000",
            "zipf:0.99",
            "zipf:1.2+churn:5%",
        ] {
            assert_eq!(text.parse::<Pattern>().map(|pattern| pattern.to_string()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "zipf",
            "zipf:-1",
            "zipf:inf",
            "zipf:1+",
            "zipf:1+churn:101%",
            "zipf:1+shift:0",
            "locality:90",
            "locality:101/10",
            "locality:90/0",
            "locality:90/100",
            "random+churn:5%",
            "random:3",
        ] {
            let error = text.parse::<Pattern>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("unknown workload `{text}`")), "{error}");
        }
    }
}
