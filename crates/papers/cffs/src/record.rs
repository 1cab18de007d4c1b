//! The identity of a volume: one page, copied, in a block of its own that is written by mkfs and never again. The paper
//! has none; the `InodeMapBlock` is erased at each mount and cannot keep it.
//!
//! A page begins with `CFFS2006`. Version (4 bytes) stands at 8, the CRC-32 of bytes 16 to 103 at 12, the block of the
//! map at 16, UUID at 20, label (64 bytes) at 40. The copies are the first four pages of the block.

use pumice_common::{Identity, LABEL_MAX, chip, damaged, get_u32, put_u32};
use pumice_media::NandError;
use pumice_vfs::{Errno, FsError, Result};

use crate::flash::Flash;
use crate::spare::{self, Kind, Mark};

/// Blocks at the start of the chip among which map and record are.
const SEARCHED: u32 = 64;
/// Pages with a copy.
const COPIES: u32 = 4;
/// The version of the format that is written and read.
pub const FORMAT_VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"CFFS2006";
const VERSION: usize = 8;
const SUM: usize = 12;
const MAP: usize = 16;
const UUID: usize = 20;
const LABEL: usize = 40;
const END: usize = LABEL + LABEL_MAX;

/// The record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Record {
    pub(crate) identity: Identity,
    /// The block of the `InodeMapBlock`.
    pub(crate) map: u32,
    /// Its own.
    pub(crate) block: u32,
}

impl Record {
    fn encode(&self, page_bytes: usize) -> Vec<u8> {
        let mut page = vec![0; page_bytes];
        page[..8].copy_from_slice(MAGIC);
        put_u32(&mut page, VERSION, FORMAT_VERSION);
        put_u32(&mut page, MAP, self.map);
        page[UUID..UUID + 16].copy_from_slice(&self.identity.uuid);
        page[LABEL..LABEL + self.identity.label.len()].copy_from_slice(self.identity.label.as_bytes());
        let sum = crc32fast::hash(&page[MAP..END]);
        put_u32(&mut page, SUM, sum);
        page
    }

    fn decode(page: &[u8], block: u32) -> Result<Option<Record>> {
        if page[..8] != MAGIC[..] || get_u32(page, SUM) != crc32fast::hash(&page[MAP..END]) {
            return Ok(None);
        }
        let version = get_u32(page, VERSION);
        if version != FORMAT_VERSION {
            return Err(damaged(format_args!(
                "the volume is of version {version}, this program reads version {FORMAT_VERSION}"
            )));
        }
        let label = page[LABEL..END].split(|byte| *byte == 0).next().unwrap_or_default();
        let mut uuid = [0; 16];
        uuid.copy_from_slice(&page[UUID..UUID + 16]);
        let label = String::from_utf8_lossy(label).into_owned();
        Ok(Some(Record { identity: Identity { uuid, label }, map: get_u32(page, MAP), block }))
    }

    /// Writes it into its block, which is erased.
    pub(crate) fn write(&self, flash: &mut Flash<'_>) -> Result<()> {
        let layout = flash.layout();
        let page = self.encode(layout.page_bytes());
        let mut written = 0;
        for number in 0..COPIES {
            let mark = Mark { kind: Kind::Volume, ino: 0, number };
            match flash.program(layout.addr(self.block, number), &page, spare::encode(mark, &page)) {
                Ok(()) => written += 1,
                Err(NandError::ProgramFailed(_)) => {}
                Err(error) => return Err(chip(error)),
            }
        }
        if written == 0 {
            return Err(FsError::new(Errno::Io, format!("block {} cannot be written", self.block)));
        }
        Ok(())
    }

    /// The record of a chip, if it carries this file system.
    pub(crate) fn find(flash: &mut Flash<'_>) -> Result<Option<Record>> {
        let layout = flash.layout();
        for block in 0..SEARCHED.min(layout.blocks()) {
            for number in 0..COPIES {
                let at = layout.addr(block, number);
                let bytes = flash.read_spare(at)?;
                match spare::decode(bytes) {
                    Some(Mark { kind: Kind::Volume, .. }) => {}
                    // Another page of the block may be a copy that can be read.
                    None if !spare::is_erased(&bytes) => continue,
                    _ => break,
                }
                let raw = flash.read_raw(at)?;
                let found = if raw.readable { Record::decode(&raw.data, block)? } else { None };
                if let Some(record) = found.filter(|record| record.map < layout.blocks()) {
                    return Ok(Some(record));
                }
            }
        }
        Ok(None)
    }
}
