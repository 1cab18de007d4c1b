//! Copies of parity where no checkpoint names them: the first page of each block that holds some tells.

use alloc::vec::Vec;

use pumice_flashlog::Medium;
use pumice_media::{AnyChip, Nand};
use pumice_vfs::Result;

use crate::error::device;
use crate::pages::Pages;
use crate::params::{ANCHOR_BLOCKS, Params};
use crate::protection::FsyncProtection;
use crate::tag::COPIES;

/// The blocks with copies, oldest first, and those that hold other pages and have no parity of their own.
fn search(medium: &mut Medium<'_>, params: &Params) -> Result<(Vec<u32>, Vec<u32>)> {
    let (mut copies, mut open) = (Vec::new(), Vec::new());
    for block in ANCHOR_BLOCKS..params.blocks {
        match medium.read_proved(params.page(block, 0)).map_err(device)? {
            Some(first) if first.tag.kind == COPIES => copies.push((first.tag.seq, block)),
            _ if medium.next_programmed(block, 0).map_err(device)?.is_none() => {}
            _ if medium.has_parity(block).map_err(device)? => {}
            _ => open.push(block),
        }
    }
    copies.sort_unstable();
    Ok((copies.into_iter().map(|(_, block)| block).collect(), open))
}

/// The protection of promises on a chip without anchors: at once, if it has copies of parity.
pub(super) fn find_protection(
    nand: &mut (dyn Nand + Send),
    params: &Params,
    parity: u8,
) -> Result<FsyncProtection> {
    let params = params.with_parity(parity)?;
    let mut medium = Medium::new(AnyChip::lend(nand), params.shape);
    let has_copies = parity > 0 && !search(&mut medium, &params)?.0.is_empty();
    Ok(if has_copies { FsyncProtection::Now } else { FsyncProtection::AtClose })
}

/// Finds the copies of parity, and keeps them for the blocks without any other until their data has moved.
pub(super) fn find_copies(pages: &mut Pages<'_>, params: &Params) -> Result<()> {
    if params.copy_blocks == 0 {
        return Ok(());
    }
    let (mut copies, open) = search(pages.medium_mut(), params)?;
    // Everything was copied anew there, or in those before.
    let most = 2 * params.copy_blocks as usize + 1;
    copies.drain(..copies.len().saturating_sub(most));
    pages.guard(&copies, &open);
    Ok(())
}
