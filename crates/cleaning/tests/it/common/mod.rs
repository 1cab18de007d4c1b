//! Workloads as iterators of pages.

pub(crate) mod families;
pub(crate) mod newcomers;
pub(crate) mod zipf;

use fastrand::Rng;
use pumice_cleaning::{
    Params, Selector, Wear,
    registry::{Store, VictimRule, WearRule},
};

/// The victim rule of this name.
pub(crate) fn victim(name: &str, params: &Params, seed: u64) -> Box<dyn Selector + Send> {
    name.parse::<VictimRule>().unwrap().build(&Store::new(*params, seed))
}

/// The wear rule of this name.
pub(crate) fn wear(name: &str, params: &Params) -> Box<dyn Wear + Send> {
    name.parse::<WearRule>().unwrap().build(&Store::new(*params, 1))
}

/// The pages that are overwritten.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Access {
    /// One after the other, over and over.
    Sequential,
    /// Any, equally often.
    Random,
    /// This part in a hundred of the writes goes to the rest of a hundred of the pages, which lie all over the store:
    /// 90 for 90/10.
    Locality(u32),
    /// The same of half of the pages; the others are never written again.
    HalfWritten(u32),
}

impl Access {
    /// Endless pages out of `pages`.
    pub(crate) fn pages(self, pages: u32, seed: u64) -> impl Iterator<Item = u32> {
        let mut rng = Rng::with_seed(seed);
        let mut order: Vec<u32> = (0..pages).collect();
        rng.shuffle(&mut order);
        let written = if matches!(self, Self::HalfWritten(_)) { pages / 2 } else { pages };
        (0..).map(move |at: u64| match self {
            Self::Sequential => u32::try_from(at % u64::from(pages)).unwrap(),
            Self::Random => rng.u32(0..pages),
            Self::Locality(percent) | Self::HalfWritten(percent) => {
                let hot = written * (100 - percent) / 100;
                let at = if rng.u32(0..100) < percent { rng.u32(0..hot) } else { rng.u32(hot..written) };
                order[usize::try_from(at).unwrap()]
            }
        })
    }
}
