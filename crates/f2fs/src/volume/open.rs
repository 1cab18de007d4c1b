//! Opening: super block, checkpoint, bitmaps, log heads, in this order.

use pumice_media::{BlockError, ReadAt};
use zerocopy::FromZeros;

use super::{
    Volume,
    cache::BlockCache,
    disks::Disks,
    packs::{self, Packs},
};
use crate::{
    crc,
    error::{Error, Place, Result, corrupt},
    layout::{BlockSize, Checkpoint, MAGIC, RawCheckpoint, SUPER_OFFSET, SuperBlock},
};

impl Volume {
    /// Opens a volume at its newer valid checkpoint, from its devices in the order of the super block. Blocks of
    /// metadata that were read lately are kept in `cache_bytes` bytes.
    pub fn open(disks: Vec<Box<dyn ReadAt>>, cache_bytes: usize) -> Result<Volume> {
        let volume = Volume::open_in_part(disks, cache_bytes)?;
        match volume.missing() {
            Some(missing) => Err(missing),
            None => Ok(volume),
        }
    }

    /// The same, though devices are missing or too short, as far as the rest goes: [`Volume::missing`].
    pub fn open_in_part(disks: Vec<Box<dyn ReadAt>>, cache_bytes: usize) -> Result<Volume> {
        let first = disks.first().ok_or(Error::NotF2fs { found: 0 })?;
        let sb = read_super_block(&**first)?;
        let disks = Disks::new(disks, &sb);
        // Missing parts cannot be read, and that is the reason to give.
        let missing = disks.missing(&sb);
        Volume::at_newest(disks, sb, cache_bytes).map_err(|error| missing.unwrap_or(error))
    }

    fn at_newest(disks: Disks, sb: SuperBlock, cache_bytes: usize) -> Result<Volume> {
        let packs = Packs::read(&disks, &sb);
        let state = State::of(&disks, &sb, packs.newer()?)?;
        let mut volume = Volume::at(disks, sb, packs, state, cache_bytes);
        volume.logs = volume.read_logs()?;
        Ok(volume)
    }

    /// The volume of a super block, wherever that is from, as far as its checkpoints can be used; true if both can be. If
    /// none can it has no logs, and a checkpoint of zeros.
    pub(crate) fn open_without_roots(
        disks: Vec<Box<dyn ReadAt>>,
        sb: SuperBlock,
        cache_bytes: usize,
    ) -> Result<(Volume, bool)> {
        let disks = Disks::new(disks, &sb);
        let packs = Packs::read(&disks, &sb);
        let newest = packs.newer().and_then(|cp| State::of(&disks, &sb, cp));
        let Ok(state) = newest else {
            let state = State::none(&sb)?;
            return Ok((Volume::at(disks, sb, packs, state, cache_bytes), false));
        };
        let has_both = packs.found.iter().all(Result::is_ok);
        let mut volume = Volume::at(disks, sb, packs, state, cache_bytes);
        let logs = volume.read_logs();
        let is_whole = has_both && logs.is_ok();
        volume.logs = logs.unwrap_or_default();
        Ok((volume, is_whole))
    }

    fn at(disks: Disks, sb: SuperBlock, packs: Packs, state: State, cache_bytes: usize) -> Volume {
        let cache = BlockCache::new(cache_bytes, sb.block().width());
        let inode_seed = crc::inode_seed(&sb.uuid());
        let State { cp, sit_bitmap, nat_bitmap } = state;
        let logs = super::logs::Logs::default();
        Volume { disks, sb, cp, packs, sit_bitmap, nat_bitmap, logs, cache, inode_seed, found: None }
    }
}

/// A checkpoint, and the copies of the tables that it counts.
struct State {
    cp: Checkpoint,
    sit_bitmap: Vec<u8>,
    nat_bitmap: Vec<u8>,
}

impl State {
    fn of(disks: &Disks, sb: &SuperBlock, cp: Checkpoint) -> Result<State> {
        let sit_bitmap = packs::sit_bitmap(disks, sb, &cp)?;
        let nat_bitmap = packs::nat_bitmap(disks, sb, &cp)?;
        Ok(State { cp, sit_bitmap, nat_bitmap })
    }

    /// A checkpoint that counts nothing.
    fn none(sb: &SuperBlock) -> Result<State> {
        let blocks = RawCheckpoint::new_zeroed().to_blocks(sb, &[], &[]);
        let cp = Checkpoint::from_block(1, &blocks, sb.block())?;
        Ok(State { cp, sit_bitmap: Vec::new(), nat_bitmap: Vec::new() })
    }
}

/// The first super block that is valid; the error is the first one's.
pub fn read_super_block(disk: &dyn ReadAt) -> Result<SuperBlock> {
    let [first, second] = read_super_blocks(disk);
    first.or_else(|error| second.map_err(|_| error))
}

/// Both super blocks as they were found. Where the first is broken, the second is looked for in each size of block.
pub fn read_super_blocks(disk: &dyn ReadAt) -> [Result<SuperBlock>; 2] {
    let first = super_block_at(disk, 0);
    let second = match &first {
        Ok(sb) => super_block_at(disk, sb.block().bytes_u64()),
        Err(error) => BlockSize::ALL
            .into_iter()
            .map(|size| super_block_at(disk, size.bytes_u64()))
            .find(Result::is_ok)
            .unwrap_or_else(|| Err(error.clone())),
    };
    [first, second]
}

/// True if a magic number stands where the super block of a block begins.
fn begins_at(disk: &dyn ReadAt, block_at: u64) -> bool {
    let mut magic = [0; 4];
    disk.read_at(block_at + SUPER_OFFSET, &mut magic).is_ok() && u32::from_le_bytes(magic) == MAGIC
}

fn super_block_at(disk: &dyn ReadAt, block_at: u64) -> Result<SuperBlock> {
    let mut bytes = [0; 3072];
    match disk.read_at(block_at + SUPER_OFFSET, &mut bytes) {
        Ok(()) => SuperBlock::from_bytes(&bytes),
        Err(BlockError::OutOfRange { .. }) if begins_at(disk, block_at) => {
            let end = block_at + SUPER_OFFSET + bytes.len() as u64;
            Err(corrupt(Place::SuperBlock, "the image ends at byte", disk.bytes(), end))
        }
        // Too short to hold one.
        Err(BlockError::OutOfRange { .. }) => Err(Error::NotF2fs { found: 0 }),
        Err(error) => Err(Error::Read { addr: 0, error }),
    }
}
