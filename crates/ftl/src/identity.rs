//! The identity of a disk, fixed for its life, and its form in anchors.

use alloc::string::ToString;
use core::{fmt::Display, str::FromStr};

use pumice_cleaning::registry::PolicyError;
use pumice_flashlog::{Anchor, PAIRING_BITS};
use pumice_media::Geometry;
use zerocopy::{FromBytes, IntoBytes};

use crate::error::{FtlError, Result};
use crate::layout::{MAGIC, NAME_BYTES, OWN_BYTES, RawIdentity, RawVoid, VERSION};
use crate::policy::PolicyNames;
use crate::record::DiskBytes;
use crate::shape::Shape;

/// The identity of a disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    pub(crate) uuid: [u8; 16],
    pub(crate) logical_blocks: u32,
    pub(crate) policies: PolicyNames,
    /// Erases promised for each segment.
    pub(crate) endurance: u32,
    /// Log pages of each segment that are parity over the others.
    pub(crate) parity_pages: u8,
    /// A move that was undone.
    pub(crate) void: Void,
}

/// A segment with pages below a sequence number that count for nothing: copies that a power cut left incomplete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Void {
    pub(crate) block: u32,
    pub(crate) sequence: u64,
}

impl Void {
    /// No segment.
    pub(crate) const NONE: Void = Void { block: u32::MAX, sequence: 0 };
}

impl Identity {
    /// The disk's own bytes in anchors, beside those of every volume.
    pub(crate) fn own_bytes(&self, shape: &Shape) -> [u8; OWN_BYTES] {
        let policies = &self.policies;
        let raw = RawIdentity {
            block_bytes: shape.block_bytes.into(),
            logical_blocks: self.logical_blocks.into(),
            endurance: self.endurance.into(),
            parity_pages: self.parity_pages,
            reserved: [0; 3],
            victim: name_bytes(&policies.victim),
            placement: name_bytes(&policies.placement),
            wear: name_bytes(&policies.wear),
        };
        let void = RawVoid { block: self.void.block.into(), sequence: self.void.sequence.into() };
        let mut own = [0; OWN_BYTES];
        let bytes = raw.as_bytes().iter().chain(void.as_bytes());
        own.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        own
    }

    /// The disk's bytes in records.
    pub(crate) fn disk_bytes(&self, shape: &Shape) -> DiskBytes {
        DiskBytes { uuid: self.uuid, own: self.own_bytes(shape) }
    }

    /// The anchor of a new disk.
    pub(crate) fn anchor(&self, shape: &Shape, geometry: Geometry) -> Anchor {
        anchor_of(&self.disk_bytes(shape), geometry)
    }

    /// Checks everything an anchor says, in the order of its fields.
    pub(crate) fn of(anchor: &Anchor, geometry: &Geometry) -> Result<(Shape, Identity)> {
        if anchor.version != VERSION {
            return Err(FtlError::Version(anchor.version));
        }
        // No read-only compatible feature exists either: nothing may be written beside one, and little read.
        let [incompatible, read_only, _compatible] = anchor.features;
        let unknown = incompatible & !PAIRING_BITS | read_only;
        if unknown != 0 {
            return Err(FtlError::Features(unknown));
        }
        if anchor.geometry != *geometry {
            return Err(FtlError::Geometry);
        }
        let cut_off = FtlError::Anchor("it is cut off");
        let (raw, rest) = RawIdentity::ref_from_prefix(&anchor.own).map_err(|_| cut_off.clone())?;
        let (void, _) = RawVoid::ref_from_prefix(rest).map_err(|_| cut_off)?;
        let void = Void { block: void.block.get(), sequence: void.sequence.get() };
        let parity_pages = raw.parity_pages;
        let shape = Shape::of(geometry, raw.block_bytes.get(), parity_pages)?;
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
        let endurance = raw.endurance.get();
        Ok((shape, Identity { uuid: anchor.uuid, logical_blocks, policies, endurance, parity_pages, void }))
    }
}

/// The anchor of a disk with these bytes; it names no records.
pub(crate) fn anchor_of(disk: &DiskBytes, geometry: Geometry) -> Anchor {
    Anchor {
        magic: MAGIC,
        version: VERSION,
        features: [0; 3],
        uuid: disk.uuid,
        geometry,
        checkpoints: [0; 2],
        own: disk.own.to_vec(),
    }
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

#[cfg(test)]
mod tests {
    use pumice_cleaning::registry::{Axis, PlacementRule, Rule, VictimRule, WearRule};

    use alloc::{boxed::Box, format, string::String};

    use super::*;

    fn names_fit<T: Axis>() {
        let fits = |name: &str| {
            let rule: Rule<T> = name.parse().unwrap();
            assert!(rule.to_string().len() <= NAME_BYTES, "{rule}");
            assert_eq!(policy(&name_bytes(&rule)), Ok(rule));
        };
        for rule in Rule::<T>::all() {
            let entry = rule.entry();
            let most = entry.parameter.map_or(String::new(), |parameter| format!(":{}", parameter.most));
            fits(&format!("{}{most}", entry.name));
            for (wrapper, inside) in
                rule.wrapper().into_iter().flat_map(|it| it.inside().map(move |one| (it, one)))
            {
                // One less than alone, and so of as many digits.
                let most =
                    inside.parameter.map_or(String::new(), |parameter| format!(":{}", parameter.most - 1));
                fits(&format!("{}:{}{most}", wrapper.name, inside.name));
            }
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
