//! Little-endian bytes in and out: every number that reaches the chip goes through here.

use alloc::vec::Vec;

/// Reads numbers from the front of a slice; `None` once it is too short.
#[derive(Clone)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(count)?;
        self.0 = tail;
        Some(head)
    }

    fn array<const K: usize>(&mut self) -> Option<[u8; K]> {
        self.bytes(K)?.try_into().ok()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }
}

/// Appends numbers to a byte vector.
pub(crate) trait Put {
    fn put(&mut self, bytes: &[u8]);

    fn put_u8(&mut self, value: u8) {
        self.put(&[value]);
    }
    fn put_u16(&mut self, value: u16) {
        self.put(&value.to_le_bytes());
    }
    fn put_u32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }
    fn put_u64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }
    fn put_i64(&mut self, value: i64) {
        self.put(&value.to_le_bytes());
    }
}

impl Put for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// A list without the holes at its end, which the medium does not hold.
pub(crate) fn trimmed<'a, T: PartialEq>(list: &'a [T], hole: &T) -> &'a [T] {
    let used = list.iter().rposition(|it| it != hole).map_or(0, |last| last + 1);
    list.get(..used).unwrap_or_default()
}

/// A length or count in memory as the medium's 32 bits; everything counted here is far below.
pub(crate) fn len32(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// A length in memory as the medium's 16 bits; callers keep it below 65,536.
pub(crate) fn len16(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

/// A number in 16 bits, which holds it.
pub(crate) fn half(number: u32) -> u16 {
    debug_assert!(number <= u16::MAX.into(), "a number beyond 16 bits");
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// A number in a byte, which holds it.
pub(crate) fn byte(number: u32) -> u8 {
    debug_assert!(number <= u8::MAX.into(), "a number beyond a byte");
    u8::try_from(number).unwrap_or(u8::MAX)
}

/// A 64-bit count as a length in memory; too large ones become unusable rather than wrong.
pub(crate) fn size(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}
