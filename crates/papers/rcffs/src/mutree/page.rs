//! A page of the mu-tree: at most one node of each level. The leaf takes half of the page, each level above half of the
//! rest, and the highest as much as the one below it.
//!
//! The paper's height ends where a node would have no room. Here a page has as many levels as leave four entries for
//! the smallest. The levels above stand in a second page of the same form, and so on, and an update writes one page for
//! each such *storey*.
//!
//! A page begins with `muRC`. Then come storey (4), levels here (5), 1 if it has the root (6), height (7), entries of the
//! node of each level (2 each, from 8), and the highest inode number (24). A page with the root has inodes (28), live
//! bytes (8, at 32), leaves (40) and the count of roots (44). From 64 on there are the nodes, lowest level first, entries
//! of key and value. With E = (page - 64) / 16, level i of a storey of h levels, counted from 1, has E / 2^i entries, the
//! highest E / 2^(h-1).

use pumice_common::{get_u32, put_u32};

use crate::layout::{Addr, get_u16, get_u64, put_u16, put_u64};

use super::state::State;

/// Bytes before the first node.
const HEAD: usize = 64;
/// Bytes of an entry: key and value.
const ENTRY: usize = 16;
/// Levels of a page at the most: their counts stand in the head.
const LEVELS_MAX: usize = 8;
/// A larger count is damaged.
const COUNT_MAX: u32 = 1 << 31;
const MAGIC: &[u8; 4] = b"muRC";
/// The child is in this very page.
pub(super) const SAME_PAGE: u32 = u32::MAX - 1;

/// The division of pages among nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NodeShape {
    pub(super) page_bytes: usize,
    /// Levels of a storey.
    pub(super) levels: usize,
}

impl NodeShape {
    pub(crate) fn new(page_bytes: usize) -> NodeShape {
        let entries = (page_bytes - HEAD) / ENTRY;
        let levels = (1..=LEVELS_MAX).take_while(|levels| entries >> (levels - 1) >= 4).count();
        NodeShape { page_bytes, levels }
    }

    /// The storey of a level, and its place there; both from 0.
    pub(super) fn place(self, level: usize) -> (usize, usize) {
        (level / self.levels, level % self.levels)
    }

    /// Entries of the node at a place of a storey that has so many levels.
    fn entries(self, place: usize, levels: usize) -> usize {
        let all = (self.page_bytes - HEAD) / ENTRY;
        if place + 1 < levels { all >> (place + 1) } else { all >> place }
    }

    fn levels_of(self, storey: usize, height: usize) -> usize {
        height.saturating_sub(storey * self.levels).min(self.levels)
    }

    /// Entries that a node of a level has at the most, in a tree of a height.
    pub(crate) fn capacity(self, level: usize, height: usize) -> usize {
        let (storey, place) = self.place(level);
        self.entries(place, self.levels_of(storey, height))
    }

    /// The beginning of the node at a place, in entries.
    fn start(self, place: usize, levels: usize) -> usize {
        (0..place).map(|below| self.entries(below, levels)).sum()
    }
}

/// A page of the mu-tree that is being made.
pub(crate) struct Image {
    pub(super) storey: usize,
    levels: usize,
    pub(crate) bytes: Vec<u8>,
    /// The first key of the lowest node in it.
    pub(crate) first: u64,
}

impl Image {
    pub(super) fn new(shape: NodeShape, storey: usize, height: usize, first: u64) -> Image {
        let levels = shape.levels_of(storey, height);
        let mut bytes = vec![0; shape.page_bytes];
        bytes[..4].copy_from_slice(MAGIC);
        bytes[4] = storey.to_le_bytes()[0];
        bytes[5] = levels.to_le_bytes()[0];
        Image { storey, levels, bytes, first }
    }

    /// Puts a node in its place.
    pub(super) fn put(&mut self, shape: NodeShape, place: usize, entries: &[(u64, u64)]) {
        debug_assert!(entries.len() <= shape.entries(place, self.levels), "a node that has no room");
        let start = HEAD + ENTRY * shape.start(place, self.levels);
        put_u16(&mut self.bytes, 8 + 2 * place, entries.len().try_into().unwrap_or(u16::MAX));
        for (entry, bytes) in entries.iter().zip(self.bytes[start..].chunks_exact_mut(ENTRY)) {
            put_u64(bytes, 0, entry.0);
            put_u64(bytes, 8, entry.1);
        }
    }

    /// Makes it a page with the root.
    pub(super) fn crown(&mut self, state: &State) {
        let bytes = &mut self.bytes;
        bytes[6] = 1;
        bytes[7] = state.height.to_le_bytes()[0];
        put_u32(bytes, 24, state.highest);
        put_u32(bytes, 28, state.inodes);
        put_u64(bytes, 32, state.live);
        put_u32(bytes, 40, state.leaves);
        put_u32(bytes, 44, state.commit);
    }

    /// Notes the highest inode number there is (section 4).
    pub(super) fn set_highest(&mut self, highest: u32) {
        put_u32(&mut self.bytes, 24, highest);
    }
}

/// A page of the mu-tree as it was read.
pub(crate) struct Header<'a> {
    bytes: &'a [u8],
    shape: NodeShape,
    pub(crate) storey: usize,
    levels: usize,
}

impl<'a> Header<'a> {
    /// Reads a page; `None` if it is none of the mu-tree.
    pub(crate) fn of(bytes: &'a [u8], shape: NodeShape) -> Option<Header<'a>> {
        let (storey, levels) = (usize::from(*bytes.get(4)?), usize::from(*bytes.get(5)?));
        let is_one = bytes.starts_with(MAGIC)
            && bytes.len() == shape.page_bytes
            && (1..=shape.levels).contains(&levels);
        let header = Header { bytes, shape, storey, levels };
        (is_one && (0..levels).all(|place| header.count(place) <= shape.entries(place, levels)))
            .then_some(header)
    }

    fn count(&self, place: usize) -> usize {
        usize::from(get_u16(self.bytes, 8 + 2 * place))
    }

    /// The levels that have a node in this page, with its first key.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (usize, u64)> {
        let nodes = (0..self.levels).filter_map(|place| {
            let level = self.storey * self.shape.levels + place;
            self.node(place).first().map(|entry| (level, entry.0))
        });
        nodes.collect::<Vec<_>>().into_iter()
    }

    /// The entries of the node at a place; none if there is none.
    pub(super) fn node(&self, place: usize) -> Vec<(u64, u64)> {
        let start = HEAD + ENTRY * self.shape.start(place, self.levels);
        let entries = self.bytes[start..].chunks_exact(ENTRY).take(self.count(place));
        entries.map(|bytes| (get_u64(bytes, 0), get_u64(bytes, 8))).collect()
    }

    /// The state of the tree, from a page with a root.
    pub(crate) fn state(&self, at: Addr) -> Option<State> {
        let bytes = self.bytes;
        let height = usize::from(bytes[7]);
        let (storey, place) = self.shape.place(height.checked_sub(1)?);
        let state = State {
            root: at,
            height,
            highest: get_u32(bytes, 24),
            inodes: get_u32(bytes, 28),
            live: get_u64(bytes, 32),
            leaves: get_u32(bytes, 40),
            commit: get_u32(bytes, 44),
        };
        let is_root = bytes[6] == 1 && storey == self.storey && place + 1 == self.levels;
        let fits =
            state.live < 1 << 48 && [state.inodes, state.leaves, state.commit].iter().all(|n| *n < COUNT_MAX);
        (is_root && fits).then_some(state)
    }
}
