//! The pages of a workload, one after the other.

use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus, seq::SliceRandom};

use super::{Pattern, Workload, locality::Locality, order::Order, workstation::Workstation, zipf::Zipf};

/// An endless stream of page numbers.
///
/// Locality and Zipf take 4 bytes for each page (the pages in order of rank: hot ones lie all over the store), the others
/// nothing. Read-only pages take 4 bytes for each page of all.
#[derive(Clone, Debug)]
pub struct Pages {
    /// The pages that are written.
    count: u32,
    draw: Draw,
    order: Order,
    /// Their numbers in order, and then those of the read-only ones; empty if there are none of these.
    numbers: Vec<u32>,
    rng: Xoshiro256PlusPlus,
}

/// The law by which a rank is drawn.
#[derive(Clone, Debug)]
enum Draw {
    Sequential { next: u32 },
    Random,
    Workstation(Workstation),
    Locality(Locality),
    Zipf(Zipf),
}

impl Pages {
    /// The workload over `pages` pages; `None` if it writes to fewer than 2 of them, or than 100 of a workstation.
    pub fn new(workload: Workload, pages: u32, seed: u64) -> Option<Pages> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let numbers = parted(pages, workload.read_only, &mut rng);
        let pages = pages - read_only(pages, workload.read_only);
        let (draw, order) = match workload.pattern {
            _ if pages < 2 => return None,
            Pattern::Sequential => (Draw::Sequential { next: 0 }, Order::natural(pages)),
            Pattern::Random => (Draw::Random, Order::natural(pages)),
            Pattern::Workstation => (Draw::Workstation(Workstation::new(pages)?), Order::natural(pages)),
            Pattern::Locality { accesses, data, drift } => (
                Draw::Locality(Locality::new(pages, accesses, data)),
                Order::shuffled(pages, drift, &mut rng),
            ),
            Pattern::Zipf { exponent, drift } => {
                (Draw::Zipf(Zipf::new(pages, exponent)?), Order::shuffled(pages, drift, &mut rng))
            }
        };
        Some(Pages { count: pages, draw, order, numbers, rng })
    }

    /// The pages that are never written, in no order.
    pub fn read_only(&self) -> &[u32] {
        self.numbers.get(self.count as usize..).unwrap_or_default()
    }

    #[inline]
    fn drawn(&mut self) -> u32 {
        let rank = match &mut self.draw {
            Draw::Random => return self.rng.random_range(0..self.count),
            Draw::Sequential { next } => {
                let page = *next;
                *next = if page + 1 == self.count { 0 } else { page + 1 };
                return page;
            }
            Draw::Workstation(workstation) => workstation.draw(&mut self.rng),
            Draw::Locality(locality) => locality.draw(&mut self.rng),
            Draw::Zipf(zipf) => zipf.draw(&mut self.rng),
        };
        self.order.written(rank, &mut self.rng)
    }
}

/// The number of read-only pages.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a u32")]
fn read_only(pages: u32, part: f64) -> u32 {
    (f64::from(pages) * part).round() as u32
}

/// All pages: those that are written, in order, and then the read-only ones, drawn from all; empty if there are none.
fn parted(pages: u32, part: f64, rng: &mut Xoshiro256PlusPlus) -> Vec<u32> {
    let count = read_only(pages, part);
    if count == 0 {
        return Vec::new();
    }
    let mut numbers: Vec<u32> = (0..pages).collect();
    numbers.shuffle(rng);
    if let Some(written) = numbers.get_mut(..(pages - count) as usize) {
        written.sort_unstable();
    }
    numbers
}

impl Iterator for Pages {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let page = self.drawn();
        Some(self.numbers.get(page as usize).copied().unwrap_or(page))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(pattern: &str, pages: u32, seed: u64) -> Pages {
        Pages::new(pattern.parse().unwrap(), pages, seed).unwrap()
    }

    /// Writes of each page among `writes`.
    fn counts(pattern: &str, pages: u32, writes: usize) -> Vec<f64> {
        let mut counts = vec![0.0; pages as usize];
        stream(pattern, pages, 3).take(writes).for_each(|page| counts[page as usize] += 1.0);
        counts
    }

    #[test]
    fn a_seed_replays() {
        for pattern in [
            "sequential",
            "random",
            "workstation",
            "locality:90/10+churn:5%",
            "zipf:0.99+shift:7",
            "zipf:1+churn:20%",
            "zipf:1+churn:20%+read-only:50%",
        ] {
            let [one, two] = [5, 5].map(|seed| stream(pattern, 1000, seed).take(500).collect::<Vec<_>>());
            assert_eq!(one, two);
            assert!(one.iter().all(|page| *page < 1000));
            let other: Vec<_> = stream(pattern, 1000, 6).take(500).collect();
            assert_eq!(one == other, pattern == "sequential", "{pattern}");
        }
    }

    #[test]
    fn sequential_goes_round() {
        assert_eq!(stream("sequential", 3, 1).take(7).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn locality_gives_each_part_its_share() {
        let mut counts = counts("locality:90/10", 1000, 1_000_000);
        counts.sort_by(|a, b| b.total_cmp(a));
        let (hot, cold) = counts.split_at(100);
        assert!((hot.iter().sum::<f64>() / 1e6 - 0.9).abs() < 0.002);
        assert!(hot.iter().all(|count| (count / 9000.0 - 1.0).abs() < 0.06));
        assert!(cold.iter().all(|count| (count / 111.1 - 1.0).abs() < 0.5));
    }

    #[test]
    fn zipf_follows_its_law() {
        let mut counts = counts("zipf:0.99", 100, 1_000_000);
        counts.sort_by(|a, b| b.total_cmp(a));
        let sum: f64 = (1..=100).map(|rank| f64::from(rank).powf(-0.99)).sum();
        for rank in [1_u32, 2, 10, 50] {
            let want = f64::from(rank).powf(-0.99) / sum * 1e6;
            let got = counts[rank as usize - 1];
            assert!((got / want - 1.0).abs() < 0.05, "rank {rank}: {got} of {want}");
        }
    }

    #[test]
    fn churn_makes_all_pages_alike_in_the_long_run() {
        let most = |pattern| counts(pattern, 100, 1_000_000).into_iter().fold(0.0, f64::max) / 1e4;
        assert!(most("zipf:1.2") > 20.0 && most("zipf:1.2+churn:50%") < 1.5);
    }

    #[test]
    fn a_shift_moves_the_hot_set_through_all_pages() {
        let pages: Vec<_> = stream("locality:100/1+shift:10", 100, 1).take(2000).collect();
        let runs: Vec<_> = pages.chunk_by(|a, b| a == b).collect();
        assert!(runs.iter().all(|run| run.len() == 10));
        let order: Vec<_> = runs.iter().map(|run| run[0]).collect();
        assert_eq!(order[..100], order[100..]);
        assert_eq!(order[..100].iter().collect::<std::collections::BTreeSet<_>>().len(), 100);
    }

    #[test]
    fn a_workstation_writes_metadata_most() {
        let counts = counts("workstation", 10_000, 1_000_000);
        let metadata: f64 = counts.iter().step_by(50).sum();
        assert!((metadata / 1e6 - 0.712).abs() < 0.002, "{metadata}");
        // By Zipf's law of exponent 1 the first of 200 gets a part in 5.88.
        assert!((counts[0] / metadata - 1.0 / 5.878).abs() < 0.01, "{}", counts[0]);
        let data = counts.iter().enumerate().filter(|(page, _)| !page.is_multiple_of(50));
        assert!(data.filter(|(_, count)| **count > 0.0).count() > 9000);
        assert!(Pages::new(Pattern::Workstation.into(), 99, 1).is_none());
    }

    #[test]
    fn read_only_pages_are_never_written_and_lie_all_over() {
        for pattern in ["sequential", "random", "workstation", "locality:90/10", "zipf:0.99+churn:5%"] {
            let mut pages = stream(&format!("{pattern}+read-only:30%"), 1000, 3);
            let read_only: std::collections::BTreeSet<u32> = pages.read_only().iter().copied().collect();
            assert_eq!(read_only.len(), 300, "{pattern}");
            assert!((100..200).contains(&read_only.range(..500).count()), "{pattern}");
            let written: std::collections::BTreeSet<u32> = pages.by_ref().take(200_000).collect();
            assert!(written.is_disjoint(&read_only), "{pattern}");
            assert!(
                written.len() > 650 && written.iter().all(|page| *page < 1000),
                "{pattern}: {}",
                written.len()
            );
        }
        assert!(stream("random", 1000, 3).read_only().is_empty());
        assert_eq!(stream("sequential+read-only:50%", 4, 1).take(4).collect::<Vec<_>>().len(), 4);
    }

    #[test]
    fn one_page_is_no_workload() {
        assert!(Pages::new(Pattern::Random.into(), 1, 1).is_none());
        assert!(Pages::new("random+read-only:90%".parse().unwrap(), 10, 1).is_none());
        assert!(stream("locality:90/10", 2, 1).take(99).any(|page| page == 1));
    }
}
