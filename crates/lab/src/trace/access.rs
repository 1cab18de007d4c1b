//! One request of a trace.

use std::ops::Range;

/// The operation of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Data was read.
    Read,
    /// Data was written.
    Write,
    /// Data was given up (trim, discard, unmap).
    Trim,
}

/// A request for a run of bytes of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The time of issue, in nanoseconds of the trace's own clock.
    pub time_ns: u64,
    /// The operation.
    pub op: Op,
    /// The volume, disk or file; equal addresses of two volumes are two places.
    pub volume: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Access {
    /// The pages of `page_bytes` (at least 1) that are meant: every page touched; of a trim those wholly covered.
    pub fn pages(&self, page_bytes: u64) -> Range<u64> {
        let end = self.offset.saturating_add(self.bytes);
        match self.op {
            _ if self.bytes == 0 => 0..0,
            Op::Trim => self.offset.div_ceil(page_bytes)..end / page_bytes,
            Op::Read | Op::Write => self.offset / page_bytes..end.div_ceil(page_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_round_outwards_and_trims_inwards() {
        let pages = |op, offset, bytes| Access { time_ns: 0, op, volume: 0, offset, bytes }.pages(4096);
        assert_eq!(pages(Op::Write, 4095, 2), 0..2);
        assert_eq!(pages(Op::Read, 8192, 4096), 2..3);
        assert_eq!(pages(Op::Trim, 4095, 8194), 1..3);
        assert!(pages(Op::Trim, 1, 4096).is_empty());
        assert!(pages(Op::Write, 5, 0).is_empty());
        assert_eq!(pages(Op::Write, u64::MAX - 1, 9).count(), 1);
    }
}
