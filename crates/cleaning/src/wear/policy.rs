//! The wear rules by name.

use alloc::{borrow::ToOwned, boxed::Box, string::String};
use core::{fmt, str::FromStr};

use super::{DualPool, EndOfLife, Even, Fifo, LeastWorn, Wear};
use crate::sim::Params;

/// A wear rule chosen at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WearPolicy {
    /// [`Fifo`]: none.
    None,
    /// [`LeastWorn`].
    LeastWorn,
    /// [`EndOfLife`].
    EndOfLife,
    /// [`DualPool`] with a threshold of 16 erases.
    DualPool,
    /// [`Even`].
    Even,
}

impl WearPolicy {
    /// Every rule.
    pub const ALL: [Self; 5] = [Self::None, Self::LeastWorn, Self::EndOfLife, Self::DualPool, Self::Even];

    /// The name that [`WearPolicy::from_str`] reads back.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::LeastWorn => "least-worn",
            Self::EndOfLife => "end-of-life",
            Self::DualPool => "dual-pool",
            Self::Even => "even",
        }
    }

    /// The rule for a store.
    pub fn rule(self, store: &Params) -> Box<dyn Wear + Send> {
        match self {
            Self::None => Box::new(Fifo::default()),
            Self::LeastWorn => Box::new(LeastWorn::default()),
            Self::EndOfLife => Box::new(EndOfLife::new(store.segments, store.endurance)),
            Self::DualPool => Box::new(DualPool::new(16, store.segments)),
            Self::Even => Box::new(Even::new(store.segments)),
        }
    }
}

impl fmt::Display for WearPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for WearPolicy {
    type Err = UnknownWear;

    fn from_str(name: &str) -> Result<Self, UnknownWear> {
        Self::ALL.into_iter().find(|rule| rule.name() == name).ok_or_else(|| UnknownWear(name.to_owned()))
    }
}

/// A name that no wear rule has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWear(pub String);

impl fmt::Display for UnknownWear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown wear rule {:?} (known:", self.0)?;
        WearPolicy::ALL.iter().try_for_each(|rule| write!(f, " {rule}"))?;
        f.write_str(")")
    }
}

impl core::error::Error for UnknownWear {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn names_come_back() {
        for rule in WearPolicy::ALL {
            assert_eq!(rule.name().parse(), Ok(rule));
        }
        let error = "All".parse::<WearPolicy>().unwrap_err().to_string();
        assert_eq!(error, r#"unknown wear rule "All" (known: none least-worn end-of-life dual-pool even)"#);
    }
}
