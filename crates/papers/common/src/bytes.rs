//! Numbers and times in pages, little-endian. A page's length was checked before.

use pumice_vfs::Timestamp;

/// The number at a place of a page; 0 behind its end.
pub fn get_u32(page: &[u8], at: usize) -> u32 {
    debug_assert!(at + 4 <= page.len(), "byte {at} of {}", page.len());
    page.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// Puts a number at a place of a page.
pub fn put_u32(page: &mut [u8], at: usize, value: u32) {
    debug_assert!(at + 4 <= page.len(), "byte {at} of {}", page.len());
    if let Some(place) = page.get_mut(at..at + 4) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

/// The time at a place of a page: 8 bytes of seconds, 4 of nanoseconds.
pub fn get_time(page: &[u8], at: usize) -> Timestamp {
    let seconds = u64::from(get_u32(page, at)) | u64::from(get_u32(page, at + 4)) << 32;
    Timestamp { seconds: seconds.cast_signed(), nanos: get_u32(page, at + 8) % 1_000_000_000 }
}

/// Puts a time at a place of a page.
pub fn put_time(page: &mut [u8], at: usize, time: Timestamp) {
    if let Some(place) = page.get_mut(at..at + 8) {
        place.copy_from_slice(&time.seconds.to_le_bytes());
    }
    put_u32(page, at + 8, time.nanos);
}
