//! Making a file system.

use pumice_common::{Attributes, FormatOptions, Identity, ROOT, chip, is_of};
use pumice_media::{AnyChip, Nand, NandError};
use pumice_vfs::{Errno, FsError, Result};

use crate::checkpoint;
use crate::flash::Flash;
use crate::inode::Inode;
use crate::log::{Log, Position};
use crate::volume::Volume;

/// Makes an empty file system on the chip; the old contents are gone. Every good erase block is erased.
///
/// # Errors
/// [`Errno::NotSupported`] for a chip with pages of other than 512 bytes (section 3.2), or that is too small.
pub fn format<N: Nand + Send>(mut nand: N, options: &FormatOptions) -> Result<N> {
    format_chip(AnyChip::lend(&mut nand), options)?;
    Ok(nand)
}

fn format_chip(nand: AnyChip<'_>, options: &FormatOptions) -> Result<()> {
    let identity = Identity::new(options.uuid, &options.label)?;
    let mut flash = Flash::new(nand)?;
    let layout = *flash.layout();
    // Blocks of an older volume in the log must not look newer than the next ones.
    let time = checkpoint::find(&mut flash)
        .ok()
        .flatten()
        .map_or(0, |(found, _)| found.position.time.saturating_add(1 << 16));
    let mut good = Vec::new();
    for block in 0..layout.log_blocks() + layout.region_blocks() {
        if flash.is_bad(block)? {
            continue;
        }
        match flash.erase(block) {
            Ok(()) if block < layout.log_blocks() => good.push(block),
            Ok(()) => {}
            Err(NandError::EraseFailed(_)) => flash.mark_bad(block)?,
            Err(error) => return Err(chip(error)),
        }
    }
    let (Some(last), true) = (good.last().copied(), good.len() >= 24) else {
        return Err(FsError::new(
            Errno::NoSpace,
            format!("only {} good erase blocks for the log", good.len()),
        ));
    };
    let count = u32::try_from(good.len()).unwrap_or(u32::MAX);
    // The ring stands behind its last erase block: the first is opened next.
    let position = Position {
        current: layout.addr(last, layout.slots() - 1),
        last,
        free: count,
        bad: layout.log_blocks() - count,
        time,
        unsure: 0,
    };
    let attributes = Attributes::root(options.owner, options.created);
    let root = Inode { attributes, nlink: 2, generation: 0, blocks: 0, parent: ROOT, xattrs: 0 };
    Volume::make(Log::fresh(flash, position), identity, &root)?.flush().map_err(chip)
}

/// True if the chip carries this file system; reads the checkpoint region alone.
pub fn probe(nand: &mut (dyn Nand + Send)) -> Result<bool> {
    match Flash::new(AnyChip::lend(nand)) {
        Ok(mut flash) => {
            let found = checkpoint::find(&mut flash);
            is_of(found, flash.chip().stats().violations == 0)
        }
        Err(error) if error.errno() == Errno::NotSupported => Ok(false),
        Err(error) => Err(error),
    }
}
