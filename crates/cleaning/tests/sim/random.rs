//! Numbers that every machine draws alike.

/// A linear congruential generator, read from its high bits.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let scaled = ((self.0 >> 32) * u64::from(bound)) >> 32;
        u32::try_from(scaled).unwrap_or(u32::MAX)
    }
}
