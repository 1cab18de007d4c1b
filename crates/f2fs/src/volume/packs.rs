//! The two checkpoint packs: which one counts, and its bitmaps.

use super::disks::Disks;
use crate::{
    error::{Error, Place, Result, corrupt},
    layout::{BlockAddr, Checkpoint, SuperBlock},
};

/// Head and foot of a pack differ in this many bytes at most if they were written together and one was damaged since.
const DAMAGED_BYTES: usize = 64;
/// The number that a checkpoint begins with.
const VERSION_BYTES: usize = 8;
/// The least that a device writes at once.
const SECTOR_BYTES: usize = 512;

/// A checkpoint that was written as a whole, is newer than the one that counts, and cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PassedOver {
    /// Its pack: 1 or 2.
    pub pack: u8,
    /// Its version, as far as it can be told.
    pub version: u64,
    /// The reason why it cannot be used.
    pub why: Error,
}

/// Both packs as they were found.
pub(super) struct Packs {
    pub(super) found: [Result<Checkpoint>; 2],
    pub(super) passed_over: Option<PassedOver>,
}

impl Packs {
    pub(super) fn read(disks: &Disks, sb: &SuperBlock) -> Packs {
        let found = [1, 2].map(|pack| read(disks, sb, pack));
        let passed_over = match &found {
            [Ok(used), Err(why)] => unusable(disks, sb, 2, why, used.version()),
            [Err(why), Ok(used)] => unusable(disks, sb, 1, why, used.version()),
            _ => None,
        };
        Packs { found, passed_over }
    }

    /// The newer of those that can be used.
    pub(super) fn newer(&self) -> Result<Checkpoint> {
        match &self.found {
            [Ok(first), Ok(second)] => {
                Ok(if is_after(second.version(), first.version()) { second } else { first }.clone())
            }
            [Ok(only), Err(_)] | [Err(_), Ok(only)] => Ok(only.clone()),
            [Err(error), Err(_)] => Err(error.clone()),
        }
    }
}

/// Versions may wrap around.
fn is_after(version: u64, other: u64) -> bool {
    version.wrapping_sub(other).cast_signed() > 0
}

/// Reads a pack: head and foot must both be valid and of the same version.
fn read(disks: &Disks, sb: &SuperBlock, pack: u8) -> Result<Checkpoint> {
    let head = read_block(disks, sb, pack, 0)?;
    let total = head.raw().cp_pack_total_block_count.get();
    head.check_parts(sb)?;
    let foot = read_block(disks, sb, pack, total - 1)?;
    if foot.version() != head.version() {
        return Err(corrupt(
            Place::Checkpoint(pack),
            "the foot's version is",
            foot.version(),
            head.version(),
        ));
    }
    Ok(head)
}

fn read_block(disks: &Disks, sb: &SuperBlock, pack: u8, index: u32) -> Result<Checkpoint> {
    Checkpoint::from_block(pack, &bytes(disks, sb, pack, index)?, sb.block())
}

fn bytes(disks: &Disks, sb: &SuperBlock, pack: u8, index: u32) -> Result<Vec<u8>> {
    let mut block = vec![0; sb.block().width()];
    disks.read(BlockAddr(sb.checkpoint_addr(pack).0.saturating_add(index)), &mut block)?;
    Ok(block)
}

/// A pack that cannot be used, if it is newer than version `used`. One that power failed on is no loss: its foot, which is
/// written last, is not there.
fn unusable(disks: &Disks, sb: &SuperBlock, pack: u8, why: &Error, used: u64) -> Option<PassedOver> {
    let head = bytes(disks, sb, pack, 0).ok()?;
    let is_newer = |version: &u64| is_after(*version, used);
    let told = |version| Some(PassedOver { pack, version, why: why.clone() });
    for index in 1..sb.blocks_per_segment() {
        let Ok(block) = bytes(disks, sb, pack, index) else { continue };
        let whole = Checkpoint::from_block(pack, &block, sb.block());
        // Old contents of this pack, or zeros, or a part of the foot: power failed while it was written over.
        let stands = version(&block);
        if stands == 0 || stands == used.wrapping_sub(1) || is_torn(&head, &block) {
            continue;
        }
        // Packs differ in length: the foot of a longer one, of long ago, may still be there, as a whole or in part.
        let is_old = is_after(used, stands) && head.get(VERSION_BYTES..) != block.get(VERSION_BYTES..);
        if is_old || whole.as_ref().is_ok_and(|foot| !is_newer(&foot.version())) {
            continue;
        }
        let differing = head.iter().zip(&block).filter(|(left, right)| left != right).count();
        if differing <= DAMAGED_BYTES {
            // Written together; either may have the right number.
            return [version(&head), version(&block)].into_iter().filter(is_newer).min().and_then(told);
        }
        if let Ok(foot) = whole
            && is_newer(&foot.version())
        {
            return told(foot.version());
        }
    }
    None
}

/// True if sectors of a foot are there and the others are zeros, as they are before a foot is written here: power failed.
fn is_torn(head: &[u8], foot: &[u8]) -> bool {
    let mut sectors = head.chunks(SECTOR_BYTES).zip(foot.chunks(SECTOR_BYTES));
    sectors.all(|(head, foot)| head == foot || foot.iter().all(|byte| *byte == 0))
}

fn version(block: &[u8]) -> u64 {
    block.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// A bit for each block of the SIT: which of its two copies counts.
pub(super) fn sit_bitmap(disks: &Disks, sb: &SuperBlock, cp: &Checkpoint) -> Result<Vec<u8>> {
    bitmap(disks, sb, cp, cp.sit_bitmap_at(sb), cp.raw().sit_ver_bitmap_bytesize.get())
}

/// A bit for each block of the NAT: which of its two copies counts.
pub(super) fn nat_bitmap(disks: &Disks, sb: &SuperBlock, cp: &Checkpoint) -> Result<Vec<u8>> {
    bitmap(disks, sb, cp, cp.nat_bitmap_at(sb), cp.raw().nat_ver_bitmap_bytesize.get())
}

/// Bytes of a pack's head and payload, from byte `at` on.
fn bitmap(disks: &Disks, sb: &SuperBlock, cp: &Checkpoint, at: usize, bytes: u32) -> Result<Vec<u8>> {
    let bytes = bytes as usize;
    let room = (1 + sb.raw().cp_payload.get() as usize) * sb.block().width();
    let end = at + bytes;
    if end > room {
        return Err(corrupt(Place::Checkpoint(cp.pack()), "a bitmap ends at byte", end as u64, room as u64));
    }
    let mut head = vec![0; end.next_multiple_of(sb.block().width())];
    disks.read(sb.checkpoint_addr(cp.pack()), &mut head)?;
    Ok(head.get(at..end).unwrap_or_default().to_vec())
}
