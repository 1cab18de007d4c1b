//! Both super blocks: the sound one counts, and where both are and differ, the one that fits the volume.

use zerocopy::IntoBytes;

use super::{bench::put, draft::Draft};
use crate::{
    check::{check, is_refused},
    error::Result,
    layout::{BlockAddr, Features, RawSuperBlock, SUPER_OFFSET, SuperBlock},
    volume::read_super_blocks,
};

/// Makes both the same.
pub(super) fn mend(draft: &Draft, threads: usize) -> Result<()> {
    let copies = read_super_blocks(draft);
    let [first, second] = copies.each_ref().map(|copy| copy.as_ref().ok().filter(|sb| !is_refused(sb)));
    let chosen = match (first, second) {
        (Some(first), Some(second))
            if first.without_notes().as_bytes() == second.without_notes().as_bytes() =>
        {
            first
        }
        (Some(first), Some(second)) => {
            // Most damages make a volume one of a kind that it is not.
            let [one, other] = [first, second].map(|sb| (problems(draft, sb, threads), is_rare(sb)));
            if other < one { second } else { first }
        }
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => return Ok(()),
    };
    write(draft, chosen.raw())
}

/// Clears the notes about trouble.
pub(super) fn clear_notes(draft: &Draft, sb: &SuperBlock) -> Result<()> {
    write(draft, &sb.without_notes())
}

pub(super) fn write(draft: &Draft, raw: &RawSuperBlock) -> Result<()> {
    let at = usize::try_from(SUPER_OFFSET).unwrap_or(0);
    [0, 1]
        .into_iter()
        .try_for_each(|at_block| draft.edit(BlockAddr(at_block), |block| put(block, at, raw.as_bytes())))
}

/// True for a volume of a kind that is not repaired.
fn is_rare(sb: &SuperBlock) -> bool {
    let rare = [Features::BLKZONED, Features::RO, Features::DEVICE_ALIAS];
    sb.devices().len() > 1 || rare.into_iter().any(|feature| sb.features().has(feature))
}

/// The number of faults of the volume that a super block shows.
fn problems(draft: &Draft, sb: &SuperBlock, threads: usize) -> usize {
    let draft = draft.fork();
    if write(&draft, sb.raw()).is_err() {
        return usize::MAX;
    }
    check(vec![Box::new(draft)], threads, &mut |_, _| ()).map_or(usize::MAX, |report| report.count)
}
