//! One state of the volume after the other: room for coming calls, checkpoints, and the times of cleaning.

use std::ops::Range;

use pumice_cleaning::{CostBenefit, Greedy, SegmentView, choose, choose_aged};

use super::{cleaner::Cleaner, options::IdleCleaning, quota, tree::Tree};
use crate::{
    error::{Error, Result},
    layout::Nid,
    word::word,
    write::{head::Log, pack::Reserve, victims::Rule},
};
use pumice_vfs::{Errno, Timestamp};

/// Free segments that a call leaves, and that it must leave: survivors of one that is cleaned are written to them, and the nodes
/// that lead there.
const SPARE: u64 = 4;
const SPARE_LAST: u64 = 2;
/// Blocks that the cleaner moves before it is asked again whether there is room for more.
const STEP: u64 = 128;
/// The room that it needs for them: the nodes that lead to survivors are in as many other places at worst, and each may be
/// of an inode that loses its extent.
const STEP_NEED: Need = Need { data: STEP, nodes: 2 * STEP };
/// Blocks that are moved, or written, at a time while nobody waits.
const PACE: u64 = 32;
/// One segment in so many is to be free: with fewer, idle time makes some.
const FREE_SHARE: u32 = 10;
/// Rounds of cleaning in front that may bring nothing.
const IDLE_ROUNDS: u32 = 8;
/// Blocks that are free behind a checkpoint before the next is written ahead. With fewer it comes soon, and blocks
/// written ahead are often written again.
const ROOMY: u64 = 8192;
/// Room that is left when the next checkpoint is near, besides four times the blocks that wait for it.
const NEAR: u64 = 512;
/// Blocks that wait, or nodes, that a call writes ahead of it.
const AHEAD: usize = 3;
/// So many blocks and nodes that wait, and blocks of the NAT, are little enough to be written with the checkpoint.
const LITTLE: u64 = 6;
const LITTLE_NAT: u64 = 3;
/// Seconds that a section is older than the youngest before its age speaks for it, as in Linux: a week.
const AGE_THRESHOLD: u32 = 7 * 24 * 3600;
/// Blocks and nodes that a checkpoint may need for quota files.
const FOR_QUOTA: u64 = 16;

/// The most that a call may take up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Need {
    /// Blocks that are written anew.
    pub(super) data: u64,
    /// Nodes that are written anew, those that lead to the data among them.
    pub(super) nodes: u64,
}

/// A volume, and the state that its checkpoints keep.
pub(super) struct Commit {
    tree: Tree,
    cleaner: Cleaner,
    idle_cleaning: Option<IdleCleaning>,
    reserve: Reserve,
    /// Sections that logs stay out of.
    barred: Range<u32>,
    /// The number of changes at the last checkpoint, and whether it left much room.
    committed: u64,
    is_roomy: bool,
}

impl Commit {
    pub(super) fn new(tree: Tree, idle_cleaning: Option<IdleCleaning>, reserve: Reserve) -> Commit {
        let cleaner = Cleaner::default();
        Commit { tree, cleaner, idle_cleaning, reserve, barred: 0..0, committed: 0, is_roomy: false }
    }

    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The same, to write to.
    pub(super) fn tree_mut(&mut self) -> &mut Tree {
        &mut self.tree
    }

    /// The number of changes so far.
    pub(super) fn changes(&self) -> u64 {
        self.tree.blocks().nodes().changes()
    }

    /// Blocks that users can have, and those that they have.
    pub(super) fn blocks(&self) -> (u64, u64) {
        (self.reserve.users, self.tree.blocks().nodes().writer().blocks())
    }

    /// Blocks that users have, and those that quota files take with the next checkpoint.
    pub(super) fn claimed(&self) -> u64 {
        let nodes = self.tree.blocks().nodes();
        nodes.writer().blocks() + nodes.usage().growth()
    }

    /// Checks that users may have `more` blocks than they have.
    pub(super) fn check_more(&self, more: u64) -> Result<()> {
        let (users, used) = self.blocks();
        if more > 0 && used.saturating_add(more) > users { Err(Error::Errno(Errno::NoSpace)) } else { Ok(()) }
    }

    /// Checks, behind a call, that it took no more than users can have: blocks were `before` as [`Commit::claimed`] tells. A call that
    /// takes none may always be made.
    pub(super) fn check_claimed(&self, before: u64) -> Result<()> {
        let now = self.claimed();
        if now > before && now > self.reserve.users { Err(Error::Errno(Errno::NoSpace)) } else { Ok(()) }
    }

    /// Checks, behind a call, that it gave nobody more than quotas allow, if they bind the caller.
    pub(super) fn check_quotas(&mut self, is_bound: bool, now: Timestamp) -> Result<()> {
        let usage = self.tree.blocks_mut().nodes_mut().usage_mut();
        if usage.settle(is_bound, now) { Ok(()) } else { Err(Error::Errno(Errno::Quota)) }
    }

    /// Sees to it that a call has room: by a checkpoint, if that gives some back, and by cleaning. [`Errno::NoSpace`] otherwise.
    pub(super) fn make_room(&mut self, need: Need, elapsed: u64) -> Result<()> {
        self.tree.blocks_mut().relieve()?;
        if self.has_room(need) && !self.is_held_back(need) {
            return self.write_ahead(need, elapsed);
        }
        self.commit(elapsed)?;
        if !self.has_room(need) {
            self.clean(need, elapsed)?;
        }
        if self.fits(need, SPARE_LAST, true) { Ok(()) } else { Err(Error::Errno(Errno::NoSpace)) }
    }

    /// True if a checkpoint frees node numbers, or shows which ids quota files have room for, that a call may lack.
    fn is_held_back(&self, need: Need) -> bool {
        let nodes = self.tree.blocks().nodes();
        let (writer, growth) = (nodes.writer(), nodes.usage().growth());
        let is_near = self.claimed() + need.data + need.nodes > self.reserve.users;
        let given_up = writer.given_up_numbers();
        growth > 0 && is_near || given_up > 0 && writer.free_numbers() < given_up + need.nodes
    }

    /// Writes a little of the next checkpoint when it is near, so that no call has to write all of it; makes it once
    /// little is left.
    fn write_ahead(&mut self, need: Need, elapsed: u64) -> Result<()> {
        let blocks = self.tree.blocks();
        let waiting = blocks.waiting() + blocks.nodes().waiting();
        let near = NEAR + 4 * waiting;
        let has_chain = blocks.nodes().promises().count() > 0;
        let ahead = Need { data: need.data + near, nodes: need.nodes + near };
        if !self.is_roomy || self.has_room(ahead) && (!has_chain || self.has_room_for_chain(near)) {
            return Ok(());
        }
        if waiting <= LITTLE && blocks.nodes().writer().nat_behind() <= LITTLE_NAT {
            return self.commit(elapsed);
        }
        let blocks = self.tree.blocks_mut();
        if waiting > LITTLE {
            blocks.write_on(AHEAD)?;
        }
        blocks.nodes_mut().writer_mut().write_ahead()
    }

    /// True if there is room to roll forward all that fsync promised, and `more` blocks besides: nodes, and the directories that get
    /// names, are written once more then.
    pub(super) fn has_room_for_chain(&self, more: u64) -> bool {
        let nodes = self.tree.blocks().nodes();
        let (count, (users, _)) = (nodes.promises().count(), self.blocks());
        nodes.writer().blocks_with_chain() + more <= users
            && self.has_room(Need { data: count + more, nodes: 2 * count + more })
    }

    /// True if a call has room without a checkpoint.
    pub(super) fn has_room(&self, need: Need) -> bool {
        self.fits(need, SPARE, false)
    }

    /// True if the waiting blocks and `need` can be written, with `spare` segments left; `all` holes count, though logs
    /// would rather not fill them.
    fn fits(&self, need: Need, spare: u64, all: bool) -> bool {
        let blocks = self.tree.blocks();
        let room = blocks.nodes().writer().room(all);
        let segments = |wanted: u64, there: u64| wanted.saturating_sub(there).div_ceil(512);
        let data = segments(blocks.waiting() + need.data + FOR_QUOTA, room.data);
        let fits = |waiting: u64| {
            let nodes = segments(waiting + need.nodes + FOR_QUOTA, room.nodes);
            data + nodes + spare <= u64::from(room.free)
        };
        // A block that moves has the node changed that leads to it.
        fits(blocks.nodes().waiting() + blocks.waiting()) || fits(blocks.nodes_to_write())
    }

    /// Cleans, the emptiest sections first, until a call has room, as long as that brings anything. Nothing waits yet.
    fn clean(&mut self, need: Need, elapsed: u64) -> Result<()> {
        let (mut best, mut idle) = (0, 0);
        while !self.has_room(need) && idle < IDLE_ROUNDS {
            let barred = self.barred.clone();
            if self.gather(EMPTIEST, |at, _| !barred.contains(&at)) == 0 {
                break;
            }
            self.write(elapsed, false)?;
            let room = self.tree.blocks().nodes().writer().room(false);
            let now = u64::from(room.free) * 512 + room.data.min(room.nodes);
            idle = if now > best { 0 } else { idle + 1 };
            best = best.max(now);
        }
        Ok(())
    }

    /// Cleans a little while nobody waits until a share of all segments is free; true if there is more to do.
    pub(super) fn maintain(&mut self, elapsed: u64) -> Result<bool> {
        self.tree.blocks_mut().nodes_mut().writer_mut().set_time(elapsed);
        let blocks = self.tree.blocks_mut();
        let is_short = blocks.nodes().writer().is_short(FREE_SHARE);
        let rule = self.idle_cleaning.filter(|_| is_short).map(|cleaning| idle_rule(cleaning, elapsed));
        let has_work = self.cleaner.is_busy()
            || rule.is_some_and(|rule| self.cleaner.begin(blocks, rule, |_, view| is_worth_it(view)));
        if has_work && self.fits(Need { data: PACE, nodes: PACE }, SPARE_LAST, false) {
            self.cleaner.step(self.tree.blocks_mut(), PACE);
            self.tree.blocks_mut().relieve()?;
            return Ok(true);
        }
        // Cleaned sections are free with the next checkpoint.
        let blocks = self.tree.blocks_mut();
        if !has_work && !blocks.nodes().writer().is_cleaning() {
            return Ok(false);
        }
        if blocks.waiting() + blocks.nodes().waiting() > PACE {
            blocks.write_on(usize::try_from(PACE).unwrap_or(usize::MAX))?;
            return Ok(true);
        }
        let before = self.committed;
        self.commit(elapsed)?;
        // Where a checkpoint gave no room, the next call that needs some sees to it.
        Ok(has_work && self.committed != before)
    }

    /// Has survivors of sections that `may` be cleaned, in the order of a rule, wait, as many as there is room for; returns how many.
    fn gather(&mut self, rule: Rule, may: impl Fn(u32, &SegmentView) -> bool) -> u64 {
        let (mut count, mut sections) = (0, 0);
        while sections < SPARE && self.fits(STEP_NEED, 0, false) {
            let blocks = self.tree.blocks_mut();
            if !self.cleaner.is_busy() && !self.cleaner.begin(blocks, rule, &may) {
                break;
            }
            count += self.cleaner.step(blocks, STEP);
            sections += u64::from(!self.cleaner.is_busy());
        }
        count
    }

    /// Keeps logs out of sections, and has all blocks that stand there written elsewhere.
    pub(super) fn vacate(&mut self, sections: &Range<u32>, elapsed: u64) -> Result<()> {
        let nodes = self.tree.blocks_mut().nodes_mut();
        nodes.writer_mut().bar(sections)?;
        nodes.touch();
        self.barred = sections.clone();
        loop {
            self.write(elapsed, false)?;
            if self.tree.blocks().nodes().writer().held(sections) == 0 {
                return Ok(());
            }
            self.make_room(STEP_NEED, elapsed)?;
            // A full section must be emptied, too.
            if self.gather(|sections| sections.next().map(|(at, _)| at), |at, _| sections.contains(&at)) == 0
            {
                let left = self.tree.blocks().nodes().writer().held(sections);
                let what = format!("{left} blocks cannot be moved: they are pinned, or cannot be read");
                return Err(Error::Unsupported(what));
            }
        }
    }

    /// Cleans the emptiest sections until so many are free, as long as it is worth it.
    pub(super) fn compact(&mut self, free: u32, elapsed: u64) -> Result<()> {
        self.commit(elapsed)?;
        let (mut best, mut idle) = (0, 0);
        while idle < IDLE_ROUNDS && self.tree.blocks().nodes().writer().sections().0 < free {
            if self.gather(EMPTIEST, |_, view| is_worth_it(view)) == 0 {
                break;
            }
            self.write(elapsed, false)?;
            let (now, _) = self.tree.blocks().nodes().writer().sections();
            idle = if now > best { 0 } else { idle + 1 };
            best = best.max(now);
        }
        Ok(())
    }

    /// Writes a file or directory anew, as many of its rows at a time as there is room for in one. A row that has no room
    /// with the next stays.
    pub(super) fn defragment(&mut self, nid: Nid, elapsed: u64) -> Result<()> {
        let mut from = 0;
        loop {
            // Former places are free then.
            self.commit(elapsed)?;
            let inode = self.tree.inode(nid)?;
            let most = self.free_row();
            let rows = self.tree.blocks().rows(&inode, from, most)?;
            if rows.count == 0 || most == 0 || inode.is_pinned() {
                return Ok(());
            }
            if rows.count > 1 {
                self.write_in_a_row(nid, from, rows.blocks)?;
            }
            from = rows.end;
        }
    }

    /// Blocks that survivors can be written to in a row, besides the room that every call leaves.
    fn free_row(&self) -> u64 {
        let mut row = self.tree.blocks().nodes().writer().row(Log::ColdData);
        // Nodes hold hundreds of addresses each, or one of an inode's first.
        while row > 0 && !self.has_room(Need { data: row, nodes: row / 128 + 4 }) {
            row = row.saturating_sub(STEP);
        }
        row
    }

    fn write_in_a_row(&mut self, nid: Nid, from: u64, blocks: u64) -> Result<()> {
        let blocks_mut = self.tree.blocks_mut();
        blocks_mut.nodes_mut().writer_mut().begin_row(Log::ColdData, word(blocks))?;
        let (mut at, mut left) = (from, blocks);
        while left > 0 {
            let most = left.min(STEP);
            at = blocks_mut.rewrite(nid, at, most)?;
            left -= most;
        }
        Ok(())
    }

    /// Makes the present state that of the volume, if it changed. `elapsed` are the seconds that the volume was mounted
    /// in its life.
    pub(super) fn commit(&mut self, elapsed: u64) -> Result<()> {
        if self.changes() == self.committed { Ok(()) } else { self.write(elapsed, false) }
    }

    /// Tells the device of all free blocks within a range of its bytes, in pieces of `least` bytes at least, once the
    /// present state is that of the volume. Returns how many bytes these are.
    pub(super) fn trim(&mut self, range: &Range<u64>, least: u64, elapsed: u64) -> Result<u64> {
        self.commit(elapsed)?;
        self.tree.blocks_mut().nodes_mut().writer_mut().trim(range, least)
    }

    /// The same; it says that nothing is written behind it.
    pub(super) fn close(&mut self, elapsed: u64) -> Result<()> {
        let is_clean = self.tree.blocks().nodes().writer().is_clean();
        if self.changes() == self.committed && is_clean { Ok(()) } else { self.write(elapsed, true) }
    }

    fn write(&mut self, elapsed: u64, is_clean: bool) -> Result<()> {
        self.tree.blocks_mut().nodes_mut().writer_mut().set_time(elapsed);
        quota::write_usage(self.tree.blocks_mut())?;
        self.tree.blocks_mut().flush()?;
        let (orphans, reserve) = (self.tree.orphans(), self.reserve);
        let nodes = self.tree.blocks_mut().nodes_mut();
        nodes.writer_mut().commit(elapsed, &orphans, reserve, is_clean)?;
        nodes.committed();
        self.committed = self.changes();
        self.is_roomy = self.has_room(Need { data: ROOMY, nodes: ROOMY }) && self.has_room_for_chain(ROOMY);
        Ok(())
    }
}

/// The emptiest section first, and none that is full.
const EMPTIEST: Rule = |sections| choose(&Greedy, sections);

/// True if cleaning a section brings more than it costs.
fn is_worth_it(view: &SegmentView) -> bool {
    view.valid * 8 <= view.capacity * 7
}

/// The choice of a section to clean while nobody waits. A volume that is younger than the threshold has no ages to
/// speak of, as Linux has it.
fn idle_rule(cleaning: IdleCleaning, elapsed: u64) -> Rule {
    match cleaning {
        IdleCleaning::AgeThreshold if elapsed >= AGE_THRESHOLD.into() => {
            |sections| choose_aged(AGE_THRESHOLD, sections)
        }
        IdleCleaning::AgeThreshold | IdleCleaning::CostBenefit => |sections| choose(&CostBenefit, sections),
    }
}
