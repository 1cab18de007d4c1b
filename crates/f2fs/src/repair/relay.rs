//! Another size, and other places, of the areas of a volume: the steps of which a resize is made. Before and after each of them
//! the medium holds a volume with all files.

use std::sync::Arc;

use zerocopy::IntoBytes;

use super::{
    bench::{Bench, put},
    draft::Draft,
    pack::{BLOCKS, Pack},
    packs, rebuild, refused, settle, super_blocks, write,
};
use crate::{
    error::Result,
    layout::{BlockAddr, CpFlags, RawSitEntry, SegNo, SummaryBlock, SuperBlock},
    mkfs::geometry::{Geometry, Shape},
    volume::{Volume, read_super_block},
    word::word,
    write::medium::{Device, Medium},
};

/// Bytes of metadata kept in memory.
const CACHE_BYTES: usize = 1 << 20;
/// Blocks that are written at a time.
const BATCH: usize = 256;

/// The super block of a volume that has these areas from now on.
fn super_block(sb: &SuperBlock, shape: &Shape, areas: &Geometry) -> Result<SuperBlock> {
    let mut raw = *sb.raw();
    areas.fill(shape, &mut raw);
    raw.seal();
    SuperBlock::from_raw(raw)
}

/// Gives the main area another end. Segments beyond it must be empty, and no log may write there.
///
/// More segments count before the checkpoint counts them as free, and fewer only behind it. If power fails between these the number
/// of free segments, which every mount counts anew, is wrong.
pub(super) fn set_end(device: &Device, shape: &Shape, areas: &Geometry) -> Result<()> {
    let sb = read_super_block(device)?;
    let (new, main) = (super_block(&sb, shape, areas)?, word(areas.main));
    if main > sb.main_segments() {
        write_super_blocks(device, &new)?;
    }
    count(device, main)?;
    write_super_blocks(device, &new)
}

fn draft_of(device: &Device, sb: &SuperBlock) -> Draft {
    Draft::new(Arc::new(device.clone()), sb.block())
}

/// The first copy, which counts, and then the second.
fn write_super_blocks(device: &Device, sb: &SuperBlock) -> Result<()> {
    let draft = draft_of(device, sb);
    super_blocks::write(&draft, sb.raw())?;
    let mut medium = Medium::cached(device.clone(), sb.block(), 0, None);
    let changes = draft.changes();
    for addr in [0, 1] {
        if let Some(block) = changes.get(&addr) {
            medium.write(BlockAddr(addr), block)?;
            medium.flush()?;
        }
    }
    Ok(())
}

/// Makes a checkpoint that counts so many segments.
fn count(device: &Device, main: u32) -> Result<()> {
    let old = Volume::open(vec![Box::new(device.clone())], CACHE_BYTES)?;
    let draft = draft_of(device, old.super_block());
    let mut bench = Bench::open(&draft)?;
    let (free, is_used_behind) = tally(&bench, main)?;
    if is_used_behind {
        return Err(refused("blocks are in use behind its new end"));
    }
    let blocks = bench.pack.raw.valid_blocks();
    rebuild::set_reserve(&mut bench, main, blocks)?;
    bench.pack.raw.set_free_segments(free);
    bench.keep();
    write(device.clone(), draft.size(), &settle::steps(&draft, &old, &[])?)
}

/// The free ones among the first `main` segments, and whether any behind them is in use.
fn tally(bench: &Bench, main: u32) -> Result<(u32, bool)> {
    let (mut free, mut is_used) = (0, false);
    for segno in (0..bench.volume.super_block().main_segments()).map(SegNo) {
        let is_free = bench.sit(segno)?.bits() == 0 && bench.pack.log_of(segno).is_none();
        if segno.0 < main {
            free += u32::from(is_free);
        } else {
            is_used |= !is_free;
        }
    }
    Ok((free, is_used))
}

/// Lays all areas anew at other places, where nothing of the volume may stand; blocks of the main area stay. The first super
/// block then says where they are: before it is written the old volume counts, and behind it the new one.
pub(super) fn lay(device: &Device, shape: &Shape, areas: &Geometry) -> Result<()> {
    let sb = read_super_block(device)?;
    let draft = draft_of(device, &sb);
    let mut bench = Bench::open(&draft)?;
    let new = super_block(&sb, shape, areas)?;
    let (before, main) = (sb.main_segments(), new.main_segments());
    let (free, _) = tally(&bench, before)?;
    let blocks = bench.pack.raw.valid_blocks();
    rebuild::set_reserve(&mut bench, main, blocks)?;
    bench.pack.raw.set_free_segments(main.saturating_sub(before - free));
    let laying = Laying { bench: &bench, new: &new, areas };
    laying.check()?;
    let medium = Medium::cached(device.clone(), sb.block(), 0, None);
    let mut row = Row { medium, first: 0, bytes: Vec::new() };
    laying.sit(&mut row)?;
    laying.nat(&mut row)?;
    laying.ssa(&mut row)?;
    laying.packs(&mut row)?;
    row.end()?;
    row.medium.flush()?;
    write_super_blocks(device, &new)
}

/// Blocks in a row that wait to be written together.
struct Row {
    medium: Medium,
    first: u32,
    bytes: Vec<u8>,
}

impl Row {
    fn put(&mut self, addr: u32, block: &[u8]) -> Result<()> {
        let count = self.bytes.len() / block.len().max(1);
        if self.first.checked_add(word(count)) != Some(addr) || count >= BATCH {
            self.end()?;
            self.first = addr;
        }
        self.bytes.extend_from_slice(block);
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        if !self.bytes.is_empty() {
            self.medium.write(BlockAddr(self.first), &self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }
}

struct Laying<'a> {
    bench: &'a Bench,
    new: &'a SuperBlock,
    areas: &'a Geometry,
}

impl Laying<'_> {
    /// Segments by which the main area begins later.
    fn shift(&self) -> i64 {
        let start = |sb: &SuperBlock| i64::from(sb.main_start().0);
        (start(self.new) - start(self.bench.volume.super_block())) / i64::from(BLOCKS)
    }

    /// The former number of a segment, if it had one.
    fn former(&self, segno: u32) -> Option<SegNo> {
        let former = u32::try_from(i64::from(segno) + self.shift()).ok()?;
        (former < self.bench.volume.super_block().main_segments()).then_some(SegNo(former))
    }

    /// The new number of a segment, if it has one.
    fn number(&self, former: SegNo) -> Option<SegNo> {
        let number = u32::try_from(i64::from(former.0) - self.shift()).ok()?;
        (number < self.new.main_segments()).then_some(SegNo(number))
    }

    /// Nothing is written over the old areas, or over blocks in use, and nothing in use is left out.
    fn check(&self) -> Result<()> {
        let old = self.bench.volume.super_block();
        let (start, end) = (self.areas.segment0, self.areas.main_start());
        let is_over = start < old.main_start().0.into() && u64::from(old.checkpoints_start().0) < end;
        let apart = i64::from(self.new.main_start().0) - i64::from(old.main_start().0);
        let mut is_hit = is_over || apart % i64::from(BLOCKS) != 0;
        for segno in (0..old.main_segments()).map(SegNo) {
            let is_used = self.bench.sit(segno)?.bits() > 0 || self.bench.pack.log_of(segno).is_some();
            is_hit |= is_used && self.number(segno).is_none();
        }
        if is_hit { Err(refused("blocks are in use where its tables are to be")) } else { Ok(()) }
    }

    /// The first copy of each block counts, here and of the NAT.
    fn sit(&self, row: &mut Row) -> Result<()> {
        let (per_block, segments) = (self.new.block().sit_entries(), self.new.main_segments());
        for index in 0..segments.div_ceil(per_block) {
            let mut block = vec![0; self.new.block().width()];
            let first = index * per_block;
            for (at, segno) in (0..).zip(first..segments.min(first + per_block)) {
                if let Some(former) = self.former(segno) {
                    let entry = self.bench.sit(former)?.to_raw();
                    put(&mut block, at * size_of::<RawSitEntry>(), entry.as_bytes());
                }
            }
            row.put(word(self.areas.sit_start()) + index, &block)?;
        }
        Ok(())
    }

    fn nat(&self, row: &mut Row) -> Result<()> {
        let (volume, zeros) = (&self.bench.volume, vec![0; self.new.block().width()]);
        for index in 0..word(self.areas.nat / 2) * BLOCKS {
            let is_old = index < volume.nat_blocks();
            let block = if is_old { self.bench.draft.read(volume.nat_addr(index))? } else { zeros.clone() };
            let at = index / BLOCKS * BLOCKS * 2 + index % BLOCKS;
            row.put(word(self.areas.nat_start()) + at, &block)?;
        }
        Ok(())
    }

    fn ssa(&self, row: &mut Row) -> Result<()> {
        let layout = self.bench.volume.summary_layout();
        for index in 0..self.new.main_segments().div_ceil(layout.per_block) {
            let mut block = Vec::new();
            let first = index * layout.per_block;
            for segno in first..first + layout.per_block {
                let stored = match self.former(segno) {
                    Some(former) => self.bench.volume.ssa(former)?,
                    None => SummaryBlock::empty(layout, false),
                };
                block.extend_from_slice(stored.as_bytes());
            }
            row.put(self.new.ssa_start().0 + index, &block)?;
        }
        Ok(())
    }

    /// Both packs, of which the first counts.
    fn packs(&self, row: &mut Row) -> Result<()> {
        let volume = &self.bench.volume;
        let mut raw = self.bench.pack.raw;
        for (log, head) in volume.log_heads().iter().enumerate() {
            let segno =
                self.number(head.segno).ok_or_else(|| refused("a log writes where its tables are to be"))?;
            raw.set_log(log, segno, head.offset, volume.checkpoint().reuses_holes(log));
        }
        raw.set_bitmaps(self.new);
        let large = CpFlags::LARGE_NAT_BITMAP;
        raw.change_flags(large, if self.areas.large_nat { large } else { CpFlags(0) });
        let versions = |segments: u64| vec![0; word(segments / 2) as usize * BLOCKS as usize / 8];
        let newest = packs::newest_version(volume);
        for (number, ahead) in [(2, 1), (1, 2)] {
            raw.set_version(newest.wrapping_add(ahead));
            let (sit, nat) = (versions(self.areas.sit), versions(self.areas.nat));
            let (summaries, orphans) = (self.bench.pack.summaries.clone(), self.bench.pack.orphans.clone());
            let pack = Pack { number, raw, sit, nat, summaries, orphans };
            let (start, width) = (self.new.checkpoint_addr(number).0, self.new.block().width());
            let mut blocks = pack.blocks(self.new);
            blocks.resize(BLOCKS as usize * width, 0);
            for (addr, block) in (start..).zip(blocks.chunks_exact(width)) {
                row.put(addr, block)?;
            }
        }
        Ok(())
    }
}
