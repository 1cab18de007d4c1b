//! CRC-32C.

/// The CRC-32C (Castagnoli) of `bytes`, going on from `before`, the checksum of the bytes before them (0 at the start).
///
/// ```
/// assert_eq!(pumice_ecc::crc32c(0, b"123456789"), 0xe306_9283);
/// assert_eq!(pumice_ecc::crc32c(pumice_ecc::crc32c(0, b"1234"), b"56789"), 0xe306_9283);
/// ```
#[must_use]
pub fn crc32c(before: u32, bytes: &[u8]) -> u32 {
    #[cfg(feature = "std")]
    return crc32c::crc32c_append(before, bytes);
    #[cfg(not(feature = "std"))]
    {
        const CRC: crc::Crc<u32, crc::Table<1>> = crc::Crc::<u32, crc::Table<1>>::new(&crc::CRC_32_ISCSI);
        let mut digest = CRC.digest_with_initial(before.reverse_bits() ^ u32::MAX);
        digest.update(bytes);
        digest.finalize()
    }
}
