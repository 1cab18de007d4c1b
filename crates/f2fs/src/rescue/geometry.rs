//! A super block for a volume that has lost both. A checkpoint tells where the areas are; without one they are where mkfs
//! puts them on a medium of this size. Inodes tell how they are laid out.

use pumice_media::ReadAt;

use crate::{
    layout::{
        BlockSize, Checkpoint, CpFlags, Features, Inode, NodeFooter, NodeOffset, RawSuperBlock, SEGMENTS_MAX,
        SuperBlock,
    },
    mkfs::geometry::{Geometry, SEGMENT_BLOCKS, Shape},
};

/// Blocks of a volume whose super blocks are gone: others are rare.
const BLOCK: BlockSize = BlockSize::KIB4;
/// Segments in front of the first one of a volume, at most: its zones may be as large.
const ZONE_MAX: u64 = 64;
/// Node numbers that are believed in any case.
const NUMBERS_MIN: u64 = 1 << 20;
/// Segments of both checkpoints.
const CHECKPOINTS: u64 = 2;

/// The inodes on a medium, in short.
#[derive(Default)]
struct Inodes {
    /// The block of the first.
    first: Option<u64>,
    /// Those that say how much room their attributes have, and those that leave it to the volume.
    flexible: u64,
    fixed: u64,
    /// Features that some of them use.
    used: Features,
}

/// A super block for a medium without one, whose volume had this identity; `None` if no inode is on it.
///
/// Time: one read of the medium.
pub(super) fn super_block(disk: &dyn ReadAt, uuid: [u8; 16]) -> Option<SuperBlock> {
    let blocks = disk.bytes() / BLOCK.bytes_u64();
    let inodes = Inodes::on(disk, blocks);
    let first = inodes.first?;
    let shape = Shape { features: inodes.features(), ..Shape::default() };
    let geometry = by_checkpoint(disk, blocks).or_else(|| by_size(&shape, disk.bytes(), first))?;
    let mut raw = RawSuperBlock::blank(BLOCK, shape.features);
    geometry.fill(&shape, &mut raw);
    raw.set_uuid(uuid);
    raw.switch_on(shape.features);
    SuperBlock::from_raw(raw).ok()
}

impl Inodes {
    fn on(disk: &dyn ReadAt, blocks: u64) -> Inodes {
        let mut inodes = Inodes::default();
        let mut buffer = vec![0; BLOCK.width() * 512];
        for start in (0..blocks).step_by(512) {
            let count = usize::try_from(blocks - start).map_or(512, |left| left.min(512));
            // The last part alone is shorter.
            buffer.truncate(count * BLOCK.width());
            // The search for nodes reads block by block what cannot be read here.
            if disk.read_at(start * BLOCK.bytes_u64(), &mut buffer).is_ok() {
                let each = (start..).zip(buffer.chunks_exact(BLOCK.width()));
                each.for_each(|(addr, block)| inodes.look(addr, block, blocks));
            }
        }
        inodes
    }

    fn look(&mut self, addr: u64, block: &[u8], blocks: u64) {
        let Some(footer) = NodeFooter::of(block).filter(|footer| is_inode(footer, blocks)) else { return };
        let read = |features| Inode::from_block(footer.nid, block, BLOCK, features).ok();
        let (Some(flexible), Some(fixed)) =
            (read(Features::FLEXIBLE_INLINE_XATTR), read(Features::default()))
        else {
            return;
        };
        self.first.get_or_insert(addr);
        let has_room = |inode: &Inode| !inode.xattr_range().is_empty();
        self.flexible += u64::from(has_room(&flexible));
        self.fixed += u64::from(has_room(&fixed) && !has_room(&flexible));
        self.used = self.used.with(flexible.uses());
    }

    /// The features that these inodes need to be read.
    fn features(&self) -> Features {
        let is_flexible = self.flexible > self.fixed;
        if is_flexible { self.used.with(Features::FLEXIBLE_INLINE_XATTR) } else { self.used }
    }
}

/// True for the footer of what may be an inode of a volume of so many blocks.
fn is_inode(footer: &NodeFooter, blocks: u64) -> bool {
    let number = u64::from(footer.nid.0);
    footer.is_inode()
        && footer.offset == NodeOffset::INODE
        && (3..blocks.max(NUMBERS_MIN)).contains(&number)
        && u64::from(footer.next.0) < blocks
}

/// The areas as a checkpoint knows them: the sizes of its bitmaps are those of SIT and NAT.
fn by_checkpoint(disk: &dyn ReadAt, blocks: u64) -> Option<Geometry> {
    let at = |block: u64| {
        let mut bytes = vec![0; BLOCK.width()];
        disk.read_at(block * BLOCK.bytes_u64(), &mut bytes).ok()?;
        Checkpoint::from_block(1, &bytes, BLOCK).ok()
    };
    let starts = (1..=ZONE_MAX).map(|segment| segment * SEGMENT_BLOCKS);
    let (start, checkpoint) = starts
        .filter(|start| *start < blocks)
        .find_map(|start| Some((start, at(start).or_else(|| at(start + SEGMENT_BLOCKS))?)))?;
    let raw = checkpoint.raw();
    let table = |bitmap_bytes: u32| u64::from(bitmap_bytes) * 8 / SEGMENT_BLOCKS * 2;
    let (sit, nat) = (table(raw.sit_ver_bitmap_bytesize.get()), table(raw.nat_ver_bitmap_bytesize.get()));
    let users = raw.user_block_count.get() / SEGMENT_BLOCKS;
    let main = users.saturating_add(raw.overprov_segment_count.get().into()).min(blocks);
    // A summary for each segment, of the SSA's own, too.
    let ssa = main.div_ceil(SEGMENT_BLOCKS - 1);
    let zone = start / SEGMENT_BLOCKS;
    let ssa = (CHECKPOINTS + sit + nat + ssa).next_multiple_of(zone) - CHECKPOINTS - sit - nat;
    let has_orphans = checkpoint.flags().has(CpFlags::ORPHAN);
    let payload = if has_orphans { 0 } else { u64::from(checkpoint.parts().1.saturating_sub(1)) };
    let all = CHECKPOINTS + sit + nat + ssa + main;
    let fits = all <= u64::from(SEGMENTS_MAX) && start + all * SEGMENT_BLOCKS < u64::from(u32::MAX);
    fits.then_some(Geometry {
        blocks,
        segment0: start,
        segments: all,
        sit,
        nat,
        ssa,
        main,
        payload,
        large_nat: checkpoint.flags().has(CpFlags::LARGE_NAT_BITMAP),
        reserved: 0,
        overprovision: 0,
    })
}

/// The areas of a new volume on this medium; the main area begins no later than the `first` inode.
fn by_size(shape: &Shape, bytes: u64, first: u64) -> Option<Geometry> {
    let geometry = Geometry::new(shape, bytes).ok()?;
    let in_front = geometry.segments - geometry.main;
    let most = (first.checked_sub(geometry.segment0)? / SEGMENT_BLOCKS).min(in_front);
    // An earlier main area leaves less to the NAT, which nobody reads.
    let left = most.checked_sub(CHECKPOINTS + geometry.sit)?;
    let nat = (left.saturating_sub(geometry.ssa) / 2 * 2).clamp(2, geometry.nat);
    let ssa = left.checked_sub(nat)?;
    let main = geometry.main + in_front - most;
    Some(Geometry { nat, ssa, main, ..geometry })
}
