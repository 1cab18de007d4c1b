//! The calls of front ends: format, probe, check.

use alloc::vec::Vec;

use pumice_media::{AnyChip, Nand};
use pumice_vfs::{CheckReport, Errno, Finding, Result};

use crate::memory;
use crate::mount;
use crate::options::{FormatOptions, Progress, RepairOptions};

/// Makes an empty file system on the chip; the old content is gone.
pub fn format(nand: &mut (dyn Nand + Send), options: &FormatOptions, progress: Progress<'_>) -> Result<()> {
    mount::format(nand, options, progress)
}

/// True if the chip carries this file system (any version); reads a bounded number of pages.
pub fn probe(nand: &mut (dyn Nand + Send)) -> Result<bool> {
    mount::probe(nand)
}

/// The least memory for the caches of a mount, in bytes: 16 log pages, between 32 and 256 KiB. An error if the chip is too
/// small for a file system.
pub fn cache_least(nand: &dyn Nand) -> Result<usize> {
    mount::params_of(nand).map(|params| memory::least(&params))
}

/// Reads everything and compares all structures with each other; writes nothing.
pub fn check(nand: impl Nand + Send, progress: Progress<'_>) -> Result<CheckReport> {
    crate::check::check(AnyChip::lend(nand), progress)
}

/// Puts everything readable in order, gives up the rest, and returns the chip with the list of repairs.
///
/// Both tables are made anew, from the tags of all pages where the tables cannot be read, or where no checkpoint can be
/// found. A node without its name gets that of its inode, or one in `lost+found`. A sound volume stays as it is, but
/// for its place on the chip. Memory: a small record for each node and each name. Time: every programmed page is read.
pub fn repair<N: Nand + Send + 'static>(nand: N, options: RepairOptions) -> Result<(N, Vec<Finding>)> {
    let (chip, found) = crate::repair::repair(AnyChip::own(nand), options)?;
    Ok((chip.take().ok_or(Errno::Io)?, found))
}
