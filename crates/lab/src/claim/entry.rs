//! A statement of a paper, and the list of all.

use super::condition::Conditions;
use crate::LabError;

/// All statements. The file's head describes its form.
const TEXT: &str = include_str!("claims.txt");

/// A paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    /// Jung and others 2008.
    ScaleFfs,
    /// Lim and Park 2006.
    Cffs,
    /// Kang and Miller.
    Rcffs,
    /// Chiang and Chang 1999.
    Cat,
    /// Lee and others 2015.
    F2fs,
    /// None: our own, of production beside the papers' systems in their own figures.
    Pumice,
}

impl Paper {
    /// All five, and our own statements.
    pub const ALL: [Paper; 6] =
        [Paper::ScaleFfs, Paper::Cffs, Paper::Rcffs, Paper::Cat, Paper::F2fs, Paper::Pumice];

    /// Its short name in small letters.
    pub fn name(self) -> &'static str {
        match self {
            Paper::ScaleFfs => "scaleffs",
            Paper::Cffs => "cffs",
            Paper::Rcffs => "rcffs",
            Paper::Cat => "cat",
            Paper::F2fs => "f2fs",
            Paper::Pumice => "pumice",
        }
    }
}

/// A statement of a paper.
#[derive(Clone, Debug)]
pub struct Claim {
    paper: Paper,
    section: String,
    says: String,
    value: Option<String>,
    hangs_on: Option<String>,
    standing: Standing,
}

/// The support of a statement.
#[derive(Clone, Debug)]
pub enum Standing {
    /// An experiment judges it.
    Judged {
        /// The experiment's name.
        experiment: String,
        /// The conditions, as the paper has them and then with a reservation in words.
        tests: Tests,
    },
    /// It describes a mechanism, which these files of `crates` carry out.
    Built(Vec<String>),
    /// Nothing, for this reason.
    Without(String),
}

/// Conditions of a judged statement.
#[derive(Clone, Debug)]
pub struct Tests {
    /// As the paper has it.
    pub(super) plain: Conditions,
    /// Weaker ones with the words of their reservation, the first that holds counts.
    pub(super) reserved: Vec<(String, Conditions)>,
}

impl Claim {
    /// All of them, paper by paper.
    ///
    /// # Errors
    /// If the list has a line that nobody understands; a test reads it whole.
    pub fn all() -> Result<Vec<Claim>, LabError> {
        Claim::parse_all(TEXT).map_err(LabError::Setup)
    }

    /// Those that an experiment judges.
    pub fn of(experiment: &str) -> Result<Vec<Claim>, LabError> {
        let all = Claim::all()?;
        Ok(all.into_iter().filter(|claim| claim.experiment() == Some(experiment)).collect())
    }

    /// The paper.
    pub fn paper(&self) -> Paper {
        self.paper
    }

    /// The section, table or figure.
    pub fn section(&self) -> &str {
        &self.section
    }

    /// The statement in our words.
    pub fn says(&self) -> &str {
        &self.says
    }

    /// The paper's value, if it has one.
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// The circumstances that decide.
    pub fn hangs_on(&self) -> Option<&str> {
        self.hangs_on.as_deref()
    }

    /// The support of the statement.
    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// The experiment that judges it.
    pub fn experiment(&self) -> Option<&str> {
        match &self.standing {
            Standing::Judged { experiment, .. } => Some(experiment),
            Standing::Built(_) | Standing::Without(_) => None,
        }
    }

    /// The names of the metrics that judge it.
    pub fn metrics(&self) -> Vec<&str> {
        match &self.standing {
            Standing::Judged { tests, .. } => {
                let reserved = tests.reserved.iter().flat_map(|(_, conditions)| conditions.metrics());
                tests.plain.metrics().into_iter().chain(reserved).collect()
            }
            Standing::Built(_) | Standing::Without(_) => Vec::new(),
        }
    }

    fn parse_all(text: &str) -> Result<Vec<Claim>, String> {
        let mut paper = None;
        let mut claims = Vec::new();
        for part in text.split("\n\n").map(str::trim).filter(|part| !part.is_empty()) {
            if part.lines().all(|line| line.starts_with('#')) {
                continue;
            }
            if let Some(name) = part.strip_prefix("== ") {
                let named = Paper::ALL.into_iter().find(|paper| paper.name() == name);
                paper = Some(named.ok_or_else(|| format!("no paper `{name}`"))?);
                continue;
            }
            let paper = paper.ok_or("a statement before the first paper")?;
            claims.push(Claim::parse(paper, part).map_err(|error| format!("{error}, in:\n{part}"))?);
        }
        Ok(claims)
    }

    fn parse(paper: Paper, part: &str) -> Result<Claim, String> {
        let (section, lines) = part.split_once('\n').ok_or("want a section, a statement and its support")?;
        let (mut says, mut value, mut hangs_on) = (Vec::new(), None, None);
        let (mut experiment, mut plain, mut reserved, mut other) = (None, None, Vec::new(), None);
        for line in lines.lines() {
            let (key, rest) = line.split_once(": ").unwrap_or(("", line));
            match key {
                "paper" => value = Some(rest.to_owned()),
                "hangs on" => hangs_on = Some(rest.to_owned()),
                "run" => experiment = Some(rest.to_owned()),
                "want" => plain = Some(Conditions::parse(rest)?),
                "built" => {
                    let paths = rest.split(", ").map(str::to_owned).collect();
                    other = Some(Standing::Built(paths));
                }
                "without" => other = Some(Standing::Without(rest.to_owned())),
                _ => match key.strip_prefix("if ") {
                    Some(words) => reserved.push((words.to_owned(), Conditions::parse(rest)?)),
                    None => says.push(line),
                },
            }
        }
        let standing = match (experiment, plain, other) {
            (Some(experiment), Some(plain), None) => {
                Standing::Judged { experiment, tests: Tests { plain, reserved } }
            }
            (None, None, Some(other)) if reserved.is_empty() => other,
            _ => return Err("want `run` and `want`, or one of `built` and `without`".to_owned()),
        };
        if says.is_empty() {
            return Err("no statement".to_owned());
        }
        Ok(Claim { paper, section: section.to_owned(), says: says.join(" "), value, hangs_on, standing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_understood_or_refused() {
        let head = "# A comment.\n\n== cat\n\n5.1, table 4\nCAT erases\nleast.\n";
        let all = Claim::parse_all(&format!(
            "{head}paper: 0.45\nrun: cat-table4\nwant: waf[a @ b] < 1\nif it rains: waf[a @ b] < 2\nhangs on: rain\n"
        ))
        .unwrap();
        let [claim] = &all[..] else { panic!("{all:?}") };
        let found = (claim.paper(), claim.section(), claim.says(), claim.value(), claim.hangs_on());
        assert_eq!(found, (Paper::Cat, "5.1, table 4", "CAT erases least.", Some("0.45"), Some("rain")));
        assert_eq!((claim.experiment(), claim.metrics()), (Some("cat-table4"), vec!["waf", "waf"]));
        for (wrong, why) in [
            ("want: waf[a] < 1\n", "want `run`"),
            ("run: cat-table4\nwant: waf[a] < 1\nwithout: peers\n", "want `run`"),
            ("built: a\nif b: waf[a] < 1\n", "want `run`"),
            ("run: cat-table4\nwant: waf[a]\n", "no relation"),
        ] {
            assert!(Claim::parse_all(&format!("{head}{wrong}")).unwrap_err().contains(why), "{wrong}");
        }
        assert!(Claim::parse_all("== dog\n\n").unwrap_err().contains("no paper"));
        assert!(Claim::parse_all("1\nA.\nbuilt: b").unwrap_err().contains("before the first"));
        assert!(Claim::parse_all("== cat\n\n1\nbuilt: b").unwrap_err().contains("no statement"));
    }
}
