//! This file system's part of the anchors (SPEC, "Anchors").

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use pumice_flashlog::{Anchor, PAIRING_BITS};
use pumice_media::{Geometry, Pairing};
use pumice_vfs::{Errno, FsError, Result};

use crate::codec::{Put, Reader};
use crate::error::Damage;
use crate::pack::Compression;
use crate::params::Params;
use crate::placing::PolicyNames;
use crate::protection::FsyncProtection;

pub(crate) const MAGIC: &[u8; 8] = b"pumicefs";
/// The format this code reads and writes.
pub(crate) const VERSION: u32 = 10;
/// Features without which a volume must not be touched. These bits are reserved, each with the name for a refusal; the
/// code behind them does not exist yet.
const INCOMPATIBLE: [(u32, &str); 2] = [(MU_TREE, "mu-tree"), (PROFILE, "profile")];
/// Blocks of files may be compressed; the method stands behind the parity pages.
const COMPRESSION: u32 = 1 << 0;
/// Erase blocks end in parity pages; their number stands behind the policies.
const PARITY: u32 = 1 << 1;
/// Block maps are a mu-tree.
const MU_TREE: u32 = 1 << 2;
/// The decisions of a paper in place of those of this format; their list stands behind the label.
const PROFILE: u32 = 1 << 3;
/// The parity of erase blocks that are being filled is copied at each promise.
const COPIES: u32 = 1 << 4;
/// Incompatible features that this code can handle.
const KNOWN_INCOMPATIBLE: u32 = PAIRING_BITS | COMPRESSION | PARITY | COPIES;
/// Features that only forbid writing when unknown: none yet.
const KNOWN_READ_ONLY: u32 = 0;
/// The number for an unknown endurance.
const UNKNOWN_ENDURANCE: u32 = u32::MAX;
/// Longest label, in bytes.
pub(crate) const LABEL_MAX: usize = 64;

/// The identity and the options of a volume.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Superblock {
    pub(crate) uuid: [u8; 16],
    pub(crate) label: String,
    /// The policies that clean it.
    pub(crate) policies: PolicyNames,
    /// Log pages of each erase block that hold parity.
    pub(crate) parity_pages: u8,
    /// The moment from which on they protect promises.
    pub(crate) fsync_protection: FsyncProtection,
    /// The compression of files' blocks unless a mount wants it otherwise; `None` on a volume that never compresses.
    pub(crate) compression: Option<Compression>,
    /// Erases promised for each erase block, if that is known.
    pub(crate) endurance: Option<u32>,
    /// Unknown features of this volume forbid writing.
    pub(crate) read_only: bool,
}

impl Superblock {
    /// The anchor of a new volume.
    pub(crate) fn anchor(&self, geometry: Geometry) -> Anchor {
        debug_assert!(self.label.len() <= LABEL_MAX, "labels are checked where a volume is made");
        let PolicyNames { victim, placement, wear } = &self.policies;
        let mut own = Vec::new();
        for name in [&self.label, &victim.to_string(), &placement.to_string(), &wear.to_string()] {
            own.put_u8(u8::try_from(name.len()).unwrap_or(u8::MAX));
            own.put(name.as_bytes());
        }
        own.put_u32(self.endurance.unwrap_or(UNKNOWN_ENDURANCE));
        let copies = if self.fsync_protection == FsyncProtection::Now { COPIES } else { 0 };
        let packs = if self.compression.is_some() { COMPRESSION } else { 0 };
        let incompatible = copies | packs | if self.parity_pages > 0 { PARITY } else { 0 };
        if self.parity_pages > 0 {
            own.put_u8(self.parity_pages);
        }
        if let Some(compression) = self.compression {
            own.put(&compression.to_raw());
        }
        Anchor {
            magic: *MAGIC,
            version: VERSION,
            features: [incompatible, 0, 0],
            uuid: self.uuid,
            geometry,
            checkpoints: [0; 2],
            own,
        }
    }

    /// The fields of an anchor; an error if this code must not touch the volume.
    pub(crate) fn of(anchor: &Anchor, geometry: &Geometry, pairing: Pairing) -> Result<Superblock> {
        let refuse = |what: String| Err(FsError::new(Errno::NotSupported, what));
        if anchor.version != VERSION {
            return refuse(format!("format version {}, this program knows {VERSION}", anchor.version));
        }
        let [incompatible, read_only, _compatible] = anchor.features;
        if incompatible & !KNOWN_INCOMPATIBLE != 0 {
            return refuse(feature_names(incompatible & !KNOWN_INCOMPATIBLE));
        }
        if anchor.geometry != *geometry {
            return Err(Damage::Root("the volume was made for a chip of another geometry").into());
        }
        if let Err(other) = anchor.check_pairing(pairing) {
            return refuse(format!("the volume was {other}"));
        }
        let mut reader = Reader(&anchor.own);
        let mut name = || {
            let len = reader.u8()?;
            core::str::from_utf8(reader.bytes(len.into())?).ok()
        };
        let damage = Damage::Root("label and policies in the anchor make no sense");
        let (label, victim, placement, wear) = (|| Some((name()?, name()?, name()?, name()?)))()
            .filter(|(label, ..)| label.len() <= LABEL_MAX)
            .ok_or(damage)?;
        let endurance = reader.u32().ok_or(damage)?;
        let endurance = (endurance != UNKNOWN_ENDURANCE).then_some(endurance);
        let params = Params::of(geometry).ok_or(Damage::Root("the chip is too small for a file system"))?;
        let policies = PolicyNames::named(victim, placement, wear)?;
        policies.check(&params, endurance)?;
        let parity_pages = match incompatible & PARITY {
            0 => 0,
            _ => reader.u8().filter(|pages| *pages > 0).ok_or(damage)?,
        };
        let compression = if incompatible & COMPRESSION == 0 {
            None
        } else {
            let raw = reader.u8().zip(reader.u8()).map(|(method, level)| [method, level]);
            Some(raw.and_then(Compression::from_raw).ok_or(damage)?)
        };
        let fsync_protection = match incompatible & COPIES {
            0 => FsyncProtection::AtClose,
            _ => FsyncProtection::Now,
        };
        let read_only = read_only & !KNOWN_READ_ONLY != 0;
        let superblock = Superblock {
            uuid: anchor.uuid,
            label: label.into(),
            policies,
            parity_pages,
            fsync_protection,
            compression,
            endurance,
            read_only,
        };
        superblock.params(params.with_pairing(pairing))?;
        Ok(superblock)
    }

    /// The shape of the volume on a chip of this one.
    pub(crate) fn params(&self, chip: Params) -> Result<Params> {
        let heads = self.policies.heads(&chip);
        let params = chip.protected(self.parity_pages, self.fsync_protection, heads)?;
        if self.compression.is_some() { params.packing() } else { Ok(params) }
    }
}

/// The message about unknown incompatible features.
fn feature_names(unknown: u32) -> String {
    let mut names: Vec<&str> =
        INCOMPATIBLE.iter().filter(|(bit, _)| unknown & bit != 0).map(|(_, name)| *name).collect();
    if INCOMPATIBLE.iter().fold(unknown, |rest, (bit, _)| rest & !bit) != 0 {
        names.push("features of a later version");
    }
    format!(
        "the volume needs {} (incompatible features {unknown:#x}), which this program lacks",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: Geometry = Geometry {
        page_bytes: 2048,
        spare_bytes: 64,
        free_spare_bytes: 38,
        pages_per_block: 64,
        blocks: 100,
    };

    fn superblock() -> Superblock {
        let policies = PolicyNames::named("cat", "chain:2", "end-of-life").unwrap();
        Superblock {
            uuid: [7; 16],
            label: "a name".into(),
            policies,
            parity_pages: 0,
            fsync_protection: FsyncProtection::AtClose,
            compression: None,
            endurance: Some(100),
            read_only: false,
        }
    }

    #[test]
    fn it_comes_back() {
        let (at_close, now) = (FsyncProtection::AtClose, FsyncProtection::Now);
        for (parity_pages, fsync_protection) in
            [(0, at_close), (1, at_close), (1, now), (8, at_close), (8, now)]
        {
            for compression in [None, Some(Compression::None), Some(Compression::Zstd(19))] {
                let superblock = Superblock { parity_pages, fsync_protection, compression, ..superblock() };
                let anchor = superblock.anchor(GEOMETRY);
                assert_eq!(Superblock::of(&anchor, &GEOMETRY, Pairing::Unpaired), Ok(superblock));
            }
        }
    }

    #[test]
    fn parity_that_no_volume_has_is_refused() {
        for parity_pages in [9, 64, 255] {
            let anchor = Superblock { parity_pages, ..superblock() }.anchor(GEOMETRY);
            assert!(Superblock::of(&anchor, &GEOMETRY, Pairing::Unpaired).is_err(), "{parity_pages}");
        }
        let anchor = Superblock { fsync_protection: FsyncProtection::Now, ..superblock() }.anchor(GEOMETRY);
        assert!(Superblock::of(&anchor, &GEOMETRY, Pairing::Unpaired).is_err(), "copies of no parity");
        let mut anchor = Superblock { parity_pages: 1, ..superblock() }.anchor(GEOMETRY);
        anchor.own.pop();
        assert_eq!(Superblock::of(&anchor, &GEOMETRY, Pairing::Unpaired).unwrap_err().errno(), Errno::Io);
    }

    #[test]
    fn compression_that_no_volume_has_is_refused() {
        let made = || Superblock { compression: Some(Compression::Lz4), ..superblock() }.anchor(GEOMETRY);
        let mut anchor = made();
        anchor.own.pop();
        assert_eq!(Superblock::of(&anchor, &GEOMETRY, Pairing::Unpaired).unwrap_err().errno(), Errno::Io);
        let mut anchor = made();
        *anchor.own.last_mut().unwrap() = 9;
        assert_eq!(Superblock::of(&anchor, &GEOMETRY, Pairing::Unpaired).unwrap_err().errno(), Errno::Io);
    }

    #[test]
    fn unknown_incompatible_features_are_refused_by_name() {
        for (bit, name) in INCOMPATIBLE.iter().chain(&[(1 << 31, "later version")]) {
            let mut anchor = superblock().anchor(GEOMETRY);
            anchor.features[0] = *bit;
            let refusal = Superblock::of(&anchor, &GEOMETRY, Pairing::Unpaired).unwrap_err();
            assert_eq!(refusal.errno(), Errno::NotSupported);
            assert!(format!("{refusal}").contains(name), "{refusal}");
        }
    }

    #[test]
    fn policies_that_are_not_known_are_refused_by_name() {
        for (from, to, says) in [
            ("chain:2", "chain:9", "has room for 2 heads"),
            ("cat", "cap", "unknown victim `cap`"),
            ("end-of", "bad-of", "unknown wear rule"),
        ] {
            let mut anchor = superblock().anchor(GEOMETRY);
            let text = String::from_utf8(anchor.own).unwrap().replace(from, to);
            anchor.own = text.into_bytes();
            let refusal = Superblock::of(&anchor, &GEOMETRY, Pairing::Unpaired).unwrap_err();
            assert!(format!("{refusal}").contains(says), "{refusal}");
        }
        let mut anchor = superblock().anchor(GEOMETRY);
        anchor.own.truncate(9);
        assert_eq!(Superblock::of(&anchor, &GEOMETRY, Pairing::Unpaired).unwrap_err().errno(), Errno::Io);
    }

    #[test]
    fn other_unknown_features_forbid_writing_or_nothing() {
        let mut anchor = superblock().anchor(GEOMETRY);
        anchor.features[2] = 1;
        assert!(!Superblock::of(&anchor, &GEOMETRY, Pairing::Unpaired).unwrap().read_only);
        anchor.features[1] = 1;
        assert!(Superblock::of(&anchor, &GEOMETRY, Pairing::Unpaired).unwrap().read_only);
    }
}
