//! Named checks, each of one promise, each on a fresh subject.

mod attributes;
mod bench;
mod content;
mod directories;
mod held;
mod links;
mod nodes;
mod renames;
mod space;
mod xattrs;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use self::bench::Bench;
use super::{Failure, Subject, TestClock};

/// One check.
#[derive(Clone, Copy)]
pub struct Check {
    /// The subject, in words.
    pub name: &'static str,
    run: fn(&mut Bench<'_>) -> Outcome,
}

type Outcome = Result<(), String>;

impl Check {
    /// Puts `subject`, which must be empty and made with `clock`, through it.
    pub fn run(&self, subject: Box<dyn Subject + '_>, clock: &TestClock) -> Result<(), Failure> {
        (self.run)(&mut Bench::new(subject, clock.clone()))
            .map_err(|what| Failure(format!("{}: {what}", self.name)))
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("name", &self.name).finish_non_exhaustive()
    }
}

/// All checks, in the order in which they run.
pub fn checks() -> Vec<Check> {
    let groups = [
        nodes::CHECKS,
        directories::CHECKS,
        links::CHECKS,
        renames::CHECKS,
        attributes::CHECKS,
        content::CHECKS,
        space::CHECKS,
        xattrs::CHECKS,
        held::CHECKS,
    ];
    let named = groups.into_iter().flatten();
    named.map(|(name, run)| Check { name, run: *run }).collect()
}

/// Puts subjects through all checks, a new one through each. Returns how many there were; the error lists all that
/// failed, one on a line.
pub fn run_scripted<'a>(make: &dyn Fn(&TestClock) -> Box<dyn Subject + 'a>) -> Result<usize, Failure> {
    let checks = checks();
    let mut failures = Vec::new();
    for check in &checks {
        let clock = TestClock::new();
        failures.extend(check.run(make(&clock), &clock).err().map(|failure| failure.to_string()));
    }
    if failures.is_empty() { Ok(checks.len()) } else { Err(Failure(failures.join("\n"))) }
}

/// Checks, as their files list them.
type Named = (&'static str, fn(&mut Bench<'_>) -> Outcome);
