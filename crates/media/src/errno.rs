//! The system's words for its error numbers.

use core::fmt;

/// An errno; where there is an operating system it is shown in its words, lower case.
#[derive(Clone, Copy)]
pub(crate) struct Errno(pub(crate) i32);

/// Linux's ENOSPC and EDQUOT.
const FULL: [i32; 2] = [28, 122];

impl Errno {
    /// True for those that mean that there is no room.
    pub(crate) fn is_full(self) -> bool {
        FULL.contains(&self.0)
    }
}

impl fmt::Display for Errno {
    #[cfg(feature = "std")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = std::string::ToString::to_string(&std::io::Error::from_raw_os_error(self.0));
        // "No space left on device (os error 28)"
        let words = text.split(" (os error").next().unwrap_or_default();
        let mut letters = words.chars();
        letters
            .next()
            .into_iter()
            .flat_map(char::to_lowercase)
            .try_for_each(|letter| write!(f, "{letter}"))?;
        f.write_str(letters.as_str())
    }

    #[cfg(not(feature = "std"))]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "errno {}", self.0)
    }
}
