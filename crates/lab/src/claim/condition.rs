//! A condition on figures: `A < B`, `A is 593 within 15 %`, several parted by semicolons.

use super::{
    expression::{Expression, Value},
    figures::Figures,
};

/// Conditions that are all to hold.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Conditions(Vec<Condition>);

#[derive(Clone, Debug, PartialEq)]
struct Condition {
    left: Expression,
    relation: Relation,
    right: Expression,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Relation {
    Less,
    AtMost,
    More,
    AtLeast,
    /// As near as this share of the right side.
    Within(f64),
}

/// The places at which conditions hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    /// Everywhere.
    Everywhere,
    /// At the first of these places, not at the second.
    At(Vec<String>, Vec<String>),
    /// Nowhere.
    Nowhere,
}

impl Relation {
    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Relation::Less => left < right,
            Relation::AtMost => left <= right,
            Relation::More => left > right,
            Relation::AtLeast => left >= right,
            Relation::Within(share) => (left - right).abs() <= share * right.abs(),
        }
    }
}

impl Condition {
    /// Figures are 1 where it holds, 0 where it does not.
    fn value(&self, figures: &Figures, seed: Option<u64>) -> Option<Value> {
        let (left, right) = (self.left.value(figures, seed)?, self.right.value(figures, seed)?);
        Some(left.with(right, |left, right| f64::from(u8::from(self.relation.holds(left, right)))))
    }

    fn parse(text: &str) -> Result<Condition, String> {
        if let Some((left, right)) = text.split_once(" is ") {
            let wrong = || format!("want `A is B within N %`, not `{text}`");
            let (right, share) = right.split_once(" within ").ok_or_else(wrong)?;
            let share = share.trim().strip_suffix('%').and_then(|share| share.trim().parse::<f64>().ok());
            let relation = Relation::Within(share.ok_or_else(wrong)? / 100.0);
            let (left, right) = (Expression::parse(left)?, Expression::parse(right)?);
            return Ok(Condition { left, relation, right });
        }
        for (sign, relation) in [
            (" <= ", Relation::AtMost),
            (" >= ", Relation::AtLeast),
            (" < ", Relation::Less),
            (" > ", Relation::More),
        ] {
            if let Some((left, right)) = text.split_once(sign) {
                return Ok(Condition {
                    left: Expression::parse(left)?,
                    relation,
                    right: Expression::parse(right)?,
                });
            }
        }
        Err(format!("no relation in `{text}`"))
    }
}

impl Conditions {
    pub(super) fn parse(text: &str) -> Result<Conditions, String> {
        text.split("; ").map(Condition::parse).collect::<Result<_, _>>().map(Conditions)
    }

    /// The places at which all hold; `None` if a figure is missing.
    pub(super) fn truth(&self, figures: &Figures, seed: Option<u64>) -> Option<Truth> {
        let mut all = Value::One(1.0);
        for condition in &self.0 {
            all = all.with(condition.value(figures, seed)?, f64::min);
        }
        let (held, failed): (Vec<_>, Vec<_>) = match all {
            Value::One(one) if one > 0.0 => return Some(Truth::Everywhere),
            Value::One(_) => return Some(Truth::Nowhere),
            Value::Row(row) => row.into_iter().partition(|(_, held)| *held > 0.0),
        };
        let names = |row: Vec<(String, f64)>| row.into_iter().map(|(place, _)| place).collect::<Vec<_>>();
        Some(match (names(held), names(failed)) {
            (held, _) if held.is_empty() => Truth::Nowhere,
            (_, failed) if failed.is_empty() => Truth::Everywhere,
            (held, failed) => Truth::At(held, failed),
        })
    }

    /// The measured figures that they are about: the left sides, and right sides that are no bare numbers.
    pub(super) fn shown(&self) -> impl Iterator<Item = (&Expression, Option<&Expression>)> {
        self.0.iter().map(|condition| {
            let right = Some(&condition.right).filter(|right| !right.metrics().is_empty());
            (&condition.left, right)
        })
    }

    pub(super) fn metrics(&self) -> Vec<&str> {
        self.0
            .iter()
            .flat_map(|condition| [condition.left.metrics(), condition.right.metrics()].concat())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_hold_at_places() {
        let mut figures = Figures::default();
        for (place, value) in [("60", 9.0), ("70", 7.0), ("80", 5.0)] {
            figures.add("waf", "a", place, 1, value);
        }
        let truth = |text: &str| Conditions::parse(text).unwrap().truth(&figures, None);
        assert_eq!(truth("waf[a] < 10"), Some(Truth::Everywhere));
        assert_eq!(truth("waf[a @ 60] > 10"), Some(Truth::Nowhere));
        assert_eq!(truth("waf[a] > 10"), Some(Truth::Nowhere));
        let at = |held: &[&str], failed: &[&str]| {
            let owned = |places: &[&str]| places.iter().map(|place| (*place).to_owned()).collect();
            Some(Truth::At(owned(held), owned(failed)))
        };
        assert_eq!(truth("waf[a] < 8; 1 < 2"), at(&["70", "80"], &["60"]));
        assert_eq!(truth("waf[a] is 8 within 13 %"), at(&["60", "70"], &["80"]));
        assert_eq!(truth("waf[a] <= 7; waf[a] >= 6"), at(&["70"], &["60", "80"]));
        assert_eq!(truth("waf[b] < 10"), None);
        for wrong in ["waf[a]", "waf[a] is 8", "waf[a] is 8 within x %"] {
            assert!(Conditions::parse(wrong).is_err(), "{wrong}");
        }
    }
}
