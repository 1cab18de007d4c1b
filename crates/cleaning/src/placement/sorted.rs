//! One log for all, survivors sorted.

use core::cmp::Reverse;

use super::{Class, Cleaned, Old, Placement, heat::Heat};

/// The order of survivors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Age,
    Heat,
}

/// Users and cleaner write to one head; the survivors of a segment are copied out in order of heat, the hottest first
/// (M2 and M3, CAT paper, section 6.1.1).
///
/// Sorting a segment is all it does: with one segment cleaned at a time it gains next to nothing, as the paper found.
/// 6 bytes a page.
#[derive(Clone, Debug)]
pub struct Sorted {
    order: Order,
    heat: Heat,
}

impl Sorted {
    /// Sorts by age, the youngest first (M2), for the pages 0 to `pages - 1`.
    pub fn by_age(pages: u32) -> Self {
        Self { order: Order::Age, heat: Heat::new(pages) }
    }

    /// Sorts by hot degree (M3; see [`ByHeat`](super::ByHeat)), for the pages 0 to `pages - 1`.
    pub fn by_heat(pages: u32) -> Self {
        Self { order: Order::Heat, heat: Heat::new(pages) }
    }
}

impl Placement for Sorted {
    fn classes(&self) -> u8 {
        1
    }

    fn user_write(&mut self, now: u32, page: u32, old: Option<Old>) -> Class {
        self.heat.write(now, page, old.is_some());
        Class(0)
    }

    fn cleaner_copy(&mut self, _now: u32, _page: u32, _from: &Cleaned) -> Class {
        Class(0)
    }

    fn sort(&mut self, now: u32, survivors: &mut [u32]) {
        match self.order {
            Order::Age => survivors.sort_by_key(|page| self.heat.age(now, *page)),
            Order::Heat => survivors.sort_by_key(|page| Reverse(self.heat.degree(now, *page))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hottest_come_first() {
        let old = Some(Old { class: Class(0), age: 1 });
        let mut age = Sorted::by_age(4);
        let mut heat = Sorted::by_heat(4);
        for (now, page) in [0, 1, 1, 1, 2, 2, 3].into_iter().enumerate() {
            let now = u32::try_from(now).unwrap();
            age.user_write(now, page, old);
            heat.user_write(now, page, old);
        }
        let mut pages = [0, 1, 2, 3];
        age.sort(7, &mut pages);
        assert_eq!(pages, [3, 2, 1, 0]);
        // Three updates 4 writes ago weigh 3/5, two 2 writes ago 2/4, one 1 write ago 1/3, one 7 writes ago 1/5.
        heat.sort(7, &mut pages);
        assert_eq!(pages, [1, 2, 3, 0]);
    }
}
