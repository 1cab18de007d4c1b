//! The pages of leaves of the translation table, and of parity over them.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use zerocopy::{FromBytes, IntoBytes};

use crate::error::Result;
use crate::layout::{Kind, LEAF_MAGIC, LEAF_PARITY_MAGIC, RawLeaf, count32};
use crate::log::Log;
use crate::shape::{Addr, Place};
use crate::tag::Tag;

/// A group of leaves, as pages.
pub(crate) struct Group {
    pub(crate) leaves: Vec<u32>,
    pub(crate) payloads: Vec<Vec<u8>>,
}

/// Pages of a segment that a group goes to: those of leaves, and behind them the one of their parity.
pub(crate) struct GroupPlace {
    pub(crate) block: u32,
    pub(crate) first: u32,
    pub(crate) own: Vec<u32>,
    pub(crate) parity: u32,
}

impl Log<'_> {
    /// The entries of a leaf by its page or, if that cannot be read, by the others of its group; else they are lost.
    pub(crate) fn leaf_in(&mut self, leaf: u32, page: u32, entries: usize) -> Result<Box<[u32]>> {
        let place = self.shape.place_of(page);
        let own =
            self.map_page(place)?.filter(|(raw, _)| raw.magic.get() == LEAF_MAGIC && raw.leaf.get() == leaf);
        let bytes = match own {
            Some((_, bytes)) => Some(bytes),
            None => self.made_again(place)?,
        };
        let Some(bytes) = bytes else { return Ok(vec![Addr::LOST.0; entries].into()) };
        let word = |bytes: &[u8; 4]| {
            let addr = Addr(u32::from_le_bytes(*bytes));
            let is_sound = self.shape.segment_of(addr).is_none_or(|block| block < self.shape.blocks);
            if is_sound { addr.0 } else { Addr::LOST.0 }
        };
        Ok(bytes.as_chunks().0.iter().take(entries).map(word).collect())
    }

    /// A page of a leaf or of parity over some: its head and the bytes behind it.
    fn map_page(&mut self, place: Place) -> Result<Option<(RawLeaf, Vec<u8>)>> {
        let found = self.flash.read(place)?.of_kind(Kind::Map);
        Ok(found.and_then(|(_, page)| {
            let (raw, bytes) = RawLeaf::read_from_prefix(&page.payload).ok()?;
            Some((raw, bytes.to_vec()))
        }))
    }

    /// The bytes of a leaf's page, made from the others of its group; `None` if another is gone, too.
    fn made_again(&mut self, place: Place) -> Result<Option<Vec<u8>>> {
        let block = place.block;
        for index in place.index + 1..self.shape.pages {
            let Some((raw, mut sum)) = self.map_page(Place { block, index })? else { continue };
            if raw.magic.get() != LEAF_PARITY_MAGIC {
                continue;
            }
            let mut others = 0;
            for other in (raw.first.get()..index).filter(|other| *other != place.index) {
                if let Some((_, bytes)) = self.map_page(Place { block, index: other })? {
                    sum.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte);
                    others += 1;
                }
            }
            let is_whole = raw.first.get() <= place.index && others + 1 == raw.leaf.get();
            return Ok(is_whole.then_some(sum));
        }
        Ok(None)
    }

    /// Programs as many leaves as there are pages but one, and their parity.
    pub(crate) fn program_group(&mut self, place: &GroupPlace, group: &Group) -> Result<()> {
        let GroupPlace { block, first, own, parity } = place;
        let raw = |magic: u32, leaf: u32| RawLeaf {
            magic: magic.into(),
            leaf: leaf.into(),
            first: (*first).into(),
            reserved: [0; 4],
        };
        let tag = Tag::plain(Kind::Map, self.flash.medium.seq());
        let mut sum = vec![0; self.shape.payload() - size_of::<RawLeaf>()];
        let mut put = |index: u32, raw: RawLeaf, bytes: &[u8]| {
            let mut payload = raw.as_bytes().to_vec();
            payload.extend_from_slice(bytes);
            payload.resize(self.shape.payload(), 0);
            self.flash.program(Place { block: *block, index }, &tag, &payload)
        };
        for ((index, leaf), bytes) in own.iter().zip(&group.leaves).zip(&group.payloads) {
            sum.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte);
            put(*index, raw(LEAF_MAGIC, *leaf), bytes)?;
        }
        put(*parity, raw(LEAF_PARITY_MAGIC, count32(own.len())), &sum)?;
        Ok(())
    }
}
