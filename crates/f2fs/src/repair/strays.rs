//! Blocks that the SIT has as valid and nothing points to: where something is missing, they may be it.

use std::collections::BTreeMap;

use super::{bench::Bench, pack::DATA_LOGS};
use crate::{
    check::{Code, Object, Report},
    layout::{BlockAddr, Nid, NodeFooter, Summary},
};

/// Nodes and blocks of data without an owner, by what they say they are.
#[derive(Default)]
pub(super) struct Strays {
    nodes: BTreeMap<Nid, (BlockAddr, NodeFooter)>,
    data: BTreeMap<(Nid, u16), (BlockAddr, Summary)>,
}

impl Strays {
    /// Those of a report.
    pub(super) fn of(bench: &Bench, report: &Report) -> Strays {
        let mut strays = Strays::default();
        for finding in report.findings.iter().filter(|finding| finding.code == Code::SitExtra) {
            let Object::Block(addr) = finding.object else { continue };
            strays.take(bench, addr);
        }
        strays
    }

    fn take(&mut self, bench: &Bench, addr: BlockAddr) {
        let Some((segno, _)) = bench.volume.segment_of(addr) else { return };
        let is_node = bench.sit(segno).is_ok_and(|entry| usize::from(entry.kind) >= DATA_LOGS);
        if !is_node {
            if let Ok(Some(owner)) = bench.volume.summary(addr) {
                self.data.insert((owner.nid, owner.offset), (addr, owner));
            }
            return;
        }
        let Some(footer) = bench.draft.read(addr).ok().and_then(|block| NodeFooter::of(&block)) else {
            return;
        };
        // A checkpoint's checksum may stand above its version.
        let age = |footer: &NodeFooter| footer.cp_version & u64::from(u32::MAX);
        let is_newer = |(_, known): &(BlockAddr, NodeFooter)| age(known) < age(&footer);
        if self.nodes.get(&footer.nid).is_none_or(is_newer) {
            self.nodes.insert(footer.nid, (addr, footer));
        }
    }

    /// The newest stray node of a number.
    pub(super) fn node(&self, nid: Nid) -> Option<(BlockAddr, NodeFooter)> {
        self.nodes.get(&nid).copied()
    }

    /// The stray block that an address of a node owns, by the block's summary.
    pub(super) fn block(&self, nid: Nid, slot: u16) -> Option<BlockAddr> {
        self.data.get(&(nid, slot)).map(|(addr, _)| *addr)
    }

    /// All stray blocks of data, with their owners.
    pub(super) fn data(&self) -> impl Iterator<Item = (BlockAddr, Summary)> {
        self.data.values().copied()
    }
}
