//! The addresses in an inode or a direct node: each names a block of the main area, space that is reserved, or none;
//! in compressed files they come in clusters.

use std::sync::atomic::Ordering;

use super::{
    codes::Code,
    facts::Facts,
    findings::{Cure, Object},
    nat::{NatRow, is_zero},
    owners::Owner,
    worker::{ClusterRef, LeafRef, Worker},
};
use crate::layout::BlockAddr;

/// Bytes of addresses looked at together, to pass over holes.
const STRIDE: usize = 64;

/// Addresses in a node.
pub(super) struct Addresses<'a> {
    /// The facts of the inode.
    pub(super) facts: &'a Facts,
    /// The node they stand in.
    pub(super) row: &'a NatRow,
    /// Block of the file that the first one is for.
    pub(super) first: u64,
    /// The addresses.
    pub(super) words: &'a [u8],
}

impl Worker<'_> {
    /// Checks all addresses of a node and counts their blocks.
    pub(super) fn check_addresses(&mut self, addresses: &Addresses<'_>) {
        let facts = addresses.facts;
        let blocks = match facts.cluster {
            Some(cluster) => self.check_clusters(addresses, cluster),
            None => self.check_plain(addresses),
        };
        facts.count_blocks(blocks);
    }

    fn check_plain(&mut self, addresses: &Addresses<'_>) -> u64 {
        let mut blocks = 0;
        for (group, words) in addresses.words.chunks(STRIDE).enumerate() {
            if is_zero(words) {
                continue;
            }
            for (at, word) in words.chunks_exact(4).enumerate() {
                let slot = group * (STRIDE / 4) + at;
                let addr = address(word);
                if addr == BlockAddr::COMPRESSED {
                    self.stray_mark(addresses, slot);
                } else if self.check_address(addresses, slot, addr) {
                    blocks += 1;
                }
            }
        }
        blocks
    }

    /// True if the address counts as a block of the file.
    fn check_address(&mut self, addresses: &Addresses<'_>, slot: usize, addr: BlockAddr) -> bool {
        let Addresses { facts, row, first, .. } = addresses;
        match addr {
            BlockAddr::NULL => return false,
            BlockAddr::NEW => return true,
            _ if !self.volume.is_main(addr) => {
                let pointer = Cure::Pointer(row.nid, u16::try_from(slot).unwrap_or(u16::MAX));
                self.findings.add_with(Code::DataAddress, Object::Node(row.nid), pointer, || {
                    format!("address {slot} is {addr}, which is not in the main area")
                });
                return false;
            }
            _ => {}
        }
        let owner =
            Owner { nid: row.nid, version: row.version, slot: u16::try_from(slot).unwrap_or(u16::MAX) };
        let is_first = self.owners.data(addr, owner, &mut self.findings);
        let index = first + slot as u64;
        if let Some(extent) = facts.extent
            && let Some(inside) = index.checked_sub(extent.first.into())
            && inside < extent.blocks.into()
            && u64::from(extent.addr.0) + inside == u64::from(addr.0)
        {
            facts.tally.in_extent.fetch_add(1, Ordering::Relaxed);
        }
        // A block that many point to is looked at once, so that its entries are not taken in many times.
        if is_first && facts.is_directory() {
            self.leaves.push(LeafRef { directory: facts.ino, addr, index: Some(index) });
        }
        true
    }

    fn check_clusters(&mut self, addresses: &Addresses<'_>, cluster: u32) -> u64 {
        let mut blocks = 0;
        let size = cluster as usize;
        for (number, words) in addresses.words.chunks(size * 4).enumerate() {
            let mut addrs = words.chunks_exact(4).map(address).enumerate();
            let Some((_, head)) = addrs.next() else { break };
            let slot = number * size;
            if head != BlockAddr::COMPRESSED {
                blocks += u64::from(self.check_address(addresses, slot, head));
                for (at, addr) in addrs {
                    if addr == BlockAddr::COMPRESSED {
                        self.stray_mark(addresses, slot + at);
                    } else {
                        blocks += u64::from(self.check_address(addresses, slot + at, addr));
                    }
                }
                continue;
            }
            blocks += u64::from(!addresses.facts.is_released());
            blocks += self.check_compressed(addresses, slot, cluster, &addrs.collect::<Vec<_>>());
        }
        blocks
    }

    /// A cluster behind its mark: stored blocks first, then reserved or released ones.
    fn check_compressed(
        &mut self,
        addresses: &Addresses<'_>,
        slot: usize,
        cluster: u32,
        addrs: &[(usize, BlockAddr)],
    ) -> u64 {
        let Addresses { facts, row, first, .. } = addresses;
        let stored = addrs.iter().take_while(|(_, addr)| addr.is_block()).count();
        let all = addrs.iter().filter(|(_, addr)| addr.is_block()).count();
        if stored == 0 || stored != all {
            let pointer = Cure::Pointer(row.nid, u16::try_from(slot).unwrap_or(u16::MAX));
            self.findings.add_with(Code::ClusterShape, Object::Inode(facts.ino), pointer, || {
                format!(
                    "the compressed cluster at address {slot} of node {} has {all} blocks, {stored} of them behind its \
                     mark",
                    row.nid
                )
            });
        }
        let mut blocks = 0;
        for (at, addr) in addrs {
            if *addr == BlockAddr::COMPRESSED {
                self.stray_mark(addresses, slot + at);
            } else {
                blocks += u64::from(self.check_address(addresses, slot + at, *addr));
            }
        }
        let saved = u64::from(cluster).saturating_sub(all as u64);
        facts.tally.saved.fetch_add(saved, Ordering::Relaxed);
        if let Some((_, addr)) = addrs.first().filter(|(_, addr)| self.volume.is_main(*addr))
            && !facts.is_encrypted()
        {
            let index = first + slot as u64;
            let stored = u32::try_from(stored).unwrap_or(u32::MAX);
            self.clusters.push(ClusterRef { addr: *addr, ino: facts.ino, index, stored });
        }
        blocks
    }

    fn stray_mark(&mut self, addresses: &Addresses<'_>, slot: usize) {
        let pointer = Cure::Pointer(addresses.row.nid, u16::try_from(slot).unwrap_or(u16::MAX));
        self.findings.add_with(Code::ClusterShape, Object::Inode(addresses.facts.ino), pointer, || {
            format!(
                "address {slot} of node {} marks a compressed cluster where none begins",
                addresses.row.nid
            )
        });
    }
}

fn address(word: &[u8]) -> BlockAddr {
    BlockAddr(word.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)))
}
