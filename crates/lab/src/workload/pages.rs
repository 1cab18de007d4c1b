//! The pages of a workload, one after the other.

use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::{Pattern, locality::Locality, order::Order, workstation::Workstation, zipf::Zipf};

/// An endless stream of page numbers.
///
/// Locality and Zipf take 4 bytes for each page (the pages in order of rank: hot ones lie all over the store), the others
/// nothing.
#[derive(Clone, Debug)]
pub struct Pages {
    count: u32,
    draw: Draw,
    order: Order,
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
    /// The workload `pattern` over `pages` pages; `None` if these are fewer than 2, or than 100 of a workstation.
    pub fn new(pattern: Pattern, pages: u32, seed: u64) -> Option<Pages> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (draw, order) = match pattern {
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
        Some(Pages { count: pages, draw, order, rng })
    }
}

impl Iterator for Pages {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let rank = match &mut self.draw {
            Draw::Random => return Some(self.rng.random_range(0..self.count)),
            Draw::Sequential { next } => {
                let page = *next;
                *next = if page + 1 == self.count { 0 } else { page + 1 };
                return Some(page);
            }
            Draw::Workstation(workstation) => workstation.draw(&mut self.rng),
            Draw::Locality(locality) => locality.draw(&mut self.rng),
            Draw::Zipf(zipf) => zipf.draw(&mut self.rng),
        };
        Some(self.order.written(rank, &mut self.rng))
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
        assert!(Pages::new(Pattern::Workstation, 99, 1).is_none());
    }

    #[test]
    fn one_page_is_no_workload() {
        assert!(Pages::new(Pattern::Random, 1, 1).is_none());
        assert!(stream("locality:90/10", 2, 1).take(99).any(|page| page == 1));
    }
}
