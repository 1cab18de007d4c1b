//! Doors for fuzzers; no part of the interface. A fuzzer's bytes are read as choices, so that the same bytes always
//! do the same.

mod damage;
mod hostile;
mod page;
mod parsers;

pub use damage::Catalogue;
pub use parsers::parsers;

use crate::log::Log;

/// Numbers drawn from bytes; zeros once they are used up.
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    /// Choices made by these bytes.
    pub fn new(bytes: &'a [u8]) -> Choices<'a> {
        Choices(bytes)
    }

    /// True if all further numbers are zeros.
    pub fn is_used_up(&self) -> bool {
        self.0.is_empty()
    }

    /// Any number of 32 bits.
    pub fn number(&mut self) -> u32 {
        let mut raw = [0; 4];
        let (head, tail) = self.0.split_at(self.0.len().min(4));
        raw.iter_mut().zip(head).for_each(|(to, from)| *to = *from);
        self.0 = tail;
        u32::from_le_bytes(raw)
    }

    /// A number below `end`, 0 if there is none.
    pub fn below(&mut self, end: u32) -> u32 {
        self.number().checked_rem(end).unwrap_or(0)
    }

    /// A place in a list of this length, 0 if it is empty.
    pub fn place(&mut self, length: usize) -> usize {
        self.below(u32::try_from(length).unwrap_or(u32::MAX)) as usize
    }

    /// A number on some edge, or any.
    fn edge(&mut self, more: &[u32]) -> u32 {
        const EDGES: [u32; 16] = [
            0,
            1,
            2,
            3,
            8,
            0x7f,
            0xff,
            0x100,
            0x7fff,
            0xffff,
            0x0001_0000,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_fffe,
            0xffff_ffff,
            0x0100_0000,
        ];
        let place = self.place(EDGES.len() + more.len() + 4);
        let known = EDGES.iter().chain(more).nth(place).copied();
        known.unwrap_or_else(|| self.number())
    }
}

/// A volume with this uuid panics as soon as the attributes of a damaged inode are asked for.
pub const CANARY_PANIC: [u8; 16] = *b"canary: a panic!";
/// A volume with this uuid reads on and on in the same case.
pub const CANARY_LOOP: [u8; 16] = *b"canary: no end!!";

/// A mistake made on purpose, to see that a fuzzer finds it.
#[expect(clippy::panic, reason = "the fuzzer has to find it")]
pub(crate) fn canary(log: &mut Log<'_>, uid: u32) {
    // No test gives a file to such an owner.
    if uid < 1 << 24 {
        return;
    }
    match log.recorded.superblock().uuid {
        CANARY_PANIC => panic!("the canary sings"),
        CANARY_LOOP => loop {
            let _ = log.pages.peek(0);
        },
        _ => {}
    }
}
