//! Errors of the codes, as callers of a file system tell them apart.

use pumice_common::damaged;
use pumice_vfs::FsError;

/// A code refused its arguments: the layout was checked, so that none can be wrong.
pub(crate) fn code(error: pumice_ecc::CodeError) -> FsError {
    damaged(error)
}
