//! Counts of inodes, in little memory where most of those with near numbers are counted.

use alloc::{boxed::Box, collections::BTreeMap};

use crate::Ino;

/// Numbers that stand together.
const RUN: usize = 64;

/// A count for each inode. Inodes with near numbers stand together: a million in a row take 9 MB, one alone 0.5 KiB.
#[derive(Debug, Default)]
pub struct Counts {
    runs: BTreeMap<u64, Box<Run>>,
}

#[derive(Debug)]
struct Run {
    counts: [u64; RUN],
    /// The number of counts that are not 0.
    used: usize,
}

fn place(ino: Ino) -> (u64, usize) {
    // Less than `RUN`.
    #[expect(clippy::cast_possible_truncation, reason = "it is below 64")]
    let inside = (ino.0 % RUN as u64) as usize;
    (ino.0 / RUN as u64, inside)
}

impl Counts {
    /// The count of an inode.
    pub fn get(&self, ino: Ino) -> u64 {
        let (run, inside) = place(ino);
        self.runs.get(&run).and_then(|run| run.counts.get(inside)).copied().unwrap_or_default()
    }

    /// Counts an inode once more.
    pub fn add(&mut self, ino: Ino) {
        let (run, inside) = place(ino);
        let run = self.runs.entry(run).or_insert_with(|| Box::new(Run { counts: [0; RUN], used: 0 }));
        if let Some(count) = run.counts.get_mut(inside) {
            run.used += usize::from(*count == 0);
            *count += 1;
        }
    }

    /// Takes away `times`, or all if there are fewer. Returns the rest, `None` if the inode was not counted.
    pub fn take(&mut self, ino: Ino, times: u64) -> Option<u64> {
        let (number, inside) = place(ino);
        let run = self.runs.get_mut(&number)?;
        let count = run.counts.get_mut(inside).filter(|count| **count > 0)?;
        *count = count.saturating_sub(times);
        let left = *count;
        run.used -= usize::from(left == 0);
        if run.used == 0 {
            self.runs.remove(&number);
        }
        Some(left)
    }

    /// All inodes that are counted.
    pub fn inodes(&self) -> impl Iterator<Item = Ino> {
        self.runs.iter().flat_map(|(number, run)| {
            let inodes = (number * RUN as u64..).map(Ino);
            inodes.zip(run.counts).filter(|(_, count)| *count > 0).map(|(ino, _)| ino)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_a_map() {
        let (mut counts, mut map) = (Counts::default(), BTreeMap::<u64, u64>::new());
        let mut state = 7_u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (ino, times) = ((state >> 33) % 700 * 5, (state >> 20) % 4);
            if state >> 63 == 0 {
                counts.add(Ino(ino));
                *map.entry(ino).or_default() += 1;
            } else {
                let before = map.get(&ino).copied();
                let left = before.map(|before| before.saturating_sub(times));
                assert_eq!(counts.take(Ino(ino), times), left);
                match left {
                    Some(0) => map.remove(&ino),
                    Some(left) => map.insert(ino, left),
                    None => None,
                };
            }
            assert_eq!(counts.get(Ino(ino)), map.get(&ino).copied().unwrap_or_default());
        }
        assert!(counts.inodes().map(|ino| ino.0).eq(map.keys().copied()));
        for ino in map.into_keys() {
            assert_eq!(counts.take(Ino(ino), u64::MAX), Some(0));
        }
        assert!(counts.runs.is_empty(), "what is not counted takes memory");
    }
}
