//! Repairs of the tree of nodes of an inode: each node is named once, for the place that its footer says.

use std::collections::BTreeSet;

use super::bench::{Bench, put, word_at};
use crate::{
    check::{Code, Cure, Finding, Object, Report},
    error::Result,
    layout::{BlockAddr, Inode, NatEntry, Nid, NodeFooter, NodeOffset, RawInode},
};

/// Mends all findings about references.
pub(super) fn mend(bench: &Bench, report: &Report) -> Result<()> {
    let of = |code| report.findings.iter().filter(move |finding| finding.code == code);
    let node = |finding: &Finding| match finding.object {
        Object::Node(nid) => Some(nid),
        _ => None,
    };
    let shared: BTreeSet<Nid> = of(Code::NodeShared).filter_map(node).collect();
    // A place that names nothing may be that of a node that nothing names.
    for nid in of(Code::NodeUnreferenced).filter_map(node) {
        if !attach(bench, nid)? {
            let entry = bench.nat(nid)?;
            bench.set_nat(nid, NatEntry { addr: BlockAddr::NULL, ..entry })?;
        }
    }
    for finding in of(Code::NodeMissing).chain(of(Code::NodePlace)) {
        let Some(nid) = node(finding) else { continue };
        match finding.cure {
            Cure::Reference { from, ino, offset } => {
                let here = Reference { from, to: nid, ino, offset };
                if finding.code == Code::NodeMissing || shared.contains(&nid) || !here.is_right(bench)? {
                    here.remove(bench)?;
                } else {
                    here.mend_footer(bench)?;
                }
            }
            _ => mend_inode(bench, nid)?,
        }
    }
    Ok(())
}

/// An inode is its own first node.
fn mend_inode(bench: &Bench, nid: Nid) -> Result<()> {
    let entry = bench.nat(nid)?;
    if entry.ino != nid {
        return Ok(());
    }
    bench.edit_footer(entry.addr, |footer| footer.offset = NodeOffset::INODE)
}

struct Reference {
    from: Nid,
    to: Nid,
    ino: Nid,
    offset: u32,
}

impl Reference {
    /// True if the node is of this inode, and only its place is another.
    fn is_right(&self, bench: &Bench) -> Result<bool> {
        let entry = bench.nat(self.to)?;
        Ok(entry.ino == self.ino && self.to != self.ino)
    }

    fn mend_footer(&self, bench: &Bench) -> Result<()> {
        let entry = bench.nat(self.to)?;
        bench.edit_footer(entry.addr, |footer| footer.offset = NodeOffset(self.offset))
    }

    /// Takes the reference away, if it still is there.
    fn remove(&self, bench: &Bench) -> Result<()> {
        let Some(place) = place_of(bench, self.ino, self.offset) else { return Ok(()) };
        let is_there = bench.node(place.from).and_then(|block| word_at(&block, place.at)) == Some(self.to.0);
        if place.from != self.from || !is_there {
            return Ok(());
        }
        bench.edit_node(place.from, |block| put(block, place.at, &0_u32.to_le_bytes()))
    }
}

/// The place where a node is named.
struct Place {
    from: Nid,
    /// Bytes from the start of that node.
    at: usize,
}

/// Has a node named where its footer says that it belongs, if nothing that is there is named; true if so.
fn attach(bench: &Bench, nid: Nid) -> Result<bool> {
    let Some(footer) = bench.node(nid).and_then(|block| NodeFooter::of(&block)) else { return Ok(false) };
    let Some(place) = place_of(bench, footer.ino, footer.offset.0).filter(|_| footer.nid == nid) else {
        return Ok(false);
    };
    let named = bench.node(place.from).and_then(|block| word_at(&block, place.at)).map(Nid);
    let Some(named) = named else { return Ok(false) };
    let stands = bench.node(named).and_then(|block| NodeFooter::of(&block));
    let is_right = stands
        .is_some_and(|stands| (stands.nid, stands.ino, stands.offset) == (named, footer.ino, footer.offset));
    if is_right || named == nid {
        return Ok(named == nid);
    }
    bench.edit_node(place.from, |block| put(block, place.at, &nid.0.to_le_bytes()))?;
    Ok(true)
}

/// The place where the node for place `offset` of an inode is named.
fn place_of(bench: &Bench, ino: Nid, offset: u32) -> Option<Place> {
    let (inode, block) = bench.inode(ino)?;
    let per_node = bench.volume.block_size().node_words();
    if offset == NodeOffset::XATTR.0 {
        return Some(Place { from: ino, at: std::mem::offset_of!(RawInode, i_xattr_nid) });
    }
    let roots = [1, 2, 3, 4 + per_node, 5 + 2 * per_node];
    let root = |index: usize| Place { from: ino, at: nids_at(&block) + index * 4 };
    if let Some(index) = roots.iter().position(|root| *root == offset) {
        return Some(root(index));
    }
    let (above, first, step) = above(offset, per_node)?;
    let from = match roots.iter().position(|root| *root == above) {
        Some(index) => *inode.nids(&block).get(index)?,
        None => named_in(bench, &inode, &block, above)?,
    };
    let at = (offset - first) / step * 4;
    bench.node_of(from, &block, NodeOffset(above)).map(|_| Place { from, at: at as usize })
}

/// The place of the node above the one for place `offset`, the place of the first node below that, and the distance
/// between two of them.
fn above(offset: u32, per_node: u32) -> Option<(u32, u32, u32)> {
    let (single, second, double) = (3, 4 + per_node, 5 + 2 * per_node);
    match offset {
        _ if offset <= single => None,
        _ if offset < second => Some((single, single + 1, 1)),
        _ if offset > second && offset < double => Some((second, second + 1, 1)),
        _ if offset > double => {
            let inside = offset - double - 1;
            let group = inside / (per_node + 1);
            if inside.is_multiple_of(per_node + 1) {
                return Some((double, double + 1, per_node + 1));
            }
            let above = double + 1 + group * (per_node + 1);
            (group < per_node).then_some((above, above + 1, 1))
        }
        _ => None,
    }
}

/// The indirect node below the double indirect one.
fn named_in(bench: &Bench, inode: &Inode, block: &[u8], offset: u32) -> Option<Nid> {
    let per_node = bench.volume.block_size().node_words();
    let [.., double] = inode.nids(block);
    let place = 5 + 2 * per_node;
    let index = (offset - place - 1) / (per_node + 1);
    word_at(&bench.node_of(double, block, NodeOffset(place))?, index as usize * 4).map(Nid)
}

/// The five nodes that an inode names stand in front of its footer.
fn nids_at(block: &[u8]) -> usize {
    block.len().saturating_sub(FOOTER_BYTES + 5 * 4)
}

const FOOTER_BYTES: usize = size_of::<crate::layout::RawNodeFooter>();
