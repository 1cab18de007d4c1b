//! References between nodes: each node is named once, by the node above it, in the place that its footer says.

use super::{
    codes::Code,
    findings::{Cure, Findings, Object},
    nat::NodeTable,
    worker::{Left, Reference},
};
use crate::layout::NodeOffset;

/// The footer of a node was not read.
const UNKNOWN: u32 = u32::MAX;

/// Compares references with footers.
pub(super) fn check(table: &NodeTable, left: &Left, findings: &mut Findings) {
    let mut offsets = vec![UNKNOWN; table.rows().len()];
    for (place, offset) in &left.footers {
        if let Some(known) = offsets.get_mut(*place as usize) {
            *known = *offset;
        }
    }
    let mut references = vec![0u32; table.rows().len()];
    let mut last = Vec::new();
    for reference in &left.references {
        let Some((place, row)) = table.find(reference.to) else {
            missing(reference, findings);
            continue;
        };
        debug_assert!(place < offsets.len(), "a node without a place");
        let noted = offsets.get(place).copied().unwrap_or(UNKNOWN);
        let offset = if row.is_inode() { NodeOffset::INODE.0 } else { noted };
        if row.ino != reference.ino || (offset != UNKNOWN && offset != reference.offset) {
            findings.add_with(Code::NodePlace, Object::Node(reference.to), cure(reference), || {
                format!(
                    "it stands in place {offset} of inode {}, and node {} names it for place {} of inode {}",
                    row.ino, reference.from, reference.offset, reference.ino
                )
            });
        }
        if let Some(count) = references.get_mut(place) {
            *count += 1;
            if *count > 1 {
                last.push(*reference);
            }
        }
    }
    for (row, count) in table.rows().iter().zip(references) {
        if !row.is_inode() && count == 0 {
            findings.add(Code::NodeUnreferenced, Object::Node(row.nid), || {
                format!("no node of inode {} names it", row.ino)
            });
        }
    }
    for reference in last.iter().filter(|reference| table.find(reference.to).is_some()) {
        findings.add_with(Code::NodeShared, Object::Node(reference.to), cure(reference), || {
            format!("node {} is not the only one that names it", reference.from)
        });
    }
}

fn cure(reference: &Reference) -> Cure {
    let Reference { from, ino, offset, .. } = *reference;
    Cure::Reference { from, ino, offset }
}

fn missing(reference: &Reference, findings: &mut Findings) {
    let Reference { from, to, ino, .. } = reference;
    findings.add_with(Code::NodeMissing, Object::Node(*to), cure(reference), || {
        format!("node {from} of inode {ino} names it, and the NAT has no such node")
    });
}
