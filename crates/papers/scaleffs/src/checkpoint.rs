//! Section 4.4 and table III: the checkpoint, one block in a ring at the end of the chip.
//!
//! The table's reserved bytes hold a magic and the identity, so that no super block is needed.
//!
//! The table's fields stand in its order, 4 bytes each, with counts in blocks: highest inode, inodes, valid, free,
//! invalid and bad blocks, current block, last erase block. At 32 there are the 128 addresses of indirect inode map
//! blocks, at 544 the time. In the reserved bytes:
//! - 548: `sFFS`
//! - 552: version
//! - 556: UUID
//! - 572: label, 64 bytes
//! - 636: how many free erase blocks that come next may not be erased; all ones if nobody knows

use pumice_common::{Identity, LABEL_MAX, chip, damaged, get_u32, put_u32};
use pumice_media::NandError;
use pumice_vfs::Result;

use crate::flash::Flash;
use crate::index::{Census, ROOTS};
use crate::layout::{Addr, BLOCK_BYTES, entry, put_entry};
use crate::log::Position;
use crate::spare::{Kind, Owner, Stamp};

const HIGHEST: usize = 0;
const INODES: usize = 4;
const VALID: usize = 8;
const FREE: usize = 12;
const INVALID: usize = 16;
const BAD: usize = 20;
const CURRENT: usize = 24;
const LAST: usize = 28;
/// The place of the first address of an indirect inode map block.
const ROOTS_AT: usize = 32;
const TIME: usize = 544;
const MAGIC: usize = 548;
const VERSION: usize = 552;
const UUID: usize = 556;
const LABEL: usize = 572;
const UNSURE: usize = 636;
const MAGIC_VALUE: u32 = u32::from_le_bytes(*b"sFFS");
/// The version of the format that is written and read.
pub const FORMAT_VERSION: u32 = 1;

const OWNER: Owner = Owner { ino: 0, kind: Kind::Checkpoint, offset: 0 };

/// A checkpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Checkpoint {
    pub(crate) census: Census,
    pub(crate) position: Position,
    pub(crate) identity: Identity,
}

impl Checkpoint {
    fn encode(&self, slots: u32, capacity: u32) -> Vec<u8> {
        let mut bytes = vec![0; BLOCK_BYTES];
        let Checkpoint { census, position, identity } = self;
        let free = position.free * slots;
        let words = [
            (HIGHEST, census.highest),
            (INODES, census.inodes),
            (VALID, census.live),
            (FREE, free),
            (INVALID, capacity.saturating_sub(free).saturating_sub(census.live)),
            (BAD, position.bad * slots),
            (CURRENT, position.current.0),
            (LAST, position.last),
            (TIME, position.time),
            (UNSURE, position.unsure),
            (MAGIC, MAGIC_VALUE),
            (VERSION, FORMAT_VERSION),
        ];
        for (at, value) in words {
            put_u32(&mut bytes, at, value);
        }
        for (number, root) in (0..ROOTS).zip(&census.roots) {
            put_entry(&mut bytes[ROOTS_AT..], number, *root);
        }
        bytes[UUID..UUID + 16].copy_from_slice(&identity.uuid);
        let label = identity.label.as_bytes();
        bytes[LABEL..LABEL + label.len()].copy_from_slice(label);
        bytes
    }

    fn decode(bytes: &[u8], slots: u32) -> Result<Checkpoint> {
        let version = get_u32(bytes, VERSION);
        if get_u32(bytes, MAGIC) != MAGIC_VALUE || version != FORMAT_VERSION {
            return Err(damaged(format_args!(
                "the checkpoint is of version {version}, this program reads version {FORMAT_VERSION}"
            )));
        }
        let label = bytes[LABEL..LABEL + LABEL_MAX].split(|byte| *byte == 0).next().unwrap_or_default();
        let mut uuid = [0; 16];
        uuid.copy_from_slice(&bytes[UUID..UUID + 16]);
        let census = Census {
            highest: get_u32(bytes, HIGHEST).min(crate::inode::INODES - 1),
            inodes: get_u32(bytes, INODES),
            live: get_u32(bytes, VALID),
            roots: (0..ROOTS).map(|number| entry(&bytes[ROOTS_AT..], number)).collect(),
        };
        let position = Position {
            current: Addr(get_u32(bytes, CURRENT)),
            last: get_u32(bytes, LAST),
            free: get_u32(bytes, FREE) / slots.max(1),
            bad: get_u32(bytes, BAD) / slots.max(1),
            time: get_u32(bytes, TIME),
            unsure: get_u32(bytes, UNSURE),
        };
        let identity = Identity { uuid, label: String::from_utf8_lossy(label).into_owned() };
        Ok(Checkpoint { census, position, identity })
    }
}

/// The ring of checkpoints: where the next one goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring {
    /// Erase block of the region, from 0.
    block: u32,
    /// The next block in it; all slots if it is full.
    slot: u32,
}

impl Ring {
    /// A ring that begins in its first erase block, which is erased first.
    pub(crate) fn fresh(flash: &Flash<'_>) -> Ring {
        Ring { block: flash.layout().region_blocks() - 1, slot: flash.layout().slots() }
    }

    /// Goes on in the next erase block, however much room this one has: after a power cut pages that look erased may
    /// not be.
    pub(crate) fn leave_block(&mut self, flash: &Flash<'_>) {
        self.slot = flash.layout().slots();
    }

    /// Writes a checkpoint. Where a program fails, it goes on in the next erase block of the ring.
    pub(crate) fn write(&mut self, flash: &mut Flash<'_>, checkpoint: &Checkpoint) -> Result<()> {
        let layout = *flash.layout();
        let capacity = layout.log_blocks().saturating_sub(checkpoint.position.bad) * layout.slots();
        let bytes = checkpoint.encode(layout.slots(), capacity);
        let stamp = Stamp { time: checkpoint.position.time, link: 0 };
        for _ in 0..=layout.region_blocks() {
            if self.slot >= layout.slots() {
                self.open(flash)?;
            }
            let at = layout.addr(layout.log_blocks() + self.block, self.slot);
            self.slot += 1;
            match flash.program(at, OWNER, stamp, &bytes) {
                Ok(()) => return flash.flush(),
                Err(NandError::ProgramFailed(_)) => self.slot = layout.slots(),
                Err(error) => return Err(chip(error)),
            }
        }
        Err(damaged("no erase block of the checkpoint region can be written any more"))
    }

    fn open(&mut self, flash: &mut Flash<'_>) -> Result<()> {
        let layout = *flash.layout();
        let region = layout.region_blocks();
        // The last one holds the newest checkpoint and is never the next.
        for step in 1..region {
            let number = (self.block + step) % region;
            let block = layout.log_blocks() + number;
            if flash.is_bad(block)? {
                continue;
            }
            match flash.erase(block) {
                Ok(()) => {
                    (self.block, self.slot) = (number, 0);
                    return Ok(());
                }
                Err(NandError::EraseFailed(_)) => flash.mark_bad(block)?,
                Err(error) => return Err(chip(error)),
            }
        }
        Err(damaged("no erase block of the checkpoint region is left"))
    }
}

/// Section 4.5: the newest checkpoint, by a search in two phases, and the ring behind it; `None` if there is none.
///
/// The first phase reads one spare area of each erase block of the region, the second those of the newest. Older erase
/// blocks are looked at where these are untrue.
pub(crate) fn find(flash: &mut Flash<'_>) -> Result<Option<(Checkpoint, Ring)>> {
    let layout = *flash.layout();
    let mut blocks = Vec::new();
    for number in 0..layout.region_blocks() {
        let first = layout.addr(layout.log_blocks() + number, 0);
        if let Some(stamp) = flash.read_stamp(first)? {
            blocks.push((stamp.time, number));
        }
    }
    blocks.sort_unstable_by(|a, b| b.cmp(a));
    let mut newest: Option<(Checkpoint, Ring)> = None;
    for (time, number) in blocks {
        let best = newest.as_ref().map_or(0, |(checkpoint, _)| checkpoint.position.time);
        if newest.is_some() && best >= time {
            break;
        }
        // A cut erase leaves any time in the first page, and old checkpoints behind it.
        let found = newest_in(flash, number)?;
        newest = found.filter(|(checkpoint, _)| checkpoint.position.time >= best).or(newest);
    }
    Ok(newest)
}

/// The newest checkpoint of an erase block.
fn newest_in(flash: &mut Flash<'_>, number: u32) -> Result<Option<(Checkpoint, Ring)>> {
    let layout = *flash.layout();
    let block = layout.log_blocks() + number;
    let mut stamps = Vec::new();
    for slot in 0..layout.slots() {
        match flash.read_stamp(layout.addr(block, slot))? {
            Some(stamp) => stamps.push((stamp.time, slot)),
            None => break,
        }
    }
    let used = u32::try_from(stamps.len()).unwrap_or(u32::MAX);
    let mut torn = false;
    for (_, slot) in stamps.into_iter().rev() {
        let (bytes, proved) = flash.read_any(layout.addr(block, slot))?;
        let Some((OWNER, _)) = proved else {
            torn = true;
            continue;
        };
        let slot = if torn { layout.slots() } else { used };
        return Checkpoint::decode(&bytes, layout.slots())
            .map(|found| Some((found, Ring { block: number, slot })));
    }
    Ok(None)
}
