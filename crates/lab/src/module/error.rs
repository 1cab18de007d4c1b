//! The faults of a module.

use super::FUEL;

/// The reason why a module cannot be a policy, or is none any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModuleError {
    /// It is no valid module, or wants more memory than it may have.
    #[error("no module that can be run: {0}")]
    Invalid(String),
    /// It wants something from outside.
    #[error("imports `{0}`, but a policy is given nothing")]
    Import(String),
    /// A function is missing.
    #[error("exports no function `{name}{form}`")]
    Missing {
        /// Its name.
        name: &'static str,
        /// Its parameters and its result.
        form: &'static str,
    },
    /// A function is there, of another type.
    #[error("exports a `{name}` that is not `{name}{form}`")]
    Form {
        /// Its name.
        name: &'static str,
        /// Its parameters and its result.
        form: &'static str,
    },
    /// A call did not end.
    #[error("`{0}` takes more than {FUEL} instructions")]
    Endless(&'static str),
    /// A call failed.
    #[error("`{name}` fails: {why}")]
    Trap {
        /// The function.
        name: &'static str,
        /// The cause.
        why: String,
    },
    /// A price that is no number.
    #[error("`cost` is not a number")]
    NoNumber,
    /// A head that there is not.
    #[error("`{name}` answers {answer}, of {classes} classes from 0")]
    Class {
        /// The function.
        name: &'static str,
        /// Its answer.
        answer: u32,
        /// The number of heads.
        classes: u8,
    },
    /// A number of heads that cannot be.
    #[error("`classes` answers {0} (want 1 to {most})", most = pumice_cleaning::placement::MAX_CLASSES)]
    Classes(u32),
}
