//! A volume to be damaged: its bytes stay as they are, and changes lie over them.

use std::sync::Arc;

use pumice_f2fs::{
    Nodes, Volume, check, crc,
    layout::{BlockAddr, Features, Inode, Nid, RawCheckpoint, RawSitEntry, RawSuperBlock, SegNo},
};
use pumice_media::{BlockError, Lba, ReadAt};
use zerocopy::{FromBytes, IntoBytes};

pub(crate) const BLOCK: usize = 4096;

/// Bytes with changes over them, and a byte that cannot be read.
#[derive(Clone)]
pub(crate) struct Disk {
    base: Arc<Vec<u8>>,
    changes: Vec<(usize, Vec<u8>)>,
    broken: Option<usize>,
    bytes: usize,
}

impl ReadAt for Disk {
    fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<(), BlockError> {
        let at = usize::try_from(at).unwrap();
        let end = at + buffer.len();
        if end > self.bytes {
            return Err(BlockError::OutOfRange { first: Lba(at as u64), count: 1, blocks: self.bytes() });
        }
        if self.broken.is_some_and(|broken| (at..end).contains(&broken)) {
            return Err(BlockError::Unreadable(Lba(at as u64)));
        }
        buffer.copy_from_slice(&self.base[at..end]);
        for (start, bytes) in &self.changes {
            let (from, to) = (at.max(*start), end.min(start + bytes.len()));
            if from < to {
                buffer[from - at..to - at].copy_from_slice(&bytes[from - start..to - start]);
            }
        }
        Ok(())
    }
}

/// A volume and its changes.
pub(crate) struct Patient {
    pub(crate) disk: Disk,
    /// As it was.
    pub(crate) nodes: Nodes,
}

impl Patient {
    pub(crate) fn new(image: &Arc<Vec<u8>>) -> Patient {
        let disk = Disk { base: image.clone(), changes: Vec::new(), broken: None, bytes: image.len() };
        let volume = Volume::open(vec![Box::new(disk.clone())], 1 << 20).unwrap();
        Patient { disk, nodes: Nodes::new(volume) }
    }

    /// As it was.
    pub(crate) fn volume(&self) -> &Volume {
        self.nodes.volume()
    }

    /// The codes that the check finds.
    pub(crate) fn check(&self) -> Vec<check::Code> {
        let report = check::check(vec![Box::new(self.disk.clone())], 2, &mut |_, _| ()).unwrap();
        assert_eq!(report.findings.is_empty(), report.count == 0);
        report.findings.iter().map(|finding| finding.code).collect()
    }

    pub(crate) fn read(&self, at: usize, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.disk.read_at(at as u64, &mut bytes).unwrap();
        bytes
    }

    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        self.disk.changes.push((at, bytes.to_vec()));
    }

    pub(crate) fn put32(&mut self, at: usize, value: u32) {
        self.write(at, &value.to_le_bytes());
    }

    pub(crate) fn flip(&mut self, at: usize) {
        let byte = self.read(at, 1)[0];
        self.write(at, &[byte ^ 1]);
    }

    pub(crate) fn break_block(&mut self, addr: BlockAddr) {
        self.disk.broken = Some(place(addr));
    }

    pub(crate) fn truncate(&mut self, bytes: usize) {
        self.disk.bytes = bytes;
    }

    pub(crate) fn node_at(&self, nid: Nid) -> BlockAddr {
        self.volume().nat_entry(nid).unwrap().addr
    }

    /// All inodes, with their blocks.
    pub(crate) fn inodes(&self) -> impl Iterator<Item = (Inode, Vec<u8>)> {
        (3..2000).filter_map(|ino| {
            let (inode, node) = self.nodes.inode(Nid(ino)).ok()?;
            Some((inode, node.block.to_vec()))
        })
    }

    pub(crate) fn find(&self, wanted: impl Fn(&Inode, &[u8]) -> bool) -> Inode {
        self.inodes().find(|(inode, block)| wanted(inode, block)).expect("the volume has such an inode").0
    }

    /// Changes an inode's block, and gives it the checksum that it should have.
    pub(crate) fn edit_inode(&mut self, ino: Nid, edit: impl FnOnce(&mut [u8])) {
        let at = place(self.node_at(ino));
        let mut block = self.read(at, BLOCK);
        edit(&mut block);
        let extra = u16::from_le_bytes([block[360], block[361]]);
        if self.volume().features().has(Features::INODE_CHECKSUM) && block[3] & 0x20 != 0 && extra >= 12 {
            let generation = u32::from_le_bytes(block[68..72].try_into().unwrap());
            let sum = crc::inode_checksum(self.volume().inode_seed(), ino.0, generation, &block).unwrap();
            block[368..372].copy_from_slice(&sum.to_le_bytes());
        }
        self.write(at, &block);
    }

    /// Switches features on, in both super blocks; they must not have checksums.
    pub(crate) fn set_features(&mut self, features: Features) {
        for copy in [1024, BLOCK + 1024] {
            let (mut raw, _) = RawSuperBlock::read_from_prefix(&self.read(copy, 3072)).unwrap();
            raw.feature |= features.0;
            self.write(copy, raw.as_bytes());
        }
    }

    /// Changes the checkpoint, head and foot, with checksums.
    pub(crate) fn edit_checkpoint(&mut self, edit: impl Fn(&mut RawCheckpoint)) {
        let checkpoint = self.volume().checkpoint();
        let mut block = checkpoint.block().to_vec();
        let (raw, _) = RawCheckpoint::mut_from_prefix(&mut block).unwrap();
        edit(raw);
        let sum_at = checkpoint.raw().checksum_offset.get() as usize;
        let sum = crc::checksum(&block[..sum_at]);
        block[sum_at..sum_at + 4].copy_from_slice(&sum.to_le_bytes());
        let head = self.volume().super_block().checkpoint_addr(checkpoint.pack());
        let foot = BlockAddr(head.0 + checkpoint.raw().cp_pack_total_block_count.get() - 1);
        self.write(place(head), &block);
        self.write(place(foot), &block);
    }

    /// The byte of a node's entry in the NAT; it must not be in the journal.
    pub(crate) fn nat_place(&self, nid: Nid) -> usize {
        assert!(!self.volume().nat_journal().contains_key(&nid));
        place(self.volume().nat_addr(nid.0 / 455)) + (nid.0 % 455) as usize * 9
    }

    /// Segments in use that no log writes to and no journal has.
    pub(crate) fn full_segments(&self) -> Vec<SegNo> {
        (0..self.volume().super_block().main_segments())
            .map(SegNo)
            .filter(|segno| {
                self.volume().sit_entry(*segno).unwrap().bits() > 0
                    && !self.volume().sit_journal().contains_key(segno)
                    && self.volume().log_heads().iter().all(|head| head.segno != *segno)
            })
            .collect()
    }

    /// Changes a segment's entry in the SIT.
    pub(crate) fn edit_sit(&mut self, segno: SegNo, edit: impl FnOnce(&mut RawSitEntry)) {
        let at = place(self.volume().sit_addr(segno.0 / 55)) + (segno.0 % 55) as usize * 74;
        let mut raw = RawSitEntry::read_from_bytes(&self.read(at, 74)).unwrap();
        edit(&mut raw);
        self.write(at, raw.as_bytes());
    }

    /// Where the journals of a compacted checkpoint are: that of the NAT, and that of the SIT.
    pub(crate) fn journals(&self) -> [usize; 2] {
        let checkpoint = self.volume().checkpoint();
        let head = self.volume().super_block().checkpoint_addr(checkpoint.pack());
        let at = place(BlockAddr(head.0 + checkpoint.raw().cp_pack_start_sum.get()));
        [at, at + 507]
    }
}

/// The first byte of a block.
pub(crate) fn place(addr: BlockAddr) -> usize {
    addr.0 as usize * BLOCK
}
