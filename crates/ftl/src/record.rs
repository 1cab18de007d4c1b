//! The record of a checkpoint: which of them counts, and where its pages are.

use alloc::vec::Vec;

use zerocopy::{FromBytes, IntoBytes, little_endian::U32};

use crate::layout::{ANY_SEGMENT, CLEAN, OWN_BYTES, RECORD_MAGIC, RawRecord, count32};

/// The disk's bytes in a record, as in an anchor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DiskBytes {
    pub(crate) uuid: [u8; 16],
    pub(crate) own: [u8; OWN_BYTES],
}

impl DiskBytes {
    /// Decodes the record in a proved page; `None` if it makes no sense.
    pub(crate) fn decode(bytes: &[u8]) -> Option<DiskBytes> {
        Record::decode(bytes)?;
        let (raw, _) = RawRecord::ref_from_prefix(bytes).ok()?;
        Some(DiskBytes { uuid: raw.uuid, own: raw.own })
    }
}

/// The fields of a checkpoint's record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Record {
    /// Checkpoints written so far; the number of the one that counts.
    pub(crate) number: u64,
    /// Nothing was written since.
    pub(crate) clean: bool,
    /// Its pages, that of parity included.
    pub(crate) pages: u32,
    /// The segments that hold them, in order.
    pub(crate) segments: Vec<u32>,
    /// Segments that heads may have opened since the checkpoint, ascending; `None`: any.
    pub(crate) opened: Option<Vec<u32>>,
    /// Pages programmed behind it have at least this sequence number.
    pub(crate) sequence: u64,
    /// Segments that heads have opened, and that no summary of another segment lists; as in a summary.
    pub(crate) listed: Vec<u32>,
}

/// The numbers of segments or pages at the start of these bytes, and the bytes behind them.
fn take_segments(bytes: &[u8], count: u32) -> Option<(Vec<u32>, &[u8])> {
    let (own, rest) = bytes.split_at_checked(usize::try_from(count).ok()?.checked_mul(4)?)?;
    let segments = <[U32]>::ref_from_bytes(own).ok()?;
    Some((segments.iter().map(|block| block.get()).collect(), rest))
}

impl Record {
    /// The bytes of the record, with those of the disk.
    pub(crate) fn encode(&self, disk: &DiskBytes) -> Vec<u8> {
        let raw = RawRecord {
            magic: RECORD_MAGIC.into(),
            flags: if self.clean { CLEAN } else { 0 }.into(),
            checkpoint: self.number.into(),
            pages: self.pages.into(),
            segments: count32(self.segments.len()).into(),
            uuid: disk.uuid,
            own: disk.own,
            opened: self.opened.as_ref().map_or(ANY_SEGMENT, |opened| count32(opened.len())).into(),
            sequence: self.sequence.into(),
            listed: count32(self.listed.len()).into(),
        };
        let mut bytes = raw.as_bytes().to_vec();
        let words = self.segments.iter().chain(self.opened.iter().flatten()).chain(&self.listed);
        words.for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        bytes
    }

    /// The record in a proved page; `None` if it makes no sense.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Record> {
        let (raw, rest) = RawRecord::ref_from_prefix(bytes).ok()?;
        let (segments, rest) = take_segments(rest, raw.segments.get())?;
        let (opened, rest) = match raw.opened.get() {
            ANY_SEGMENT => (None, rest),
            count => take_segments(rest, count).map(|(opened, rest)| (Some(opened), rest))?,
        };
        let (listed, _) = take_segments(rest, raw.listed.get())?;
        let number = raw.checkpoint.get();
        (raw.magic.get() == RECORD_MAGIC && number < u64::MAX / 2).then(|| Record {
            number,
            clean: raw.flags.get() & CLEAN != 0,
            pages: raw.pages.get(),
            segments,
            opened,
            sequence: raw.sequence.get(),
            listed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_and_what_is_cut_off_does_not() {
        let record = Record {
            number: 7,
            clean: true,
            pages: 130,
            segments: [5, 9, 6].into(),
            opened: Some([8, 11].into()),
            sequence: 1 << 40,
            listed: [70].into(),
        };
        let disk = DiskBytes { uuid: [3; 16], own: [9; OWN_BYTES] };
        let bytes = record.encode(&disk);
        assert_eq!((Record::decode(&bytes), DiskBytes::decode(&bytes)), (Some(record), Some(disk)));
        for end in 0..bytes.len() {
            assert_eq!(Record::decode(&bytes[..end]), None);
        }
        let record = Record { opened: None, ..Record::decode(&bytes).unwrap() };
        assert_eq!(Record::decode(&record.encode(&disk)), Some(record));
    }
}
