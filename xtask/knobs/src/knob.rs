//! A variable of the environment, and its permitted values.

use crate::part::{Part, number};

/// A variable of the environment that tests read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knob {
    /// Its name, `PUMICE_*`.
    pub name: &'static str,
    /// The permitted values.
    pub form: Form,
    /// The purpose, in a sentence.
    pub purpose: &'static str,
    /// The behaviour if it is not set.
    pub usual: &'static str,
}

/// The permitted values of a knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A whole number from 1.
    Count,
    /// The word `all`, or a whole number from 1.
    AllOrCount,
    /// The word `all`.
    All,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A whole number.
    Seed,
    /// `K/N`: the part `K` of `N`, from 0.
    Part,
    /// A name that the test knows, or does not: then it fails.
    Name,
    /// A place in the file system.
    Path,
    /// `1`.
    Switch,
}

impl Form {
    /// The wanted value, for messages and documents.
    #[must_use]
    pub fn wanted(self) -> String {
        match self {
            Form::Count => "a count from 1".into(),
            Form::AllOrCount => "`all` or a count from 1".into(),
            Form::All => "`all`".into(),
            Form::OneOf(words) => {
                words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or ")
            }
            Form::Seed => "a whole number".into(),
            Form::Part => "`K/N`, the part K of N from 0".into(),
            Form::Name => "a name".into(),
            Form::Path => "a path".into(),
            Form::Switch => "`1`".into(),
        }
    }

    fn takes(self, text: &str) -> bool {
        match self {
            Form::Count => number(text).is_some_and(|count| count > 0),
            Form::AllOrCount => Form::All.takes(text) || Form::Count.takes(text),
            Form::All => text == "all",
            Form::OneOf(words) => words.contains(&text),
            Form::Seed => number(text).is_some(),
            Form::Part => Part::parse(text).is_some(),
            Form::Name | Form::Path => !text.is_empty(),
            Form::Switch => text == "1",
        }
    }
}

impl Knob {
    /// Whether such a text may stand in it.
    #[must_use]
    pub fn takes(&self, text: &str) -> bool {
        self.form.takes(text)
    }

    /// Whether such a text asks for all that a campaign has, which can be taken in parts.
    pub(crate) fn is_whole(&self, text: &str) -> bool {
        text == "all" || matches!(self.form, Form::OneOf(_)) && self.form.takes(text)
    }
}
