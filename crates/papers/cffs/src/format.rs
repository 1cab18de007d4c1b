//! Making a file system.

use pumice_media::{AnyChip, Nand};
use pumice_vfs::{Errno, FileKind, FsError, Result, Timestamp};

use crate::flash::Flash;
use crate::inode::Inode;
use crate::record::{LABEL_MAX, Record};
use crate::volume::{Volume, blank};

/// Good blocks that there must be.
const GOOD_MIN: usize = 24;

/// The options of mkfs.
#[derive(Clone, Debug, Default)]
pub struct FormatOptions {
    /// A name for people, at most 64 bytes of UTF-8.
    pub label: String,
    /// The volume's identity.
    pub uuid: [u8; 16],
    /// The time for the root directory.
    pub created: Timestamp,
    /// User and group of the root directory.
    pub owner: (u32, u32),
}

/// Makes an empty file system on the chip; the old contents are gone. Every good erase block is erased.
///
/// # Errors
/// [`Errno::NotSupported`] for a chip with pages that no inode fits (table 1), or that is too small or too large.
pub fn format<N: Nand + Send>(mut nand: N, options: &FormatOptions) -> Result<N> {
    format_chip(AnyChip::lend(&mut nand), options)?;
    Ok(nand)
}

fn format_chip(nand: AnyChip<'_>, options: &FormatOptions) -> Result<()> {
    if options.label.len() > LABEL_MAX {
        return Err(FsError::new(Errno::Invalid, format!("a label has at most {LABEL_MAX} bytes")));
    }
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
    let record = Record { uuid: options.uuid, label: options.label.clone(), map, block };
    record.write(&mut flash)?;
    let root = Inode {
        uid: options.owner.0,
        gid: options.owner.1,
        times: [options.created; 4],
        ..blank(FileKind::Dir, &layout)
    };
    Volume::make(flash, record, &root).map(drop)
}

/// True if the chip carries this file system, in any version; reads a few pages of the first blocks.
pub fn probe(nand: &mut (dyn Nand + Send)) -> Result<bool> {
    match Flash::new(AnyChip::lend(nand)) {
        Ok(mut flash) => match Record::find(&mut flash) {
            Ok(found) => Ok(found.is_some()),
            // A record of another version.
            Err(error) if error.errno() == Errno::Io && flash.chip().stats().violations == 0 => Ok(true),
            Err(error) => Err(error),
        },
        Err(error) if error.errno() == Errno::NotSupported => Ok(false),
        Err(error) => Err(error),
    }
}
