//! The moment from which on parity protects promises.

use alloc::format;
use core::{fmt, str::FromStr};

use pumice_vfs::{Errno, FsError, Result};

/// The moment from which on parity protects promises of fsync or a checkpoint, whether the power fails or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FsyncProtection {
    /// Once the erase block is full or left. If the power fails before, a page of it that dies then is lost.
    #[default]
    AtClose,
    /// Once it is promised: a copy of the parity so far is in another erase block. Costs as many programs as there are
    /// parity pages for each head that an fsync wrote to.
    Now,
}

impl FsyncProtection {
    const ALL: [FsyncProtection; 2] = [FsyncProtection::AtClose, FsyncProtection::Now];

    fn name(self) -> &'static str {
        match self {
            FsyncProtection::AtClose => "at-close",
            FsyncProtection::Now => "now",
        }
    }
}

impl fmt::Display for FsyncProtection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().fmt(f)
    }
}

impl FromStr for FsyncProtection {
    type Err = FsError;

    fn from_str(name: &str) -> Result<FsyncProtection> {
        let found = FsyncProtection::ALL.into_iter().find(|known| known.name() == name);
        found.ok_or_else(|| {
            let text = format!("unknown protection of fsync `{name}` (known: at-close, now)");
            FsError::new(Errno::NotSupported, text)
        })
    }
}
