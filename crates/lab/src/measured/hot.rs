//! The distribution of writes over addresses.

/// Percent of the writes that go to a hundredth of the addresses that were written at all, those written most; `counts` are the
/// writes of each address. `None` if nothing was written.
pub fn hot_share(counts: impl IntoIterator<Item = u32>) -> Option<f64> {
    let mut counts: Vec<u32> = counts.into_iter().filter(|count| *count > 0).collect();
    counts.sort_unstable_by_key(|count| core::cmp::Reverse(*count));
    let hot = counts.len().div_ceil(100);
    let sum = |most| counts.iter().take(most).copied().map(f64::from).sum::<f64>();
    (hot > 0).then(|| sum(hot) / sum(counts.len()) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundredth_of_what_was_written_counts() {
        assert_eq!(hot_share([0, 0]), None);
        assert_eq!(hot_share([0, 5]), Some(100.0));
        let even = vec![3; 200];
        assert_eq!(hot_share(even), Some(1.0));
        let one = (0..100).map(|at| if at == 40 { 101 } else { 1 });
        assert_eq!(hot_share(one), Some(50.5));
    }
}
