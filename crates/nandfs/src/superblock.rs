//! The anchor record: what the volume is, and in which block its checkpoints are (SPEC, "Anchors").

use alloc::{format, string::String, vec::Vec};

use pumice_media::Geometry;
use pumice_vfs::{Errno, FsError};

use crate::codec::{Put, Reader};

const MAGIC: &[u8; 8] = b"pumicefs";
/// The format this code reads and writes.
pub(crate) const VERSION: u32 = 1;
/// Features without which a volume must not be touched. These bits are reserved, each with the name that a
/// refusal tells; the code behind them does not exist yet.
const INCOMPATIBLE: [(u32, &str); 4] =
    [(COMPRESSION, "compression"), (PARITY, "parity"), (MU_TREE, "mu-tree"), (PROFILE, "profile")];
/// Chunks are compressed.
const COMPRESSION: u32 = 1 << 0;
/// Erase blocks end in parity pages.
const PARITY: u32 = 1 << 1;
/// Block maps are a mu-tree.
const MU_TREE: u32 = 1 << 2;
/// The decisions of a paper in place of those of this format; which ones stands behind the label.
const PROFILE: u32 = 1 << 3;
/// Incompatible features that this code can handle.
const KNOWN_INCOMPATIBLE: u32 = 0;
/// Features that only forbid writing when unknown: none yet.
const KNOWN_READ_ONLY: u32 = 0;
/// Longest label, in bytes.
pub(crate) const LABEL_MAX: usize = 64;

/// The anchor record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Superblock {
    pub(crate) uuid: [u8; 16],
    pub(crate) label: String,
    pub(crate) geometry: Geometry,
    /// Unknown features of this volume forbid writing.
    pub(crate) read_only: bool,
    /// The erase block that holds the newest checkpoint.
    pub(crate) checkpoint_block: u32,
}

impl Superblock {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(160);
        out.put(MAGIC);
        out.put_u32(VERSION);
        for features in [0, 0, 0] {
            out.put_u32(features);
        }
        out.put(&self.uuid);
        let Geometry { page_bytes, spare_bytes, free_spare_bytes, pages_per_block, blocks } = self.geometry;
        for value in
            [page_bytes, spare_bytes, free_spare_bytes, pages_per_block, blocks, self.checkpoint_block]
        {
            out.put_u32(value);
        }
        let label = self.label.as_bytes();
        out.put_u8(u8::try_from(label.len().min(LABEL_MAX)).unwrap_or(0));
        out.put(label.get(..label.len().min(LABEL_MAX)).unwrap_or_default());
        out
    }

    /// `None` if it is no anchor record; an error if it is one that this code must not touch.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Option<Superblock>, FsError> {
        let mut reader = Reader(bytes);
        if reader.bytes(8) != Some(MAGIC) {
            return Ok(None);
        }
        let refuse = |what: String| Err(FsError::new(Errno::NotSupported, what));
        let version = reader.u32().unwrap_or(0);
        if version != VERSION {
            return refuse(format!("format version {version}, this program knows {VERSION}"));
        }
        let [incompatible, read_only, _compatible] = [(); 3].map(|()| reader.u32().unwrap_or(u32::MAX));
        if incompatible & !KNOWN_INCOMPATIBLE != 0 {
            return refuse(feature_names(incompatible & !KNOWN_INCOMPATIBLE));
        }
        Ok(Self::decode_rest(&mut reader, read_only & !KNOWN_READ_ONLY != 0))
    }

    fn decode_rest(reader: &mut Reader<'_>, read_only: bool) -> Option<Superblock> {
        let uuid = reader.bytes(16)?.try_into().ok()?;
        let mut numbers = [0; 6];
        for number in &mut numbers {
            *number = reader.u32()?;
        }
        let [page_bytes, spare_bytes, free_spare_bytes, pages_per_block, blocks, checkpoint_block] = numbers;
        let label_len = usize::from(reader.u8()?);
        if label_len > LABEL_MAX {
            return None;
        }
        let label = core::str::from_utf8(reader.bytes(label_len)?).ok()?.into();
        let geometry = Geometry { page_bytes, spare_bytes, free_spare_bytes, pages_per_block, blocks };
        Some(Superblock { uuid, label, geometry, read_only, checkpoint_block })
    }
}

/// What to tell about incompatible features that are not known.
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

    /// Where the three words of feature flags start.
    const FLAGS_AT: usize = 12;

    fn superblock() -> Superblock {
        let geometry = Geometry {
            page_bytes: 2048,
            spare_bytes: 64,
            free_spare_bytes: 38,
            pages_per_block: 64,
            blocks: 100,
        };
        let label = "a name".into();
        Superblock { uuid: [7; 16], label, geometry, read_only: false, checkpoint_block: 9 }
    }

    #[test]
    fn a_record_comes_back() {
        assert_eq!(Superblock::decode(&superblock().encode()), Ok(Some(superblock())));
    }

    #[test]
    fn unknown_incompatible_features_are_refused_by_name() {
        for (bit, name) in INCOMPATIBLE.iter().chain(&[(1 << 31, "later version")]) {
            let mut bytes = superblock().encode();
            bytes[FLAGS_AT..FLAGS_AT + 4].copy_from_slice(&bit.to_le_bytes());
            let refusal = Superblock::decode(&bytes).unwrap_err();
            assert_eq!(refusal.errno(), Errno::NotSupported);
            assert!(format!("{refusal}").contains(name), "{refusal}");
        }
    }

    #[test]
    fn other_unknown_features_forbid_writing_or_nothing() {
        let mut bytes = superblock().encode();
        bytes[FLAGS_AT + 8] = 1;
        assert!(!Superblock::decode(&bytes).unwrap().unwrap().read_only);
        bytes[FLAGS_AT + 4] = 1;
        assert!(Superblock::decode(&bytes).unwrap().unwrap().read_only);
    }

    #[test]
    fn a_label_too_long_is_no_record() {
        let mut bytes = superblock().encode();
        let label_at = bytes.len() - superblock().label.len() - 1;
        bytes[label_at] = 65;
        bytes.resize(200, b'x');
        assert_eq!(Superblock::decode(&bytes), Ok(None));
    }
}
