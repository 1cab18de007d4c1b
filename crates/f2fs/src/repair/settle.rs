//! The way of a mended volume to the medium, as a checkpoint goes there: beside the old state, which counts until the
//! foot of the new pack is written.
//!
//! NAT and SIT blocks that changed go to the copies that do not count, the pack to the place of the older one. What has
//! one place only comes behind the foot: summaries, and super blocks. If power fails before the foot is there, the old
//! state is found again, and mended again; behind it only what can be derived is missing.

use std::collections::{BTreeMap, BTreeSet};

use super::{bench::Bench, draft::Draft, pack::Pack, packs, relocate};
use crate::{
    error::Result,
    layout::{BlockAddr, Nid, SegNo, SuperBlock},
    volume::Volume,
};

/// Blocks by address.
type Blocks = BTreeMap<u32, Vec<u8>>;

/// Blocks to be written, in groups that wait for each other.
#[derive(Default)]
pub(super) struct Steps(pub(super) Vec<Blocks>);

/// True if nothing but super blocks is changed.
pub(super) fn is_of_super_blocks(draft: &Draft, old: &Volume) -> bool {
    draft.changes().keys().all(|addr| *addr < old.super_block().checkpoints_start().0)
}

/// The steps from the medium to the draft. `old` is the state of the medium that counts.
/// Nothing is written over the nodes of `chain`, which the old state may still roll forward.
pub(super) fn steps(draft: &Draft, old: &Volume, chain: &[BlockAddr]) -> Result<Steps> {
    let changes = draft.changes();
    let sb = old.super_block();
    let supers: Vec<Blocks> = [1, 0]
        .into_iter()
        .filter_map(|addr| changes.get(&addr).map(|block| Blocks::from([(addr, block.clone())])))
        .collect();
    if is_of_super_blocks(draft, old) {
        return Ok(Steps(supers));
    }
    // Journals go into the tables.
    let mut bench = Bench::open(draft)?;
    relocate::run(&mut bench, old, chain)?;
    let changes = draft.changes();
    let mut settling = Settling { draft, old, new: &bench.volume, first: Blocks::new() };
    let nat = settling.nat(&changes)?;
    let sit = settling.sit(&changes)?;
    let mut first = settling.first;
    let (mut summaries, mut behind) = (Blocks::new(), Blocks::new());
    for (addr, block) in changes.range(sb.ssa_start().0..) {
        let at = BlockAddr(*addr);
        let group = if !old.is_main(at) {
            &mut summaries
        } else if old.is_valid(at)? {
            &mut behind
        } else if bench.is_used(at)? {
            &mut first
        } else {
            continue;
        };
        group.insert(*addr, block.clone());
    }
    summaries.append(&mut behind);
    let newest = packs::newest_version(old).max(bench.volume.checkpoint().version());
    let pack = |number: u8, version: u64| {
        let mut raw = bench.pack.raw;
        raw.set_version(version);
        let (summaries, orphans) = (bench.pack.summaries.clone(), bench.pack.orphans.clone());
        Pack { number, raw, sit: sit.clone(), nat: nat.clone(), summaries, orphans }
    };
    let current = old.checkpoint().pack();
    let [body, foot] = split(&pack(3 - current, newest.wrapping_add(2)), sb);
    let [other_body, other_foot] = split(&pack(current, newest.wrapping_add(1)), sb);
    first.extend(body);
    let mut groups = vec![first, foot, summaries, other_body, other_foot];
    groups.extend(supers);
    Ok(Steps(groups))
}

/// The blocks of a pack with zeros in place of its foot, and the foot.
fn split(pack: &Pack, sb: &SuperBlock) -> [Blocks; 2] {
    let start = sb.checkpoint_addr(pack.number).0;
    let blocks = pack.blocks(sb);
    let mut body: Blocks =
        (start..).zip(blocks.chunks_exact(sb.block().width()).map(<[u8]>::to_vec)).collect();
    let foot = body.last_entry().map(|mut last| {
        let zeros = vec![0; last.get().len()];
        (*last.key(), std::mem::replace(last.get_mut(), zeros))
    });
    [body, foot.into_iter().collect()]
}

struct Settling<'a> {
    draft: &'a Draft,
    old: &'a Volume,
    new: &'a Volume,
    first: Blocks,
}

impl Settling<'_> {
    /// Blocks of the NAT; returns which copies count.
    fn nat(&mut self, changes: &Blocks) -> Result<Vec<u8>> {
        let per_block = self.old.block_size().nat_entries();
        let journal = self.old.nat_journal().keys().map(|Nid(nid)| nid / per_block);
        let mut dirty: BTreeSet<u32> = journal.filter(|index| *index < self.old.nat_blocks()).collect();
        let is_changed = |index: &u32| self.is_changed(changes, |volume| volume.nat_addr(*index));
        dirty.extend((0..self.old.nat_blocks()).filter(is_changed));
        let (_, versions) = self.old.versions();
        self.table(versions.to_vec(), dirty, Volume::nat_addr, Volume::nat_other)
    }

    /// Blocks of the SIT; returns which copies count.
    fn sit(&mut self, changes: &Blocks) -> Result<Vec<u8>> {
        let per_block = self.old.block_size().sit_entries();
        let journal = self.old.sit_journal().keys().map(|SegNo(segno)| segno / per_block);
        let mut dirty: BTreeSet<u32> = journal.filter(|index| *index < self.old.sit_blocks()).collect();
        let is_changed = |index: &u32| self.is_changed(changes, |volume| volume.sit_addr(*index));
        dirty.extend((0..self.old.sit_blocks()).filter(is_changed));
        let (versions, _) = self.old.versions();
        self.table(versions.to_vec(), dirty, Volume::sit_addr, Volume::sit_other)
    }

    /// True if a block of a table stands elsewhere, or has other bytes.
    fn is_changed(&self, changes: &Blocks, addr: impl Fn(&Volume) -> BlockAddr) -> bool {
        let (old, new) = (addr(self.old), addr(self.new));
        old != new || changes.contains_key(&new.0)
    }

    /// Has blocks of a table that differ written to their other copies.
    fn table(
        &mut self,
        mut versions: Vec<u8>,
        dirty: BTreeSet<u32>,
        addr: impl Fn(&Volume, u32) -> BlockAddr,
        other: impl Fn(&Volume, u32) -> BlockAddr,
    ) -> Result<Vec<u8>> {
        for index in dirty {
            let block = self.draft.read(addr(self.new, index))?;
            if self.draft.original(addr(self.old, index)).is_ok_and(|old| old == block) {
                continue;
            }
            self.first.insert(other(self.old, index).0, block);
            if let Some(byte) = versions.get_mut((index / 8) as usize) {
                *byte ^= 0x80 >> (index % 8);
            }
        }
        Ok(versions)
    }
}
