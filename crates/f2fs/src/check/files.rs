//! The checks of files beyond their addresses: headers of compressed clusters, and trees of fs-verity.

use super::{
    codes::Code,
    findings::{Cure, Object},
    worker::{ClusterRef, Worker},
};
use crate::{compress, layout::Nid, reader::Reader};

impl Worker<'_> {
    /// The header of a compressed cluster: its length is that of the stored blocks.
    pub(super) fn check_cluster(&mut self, cluster: &ClusterRef, block: &[u8]) {
        let width = block.len();
        let clen = compress::claimed(block).map_or(0, |claimed| claimed as usize);
        let needed = (clen + compress::HEADER_BYTES).div_ceil(width.max(1));
        if clen == 0 || needed != cluster.stored as usize {
            let at = Cure::Number(cluster.index);
            self.findings.add_with(Code::ClusterHeader, Object::Inode(cluster.ino), at, || {
                format!(
                    "the compressed cluster at block {} of the file claims {clen} bytes, and {} blocks are stored",
                    cluster.index, cluster.stored
                )
            });
        }
    }
}

/// Verifies descriptor and tree of a sealed file, and the first block of its data. `Some` is the fault.
pub(super) fn check_sealed(reader: &Reader, ino: Nid) -> Option<String> {
    let (inode, node) = reader.nodes().inode(ino).ok()?;
    // Nothing encrypted can be verified without its key.
    if inode.is_encrypted() {
        return None;
    }
    reader.check_seal(&inode, &node).err().map(|error| error.to_string())
}
