//! Looks up a policy by its name.

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};
use core::{fmt, str::FromStr};

use super::Store;

/// One of the three choices of a cleaner, with all policies for it; the first is the default.
pub trait Axis: Sized + 'static {
    /// The noun for a policy of this axis.
    const NAME: &'static str;
    /// All policies of the axis but those around others.
    const TABLE: &'static [Entry<Self>];
    /// Those around others.
    const WRAPPERS: &'static [Wrapper<Self>] = &[];
}

/// A policy in a table.
pub struct Entry<T: 'static> {
    /// Its name without a number.
    pub name: &'static str,
    /// The policy's behaviour, in one line; N is the parameter.
    pub about: &'static str,
    /// The number that may follow the word.
    pub parameter: Option<Parameter>,
    /// Makes one for a store, with this parameter (0 if there is none).
    pub(super) make: fn(&Store, u32) -> T,
}

/// A whole number that a policy takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The least.
    pub least: u32,
    /// The most.
    pub most: u32,
    /// The default.
    pub usual: u32,
}

impl<T> Entry<T> {
    pub(super) const fn plain(name: &'static str, about: &'static str, make: fn(&Store, u32) -> T) -> Self {
        Self { name, about, parameter: None, make }
    }

    /// One with a parameter: least, most, usual.
    pub(super) const fn with(
        name: &'static str,
        about: &'static str,
        (least, most, usual): (u32, u32, u32),
        make: fn(&Store, u32) -> T,
    ) -> Self {
        Self { name, about, parameter: Some(Parameter { least, most, usual }), make }
    }
}

/// A policy around another of its axis, whose name follows its own: `read-only:m6`.
pub struct Wrapper<T: 'static> {
    /// Its name without the other's.
    pub name: &'static str,
    /// The policy's behaviour, in one line.
    pub about: &'static str,
    /// The other policy, if none is named.
    pub usual: &'static str,
    /// Policies that cannot be inside.
    pub(super) never: &'static [&'static str],
    /// The greatest number that one inside may have.
    pub(super) most: u32,
    /// Makes one of the other for a store.
    pub(super) make: fn(T, &Store) -> T,
}

impl<T: Axis> Wrapper<T> {
    /// The policies that can be inside.
    pub fn inside(&self) -> impl Iterator<Item = &'static Entry<T>> {
        T::TABLE.iter().filter(|entry| !self.never.contains(&entry.name))
    }
}

/// A policy chosen by name: an entry, the value of its parameter, and the policy around it.
pub struct Rule<T: 'static> {
    entry: &'static Entry<T>,
    parameter: u32,
    wrapper: Option<&'static Wrapper<T>>,
}

impl<T: Axis> Rule<T> {
    /// Every policy of this axis with its usual parameter, or around its usual one.
    pub fn all() -> impl Iterator<Item = Self> {
        let wrapped = |wrapper: &'static Wrapper<T>| {
            let inside = wrapper.inside().find(|entry| entry.name == wrapper.usual).map(Self::usual);
            debug_assert!(inside.is_some(), "no `{}` inside `{}`", wrapper.usual, wrapper.name);
            inside.map(|inside| Self { wrapper: Some(wrapper), ..inside })
        };
        T::TABLE.iter().map(Self::usual).chain(T::WRAPPERS.iter().filter_map(wrapped))
    }

    fn usual(entry: &'static Entry<T>) -> Self {
        let parameter = entry.parameter.map_or(0, |parameter| parameter.usual);
        Self { entry, parameter, wrapper: None }
    }

    /// Its entry in the table; that of the policy inside, if it is around one.
    pub fn entry(&self) -> &'static Entry<T> {
        self.entry
    }

    /// The policy around it.
    pub fn wrapper(&self) -> Option<&'static Wrapper<T>> {
        self.wrapper
    }

    /// The number that follows the entry's word; `None` if it takes none.
    pub fn parameter(&self) -> Option<u32> {
        self.entry.parameter.map(|_| self.parameter)
    }

    /// The number that a maker is given: 0 if the word takes none.
    pub(super) fn number(&self) -> u32 {
        self.parameter
    }

    /// Makes the policy for a store.
    pub fn build(&self, store: &Store) -> T {
        let made = (self.entry.make)(store, self.parameter);
        match self.wrapper {
            None => made,
            Some(wrapper) => (wrapper.make)(made, store),
        }
    }

    /// A policy by a name without a wrapper's, one of `known`.
    fn bare(text: &str, known: Vec<&'static str>) -> Result<Self, PolicyError> {
        if text == "default" {
            return Ok(Self::default());
        }
        let (name, number) = text.split_once(':').map_or((text, None), |(name, number)| (name, Some(number)));
        let entry = T::TABLE.iter().find(|entry| entry.name == name).ok_or_else(|| PolicyError::Unknown {
            axis: T::NAME,
            name: text.to_owned(),
            known,
        })?;
        match (number, entry.parameter) {
            (None, _) => Ok(Self::usual(entry)),
            (Some(_), None) => {
                Err(PolicyError::NoParameter { axis: T::NAME, name: text.to_owned(), word: name.to_owned() })
            }
            (Some(number), Some(range)) => {
                let number = number.parse().ok().filter(|number| (range.least..=range.most).contains(number));
                let parameter = number.ok_or_else(|| PolicyError::Parameter {
                    axis: T::NAME,
                    name: text.to_owned(),
                    word: name.to_owned(),
                    range,
                })?;
                Ok(Self { entry, parameter, wrapper: None })
            }
        }
    }

    /// The policy of this name inside another.
    fn inside(wrapper: &'static Wrapper<T>, text: &str) -> Result<Self, PolicyError> {
        let known = || wrapper.inside().map(|entry| entry.name).collect();
        let inside = Self::bare(text, known())?;
        let name = format!("{}:{text}", wrapper.name);
        if wrapper.never.contains(&inside.entry.name) {
            let word = inside.entry.name;
            return Err(PolicyError::Inside { axis: T::NAME, name, word, known: known() });
        }
        match inside.entry.parameter {
            Some(range) if inside.parameter > wrapper.most => Err(PolicyError::Parameter {
                axis: T::NAME,
                name,
                word: format!("{}:{}", wrapper.name, inside.entry.name),
                range: Parameter { most: wrapper.most, ..range },
            }),
            Some(_) | None => Ok(Self { wrapper: Some(wrapper), ..inside }),
        }
    }
}

impl<T: Axis> Default for Rule<T> {
    fn default() -> Self {
        const { assert!(!T::TABLE.is_empty(), "an axis has a default") };
        Self::usual(&T::TABLE[0])
    }
}

impl<T: Axis> FromStr for Rule<T> {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let (word, rest) = text.split_once(':').map_or((text, None), |(word, rest)| (word, Some(rest)));
        if let Some(wrapper) = T::WRAPPERS.iter().find(|wrapper| wrapper.name == word) {
            return Self::inside(wrapper, rest.unwrap_or(wrapper.usual));
        }
        let words = T::TABLE.iter().map(|entry| entry.name);
        Self::bare(text, words.chain(T::WRAPPERS.iter().map(|wrapper| wrapper.name)).collect())
    }
}

impl<T> fmt::Display for Rule<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(wrapper) = self.wrapper {
            write!(f, "{}:", wrapper.name)?;
        }
        match self.entry.parameter {
            None => f.write_str(self.entry.name),
            Some(_) => write!(f, "{}:{}", self.entry.name, self.parameter),
        }
    }
}

impl<T> fmt::Debug for Rule<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<T> Clone for Rule<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Rule<T> {}

impl<T> PartialEq for Rule<T> {
    fn eq(&self, other: &Self) -> bool {
        let name = |rule: &Self| (rule.wrapper.map(|wrapper| wrapper.name), rule.entry.name, rule.parameter);
        name(self) == name(other)
    }
}

impl<T> Eq for Rule<T> {}

/// The reason why a name was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyError {
    /// No policy has this name.
    Unknown {
        /// [`Axis::NAME`].
        axis: &'static str,
        /// The name asked for.
        name: String,
        /// The words of the table.
        known: Vec<&'static str>,
    },
    /// A number follows a word that takes none.
    NoParameter {
        /// [`Axis::NAME`].
        axis: &'static str,
        /// The name asked for.
        name: String,
        /// The word alone.
        word: String,
    },
    /// The text after the word is no number, or out of range.
    Parameter {
        /// [`Axis::NAME`].
        axis: &'static str,
        /// The name asked for.
        name: String,
        /// The word alone.
        word: String,
        /// The permitted parameter.
        range: Parameter,
    },
    /// The policy cannot be inside another.
    Inside {
        /// [`Axis::NAME`].
        axis: &'static str,
        /// The name asked for.
        name: String,
        /// The word of the policy inside.
        word: &'static str,
        /// Those that can be.
        known: Vec<&'static str>,
    },
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { axis, name, known } => {
                write!(f, "unknown {axis} `{name}` (known: {})", known.join(", "))
            }
            Self::NoParameter { axis, name, word } => {
                write!(f, "invalid {axis} `{name}`: `{word}` takes no number")
            }
            Self::Parameter { axis, name, word, range: Parameter { least, most, .. } } => {
                write!(f, "invalid {axis} `{name}` (want {word}:{least} to {word}:{most})")
            }
            Self::Inside { axis, name, word, known } => {
                write!(f, "invalid {axis} `{name}`: `{word}` cannot be inside (can: {})", known.join(", "))
            }
        }
    }
}

impl core::error::Error for PolicyError {}

#[cfg(test)]
mod tests {
    use super::super::{PlacementRule, VictimRule, WearRule};
    use super::*;
    use alloc::{boxed::Box, collections::BTreeSet, format, string::ToString};

    fn names_come_back<T: Axis>() {
        let mut words = BTreeSet::new();
        for rule in Rule::<T>::all() {
            let word = rule.wrapper().map_or(rule.entry().name, |wrapper| wrapper.name);
            assert_eq!(rule.to_string().parse(), Ok(rule));
            assert_eq!(word.parse(), Ok(rule));
            assert!(words.insert(word) && word != "default", "{rule}");
            if let Some(Parameter { least, most, usual }) = rule.entry().parameter {
                assert!((least..=most).contains(&usual) && rule.entry().about.contains('N'), "{rule}");
            }
        }
        assert_eq!("default".parse(), Ok(Rule::<T>::default()));
    }

    #[test]
    fn every_name_comes_back() {
        names_come_back::<Box<dyn crate::Selector + Send>>();
        names_come_back::<Box<dyn crate::Placement + Send>>();
        names_come_back::<Box<dyn crate::Wear + Send>>();
    }

    #[test]
    fn what_is_said_of_some_names_them_as_they_are() {
        let wears: Vec<&str> = WearRule::all().map(|rule| rule.entry().name).collect();
        assert!(WearRule::swap_names().all(|name| wears.contains(&name)), "{wears:?}");
        let small = PlacementRule::all().filter(|rule| !rule.keeps_pages()).count();
        assert_eq!(small, super::super::placements::WITHOUT_PAGES.len());
    }

    #[test]
    fn a_number_may_follow() {
        let rule: PlacementRule = "chain:6".parse().unwrap();
        assert_eq!(rule.to_string(), "chain:6");
        assert_ne!(Ok(rule), "chain".parse());
    }

    #[test]
    fn one_may_be_around_another() {
        let rule = |name: &str| name.parse::<PlacementRule>();
        assert_eq!(rule("read-only:chain:6").unwrap().to_string(), "read-only:chain:6");
        assert_eq!(
            (rule("read-only"), rule("read-only:chain")),
            (rule("read-only:m6"), rule("read-only:chain:4"))
        );
        assert_ne!(rule("read-only:m6"), rule("m6"));
        let heads = |name| rule(name).unwrap().heads();
        assert_eq!(["m6", "chain:6", "adaptive"].map(heads), [None, Some(6), None]);
        let wrapped = ["read-only:m1", "read-only:m6", "read-only:chain:6", "read-only:temperature"];
        assert_eq!(wrapped.map(heads), [2, 3, 7, 4].map(Some));
        assert!(rule("read-only:m4").unwrap().keeps_pages() && !rule("m4").unwrap().keeps_pages());
        for entry in rule("read-only").unwrap().wrapper().unwrap().inside() {
            let heads = rule(&format!("read-only:{}", entry.name)).unwrap().heads();
            assert!(
                heads.is_some_and(|heads| heads <= crate::placement::MAX_CLASSES.into()),
                "{}",
                entry.name
            );
        }
        for (name, says) in [
            (
                "read-only:adaptive",
                "invalid placement `read-only:adaptive`: `adaptive` cannot be inside (can: m1, ",
            ),
            ("read-only:default", "invalid placement `read-only:default`: `adaptive` cannot be inside"),
            ("read-only:midas", "`midas` cannot be inside"),
            ("read-only:oracle:3", "`oracle` cannot be inside"),
            ("read-only:read-only:m6", "unknown placement `read-only:m6` (known: m1, "),
            ("read-only:", "unknown placement ``"),
            ("read-only:m6:2", "`m6` takes no number"),
            ("read-only:chain:16", "(want read-only:chain:2 to read-only:chain:15)"),
            ("read_only:m6", "multi-log, sfs, temperature, oracle, read-only)"),
        ] {
            let error = rule(name).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert!("read-only:greedy".parse::<VictimRule>().is_err());
    }

    fn refusal<T: Axis>(name: &str) -> String {
        name.parse::<Rule<T>>().unwrap_err().to_string()
    }

    #[test]
    fn wrong_names_are_named() {
        let error = refusal::<Box<dyn crate::Wear + Send>>("All");
        assert!(error.starts_with("unknown wear rule `All` (known: even, "), "{error}");
        let error = "greedy:2".parse::<VictimRule>().unwrap_err().to_string();
        assert_eq!(error, "invalid victim `greedy:2`: `greedy` takes no number");
        for name in ["chain:1", "chain:17", "chain:", "chain:x", "chain:4294967296"] {
            let error = name.parse::<PlacementRule>().unwrap_err().to_string();
            assert_eq!(error, format!("invalid placement `{name}` (want chain:2 to chain:16)"));
        }
        assert!("".parse::<WearRule>().is_err());
    }
}
