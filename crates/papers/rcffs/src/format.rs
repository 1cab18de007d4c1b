//! Making a file system.

use pumice_common::{Attributes, Identity, ROOT};
use pumice_ecc::Width;
use pumice_media::{AnyChip, Nand};
use pumice_vfs::{Errno, FsError, Result, Timestamp};

use crate::inode::Inode;
use crate::layout::Shape;
use crate::mount;
use crate::segment::is_info;
use crate::volume::Volume;

/// Segments that there must be.
const SEGMENTS_MIN: u32 = 12;

/// The options of mkfs.
#[derive(Clone, Debug)]
pub struct FormatOptions {
    /// A name for people, at most 64 bytes of UTF-8.
    pub label: String,
    /// The volume's identity.
    pub uuid: [u8; 16],
    /// The time for the root directory.
    pub created: Timestamp,
    /// User and group of the root directory.
    pub owner: (u32, u32),
    /// Parity pages of each erase block, 1 to 8; the paper's measurements have 1.
    pub parity_pages: u32,
    /// Parity blocks of each segment, 0 to 8; the paper's measurements have 1.
    pub parity_blocks: u32,
    /// Erase blocks of a segment; the paper's measurements have 16.
    pub segment_blocks: u32,
    /// The signature in the spare areas.
    pub signature: Width,
    /// Whether data is compressed.
    pub compress: bool,
}

impl Default for FormatOptions {
    fn default() -> FormatOptions {
        FormatOptions {
            label: String::new(),
            uuid: [0; 16],
            created: Timestamp::default(),
            owner: (0, 0),
            parity_pages: 1,
            parity_blocks: 1,
            segment_blocks: 16,
            signature: Width::Bits48,
            compress: true,
        }
    }
}

/// Makes an empty file system on the chip; the old contents are gone. Every good erase block is erased.
///
/// # Errors
/// [`Errno::NotSupported`] for a chip that has no room for the signature in its spare areas, or is too small or too large.
pub fn format<N: Nand + Send>(mut nand: N, options: &FormatOptions) -> Result<N> {
    format_chip(AnyChip::lend(&mut nand), options)?;
    Ok(nand)
}

fn format_chip(nand: AnyChip<'_>, options: &FormatOptions) -> Result<()> {
    let identity = Identity::new(options.uuid, &options.label)?;
    let shape = Shape {
        segment_blocks: options.segment_blocks,
        parity_pages: options.parity_pages,
        parity_blocks: options.parity_blocks,
        signature_bytes: crate::layout::count(options.signature.bytes()),
    };
    let layout = mount::new_layout(&nand, shape)?;
    if layout.segments() < SEGMENTS_MIN {
        let what = format!("{} segments, rcffs needs {SEGMENTS_MIN}", layout.segments());
        return Err(FsError::new(Errno::NotSupported, what));
    }
    let mut store = mount::store(nand, layout, 0);
    for segment in 0..layout.segments() {
        store.erase(segment)?;
    }
    let attributes = Attributes::root(options.owner, options.created);
    let root = Inode { attributes, nlink: 2, parent: ROOT, packed: options.compress, chunks: 0 };
    Volume::make(store, identity, &root).map(drop)
}

/// True if the chip carries this file system, in any version.
pub fn probe(nand: &mut (dyn Nand + Send)) -> Result<bool> {
    let Some(layout) = mount::find_layout(nand)? else { return Ok(false) };
    let mut store = mount::store(AnyChip::lend(nand), layout, 0);
    if store.newest()?.is_some() {
        return Ok(true);
    }
    // Of another version: the first segment has its information all the same.
    match store.summary(0, 0, 1) {
        Ok(pages) => Ok(pages.iter().any(|page| is_info(page))),
        Err(_) => Ok(false),
    }
}
