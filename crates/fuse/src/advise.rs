//! `system.advise`, by which the owner of a file says how often its content changes.

use pumice_vfs::{Errno, FileSystem, Ino, Result};

use crate::attr::View;

const NAME: &[u8] = b"system.advise";

/// Checks that a user may change an attribute: of those that the kernel lets anybody change, only the owner and root may.
pub(crate) fn may_change<F: FileSystem + ?Sized>(
    fs: &F,
    (uid, view): (u32, &View),
    ino: Ino,
    name: &[u8],
) -> Result<()> {
    if name != NAME || uid == 0 || view.is_owner(uid, &fs.attr(ino)?) {
        Ok(())
    } else {
        Err(Errno::Perm.into())
    }
}
