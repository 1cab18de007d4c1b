//! What front ends call: format, probe, check.

use pumice_media::Nand;
use pumice_vfs::FsError;

use crate::mount;
use crate::options::{CheckReport, FormatOptions, Progress};

/// Makes an empty file system on the chip; what was there is gone.
pub fn format<N: Nand>(nand: &mut N, options: &FormatOptions, progress: Progress<'_>) -> Result<(), FsError> {
    mount::format(nand, options, progress)
}

/// True if the chip carries this file system (any version); reads a bounded number of pages.
pub fn probe<N: Nand>(nand: &mut N) -> Result<bool, FsError> {
    mount::probe(nand)
}

/// Reads everything and compares all structures with each other; writes nothing.
pub fn check<N: Nand>(nand: N, progress: Progress<'_>) -> Result<CheckReport, FsError> {
    crate::check::check(nand, progress)
}
