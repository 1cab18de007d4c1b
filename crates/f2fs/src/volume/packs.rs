//! The two checkpoint packs: which one counts, and its bitmaps.

use super::disks::Disks;
use crate::{
    error::{Place, Result, corrupt},
    layout::{BlockAddr, Checkpoint, SuperBlock},
};

/// Reads a pack: head and foot must both be valid and of the same version.
pub(super) fn read(disks: &Disks, sb: &SuperBlock, pack: u8) -> Result<Checkpoint> {
    let start = sb.checkpoint_addr(pack);
    let head = read_block(disks, sb, pack, start)?;
    let total = head.raw().cp_pack_total_block_count.get();
    let foot = BlockAddr(start.0.saturating_add(total - 1));
    let foot = read_block(disks, sb, pack, foot)?;
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

fn read_block(disks: &Disks, sb: &SuperBlock, pack: u8, addr: BlockAddr) -> Result<Checkpoint> {
    let mut block = vec![0; sb.block().width()];
    disks.read(addr, &mut block)?;
    Checkpoint::from_block(pack, &block, sb)
}

/// The newer valid pack.
pub(super) fn newer(packs: &[Result<Checkpoint>; 2]) -> Result<Checkpoint> {
    match packs {
        // Versions may wrap around.
        [Ok(first), Ok(second)] => {
            let ahead = second.version().wrapping_sub(first.version()).cast_signed();
            Ok(if ahead > 0 { second.clone() } else { first.clone() })
        }
        [Ok(only), Err(_)] | [Err(_), Ok(only)] => Ok(only.clone()),
        [Err(error), Err(_)] => Err(error.clone()),
    }
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
