//! One of some parts that together are everything.

/// A part, from 0, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The part, from 0.
    pub index: u64,
    /// The number of parts.
    pub of: u64,
}

impl Part {
    /// `K/N`: the part `K` of `N`, from 0.
    pub(crate) fn parse(text: &str) -> Option<Part> {
        let (index, of) = text.split_once('/')?;
        let part = Part { index: number(index)?, of: number(of)? };
        (part.index < part.of).then_some(part)
    }

    /// Whether the case of a number belongs to it.
    #[must_use]
    pub fn takes(self, number: u64) -> bool {
        number % self.of == self.index
    }

    /// The cases that belong to it.
    pub fn pick<C>(self, cases: impl Iterator<Item = C>) -> impl Iterator<Item = C> {
        (0..).zip(cases).filter(move |(number, _)| self.takes(*number)).map(|(_, case)| case)
    }
}

/// Digits and nothing else: `parse` would take a sign.
pub(crate) fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_everything_once() {
        let mut all: Vec<u64> =
            (0..7).flat_map(|index| Part { index, of: 7 }.pick(100..200).collect::<Vec<_>>()).collect();
        assert_eq!(all[..3], [100, 107, 114]);
        all.sort_unstable();
        assert!(all.into_iter().eq(100..200));
        assert!(Part { index: 2, of: 7 }.takes(9) && !Part { index: 2, of: 7 }.takes(7));
    }
}
