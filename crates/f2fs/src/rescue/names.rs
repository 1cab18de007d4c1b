//! The name that an inode remembers, as it is shown.

use pumice_vfs::check_name;

use crate::{
    fs::F2fs,
    layout::{Inode, Nid},
};

/// The last name of an inode, if it can be shown. An encrypted one needs its directory, which is looked for in `volumes`.
pub(super) fn remembered(volumes: &[&F2fs], inode: &Inode) -> Option<Vec<u8>> {
    let name = inode.last_name();
    let shown = if inode.has_encrypted_name() {
        volumes.iter().find_map(|fs| fs.shown_name(inode.last_directory(), name).ok())?
    } else {
        name.to_vec()
    };
    check_name(&shown).is_ok().then_some(shown)
}

/// A name for want of one.
pub(super) fn numbered(ino: Nid) -> Vec<u8> {
    format!("#{ino}").into_bytes()
}
