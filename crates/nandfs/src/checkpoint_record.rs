//! The checkpoint: everything that mounting needs, in one log page (SPEC, "Checkpoint").

use alloc::vec::Vec;

use pumice_flashlog::{Roots, Rounds, SEQ_END};

use crate::addr::Addr;
use crate::blocks::{BLOCK_ROOTS, ENTRY, Told};
use crate::codec::{Put, Reader, len16, len32};
use crate::ids::FIRST_NID;
use crate::nodes::NODE_ROOTS;
use crate::pages::{NAMED_MOST, Spare};
use crate::params::{ANCHOR_BLOCKS, Params};

const MAGIC: u32 = 0x3154_5043;
const CLEAN: u8 = 1;
const WORN_OUT: u8 = 2;
/// Flags of a word of the window: the blocks are erased; a word follows with their number in a row.
const ERASED: u32 = 1 << 31;
const RUN: u32 = 1 << 30;

/// Bytes of the fixed fields, with room for eight heads, sixteen failing and sixteen dying blocks and
/// the roots.
const FIXED: u32 = 598;
/// Bytes left free in a record of 2,000: a longer window puts checkpoints off, and more of the written data is
/// long-lived.
const UNUSED: usize = 128;

/// The entries of each list that fit in a checkpoint of this volume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    pub(crate) node_journal: usize,
    pub(crate) block_journal: usize,
    /// Words for the window; a block, or two for blocks in a row.
    pub(crate) window_words: usize,
    /// Failing blocks, and likewise dying ones.
    pub(crate) failing: usize,
}

impl Limits {
    pub(crate) fn of(params: &Params) -> Limits {
        let scale = (params.node / 2000) as usize;
        let (node_journal, block_journal) = (24 * scale, 40 * scale);
        let copies = if params.copy_blocks > 0 { 2 * (2 + 4 * NAMED_MOST) } else { 0 };
        let used = FIXED as usize + copies + node_journal * 12 + block_journal * (4 + ENTRY) + UNUSED * scale;
        let window_words = (params.node as usize - used) / 4;
        Limits { node_journal, block_journal, window_words, failing: 16 }
    }
}

/// The checkpoint.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Checkpoint {
    /// Counted from 1.
    pub(crate) number: u64,
    /// Nothing was written after it.
    pub(crate) clean: bool,
    /// It is the last: too few good blocks are left.
    pub(crate) worn_out: bool,
    /// Pages programmed later have a sequence number at or above it.
    pub(crate) seq: u64,
    pub(crate) inodes: u64,
    /// Blocks of files and directories, mapped or reserved.
    pub(crate) data_blocks: u64,
    /// Bytes of all nodes.
    pub(crate) node_bytes: u64,
    pub(crate) blocks: Told,
    /// Every node id from here on is unused.
    pub(crate) next_nid: u32,
    /// Topmost pages of the node table, and its height.
    pub(crate) node_roots: (Vec<Addr>, u8),
    /// Topmost pages of the block table, and its height.
    pub(crate) block_roots: (Vec<Addr>, u8),
    /// The place of the root directory's inode: every way starts there.
    pub(crate) root_inode: Addr,
    /// Block and next page of each open head.
    pub(crate) heads: Vec<Option<(u32, u32)>>,
    pub(crate) window: Vec<Spare>,
    pub(crate) node_journal: Vec<(u32, [u8; 8])>,
    pub(crate) block_journal: Vec<(u32, [u8; ENTRY])>,
    /// The patrol's progress.
    pub(crate) rounds: Rounds,
    /// Blocks with copies of parity, oldest first; empty unless the volume has copies.
    pub(crate) copies: Vec<u32>,
    /// Blocks besides the open ones that have no parity but these.
    pub(crate) guarded: Vec<u32>,
}

/// The places of pages that were programmed after a checkpoint.
#[derive(Clone, Copy)]
pub(crate) struct Fence<'a> {
    /// The least sequence number of these pages.
    pub(crate) seq: u64,
    /// Block and next page of each head that was open.
    pub(crate) heads: &'a [Option<(u32, u32)>],
    /// Blocks that the log took next.
    pub(crate) window: &'a [Spare],
}

impl Checkpoint {
    pub(crate) fn fence(&self) -> Fence<'_> {
        Fence { seq: self.seq, heads: &self.heads, window: &self.window }
    }

    pub(crate) fn encode(&self, params: &Params) -> Vec<u8> {
        let mut out = Vec::with_capacity(2048);
        out.put_u32(MAGIC);
        out.put_u8(if self.clean { CLEAN } else { 0 } | if self.worn_out { WORN_OUT } else { 0 });
        for value in [self.number, self.seq, self.inodes, self.data_blocks, self.node_bytes] {
            out.put_u64(value);
        }
        let Told { free, bad, cursor, clock, failing, dying, lost_dead } = &self.blocks;
        for value in [*free, *bad, self.next_nid, *cursor, *clock] {
            out.put_u32(value);
        }
        for (roots, height) in [&self.node_roots, &self.block_roots] {
            out.put_u8(*height);
            put_list(&mut out, roots, |out, addr| {
                out.put_u32(addr.page);
                out.put_u16(addr.offset);
            });
        }
        out.put_u64(self.root_inode.to_u64());
        out.put_u16(len16(self.heads.len()));
        for head in &self.heads {
            let (block, index) = head.unwrap_or((u32::MAX, 0));
            out.put_u32(block);
            out.put_u32(index);
        }
        put_list(&mut out, &words_of(&self.window), Put::put_u32);
        put_list(&mut out, &self.node_journal, put_change);
        put_list(&mut out, &self.block_journal, put_change);
        put_list(&mut out, failing, Put::put_u32);
        put_list(&mut out, dying, Put::put_u32);
        out.put_u8(u8::from(*lost_dead));
        out.put_i64(self.rounds.began);
        out.put_u64(self.rounds.corrected_bits);
        let Rounds { page, passes, moved_blocks, rebuilt_pages, .. } = self.rounds;
        for value in [page, passes, moved_blocks, rebuilt_pages] {
            out.put_u32(value);
        }
        if params.copy_blocks > 0 {
            put_list(&mut out, &self.copies, Put::put_u32);
            put_list(&mut out, &self.guarded, Put::put_u32);
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8], params: &Params) -> Option<Checkpoint> {
        let mut reader = Reader(bytes);
        if reader.u32()? != MAGIC {
            return None;
        }
        let flags = reader.u8()?;
        let reader = &mut reader;
        let own = |reader: &mut Reader<'_>| match params.copy_blocks {
            0 => Some(Vec::new()),
            _ => take_list(reader, Reader::u32),
        };
        // In the order of the bytes.
        let (number, seq, inodes) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let (data_blocks, node_bytes) = (reader.u64()?, reader.u64()?);
        let (free, bad, next_nid) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let (cursor, clock) = (reader.u32()?, reader.u32()?);
        let checkpoint = Checkpoint {
            clean: flags & CLEAN != 0,
            worn_out: flags & WORN_OUT != 0,
            number,
            seq,
            inodes,
            data_blocks,
            node_bytes,
            next_nid,
            node_roots: take_roots(reader, params, NODE_ROOTS)?,
            block_roots: take_roots(reader, params, BLOCK_ROOTS)?,
            root_inode: Addr::from_u64(reader.u64()?),
            heads: take_list(reader, |reader| {
                let place = (reader.u32()?, reader.u32()?);
                Some((place.0 < params.blocks && place.1 < params.pages_per_block).then_some(place))
            })?,
            window: window_of(&take_list(reader, Reader::u32)?, params)?,
            node_journal: take_list(reader, take_change)?,
            block_journal: take_list(reader, take_change)?,
            blocks: Told {
                free,
                bad,
                cursor,
                clock,
                failing: take_list(reader, Reader::u32)?,
                dying: take_list(reader, Reader::u32)?,
                lost_dead: reader.u8()? != 0,
            },
            rounds: Rounds {
                began: reader.i64()?,
                corrected_bits: reader.u64()?,
                page: reader.u32()?,
                passes: reader.u32()?,
                moved_blocks: reader.u32()?,
                rebuilt_pages: reader.u32()?,
            },
            copies: own(reader)?,
            guarded: own(reader)?,
        };
        checkpoint.is_sound(params).then_some(checkpoint)
    }

    /// True if no number is beyond the reach of a chip of this shape.
    fn is_sound(&self, params: &Params) -> bool {
        let roots = [&self.node_roots, &self.block_roots];
        let payload = u64::from(params.pages()) * u64::from(params.payload);
        self.number < u64::MAX
            && self.seq < SEQ_END
            && self.inodes <= u32::MAX.into()
            && self.data_blocks <= params.charge_most()
            && self.node_bytes <= payload
            && self.blocks.free <= params.blocks
            && self.blocks.bad <= params.blocks
            && self.next_nid >= FIRST_NID
            && roots.iter().all(|(roots, height)| *height > 0 || roots.iter().all(|addr| *addr == Addr::NONE))
            && self.block_journal.iter().all(|(block, _)| *block < params.blocks)
            && self.copies.len().max(self.guarded.len()) <= NAMED_MOST
            && self.window.iter().all(|spare| spare.block < params.blocks)
            && [&self.blocks.failing, &self.blocks.dying, &self.copies, &self.guarded]
                .into_iter()
                .flatten()
                .all(|block| *block < params.blocks)
    }

    /// True if no page written by this checkpoint can hit a block in use: the heads and the window are blocks of the
    /// log, each named once.
    pub(crate) fn may_be_written(&self, roots: &Roots) -> bool {
        let heads = self.heads.iter().flatten().map(|(block, _)| *block);
        let window = self.window.iter().map(|spare| spare.block);
        let mut blocks: Vec<u32> = heads.chain(window).chain(self.copies.iter().copied()).collect();
        let count = blocks.len();
        blocks.sort_unstable();
        blocks.dedup();
        blocks.len() == count && blocks.iter().all(|block| *block >= ANCHOR_BLOCKS && !roots.holds(*block))
    }
}

/// The window as words.
pub(crate) fn words_of(window: &[Spare]) -> Vec<u32> {
    let follows = |a: &Spare, b: &Spare| a.erased == b.erased && a.block.checked_add(1) == Some(b.block);
    let mut words = Vec::new();
    for run in window.chunk_by(follows) {
        let Some(first) = run.first() else { continue };
        let word = first.block | if first.erased { ERASED } else { 0 };
        match run.len() {
            1 => words.push(word),
            count => words.extend([word | RUN, len32(count)]),
        }
    }
    words
}

/// The window of these words; `None` if it has more blocks than the chip.
fn window_of(words: &[u32], params: &Params) -> Option<Vec<Spare>> {
    let mut window = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (first, erased) = (word & !(ERASED | RUN), word & ERASED != 0);
        let count = if word & RUN == 0 { 1 } else { *words.next()? };
        let end = first.checked_add(count).filter(|end| *end <= params.blocks)?;
        window.extend((first..end).map(|block| Spare { block, erased }));
        if window.len() > params.blocks as usize {
            return None;
        }
    }
    Some(window)
}

fn put_list<T: Copy>(out: &mut Vec<u8>, list: &[T], put: impl Fn(&mut Vec<u8>, T)) {
    out.put_u16(len16(list.len()));
    for item in list {
        put(out, *item);
    }
}

fn put_change<const E: usize>(out: &mut Vec<u8>, (key, entry): (u32, [u8; E])) {
    out.put_u32(key);
    out.put(&entry);
}

/// Height and topmost pages of a table; table pages have a fixed length.
fn take_roots(reader: &mut Reader<'_>, params: &Params, count: usize) -> Option<(Vec<Addr>, u8)> {
    let height = reader.u8()?;
    let roots = take_list(reader, |reader| {
        let (page, offset) = (reader.u32()?, reader.u16()?);
        let len = if page == 0 { 0 } else { len16(params.node as usize) };
        Some(Addr { page, offset, len })
    })?;
    (height <= 6 && roots.len() == count).then_some((roots, height))
}

fn take_list<'a, T>(reader: &mut Reader<'a>, take: impl Fn(&mut Reader<'a>) -> Option<T>) -> Option<Vec<T>> {
    (0..reader.u16()?).map(|_| take(reader)).collect()
}

/// A changed entry of a table, with its key.
fn take_change<const E: usize>(reader: &mut Reader<'_>) -> Option<(u32, [u8; E])> {
    Some((reader.u32()?, reader.bytes(E)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn a_full_checkpoint_fits_and_comes_back() {
        for (page, spare) in [(2048, 38), (2048, 4), (4096, 64), (16384, 128)] {
            let params = Params::of(&pumice_media::Geometry {
                page_bytes: page,
                spare_bytes: 64,
                free_spare_bytes: spare,
                pages_per_block: 64,
                blocks: 2000,
            })
            .unwrap();
            let limits = Limits::of(&params);
            let checkpoint = Checkpoint {
                number: 7,
                clean: true,
                node_roots: (
                    vec![Addr { page: 1, offset: 2, len: len16(params.node as usize) }; NODE_ROOTS],
                    2,
                ),
                block_roots: (vec![Addr::NONE; BLOCK_ROOTS], 1),
                root_inode: Addr { page: 5, offset: 0, len: 100 },
                heads: vec![Some((9, 3)), None, None, None, None, None, None, None],
                window: (5..).map(|n| Spare { block: 2 * n, erased: true }).take(45).collect(),
                node_journal: vec![(1, [3; 8]); limits.node_journal],
                block_journal: vec![(1, [4; ENTRY]); limits.block_journal],
                next_nid: 9,
                blocks: Told {
                    failing: vec![9; limits.failing],
                    dying: vec![9; limits.failing],
                    ..Told::default()
                },
                rounds: Rounds {
                    began: 1 << 40,
                    page: 77,
                    passes: 3,
                    moved_blocks: 4,
                    corrected_bits: 5,
                    rebuilt_pages: 6,
                },
                ..Checkpoint::default()
            };
            let bytes = checkpoint.encode(&params);
            assert!(bytes.len() <= params.node as usize, "{} of {}", bytes.len(), params.node);
            assert_eq!(Checkpoint::decode(&bytes, &params), Some(checkpoint));
        }
    }
}
