//! The checksum of F2FS: CRC-32 that begins with the magic number and is not inverted.
