//! References between nodes: each node is named once, by the node above it, in the place that its footer says.

use super::{
    codes::Code,
    findings::{Findings, Object},
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
    for reference in &left.references {
        let Some((place, row)) = table.find(reference.to) else {
            missing(reference, findings);
            continue;
        };
        debug_assert!(place < offsets.len(), "a node without a place");
        let noted = offsets.get(place).copied().unwrap_or(UNKNOWN);
        let offset = if row.is_inode() { NodeOffset::INODE.0 } else { noted };
        if row.ino != reference.ino || (offset != UNKNOWN && offset != reference.offset) {
            findings.add(Code::NodePlace, Object::Node(reference.to), || {
                format!(
                    "it stands in place {offset} of inode {}, and node {} names it for place {} of inode {}",
                    row.ino, reference.from, reference.offset, reference.ino
                )
            });
        }
        if let Some(count) = references.get_mut(place) {
            *count += 1;
        }
    }
    for (row, count) in table.rows().iter().zip(references) {
        if row.is_inode() || count == 1 {
            continue;
        }
        if count == 0 {
            findings.add(Code::NodeUnreferenced, Object::Node(row.nid), || {
                format!("no node of inode {} names it", row.ino)
            });
        } else {
            findings.add(Code::NodeShared, Object::Node(row.nid), || format!("it is named {count} times"));
        }
    }
}

fn missing(reference: &Reference, findings: &mut Findings) {
    let Reference { from, to, ino, .. } = reference;
    findings.add(Code::NodeMissing, Object::Node(*to), || {
        format!("node {from} of inode {ino} names it, and the NAT has no such node")
    });
}
