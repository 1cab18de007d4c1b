//! Anchors: a ring of pages in the first segments; the newest says where the checkpoint lies.

use alloc::string::ToString;
use alloc::{vec, vec::Vec};
use core::{fmt::Display, str::FromStr};

use pumice_cleaning::registry::PolicyError;
use pumice_media::{Geometry, Nand, NandError};
use zerocopy::{FromBytes, IntoBytes};

use crate::error::{FtlError, Result};
use crate::flash::{Flash, Found};
use crate::ftl::Ftl;
use crate::layout::{CLEAN, Kind, MAGIC, NAME_BYTES, RawAnchor, VERSION};
use crate::policy::PolicyNames;
use crate::segments::State;
use crate::shape::{ANCHOR_BLOCKS, Place, Shape};
use crate::tag::Tag;

/// What a volume is, as long as it lives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    pub(crate) uuid: [u8; 16],
    pub(crate) logical_blocks: u32,
    pub(crate) policies: PolicyNames,
    /// Erases promised for each segment.
    pub(crate) endurance: u32,
}

/// Where the next anchor goes, and what the last one says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ring {
    pub(crate) next: Place,
    /// Anchors written so far.
    pub(crate) number: u64,
    /// Checkpoints written so far; the number of the one that counts.
    pub(crate) checkpoint: u64,
    pub(crate) checkpoint_block: u32,
    pub(crate) checkpoint_pages: u32,
    /// Nothing was written since the checkpoint.
    pub(crate) clean: bool,
}

impl Ring {
    /// Of a volume that is being made.
    pub(crate) fn fresh() -> Ring {
        Ring {
            next: Place { block: 0, index: u32::MAX },
            number: 0,
            checkpoint: 0,
            checkpoint_block: 0,
            checkpoint_pages: 0,
            clean: false,
        }
    }
}

/// The newest anchor of a chip.
pub(crate) struct Anchor {
    pub(crate) shape: Shape,
    pub(crate) identity: Identity,
    pub(crate) ring: Ring,
}

/// Finds the newest anchor: a look at one page of each anchor segment, one page at each step of halving the newest,
/// and the anchor itself; more only where pages do not prove themselves.
pub(crate) fn find<N: Nand>(nand: &mut N) -> Result<Anchor> {
    let geometry = nand.geometry();
    let shape = Shape::of_anchors(&geometry)?;
    let mut flash = Flash::new(nand, shape);
    let mut newest: Option<(RawAnchor, Place)> = None;
    let mut firsts = Vec::new();
    for block in 0..ANCHOR_BLOCKS.min(geometry.blocks) {
        if let Some(raw) = read(&mut flash, Place { block, index: 0 })? {
            firsts.push((raw.number.get(), block));
        }
    }
    firsts.sort_unstable();
    if let Some((_, block)) = firsts.pop() {
        newest = last_in(&mut flash, block)?;
    }
    let (raw, place) = newest.ok_or(FtlError::Foreign)?;
    checked(&raw, place, &geometry)
}

/// The last proved anchor of a segment whose first page is one; the place is where the next one may go.
fn last_in<N: Nand>(flash: &mut Flash<N>, block: u32) -> Result<Option<(RawAnchor, Place)>> {
    let pages = flash.shape().pages;
    // Below `low` pages are programmed, from `high` on they read as erased: whole pages, because a cut may leave data
    // beside an erased spare area.
    let (mut low, mut high) = (1, pages);
    let mut payload = vec![0; flash.shape().payload()];
    while low < high {
        let middle = low + (high - low) / 2;
        match flash.read(Place { block, index: middle }, &mut payload)? {
            Found::Erased => high = middle,
            Found::Unproved | Found::Page(_) => low = middle + 1,
        }
    }
    for index in (0..low).rev() {
        if let Some(raw) = read(flash, Place { block, index })? {
            return Ok(Some((raw, Place { block, index: low })));
        }
    }
    Ok(None)
}

fn read<N: Nand>(flash: &mut Flash<N>, place: Place) -> Result<Option<RawAnchor>> {
    let mut payload = vec![0; flash.shape().payload()];
    let Found::Page(tag) = flash.read(place, &mut payload)? else { return Ok(None) };
    let raw = RawAnchor::read_from_prefix(&payload).ok().map(|(raw, _)| raw);
    Ok(raw.filter(|raw| tag.kind == Kind::Anchor && raw.magic == MAGIC))
}

/// Checks everything an anchor says, in the order of its fields.
fn checked(raw: &RawAnchor, next: Place, geometry: &Geometry) -> Result<Anchor> {
    if raw.version.get() != VERSION {
        return Err(FtlError::Version(raw.version.get()));
    }
    // No read-only compatible feature exists either: nothing may be written beside one, and little read.
    let unknown = raw.incompatible.get() | raw.read_only_compatible.get();
    if unknown != 0 {
        return Err(FtlError::Features(unknown));
    }
    let stored = [raw.page_bytes, raw.spare_bytes, raw.free_spare_bytes, raw.pages_per_block, raw.blocks];
    if stored.map(zerocopy::little_endian::U32::get) != shape_words(geometry) {
        return Err(FtlError::Geometry);
    }
    let shape = Shape::of(geometry, raw.block_bytes.get())?;
    let logical_blocks = raw.logical_blocks.get();
    let slots = u64::from(shape.blocks) * u64::from(shape.capacity());
    if logical_blocks == 0 || u64::from(logical_blocks) > slots {
        return Err(FtlError::Anchor("the disk is empty or larger than its chip"));
    }
    let policies = PolicyNames {
        victim: policy(&raw.victim)?,
        placement: policy(&raw.placement)?,
        wear: policy(&raw.wear)?,
    };
    policies.check()?;
    let ring = Ring {
        next,
        number: raw.number.get(),
        checkpoint: raw.checkpoint.get(),
        checkpoint_block: raw.checkpoint_block.get(),
        checkpoint_pages: raw.checkpoint_pages.get(),
        clean: raw.flags.get() & CLEAN != 0,
    };
    if ring.number >= u64::MAX / 2 || ring.checkpoint >= u64::MAX / 2 {
        return Err(FtlError::Anchor("a number is out of range"));
    }
    let endurance = raw.endurance.get();
    Ok(Anchor { shape, identity: Identity { uuid: raw.uuid, logical_blocks, policies, endurance }, ring })
}

fn shape_words(geometry: &Geometry) -> [u32; 5] {
    let Geometry { page_bytes, spare_bytes, free_spare_bytes, pages_per_block, blocks } = *geometry;
    [page_bytes, spare_bytes, free_spare_bytes, pages_per_block, blocks]
}

/// The policy of a name that is filled up with zeros.
fn policy<P: FromStr<Err = PolicyError>>(bytes: &[u8; NAME_BYTES]) -> Result<P> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
    let name = bytes.get(..end).and_then(|name| core::str::from_utf8(name).ok());
    name.ok_or(FtlError::Anchor("the name of a policy is not text"))?.parse().map_err(FtlError::Policy)
}

fn name_bytes(policy: &dyn Display) -> [u8; NAME_BYTES] {
    let mut bytes = [0; NAME_BYTES];
    let name = policy.to_string();
    debug_assert!(name.len() <= NAME_BYTES, "{name} does not fit");
    bytes.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
    bytes
}

impl<N: Nand> Ftl<N> {
    /// Writes an anchor that says what the ring does, and reads it back; a page that does not hold is passed over.
    pub(crate) fn write_anchor(&mut self, clean: bool) -> Result<()> {
        let geometry = self.flash.chip().geometry();
        let shape = Shape::of_anchors(&geometry)?;
        self.ring.clean = clean;
        let newest = Some(self.ring.next.block).filter(|_| self.ring.number > 0);
        // Two rounds: a ring in which nothing holds is worn out.
        for _ in 0..2 * ANCHOR_BLOCKS * shape.pages {
            if self.ring.next.index >= shape.pages && !self.next_anchor_segment(newest)? {
                break;
            }
            let place = self.ring.next;
            self.ring.next.index += 1;
            self.ring.number += 1;
            let mut payload = vec![0; shape.payload()];
            let raw = self.raw_anchor(&geometry);
            if let Some(start) = payload.get_mut(..size_of::<RawAnchor>()) {
                start.copy_from_slice(raw.as_bytes());
            }
            let mut flash = Flash::new(self.flash.nand(), shape);
            match flash.program(place, &Tag::plain(Kind::Anchor, 0), &payload) {
                Ok(()) => {
                    if read(&mut flash, place)?.is_some_and(|found| found.number == raw.number) {
                        return Ok(());
                    }
                }
                Err(NandError::ProgramFailed(_)) => {}
                Err(error) => return self.fail(error),
            }
            // A start looks at segments whose first page is an anchor, and searches by halves, which a gap leads astray.
            if place.index == 0 || flash.read(place, &mut payload)? == Found::Erased {
                self.ring.next.index = shape.pages;
            }
        }
        self.mode = crate::ftl::Mode::WornOut;
        Err(FtlError::WornOut)
    }

    /// Goes on to the next good anchor segment and erases it; false if there is no other. That of the newest anchor has
    /// to outlive the erase.
    fn next_anchor_segment(&mut self, newest: Option<u32>) -> Result<bool> {
        let current = self.ring.next.block;
        for step in 1..=ANCHOR_BLOCKS {
            let block = (current + step) % ANCHOR_BLOCKS;
            if self.segments.get(block).state == State::Anchor
                && Some(block) != newest
                && self.erase(block)?
            {
                self.ring.next = Place { block, index: 0 };
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn raw_anchor(&self, geometry: &Geometry) -> RawAnchor {
        let [page_bytes, spare_bytes, free_spare_bytes, pages_per_block, blocks] =
            shape_words(geometry).map(Into::into);
        let policies = &self.identity.policies;
        RawAnchor {
            magic: MAGIC,
            version: VERSION.into(),
            incompatible: 0.into(),
            read_only_compatible: 0.into(),
            compatible: 0.into(),
            uuid: self.identity.uuid,
            page_bytes,
            spare_bytes,
            free_spare_bytes,
            pages_per_block,
            blocks,
            block_bytes: self.shape.block_bytes.into(),
            logical_blocks: self.identity.logical_blocks.into(),
            flags: if self.ring.clean { CLEAN } else { 0 }.into(),
            number: self.ring.number.into(),
            checkpoint: self.ring.checkpoint.into(),
            checkpoint_block: self.ring.checkpoint_block.into(),
            checkpoint_pages: self.ring.checkpoint_pages.into(),
            victim: name_bytes(&policies.victim),
            placement: name_bytes(&policies.placement),
            wear: name_bytes(&policies.wear),
            endurance: self.identity.endurance.into(),
            reserved: [0; 20],
        }
    }
}

#[cfg(test)]
mod tests {
    use pumice_cleaning::registry::{Axis, PlacementRule, Rule, VictimRule, WearRule};

    use super::*;

    fn names_fit<T: Axis>() {
        for entry in Rule::<T>::all().map(|rule| rule.entry()) {
            let most = entry.parameter.map_or(String::new(), |parameter| format!(":{}", parameter.most));
            let rule: Rule<T> = format!("{}{most}", entry.name).parse().unwrap();
            assert!(rule.to_string().len() <= NAME_BYTES, "{rule}");
            assert_eq!(policy(&name_bytes(&rule)), Ok(rule));
        }
    }

    #[test]
    fn every_policy_has_room_for_its_name() {
        names_fit::<Box<dyn pumice_cleaning::Selector + Send>>();
        names_fit::<Box<dyn pumice_cleaning::Placement + Send>>();
        names_fit::<Box<dyn pumice_cleaning::Wear + Send>>();
        assert!(policy::<VictimRule>(&[0; NAME_BYTES]).is_err());
        let unknown = policy::<PlacementRule>(&name_bytes(&"newer:3")).unwrap_err().to_string();
        assert!(unknown.starts_with("unknown placement `newer:3` (known: "), "{unknown}");
        assert!(policy::<WearRule>(&[0xFF; NAME_BYTES]).is_err());
    }
}
