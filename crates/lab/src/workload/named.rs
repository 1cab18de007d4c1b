//! A whole workload as a command line names it: a pattern, and the part of the pages that it never writes.

use std::{fmt, str::FromStr};

use super::{Pattern, PatternError};

/// The word in front of the part that is never written.
const READ_ONLY: &str = "+read-only:";

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    /// The writes to all pages but the read-only ones.
    pub pattern: Pattern,
    /// The part of the pages that is only filled, and never written again (0 to below 1). They lie all over the store.
    pub read_only: f64,
}

impl From<Pattern> for Workload {
    fn from(pattern: Pattern) -> Workload {
        Workload { pattern, read_only: 0.0 }
    }
}

impl FromStr for Workload {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Workload, PatternError> {
        let wrong = || PatternError(text.to_owned());
        let Some((pattern, part)) = text.split_once(READ_ONLY) else {
            return text.parse().map(Pattern::into);
        };
        let percent = part.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
        let percent = percent.filter(|percent| *percent > 0.0 && *percent < 100.0).ok_or_else(wrong)?;
        Ok(Workload { pattern: pattern.parse().map_err(|_| wrong())?, read_only: percent / 100.0 })
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pattern.fmt(f)?;
        match self.read_only > 0.0 {
            // Two digits after the point undo the rounding of the division by 100.
            true => write!(f, "{READ_ONLY}{}%", (self.read_only * 1e4).round() / 1e2),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for text in ["random", "random+read-only:30%", "zipf:0.99+churn:5%+read-only:12.5%"] {
            let workload = text.parse::<Workload>();
            assert_eq!(workload.map(|workload| workload.to_string()).as_deref(), Ok(text));
        }
        let workload: Workload = "workstation+read-only:30%".parse().unwrap();
        assert_eq!(workload, Workload { pattern: Pattern::Workstation, read_only: 0.3 });
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "read-only:30%",
            "random+read-only:30",
            "random+read-only:0%",
            "random+read-only:100%",
            "random+read-only:",
            "random+read-only:x%",
            "random+read-only:10%+read-only:10%",
            "locality:90/10+read-only:30%+churn:5%",
        ] {
            let error = text.parse::<Workload>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("unknown workload `{text}`")), "{error}");
        }
    }
}
