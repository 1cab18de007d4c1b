//! Arithmetic on the figures of an experiment: `erasures[CAT @ 90/10] / erasures[greedy @ 90/10]`.
//!
//! `metric[series @ place]` is one figure, `metric[series]` a row with one for each place. Rows are combined place by
//! place, a row and a number at each place.

use super::figures::Figures;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Number(f64),
    Figure { metric: String, series: String, place: Option<String> },
    Over(Reduction, Box<Expression>),
    Pair(char, Box<Expression>, Box<Expression>),
}

/// Makes one figure of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reduction {
    Most,
    Least,
    Mean,
}

/// A value: one figure, or a row of figures by place.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    One(f64),
    Row(Vec<(String, f64)>),
}

impl Value {
    /// The same with each figure changed.
    pub(super) fn map(self, change: impl Fn(f64) -> f64) -> Value {
        match self {
            Value::One(value) => Value::One(change(value)),
            Value::Row(row) => {
                Value::Row(row.into_iter().map(|(place, value)| (place, change(value))).collect())
            }
        }
    }

    /// Both, combined place by place; places that one of two rows lacks are left out.
    pub(super) fn with(self, other: Value, combine: impl Fn(f64, f64) -> f64) -> Value {
        match (self, other) {
            (left, Value::One(right)) => left.map(|left| combine(left, right)),
            (Value::One(left), right) => right.map(|right| combine(left, right)),
            (Value::Row(left), Value::Row(right)) => {
                let pair = |(place, left): (String, f64)| {
                    let (_, right) = right.iter().find(|(other, _)| *other == place)?;
                    let value = combine(left, *right);
                    Some((place, value))
                };
                Value::Row(left.into_iter().filter_map(pair).collect())
            }
        }
    }

    /// All its figures.
    pub(super) fn figures(&self) -> Vec<f64> {
        match self {
            Value::One(value) => vec![*value],
            Value::Row(row) => row.iter().map(|(_, value)| *value).collect(),
        }
    }
}

impl Expression {
    /// The value by one seed, or by the means over all; `None` if a figure is missing.
    pub(super) fn value(&self, figures: &Figures, seed: Option<u64>) -> Option<Value> {
        Some(match self {
            Expression::Number(number) => Value::One(*number),
            Expression::Figure { metric, series, place: Some(place) } => {
                Value::One(figures.one(metric, series, place, seed)?)
            }
            Expression::Figure { metric, series, place: None } => {
                Value::Row(figures.row(metric, series, seed)).filled()?
            }
            Expression::Over(reduction, inner) => {
                let all = inner.value(figures, seed)?.figures();
                Value::One(reduction.of(&all)?)
            }
            Expression::Pair(sign, left, right) => {
                let (left, right) = (left.value(figures, seed)?, right.value(figures, seed)?);
                left.with(right, |left, right| match sign {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    _ => left / right,
                })
                .filled()?
            }
        })
    }

    /// The names of all metrics in it.
    pub(super) fn metrics(&self) -> Vec<&str> {
        match self {
            Expression::Number(_) => Vec::new(),
            Expression::Figure { metric, .. } => vec![metric],
            Expression::Over(_, inner) => inner.metrics(),
            Expression::Pair(_, left, right) => [left.metrics(), right.metrics()].concat(),
        }
    }

    /// Reads one; the error says what is wrong.
    pub(super) fn parse(text: &str) -> Result<Expression, String> {
        let mut reader = Reader { rest: text };
        let all = reader.sum()?;
        match reader.rest.trim() {
            "" => Ok(all),
            rest => Err(format!("`{rest}` is left over in `{text}`")),
        }
    }
}

impl Value {
    fn filled(self) -> Option<Value> {
        match &self {
            Value::Row(row) if row.is_empty() => None,
            Value::Row(_) | Value::One(_) => Some(self),
        }
    }
}

impl Reduction {
    const NAMED: [(&str, Reduction); 3] =
        [("most", Reduction::Most), ("least", Reduction::Least), ("mean", Reduction::Mean)];

    #[expect(clippy::cast_precision_loss, reason = "places are few")]
    fn of(self, figures: &[f64]) -> Option<f64> {
        let all = figures.iter().copied();
        match self {
            Reduction::Most => all.reduce(f64::max),
            Reduction::Least => all.reduce(f64::min),
            Reduction::Mean => Some(all.sum::<f64>() / figures.len() as f64),
        }
    }
}

/// Text that is read from its beginning.
struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn sum(&mut self) -> Result<Expression, String> {
        let mut left = self.product()?;
        while let Some(sign) = self.sign(&['+', '-']) {
            left = Expression::Pair(sign, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, String> {
        let mut left = self.term()?;
        while let Some(sign) = self.sign(&['*', '/']) {
            left = Expression::Pair(sign, Box::new(left), Box::new(self.term()?));
        }
        Ok(left)
    }

    fn sign(&mut self, signs: &[char]) -> Option<char> {
        let rest = self.rest.trim_start();
        let sign = rest.chars().next().filter(|sign| signs.contains(sign))?;
        self.rest = rest.strip_prefix(sign)?;
        Some(sign)
    }

    fn term(&mut self) -> Result<Expression, String> {
        self.rest = self.rest.trim_start();
        let is_word = |c: char| c.is_ascii_lowercase() || c == '-';
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let (word, behind) = self.rest.split_at(end);
        if let Some(inside) = behind.strip_prefix('[').filter(|_| !word.is_empty()) {
            let (inside, rest) = inside.split_once(']').ok_or_else(|| format!("no `]` behind `{word}[`"))?;
            self.rest = rest;
            let (series, place) = match inside.split_once('@') {
                Some((series, place)) => (series, Some(place.trim().to_owned())),
                None => (inside, None),
            };
            return Ok(Expression::Figure {
                metric: word.to_owned(),
                series: series.trim().to_owned(),
                place,
            });
        }
        if let Some(inside) = behind.strip_prefix('(') {
            self.rest = inside;
            let inner = self.sum()?;
            self.rest = self.rest.trim_start().strip_prefix(')').ok_or("no `)`")?;
            let named = Reduction::NAMED.iter().find(|(name, _)| *name == word);
            return match (word, named) {
                ("", _) => Ok(inner),
                (_, Some((_, reduction))) => Ok(Expression::Over(*reduction, Box::new(inner))),
                (word, None) => Err(format!("unknown function `{word}`")),
            };
        }
        self.number()
    }

    fn number(&mut self) -> Result<Expression, String> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        let value = number.parse().map_err(|_| format!("`{}` is no figure", self.rest))?;
        self.rest = rest;
        Ok(Expression::Number(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        let mut figures = Figures::default();
        for (series, place, seed, value) in
            [("a", "1", 1, 10.0), ("a", "1", 2, 20.0), ("a", "2", 1, 30.0), ("b, c", "1", 0, 5.0)]
        {
            figures.add("extra-writes", series, place, seed, value);
        }
        figures
    }

    #[test]
    fn figures_are_combined_place_by_place() {
        let value = |text: &str, seed| Expression::parse(text).unwrap().value(&figures(), seed);
        assert_eq!(value("2 + 3 * (4 - 1) / 2", None), Some(Value::One(6.5)));
        assert_eq!(value("extra-writes[a @ 1]", None), Some(Value::One(15.0)));
        assert_eq!(value("extra-writes[a @ 1] / extra-writes[b, c @ 1]", Some(2)), Some(Value::One(4.0)));
        assert_eq!(value("most(extra-writes[a]) - least(extra-writes[a])", None), Some(Value::One(15.0)));
        assert_eq!(value("mean(extra-writes[a])", None), Some(Value::One(22.5)));
        let row = Value::Row(vec![("1".to_owned(), 3.0)]);
        assert_eq!(value("extra-writes[a] / extra-writes[b, c]", None), Some(row));
        assert_eq!(value("extra-writes[d]", None), None);
        assert_eq!(value("extra-writes[a @ 3]", None), None);
    }

    #[test]
    fn errors_say_what_is_wrong() {
        for (text, why) in [
            ("", "no figure"),
            ("waf[a", "no `]`"),
            ("(1", "no `)`"),
            ("best(1)", "unknown function `best`"),
            ("1 2", "left over"),
        ] {
            assert!(Expression::parse(text).unwrap_err().contains(why), "{text}");
        }
    }
}
