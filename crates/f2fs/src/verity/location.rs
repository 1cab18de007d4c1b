//! The place of a file's fs-verity metadata.

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U32, U64},
};

use super::VerityError;

/// The index of the extended attribute that names the descriptor's place.
pub const XATTR_INDEX: u8 = 11;
/// The name of that attribute.
pub const XATTR_NAME: &[u8] = b"v";
/// The beginning of metadata is a multiple of this many bytes, whatever the block size.
const ALIGNMENT: u64 = 65536;
/// The longest descriptor that Linux reads, with its signature.
const MAX_DESCRIPTOR_BYTES: u32 = 16384;

/// The value of the attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct RawLocation {
    /// 1.
    pub version: U32,
    /// Bytes of the descriptor.
    pub size: U32,
    /// Its offset in the file, in bytes.
    pub pos: U64,
}
const _: () = assert!(size_of::<RawLocation>() == 16);

/// The place of the descriptor, checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Location {
    /// Its offset in the file, in bytes.
    pub position: u64,
    /// Its length in bytes, with its signature.
    pub size: u32,
}

impl Location {
    /// The place in the attribute's value, for a file of `file_bytes`.
    pub fn parse(value: &[u8], file_bytes: u64) -> Result<Location, VerityError> {
        let raw = RawLocation::ref_from_bytes(value).ok().filter(|raw| raw.version.get() == 1);
        let version = || value.first_chunk().map_or(0, |&bytes| u32::from_le_bytes(bytes));
        let raw = raw.ok_or_else(|| VerityError::Location { bytes: value.len(), version: version() })?;
        let (position, size) = (raw.pos.get(), raw.size.get());
        let start = metadata_start(file_bytes).unwrap_or(u64::MAX);
        let fits =
            i64::try_from(position).is_ok_and(|position| position.checked_add(i64::from(size)).is_some());
        if !fits || position < start || size == 0 || size > MAX_DESCRIPTOR_BYTES {
            return Err(VerityError::Place { position, size });
        }
        Ok(Location { position, size })
    }
}

/// The offset of the Merkle tree in a file of `file_bytes`; `None` if no file is that large.
pub fn metadata_start(file_bytes: u64) -> Option<u64> {
    file_bytes.checked_next_multiple_of(ALIGNMENT)
}
