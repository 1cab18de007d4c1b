//! The anchor record: what the volume is, and in which block its checkpoints are (SPEC, "Anchors").

use alloc::{format, string::String, vec::Vec};

use pumice_media::Geometry;
use pumice_vfs::{Errno, FsError};

use crate::codec::{Put, Reader};

const MAGIC: &[u8; 8] = b"pumicefs";
/// The format this code reads and writes.
pub(crate) const VERSION: u32 = 1;
/// Incompatible features known here: none yet. Compression, parity, mu-tree index have their bits reserved.
const KNOWN_INCOMPATIBLE: u32 = 0;
/// Features that only forbid writing when unknown: none yet.
const KNOWN_READ_ONLY: u32 = 0;
/// Longest label, in bytes.
const LABEL_MAX: usize = 64;

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
            return refuse(format!(
                "unknown incompatible features {:#x}",
                incompatible & !KNOWN_INCOMPATIBLE
            ));
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
        let label = core::str::from_utf8(reader.bytes(label_len)?).ok()?.into();
        let geometry = Geometry { page_bytes, spare_bytes, free_spare_bytes, pages_per_block, blocks };
        Some(Superblock { uuid, label, geometry, read_only, checkpoint_block })
    }
}
