//! Changes of the popularity of pages while they are written.

use std::{fmt, str::FromStr};

/// A change of ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Drift {
    /// None.
    #[default]
    None,
    /// Each write moves the page, with this probability, to the rank of a page taken at random.
    Churn(f64),
    /// Every so many writes each page takes the rank before its own, and the first takes the last: the hot set moves
    /// through all pages.
    Shift(u32),
}

impl FromStr for Drift {
    type Err = ();

    /// Reads `churn:5%` or `shift:1000`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (kind, value) = text.split_once(':').ok_or(())?;
        match kind {
            "churn" => {
                let percent: f64 = value.strip_suffix('%').ok_or(())?.parse().map_err(drop)?;
                (0.0..=100.0).contains(&percent).then_some(Self::Churn(percent / 100.0)).ok_or(())
            }
            "shift" => {
                let writes = value.parse().map_err(drop)?;
                (writes > 0).then_some(Self::Shift(writes)).ok_or(())
            }
            _ => Err(()),
        }
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Churn(part) => write!(f, "+churn:{}%", (part * 1e6).round() / 1e4),
            Self::Shift(writes) => write!(f, "+shift:{writes}"),
        }
    }
}
