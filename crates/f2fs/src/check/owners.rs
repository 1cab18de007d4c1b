//! The owners of blocks: each is pointed to once, and the summary of its segment says by which node.

use std::collections::BTreeMap;

use super::{
    bitmap::BlockSet,
    codes::Code,
    findings::{Cure, Findings, Object},
};
use crate::{
    layout::{BlockAddr, Features, Nid, SegNo, Summary, SummaryBlock},
    volume::Volume,
};

/// Summaries that a worker keeps. It follows a few logs at a time.
const KEPT: usize = 32;

/// The blocks that are pointed to.
pub(super) struct Reached {
    pub(super) all: BlockSet,
    pub(super) nodes: BlockSet,
}

impl Reached {
    pub(super) fn new(volume: &Volume) -> Reached {
        let sb = volume.super_block();
        let blocks = sb.main_end().saturating_sub(sb.main_start().0.into());
        Reached { all: BlockSet::new(blocks), nodes: BlockSet::new(blocks) }
    }
}

/// The place of a pointer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) nid: Nid,
    pub(super) version: u8,
    pub(super) slot: u16,
}

/// Checks owners, with the summaries that were used last.
pub(super) struct Owners<'a> {
    volume: &'a Volume,
    reached: &'a Reached,
    kept: BTreeMap<SegNo, Option<SummaryBlock>>,
    /// Those of the last node and of the last block of data: the two take turns.
    last: [Option<(SegNo, Option<SummaryBlock>)>; 2],
}

/// The index of each of the two.
const NODE: usize = 0;
const DATA: usize = 1;

impl<'a> Owners<'a> {
    pub(super) fn new(volume: &'a Volume, reached: &'a Reached) -> Owners<'a> {
        Owners { volume, reached, kept: BTreeMap::new(), last: [None, None] }
    }

    /// A node, which stands at `addr` of the main area.
    pub(super) fn node(&mut self, addr: BlockAddr, nid: Nid, version: u8, findings: &mut Findings) {
        let Some((segno, offset)) = self.volume.segment_of(addr) else { return };
        let block = addr.0 - self.volume.super_block().main_start().0;
        self.reached.nodes.insert(block);
        if self.reached.all.insert(block) {
            shared(addr, nid, Cure::Place, findings);
        }
        let found = self.summary(segno, NODE, findings).map(|summary| summary.entry(offset));
        if let Some(found) = found.filter(|found| found.nid != nid) {
            let right = Cure::Owner(Summary { nid, version, offset: 0 });
            findings.add_with(Code::SsaOwner, Object::Block(addr), right, || {
                format!("its summary names node {}, and it is node {nid}", found.nid)
            });
        }
    }

    /// A block that has no summary, because its file stands for a whole device.
    pub(super) fn aliased(&mut self, addr: BlockAddr, ino: Nid, findings: &mut Findings) {
        if self.reached.all.insert(addr.0.saturating_sub(self.volume.super_block().main_start().0)) {
            shared(addr, ino, Cure::Place, findings);
        }
    }

    /// A block of data, to which `owner` points; true if nobody else did before.
    pub(super) fn data(&mut self, addr: BlockAddr, owner: Owner, findings: &mut Findings) -> bool {
        let Some((segno, offset)) = self.volume.segment_of(addr) else { return false };
        let is_first = !self.reached.all.insert(addr.0 - self.volume.super_block().main_start().0);
        if !is_first {
            shared(addr, owner.nid, Cure::Pointer(owner.nid, owner.slot), findings);
        }
        let Some(found) = self.summary(segno, DATA, findings).map(|summary| summary.entry(offset)) else {
            return is_first;
        };
        let Owner { nid, version, slot } = owner;
        if (found.nid, found.version, found.offset) != (nid, version, slot) {
            let right = Cure::Owner(Summary { nid, version, offset: slot });
            findings.add_with(Code::SsaOwner, Object::Block(addr), right, || {
                format!(
                    "its summary names address {} of node {} (version {}), and address {slot} of node {nid} (version \
                     {version}) points to it",
                    found.offset, found.nid, found.version
                )
            });
        }
        is_first
    }

    /// The newest summary of a segment; `None` where it is known only to the nodes themselves, or cannot be read.
    fn summary(&mut self, segno: SegNo, of: usize, findings: &mut Findings) -> Option<&SummaryBlock> {
        let last = self.last.get_mut(of)?;
        if last.as_ref().is_none_or(|(last, _)| *last != segno) {
            let next = match self.kept.remove(&segno) {
                Some(summary) => summary,
                None => newest(self.volume, segno, findings),
            };
            if let Some((last, summary)) = last.replace((segno, next)) {
                if self.kept.len() >= KEPT {
                    self.kept.pop_first();
                }
                self.kept.insert(last, summary);
            }
        }
        last.as_ref().and_then(|(_, summary)| summary.as_ref())
    }
}

/// The summary of a segment: of a log's head that in the checkpoint, if there is one, otherwise that of the SSA. Volumes
/// that were made to be read only have none: nothing in them will ever be moved.
pub(super) fn newest(volume: &Volume, segno: SegNo, findings: &mut Findings) -> Option<SummaryBlock> {
    if volume.features().has(Features::RO) {
        return None;
    }
    if let Some(head) = volume.log_heads().iter().find(|head| head.segno == segno) {
        return head.summary.clone();
    }
    match volume.ssa(segno) {
        Ok(summary) => Some(summary),
        Err(error) => {
            findings.add(Code::BlockUnreadable, Object::Segment(segno), || error.to_string());
            None
        }
    }
}

fn shared(addr: BlockAddr, nid: Nid, pointer: Cure, findings: &mut Findings) {
    findings.add_with(Code::BlockShared, Object::Block(addr), pointer, || {
        format!("node {nid} is not the only one that points to it")
    });
}
