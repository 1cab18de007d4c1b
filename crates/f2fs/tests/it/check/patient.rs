//! A volume to be damaged: its bytes stay as they are, and changes lie over them.

use std::sync::Arc;

use pumice_f2fs::{
    Nodes, Volume, check, crc,
    hash::name_hash,
    layout::{BlockAddr, CpFlags, Features, Inode, Nid, RawCheckpoint, RawSitEntry, RawSuperBlock, SegNo},
};
use pumice_media::{BlockError, Lba, ReadAt};
use zerocopy::{FromBytes, IntoBytes};

/// Blocks of a checkpoint, at the most: a segment.
const PACK_MOST: u32 = 512;

pub(crate) const BLOCK: usize = 4096;

/// Bytes with changes over them, and a byte that cannot be read.
#[derive(Clone)]
pub(crate) struct Disk {
    base: Arc<Vec<u8>>,
    changes: Vec<(usize, Vec<u8>)>,
    broken: Option<usize>,
    bytes: usize,
}

impl Disk {
    pub(crate) fn new(image: &Arc<Vec<u8>>) -> Disk {
        Disk { base: image.clone(), changes: Vec::new(), broken: None, bytes: image.len() }
    }

    /// The changes, and their places.
    pub(crate) fn changes(&self) -> &[(usize, Vec<u8>)] {
        &self.changes
    }
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

/// The checksums that a change breaks around it.
#[derive(Clone, Debug)]
pub(crate) enum Seal {
    None,
    /// The checksum of a super block: 0 the first.
    SuperBlock(usize),
    /// The checksum of a checkpoint pack, and its foot.
    Pack(u8),
    /// The checksum of an inode, which stands there.
    Inode(BlockAddr, Nid),
    /// The hash of a name, and then the checksums around it.
    Name {
        hash: usize,
        name: usize,
        length: usize,
        then: Box<Seal>,
    },
}

/// A volume and its changes.
pub(crate) struct Patient {
    pub(crate) disk: Disk,
    /// As it was.
    pub(crate) nodes: Nodes,
}

impl Patient {
    pub(crate) fn new(image: &Arc<Vec<u8>>) -> Patient {
        let disk = Disk::new(image);
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
        let addr = self.node_at(ino);
        let mut block = self.read(place(addr), BLOCK);
        edit(&mut block);
        self.write(place(addr), &block);
        self.make_right(&Seal::Inode(addr, ino));
    }

    /// Makes the checksums around a change right.
    pub(crate) fn make_right(&mut self, seal: &Seal) {
        match seal {
            Seal::None => {}
            Seal::SuperBlock(copy) => self.seal_super_block(copy * BLOCK + 1024),
            Seal::Pack(pack) => self.seal_pack(*pack),
            Seal::Inode(addr, ino) => self.seal_inode(place(*addr), *ino),
            Seal::Name { hash, name, length, then } => {
                let name = self.read(*name, *length);
                self.put32(*hash, name_hash(&name));
                self.make_right(then);
            }
        }
    }

    fn seal_super_block(&mut self, at: usize) {
        let bytes = self.read(at, 3072);
        let (raw, _) = RawSuperBlock::read_from_prefix(&bytes).unwrap();
        if Features(raw.feature.get()).has(Features::SB_CHECKSUM) {
            self.put32(at + 3068, crc::checksum(&bytes[..3068]));
        }
    }

    /// Gives a pack its checksum, and its foot; one whose own figures lead nowhere stays as it is.
    fn seal_pack(&mut self, pack: u8) {
        let head = self.volume().super_block().checkpoint_addr(pack);
        let mut block = self.read(place(head), BLOCK);
        let (raw, _) = RawCheckpoint::read_from_prefix(&block).unwrap();
        let sum_at = raw.checksum_offset.get() as usize;
        let blocks = raw.cp_pack_total_block_count.get();
        if sum_at > BLOCK - 4 || !(1..=PACK_MOST).contains(&blocks) {
            return;
        }
        let sum = crc::checksum(&block[..sum_at]);
        block[sum_at..sum_at + 4].copy_from_slice(&sum.to_le_bytes());
        let foot = BlockAddr(head.0 + blocks - 1);
        self.write(place(head), &block);
        self.write(place(foot), &block);
    }

    fn seal_inode(&mut self, at: usize, ino: Nid) {
        let block = self.read(at, BLOCK);
        let extra = u16::from_le_bytes([block[360], block[361]]);
        if self.volume().features().has(Features::INODE_CHECKSUM) && block[3] & 0x20 != 0 && extra >= 12 {
            let generation = u32::from_le_bytes(block[68..72].try_into().unwrap());
            let sum = crc::inode_checksum(self.volume().inode_seed(), ino.0, generation, &block).unwrap();
            self.put32(at + 368, sum);
        }
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
        let pack = checkpoint.pack();
        let head = self.volume().super_block().checkpoint_addr(pack);
        self.write(place(head), &block);
        self.seal_pack(pack);
    }

    /// The byte of a node's entry in the NAT; it must not be in the journal.
    pub(crate) fn nat_place(&self, nid: Nid) -> usize {
        assert!(!self.volume().nat_journal().contains_key(&nid));
        place(self.volume().nat_addr(nid.0 / 455)) + (nid.0 % 455) as usize * 9
    }

    /// The byte of a segment's entry in the SIT, without the journal.
    pub(crate) fn sit_place(&self, segno: SegNo) -> usize {
        place(self.volume().sit_addr(segno.0 / 55)) + (segno.0 % 55) as usize * 74
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
        let at = self.sit_place(segno);
        let mut raw = RawSitEntry::read_from_bytes(&self.read(at, 74)).unwrap();
        edit(&mut raw);
        self.write(at, raw.as_bytes());
    }

    /// The places of the journals: that of the NAT, and that of the SIT.
    pub(crate) fn journals(&self) -> [usize; 2] {
        let checkpoint = self.volume().checkpoint();
        let head = self.volume().super_block().checkpoint_addr(checkpoint.pack());
        let at = place(BlockAddr(head.0 + checkpoint.raw().cp_pack_start_sum.get()));
        if checkpoint.flags().has(CpFlags::COMPACT_SUM) {
            return [at, at + 507];
        }
        // Behind the entries of the summaries of hot and of cold data.
        [at + 512 * 7, at + 2 * BLOCK + 512 * 7]
    }

    /// The byte of a node's entry in the journal, if it is there.
    pub(crate) fn nat_journal_place(&self, nid: Nid) -> Option<usize> {
        self.journal_place(self.journals()[0], nid.0, 13)
    }

    /// The byte of a segment's entry in the journal, if it is there.
    pub(crate) fn sit_journal_place(&self, segno: SegNo) -> Option<usize> {
        self.journal_place(self.journals()[1], segno.0, 78)
    }

    /// Entries of `bytes` bytes, their number first, stand behind their count.
    fn journal_place(&self, journal: usize, number: u32, bytes: usize) -> Option<usize> {
        let count = u16::from_le_bytes(self.read(journal, 2).try_into().unwrap());
        let starts = (0..usize::from(count)).map(|index| journal + 2 + index * bytes);
        starts.into_iter().find(|at| self.read(*at, 4) == number.to_le_bytes()).map(|at| at + 4)
    }
}

/// The first byte of a block.
pub(crate) fn place(addr: BlockAddr) -> usize {
    addr.0 as usize * BLOCK
}
