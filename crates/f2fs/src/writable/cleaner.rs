//! The cleaner: takes the blocks in use out of a section, so that all of it is free after the next checkpoint.
//! Survivors wait with all other changed blocks, and are written with them.

use std::collections::{BTreeMap, VecDeque};

use pumice_cleaning::SegmentView;

use super::blocks::Blocks;
use crate::{
    error::Result,
    layout::{BlockAddr, SegNo},
    write::victims::{Lodger, Rule},
};

/// The section being cleaned.
#[derive(Default)]
pub(super) struct Cleaner {
    job: Option<Job>,
    /// Sections that are left alone as long as a block is in use that cannot be moved: it is pinned, cannot be read, or
    /// has no known owner. `None`: the contents of the section are not known at all.
    left_alone: BTreeMap<u32, Option<BlockAddr>>,
}

/// A section that is being cleaned.
struct Job {
    section: u32,
    /// All its segments, and those that were not looked at yet.
    segments: Vec<SegNo>,
    ahead: VecDeque<SegNo>,
    /// The blocks that are still to be moved out of the last segment looked at.
    lodgers: VecDeque<Lodger>,
}

impl Cleaner {
    /// True if a section is being cleaned.
    pub(super) fn is_busy(&self) -> bool {
        self.job.is_some()
    }

    /// Chooses the next section by `rule`, of those that `may` be cleaned, by number. False if there is none.
    pub(super) fn begin(
        &mut self,
        blocks: &mut Blocks,
        rule: Rule,
        may: impl Fn(u32, &SegmentView) -> bool,
    ) -> bool {
        debug_assert!(self.job.is_none(), "a section is being cleaned");
        self.forget_what_went(blocks);
        let left_alone = &self.left_alone;
        let writer = blocks.nodes().writer();
        let chosen = writer.choose(rule, |at, view| !left_alone.contains_key(&at) && may(at, view));
        let Some(section) = chosen else { return false };
        let segments = blocks.nodes_mut().writer_mut().seize(section);
        let ahead = segments.iter().copied().collect();
        self.job = Some(Job { section, segments, ahead, lodgers: VecDeque::new() });
        true
    }

    fn forget_what_went(&mut self, blocks: &mut Blocks) {
        let writer = blocks.nodes_mut().writer_mut();
        // A SIT that cannot be read says nothing against it.
        let mut is_used =
            |addr: &mut Option<BlockAddr>| addr.is_none_or(|addr| writer.is_used(addr) != Ok(false));
        self.left_alone.retain(|_, addr| is_used(addr));
    }

    /// Has up to `most` blocks wait to be written elsewhere; returns how many. Nothing is written, and a section of which a block
    /// cannot be moved is let go.
    pub(super) fn step(&mut self, blocks: &mut Blocks, most: u64) -> u64 {
        let mut count = 0;
        while count < most {
            let Some(job) = &mut self.job else { break };
            let Some(lodger) = job.lodgers.pop_front() else {
                let Some(segno) = job.ahead.pop_front() else {
                    self.job = None;
                    break;
                };
                match blocks.nodes_mut().writer_mut().lodgers(segno) {
                    Ok(lodgers) => job.lodgers = lodgers.into(),
                    Err(_) => self.leave_alone(blocks, None),
                }
                continue;
            };
            match migrate(blocks, &lodger) {
                Ok(true) => count += 1,
                Ok(false) | Err(_) => self.leave_alone(blocks, Some(lodger.addr)),
            }
        }
        count
    }

    fn leave_alone(&mut self, blocks: &mut Blocks, why: Option<BlockAddr>) {
        if let Some(job) = self.job.take() {
            blocks.nodes_mut().writer_mut().let_go(&job.segments);
            self.left_alone.insert(job.section, why);
        }
    }
}

/// Has a block wait to be written elsewhere, if it is still in use; false if it has to stay.
fn migrate(blocks: &mut Blocks, lodger: &Lodger) -> Result<bool> {
    if !blocks.nodes_mut().writer_mut().is_used(lodger.addr)? {
        return Ok(true);
    }
    if lodger.is_node {
        return blocks.nodes_mut().migrate(lodger.owner.nid, lodger.addr).map(|()| true);
    }
    blocks.migrate(lodger.owner.nid, lodger.owner.offset, lodger.addr)
}
