//! Placement: which open head a chunk is written to.

mod by_kind;
mod sepbit;

pub use by_kind::Static;
pub use sepbit::SepBit;

/// A temperature class; 0 is the hottest. Every class in use is an open head, and costs an erase block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(pub u8);

/// A rule that places chunks, told of what happens to them. Each call is a few instructions.
///
/// A chunk's age is the write clock less the clock at which its segment got its first write, a cleaner's copy counting
/// as a write. The clock of the chunk's own last user write serves as well, where it is kept; it is not worth keeping
/// for this (tests/waf.rs).
pub trait Placement {
    /// Classes in use, at least 1: answers are below it.
    fn classes(&self) -> u8;

    /// Where a user's chunk goes. `overwritten` is the age of the chunk it replaces, `None` if there is none.
    fn user_write(&mut self, overwritten: Option<u32>) -> Class;

    /// Where the cleaner's copy of a chunk of age `age` goes; its segment was of class `from`.
    fn cleaner_copy(&mut self, from: Class, age: u32) -> Class;

    /// A segment of class `class` was cleaned, `lifespan` after its first write.
    fn reclaimed(&mut self, class: Class, lifespan: u32);
}
