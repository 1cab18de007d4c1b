//! A policy of a run: one of the registry, or a user's own.

use core::{fmt, str::FromStr};
use std::path::PathBuf;

use pumice_cleaning::registry::PolicyError;

/// The ends of names of files that are modules: binary and text.
const ENDS: [&str; 2] = ["wasm", "wat"];

/// The file that a policy's name is, if it ends in `.wasm` or `.wat`.
pub fn module_file(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(name);
    path.extension().is_some_and(|end| ENDS.iter().any(|known| end == *known)).then_some(path)
}

/// A rule by name, or a file with a [module](crate::module).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy<R> {
    /// A rule of the registry.
    Named(R),
    /// The file of a module.
    Own(PathBuf),
}

impl<R> Policy<R> {
    /// The rule of the registry, if it is one.
    pub fn named(&self) -> Option<&R> {
        match self {
            Policy::Named(rule) => Some(rule),
            Policy::Own(_) => None,
        }
    }

    /// The file, if it is a user's own.
    pub fn file(&self) -> Option<&PathBuf> {
        match self {
            Policy::Named(_) => None,
            Policy::Own(path) => Some(path),
        }
    }
}

impl<R: fmt::Display> Policy<R> {
    /// Its name in a record: of a module the file's alone, for its bytes decide, not its place.
    pub(super) fn name(&self) -> String {
        match self {
            Policy::Named(rule) => rule.to_string(),
            Policy::Own(path) => path.file_name().unwrap_or(path.as_os_str()).display().to_string(),
        }
    }
}

/// A file or a name.
impl<R: FromStr<Err = PolicyError>> FromStr for Policy<R> {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        module_file(text).map_or_else(|| text.parse().map(Policy::Named), |path| Ok(Policy::Own(path)))
    }
}

impl<R: fmt::Display> fmt::Display for Policy<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::Named(rule) => rule.fmt(f),
            Policy::Own(path) => path.display().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_cleaning::registry::VictimRule;

    #[test]
    fn a_file_is_told_from_a_name() {
        let policy = |text: &str| text.parse::<Policy<VictimRule>>();
        assert_eq!(policy("greedy").unwrap().named().map(ToString::to_string), Some("greedy".to_owned()));
        for file in ["mine.wat", "a/b.wasm", "/x/random:3.wasm"] {
            assert_eq!(policy(file).unwrap().file(), Some(&PathBuf::from(file)));
        }
        assert_eq!(policy("a/b.wasm").unwrap().name(), "b.wasm");
        assert!(policy("wat").is_err() && policy("mine.wasm:3").is_err() && policy(".wat").is_err());
    }
}
