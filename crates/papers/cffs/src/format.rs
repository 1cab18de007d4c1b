//! Making a file system.

use pumice_common::{Attributes, FormatOptions, Identity, is_of};
use pumice_media::{AnyChip, Nand};
use pumice_vfs::{Errno, FileKind, FsError, Result};

use crate::flash::Flash;
use crate::inode::Inode;
use crate::record::Record;
use crate::volume::{Volume, blank};

/// Good blocks that there must be.
const GOOD_MIN: usize = 24;

/// Makes an empty file system on the chip; the old contents are gone. Every good erase block is erased.
///
/// # Errors
/// [`Errno::NotSupported`] for a chip with pages that no inode fits (table 1), or that is too small or too large.
pub fn format<N: Nand + Send>(mut nand: N, options: &FormatOptions) -> Result<N> {
    format_chip(AnyChip::lend(&mut nand), options)?;
    Ok(nand)
}

fn format_chip(nand: AnyChip<'_>, options: &FormatOptions) -> Result<()> {
    let identity = Identity::new(options.uuid, &options.label)?;
    let mut flash = Flash::new(nand)?;
    let layout = flash.layout();
    let mut good = Vec::new();
    for block in 0..layout.blocks() {
        if !flash.is_bad(block)? && flash.erase(block)? {
            good.push(block);
        }
    }
    // The map is the first block (2.1), which chips promise to be good.
    let (Some([map, block]), true) = (good.first_chunk().copied(), good.len() >= GOOD_MIN) else {
        return Err(FsError::new(Errno::NoSpace, format!("only {} good erase blocks", good.len())));
    };
    let record = Record { identity, map, block };
    record.write(&mut flash)?;
    let attributes = Attributes::root(options.owner, options.created);
    let root = Inode { attributes, ..blank(FileKind::Dir, &layout) };
    Volume::make(flash, record, &root).map(drop)
}

/// True if the chip carries this file system, in any version; reads a few pages of the first blocks.
pub fn probe(nand: &mut (dyn Nand + Send)) -> Result<bool> {
    match Flash::new(AnyChip::lend(nand)) {
        Ok(mut flash) => {
            let found = Record::find(&mut flash);
            is_of(found, flash.chip().stats().violations == 0)
        }
        Err(error) if error.errno() == Errno::NotSupported => Ok(false),
        Err(error) => Err(error),
    }
}
