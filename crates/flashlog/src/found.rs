//! Records found without an anchor: every block is looked at.

use alloc::vec::Vec;

use crate::Result;
use crate::medium::{Medium, Peek};
use crate::ring::ANCHOR_BLOCKS;
use crate::roots::CHECKPOINT;
use crate::search::{newest, programmed};
use crate::shape::TagPlace;

/// The newest record of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundRecord {
    /// The block that it lies in.
    pub block: u32,
    /// Its sequence number; 0 where pages have none.
    pub seq: u64,
    /// The payload of the page.
    pub payload: Vec<u8>,
    /// Nothing was programmed behind it in its block.
    pub is_last: bool,
}

/// The newest record of each block that holds any, newest first, in superpages of the medium's shape, if `accept` takes
/// it. Costs a look at each block, and a read of each page where headers tell nothing.
pub fn find_records(medium: &mut Medium<'_>, accept: impl Fn(&[u8]) -> bool) -> Result<Vec<FoundRecord>> {
    let shape = *medium.shape();
    let read = |bytes: &[u8]| accept(bytes).then(|| bytes.to_vec());
    let mut found = Vec::new();
    for block in ANCHOR_BLOCKS..shape.blocks() {
        let is_possible = match medium.peek(shape.page(block, 0))? {
            Peek::Erased => false,
            Peek::Programmed(Some((kind, _))) => kind == CHECKPOINT,
            Peek::Programmed(None) => shape.tag_place() == TagPlace::Proof || holds_record(medium, block)?,
        };
        if !is_possible || medium.is_bad(block)? {
            continue;
        }
        let used = programmed(medium, block)?;
        if let Some(newest) = newest(medium, block, used, CHECKPOINT, read)? {
            let is_last = newest.is_last();
            found.push(FoundRecord { block, seq: newest.seq, payload: newest.root, is_last });
        }
    }
    found.sort_by_key(|record| core::cmp::Reverse(record.seq));
    Ok(found)
}

/// True if one of the pages behind an unknown first one proves to be a record.
fn holds_record(medium: &mut Medium<'_>, block: u32) -> Result<bool> {
    let mut next = 1;
    while let Some((index, look)) = medium.next_programmed(block, next)? {
        if let Some((kind, _)) = look {
            return Ok(kind == CHECKPOINT);
        }
        next = index + 1;
    }
    Ok(false)
}
