//! The environment's settings of the knobs.

use std::{collections::BTreeMap, env};

use crate::{
    knob::Knob,
    knobs::{KNOBS, PART},
    part::{Part, number},
};

/// The common prefix of all knobs.
const PREFIX: &str = "PUMICE_";

/// The knobs that are set, by name, each in its form.
type Settings = BTreeMap<&'static str, String>;

/// Sorts out the variables of the environment.
fn settings(variables: impl Iterator<Item = (String, String)>) -> Result<Settings, String> {
    let mut settings = Settings::new();
    for (name, text) in variables.filter(|(name, _)| name.starts_with(PREFIX)) {
        let Some(knob) = KNOBS.iter().find(|knob| knob.name == name) else {
            let names: Vec<&str> = KNOBS.iter().map(|knob| knob.name).collect();
            return Err(format!("{name} is no knob of the tests; there are {}", names.join(", ")));
        };
        if !knob.takes(&text) {
            return Err(format!("{name}={text}: want {}", knob.form.wanted()));
        }
        settings.insert(knob.name, text);
    }
    let is_whole = |knob: &&Knob| settings.get(knob.name).is_some_and(|text| knob.is_whole(text));
    if let Some(part) = settings.get(PART.name).filter(|_| !KNOBS.iter().any(|knob| is_whole(&knob))) {
        return Err(format!("{}={part}: of what? set a knob that takes `all`, too", PART.name));
    }
    Ok(settings)
}

/// The settings of this program's environment; panics with the name of a wrong one.
fn here() -> Settings {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
    };
    settings(env::vars_os().map(text)).unwrap_or_else(|wrong| fail(&wrong))
}

/// Ends the test: nobody would see that another run was made than was asked for.
#[expect(clippy::panic, reason = "this is how a test fails")]
#[track_caller]
pub(crate) fn fail(wrong: &str) -> ! {
    panic!("{wrong}")
}

impl Knob {
    /// The text that it is set to, which has its form.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        here().remove(self.name)
    }

    /// The number that it is set to, if it is one.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        number(&self.text()?)
    }

    /// Whether it is set.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.text().is_some()
    }

    /// Fails the test: this knob names something that is not there.
    pub fn unknown(&self, wanted: &str) -> ! {
        fail(&format!("{}={}: want {wanted}", self.name, self.text().unwrap_or_default()))
    }

    /// The part that it is set to.
    pub(crate) fn part(&self) -> Option<Part> {
        Part::parse(&self.text()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(name: &str, text: &str) -> String {
        settings([(name.to_owned(), text.to_owned())].into_iter()).unwrap_err()
    }

    #[test]
    fn wrong_forms_fail_by_name() {
        let cases = [
            ("PUMICE_FUZZ_CASES", "2k", "a count from 1"),
            ("PUMICE_FUZZ_CASES", "0", "a count from 1"),
            ("PUMICE_FUZZ_CASES", "", "a count from 1"),
            ("PUMICE_FUZZ_CASES", "+5", "a count from 1"),
            ("PUMICE_FUZZ_CASES", "18446744073709551616", "a count from 1"),
            ("PUMICE_SPACE", "x", "a count from 1"),
            ("PUMICE_CUTS", "most", "`all` or a count from 1"),
            ("PUMICE_PAGES", "7", "`all`"),
            ("PUMICE_B3", "5", "`3` or `4`"),
            ("PUMICE_SEED", "-1", "a whole number"),
            ("PUMICE_SEED", "1..5", "a whole number"),
            ("PUMICE_PART", "3", "`K/N`, the part K of N from 0"),
            ("PUMICE_PART", "4/4", "`K/N`, the part K of N from 0"),
            ("PUMICE_PART", "0/0", "`K/N`, the part K of N from 0"),
            ("PUMICE_CUT", "", "a name"),
            ("PUMICE_GOLDEN", "", "a path"),
            ("PUMICE_BLESS", "yes", "`1`"),
        ];
        for (name, text, wanted) in cases {
            assert_eq!(wrong(name, text), format!("{name}={text}: want {wanted}"));
        }
        let forms = KNOBS.map(|knob| std::mem::discriminant(&knob.form));
        let tried = |form| {
            cases.iter().any(|(name, ..)| {
                KNOBS.iter().any(|knob| knob.name == *name && std::mem::discriminant(&knob.form) == form)
            })
        };
        assert!(forms.into_iter().all(tried), "a form is not tried");
    }

    #[test]
    fn unknown_names_fail() {
        let said = wrong("PUMICE_FUZZ_CASE", "5");
        assert!(said.starts_with("PUMICE_FUZZ_CASE is no knob of the tests; there are "), "{said}");
        assert!(said.contains("PUMICE_FUZZ_CASES"), "{said}");
    }

    #[test]
    fn a_part_is_of_something() {
        assert_eq!(wrong("PUMICE_PART", "0/4"), "PUMICE_PART=0/4: of what? set a knob that takes `all`, too");
        for whole in [("PUMICE_PAGES", "all"), ("PUMICE_B3", "3")] {
            let both = [("PUMICE_PART", "0/4"), whole].map(|(name, text)| (name.to_owned(), text.to_owned()));
            assert_eq!(settings(both.into_iter()).unwrap().len(), 2);
        }
    }

    #[test]
    fn right_forms_are_taken_and_others_variables_are_let_be() {
        let variables =
            [("PATH", "/bin"), ("PUMICE_SEED", "0"), ("PUMICE_CUTS", "all"), ("PUMICE_LIVES", "7")];
        let found = settings(variables.map(|(name, text)| (name.to_owned(), text.to_owned())).into_iter());
        let found: Vec<_> = found.unwrap().into_iter().collect();
        let wanted = [("PUMICE_CUTS", "all"), ("PUMICE_LIVES", "7"), ("PUMICE_SEED", "0")];
        assert_eq!(found, wanted.map(|(name, text)| (name, text.to_owned())));
    }
}
