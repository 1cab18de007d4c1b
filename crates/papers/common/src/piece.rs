//! Ranges of a file in blocks.

/// A part of one block: which, from where in it, and how many bytes.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// The number of the block in its file.
    pub number: u32,
    /// The first byte in the block.
    pub from: usize,
    /// The number of bytes.
    pub bytes: usize,
}

/// The parts of blocks of `each` bytes that a range covers; it ends within the blocks that a file may have.
pub fn pieces(each: usize, offset: u64, length: usize) -> impl Iterator<Item = Piece> {
    let (mut at, mut left) = (offset, length);
    core::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let from = usize::try_from(at % each as u64).ok()?;
        let bytes = left.min(each - from);
        let piece = Piece { number: number_of(each, at), from, bytes };
        at += bytes as u64;
        left -= bytes;
        Some(piece)
    })
}

/// The number of the block that holds a byte.
pub fn number_of(each: usize, offset: u64) -> u32 {
    let number = u32::try_from(offset / each as u64);
    debug_assert!(number.is_ok(), "byte {offset} of a file");
    number.unwrap_or(u32::MAX)
}
