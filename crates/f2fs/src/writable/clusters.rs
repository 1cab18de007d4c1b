//! Compressed clusters of files: found by their mark, taken apart before anything in them changes, and made anew of blocks that wait.
//!
//! In memory every block of a file that changed is plain: whoever changes one takes its cluster apart. Its blocks stay reserved, as they
//! are while it is compressed, so that this needs no room that users could lack.

use super::{
    index::{self, Found, Slot},
    nodes::Nodes,
};
use crate::{
    compress::{self, Algorithm, Packer},
    compression::of_inode,
    crypt::FileKey,
    error::{Error, Place, Result, corrupt},
    layout::{BlockAddr, Inode},
    secrets,
};

/// A cluster that is compressed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Cluster {
    /// Its first block in the file.
    pub(super) first: u64,
    /// The place of its addresses.
    slot: Slot,
    /// The mark, the stored blocks, and the reserved ones.
    addrs: Vec<BlockAddr>,
}

impl Cluster {
    /// The block behind its last.
    pub(super) fn end(&self) -> u64 {
        self.first + self.addrs.len() as u64
    }

    /// The blocks that are stored, which stand behind the mark.
    fn stored(&self) -> impl Iterator<Item = BlockAddr> {
        self.addrs.iter().copied().skip(1).take_while(|addr| addr.is_block())
    }
}

/// The blocks of a file that are compressed with block `index`, if it is, or the ones that it would be compressed with.
pub(super) fn span(inode: &Inode, index: u64) -> Option<std::ops::Range<u64>> {
    let blocks = u64::from(inode.cluster_blocks()?);
    let first = index / blocks * blocks;
    Some(first..first + blocks)
}

/// The cluster that block `index` is in; `None` if that is not compressed.
pub(super) fn find(nodes: &Nodes, inode: &Inode, index: u64) -> Result<Option<Cluster>> {
    let Some(span) = span(inode, index) else { return Ok(None) };
    let Found::Slot(slot) = index::find(nodes, inode, span.start)? else { return Ok(None) };
    if index::get(nodes, inode, &slot)? != BlockAddr::COMPRESSED {
        return Ok(None);
    }
    let addrs = index::get_run(nodes, inode, &slot, span.end - span.start)?;
    debug_assert_eq!(addrs.len() as u64, span.end - span.start, "a cluster in two nodes");
    Ok(Some(Cluster { first: span.start, slot, addrs }))
}

/// The content of a cluster, as long as all its blocks. `secret` is the key, if it is encrypted.
pub(super) fn content(
    nodes: &Nodes,
    secret: Option<&FileKey>,
    inode: &Inode,
    cluster: &Cluster,
) -> Result<Vec<u8>> {
    let (ino, width) = (inode.ino, nodes.size().width());
    let extra = inode.compression();
    debug_assert!(extra.is_some(), "a cluster in inode {ino}, which is not compressed");
    let (number, flag) = extra.map_or((0, 0), |extra| (extra.algorithm, extra.compress_flag));
    let unknown = || Error::Unsupported(format!("inode {ino}: compression {number}"));
    let algorithm = Algorithm::from_raw(number).ok_or_else(unknown)?;
    let mut stored = Vec::new();
    for addr in cluster.stored() {
        stored.extend_from_slice(&nodes.writer().read(addr)?);
    }
    if let Some(secret) = secret {
        // Behind the mark.
        secrets::decrypt(secret, ino, cluster.first + 1, width, &mut stored)?;
    }
    let mut bytes = vec![0; cluster.addrs.len() * width];
    let offset = cluster.first * width as u64;
    compress::decompress(algorithm, flag & 1 != 0, &stored, &mut bytes).map_err(|error| Error::Cluster {
        ino,
        offset,
        error,
    })?;
    Ok(bytes)
}

/// Gives back the stored blocks of a cluster, and reserves all its blocks. The caller puts the inode.
pub(super) fn take_apart(nodes: &mut Nodes, inode: &mut Inode, cluster: &Cluster) -> Result<()> {
    let (ino, count) = (inode.ino, cluster.addrs.len() as u64);
    if let Some(at) = cluster.addrs.iter().position(|addr| *addr == BlockAddr::NULL) {
        return Err(corrupt(Place::Inode(ino), "a compressed cluster has a hole at", at as u64, count));
    }
    replace(nodes, cluster.slot, &cluster.addrs, &vec![BlockAddr::NEW; cluster.addrs.len()])?;
    inode.lose_saved(count - cluster.stored().count() as u64)
}

/// Makes a cluster of blocks that are all reserved or written: `stored` have been written, and stand for it. The caller puts the inode.
pub(super) fn make(nodes: &mut Nodes, inode: &mut Inode, first: u64, stored: &[BlockAddr]) -> Result<()> {
    let (slot, olds) = place(nodes, inode, first)?;
    debug_assert!(stored.len() < olds.len() && !olds.contains(&BlockAddr::NULL));
    let mut addrs = [&[BlockAddr::COMPRESSED], stored].concat();
    addrs.resize(olds.len(), BlockAddr::NEW);
    replace(nodes, slot, &olds, &addrs)?;
    if let Some(extra) = &mut inode.extra {
        extra.saved_blocks += (olds.len() - stored.len()) as u64;
    }
    Ok(())
}

/// The place of a cluster's addresses and the addresses; all its nodes are there.
pub(super) fn place(nodes: &Nodes, inode: &Inode, first: u64) -> Result<(Slot, Vec<BlockAddr>)> {
    let Found::Slot(slot) = index::find(nodes, inode, first)? else {
        return Err(corrupt(Place::Inode(inode.ino), "no node leads to block", first, 0_u32));
    };
    let count = inode.cluster_blocks().map_or(1, u64::from);
    Ok((slot, index::get_run(nodes, inode, &slot, count)?))
}

/// Puts addresses in place of others, which are given back. Blocks among the new ones are counted already; the others stand nowhere.
fn replace(nodes: &mut Nodes, slot: Slot, olds: &[BlockAddr], addrs: &[BlockAddr]) -> Result<()> {
    for old in olds {
        nodes.writer_mut().release(*old)?;
    }
    let nowhere = addrs.iter().filter(|addr| !addr.is_block()).count();
    nodes.writer_mut().promise_data(nowhere as u64);
    index::set_run(nodes, &slot, addrs.iter().copied())
}

/// Compresses clusters.
#[derive(Default)]
pub(super) struct Packing {
    /// The last one, by the algorithm and the flag of its inodes.
    packer: Option<((u8, u16), Packer)>,
}

impl Packing {
    /// The blocks that stand for a cluster; `None` if they are not fewer than its own. Where nobody can compress as the inode says, as in a
    /// build without the feature `codecs`, its clusters stay plain.
    pub(super) fn pack(&mut self, inode: &Inode, cluster: &[u8], width: usize) -> Option<Vec<u8>> {
        let extra = inode.compression()?;
        let key = (extra.algorithm, extra.compress_flag);
        if self.packer.as_ref().is_none_or(|(known, _)| *known != key) {
            let (method, checksummed) = of_inode(extra.algorithm, extra.compress_flag)?;
            self.packer = Some((key, Packer::new(method, checksummed).ok()?));
        }
        let (_, packer) = self.packer.as_mut()?;
        let mut stored = Vec::new();
        packer.pack(cluster, width, &mut stored).map(|_| stored)
    }
}
