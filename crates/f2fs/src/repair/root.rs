//! A root directory made anew, where none is left: an empty one, in a segment that nothing uses. The inodes that the old
//! one named are found in lost+found.

use pumice_vfs::{FileKind, Timestamp};

use super::{
    bench::{Bench, put},
    pack::HOT_NODES,
};
use crate::{
    check::{Code, Object, Report},
    error::Result,
    layout::{
        BlockAddr, Dentry, DentryLayout, Inode, NatEntry, NodeFooter, NodeOffset, SegNo, SitEntry, Summary,
        file_type,
    },
};

/// Rights of the directory.
const PERM: u16 = 0o755;

/// Makes a root directory, if the check found none and no node of it is left. Nothing is written over the nodes of `chain`.
pub(super) fn mend(bench: &mut Bench, report: &Report, chain: &[BlockAddr], now: Timestamp) -> Result<()> {
    let root = bench.volume.super_block().root();
    let is_told = |finding: &crate::check::Finding| {
        (finding.code, finding.object) == (Code::Inode, Object::Inode(root))
    };
    let entry = bench.nat(root)?;
    if entry.is_used() || !report.findings.iter().any(is_told) {
        return Ok(());
    }
    let Some(segno) = free_segment(bench, chain)? else { return Ok(()) };
    let addr = bench.volume.segment_start(segno);
    let block = block(bench, now);
    bench.draft.write(addr, &block);
    // The footer is there already: this gives the block its checksum.
    bench.edit_footer(addr, |_| ())?;
    let used = bench.sit(segno)?;
    bench.set_sit(segno, &SitEntry { kind: HOT_NODES, ..used })?;
    bench.mark(addr, true)?;
    bench.set_kind(segno, true)?;
    let version = entry.version;
    bench.edit_summary(segno, |summary| summary.set_entry(0, Summary { nid: root, version, offset: 0 }))?;
    bench.set_nat(root, NatEntry { version, ino: root, addr })
}

fn free_segment(bench: &Bench, chain: &[BlockAddr]) -> Result<Option<SegNo>> {
    let is_kept =
        |segno| chain.iter().any(|addr| bench.volume.segment_of(*addr).is_some_and(|at| at.0 == segno));
    for segno in (0..bench.volume.super_block().main_segments()).map(SegNo) {
        if bench.pack.log_of(segno).is_none() && bench.sit(segno)?.bits() == 0 && !is_kept(segno) {
            return Ok(Some(segno));
        }
    }
    Ok(None)
}

/// The inode, with its entries in it.
fn block(bench: &Bench, now: Timestamp) -> Vec<u8> {
    let (root, size) = (bench.volume.super_block().root(), bench.volume.block_size());
    let inode = Inode::fresh_root(root, PERM, now, size, bench.volume.features());
    let range = inode.inline_range();
    let (mut names, layout) = (vec![0; range.len()], DentryLayout::for_bytes(range.len()));
    for (slot, name) in [(0, &b"."[..]), (1, b"..")] {
        let file_type = file_type(FileKind::Dir);
        layout.put(&mut names, &Dentry { slot, hash: 0, ino: root, file_type, name });
    }
    let mut block = vec![0; size.width()];
    inode.write_to(&mut block);
    put(&mut block, range.start, &names);
    let footer = NodeFooter {
        nid: root,
        ino: root,
        is_cold: false,
        is_fsync: false,
        is_dentry: false,
        offset: NodeOffset::INODE,
        cp_version: bench.volume.checkpoint().version(),
        next: BlockAddr::NULL,
    };
    footer.write_to(&mut block);
    block
}
