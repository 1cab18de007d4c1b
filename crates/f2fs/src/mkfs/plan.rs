//! The number of blocks of each log, found by writing the tree to nowhere. It gives the size of the volume, and the
//! beginning of each log.

use std::num::NonZeroUsize;

use crate::word::word;
use pumice_media::{BlockDevice, BlockError, Lba};

use super::{
    FormatError, FormatOptions, Size,
    build::Builder,
    extensions::Extensions,
    feed::feed,
    form::Forms,
    geometry::{Geometry, LOGS, SEGMENT_BLOCKS, Shape},
    numbered,
    piece::Files,
    quota::{KINDS, Usage},
    tree::{Source, Tree},
};
use crate::{
    layout::{BlockSize, SEGMENTS_MAX, SegNo},
    write::{Writer, head::Log, medium::Medium, streams::Streams},
};

/// The order of logs in the main area: those looked up first in front, each beside the blocks read with it.
const ORDER: [Log; 6] =
    [Log::HotData, Log::HotNode, Log::WarmNode, Log::ColdNode, Log::ColdData, Log::WarmData];
/// The further blocks of a file besides its blocks and their direct nodes: its inode, indirect nodes, a block of its
/// directory.
const FILE_BLOCKS: u64 = 8;

/// More blocks than an entry takes besides its content: inode, attributes, the ends of its nodes, of its seal, of the
/// quota of its owners; and more than a name takes in a directory.
const ENTRY_BLOCKS: u64 = 32;
/// Each so many blocks of content take fewer than one block of direct nodes and hashes.
const NODE_SHARE: u64 = 8;
/// The zones of a small volume with any reserve, and more than metadata and the ends of logs take.
const SPARE_ZONES: u64 = 64;

/// Blocks of each log, and numbers of nodes.
pub(super) struct Counts {
    logs: [u64; 6],
    /// All blocks, with those that are reserved and stand nowhere.
    blocks: u64,
    /// Node numbers up to the last that is used.
    nodes: u64,
    /// Inodes, and those of them that no directory names.
    pub(super) inodes: u64,
    pub(super) hidden: u64,
}

impl Counts {
    /// The counts of a tree. Its files are read only if room saved by compression is given back: otherwise a compressed
    /// file counts as any other, and its log has fewer blocks than planned.
    pub(super) fn of(
        options: &FormatOptions,
        extensions: &Extensions,
        tree: &Tree,
        source: &dyn Source,
        threads: NonZeroUsize,
    ) -> Result<Counts, FormatError> {
        let block = options.shape.block;
        let geometry = roomy(&options.shape, tree)?;
        let (order, quota) = numbered(options, tree);
        let sb = options.super_block(&geometry, extensions, quota)?;
        let medium = Medium::new(Box::new(Nowhere { block, blocks: geometry.blocks }), block);
        let spread = word(geometry.main / LOGS);
        let starts = [0, 1, 2, 3, 4, 5].map(|log| SegNo(log * spread));
        let mut writer = Writer::fresh(sb, medium, starts, order.next_nid)?;
        let usage = [const { Usage::new() }; KINDS];
        let reads = options.compression.as_ref().is_some_and(|compression| compression.release);
        let forms = Forms::new(options, extensions);
        let files = Files { tree, order: &order, forms: &forms, source, reads };
        let mut builder =
            Builder { tree, order: &order, options, extensions, forms: &forms, usage, digests: Vec::new() };
        let threads = if reads { threads } else { NonZeroUsize::MIN };
        feed(&files, threads, |feed| builder.run(&mut writer, feed, &mut |_| ()))?;
        builder.quota(&mut writer, quota)?;
        let (nodes, inodes) = writer.numbers();
        let hidden = quota.iter().filter(|ino| **ino != 0).count() as u64;
        Ok(Counts { logs: writer.appended(), blocks: writer.blocks(), nodes, inodes, hidden })
    }

    /// All blocks.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The geometry of a volume of this size, which must have room.
    pub(super) fn geometry(&self, options: &FormatOptions, size: Size) -> Result<Geometry, FormatError> {
        let shape = Shape { nodes: self.nodes.max(options.shape.nodes), ..options.shape };
        match size {
            Size::Bytes(bytes) => {
                let geometry = Geometry::new(&shape, bytes)?;
                match self.missing(&geometry, &shape, 0) {
                    None => Ok(geometry),
                    Some(room) if self.blocks() <= room => {
                        Err(FormatError::Nodes { nodes: shape.nodes, bytes })
                    }
                    Some(room) => Err(FormatError::Full { blocks: self.blocks(), room }),
                }
            }
            Size::Free(bytes) => self.smallest(&shape, bytes),
        }
    }

    /// The volume with the fewest segments.
    fn smallest(&self, shape: &Shape, free_bytes: u64) -> Result<Geometry, FormatError> {
        let block = shape.block.bytes_u64();
        let mut free = free_bytes.div_ceil(block);
        if free > 0 {
            free += free.div_ceil(shape.block.node_words().into()) + FILE_BLOCKS;
        }
        let zone = shape.zone() * SEGMENT_BLOCKS;
        let planned = |zones: u64| {
            Geometry::new(
                shape,
                zones.saturating_mul(zone).saturating_add(shape.start()).saturating_mul(block),
            )
        };
        let fits =
            |zones: u64| planned(zones).ok().filter(|geometry| self.missing(geometry, shape, free).is_none());
        let most = u64::from(SEGMENTS_MAX) * SEGMENT_BLOCKS / zone.max(1);
        let (mut low, mut high) = (0, most.saturating_sub(1));
        while low < high {
            let middle = low.midpoint(high);
            if fits(middle).is_some() { high = middle } else { low = middle + 1 }
        }
        let largest = planned(high)?;
        match self.missing(&largest, shape, free) {
            None => Ok(largest),
            Some(room) => {
                let bytes = (self.blocks() + free).saturating_mul(block);
                Err(FormatError::TooLarge { bytes, most: room.saturating_mul(block) })
            }
        }
    }

    /// `None` if everything has room, `free` blocks besides, and each node that is asked for; otherwise the users'
    /// room.
    fn missing(&self, geometry: &Geometry, shape: &Shape, free: u64) -> Option<u64> {
        let users = (geometry.main - geometry.overprovision) * SEGMENT_BLOCKS;
        let zones: u64 = self.zones(shape).iter().sum();
        let zone = shape.zone();
        let fits = self.blocks() + free <= users
            && zones * zone <= geometry.main
            && shape.nodes <= geometry.main * SEGMENT_BLOCKS;
        (!fits).then_some(users)
    }

    /// Zones of each log that is open: full segments, and the one it goes on in.
    fn zones(&self, shape: &Shape) -> [u64; 6] {
        let streams = Streams::of_new(shape.features);
        let mut zones = self.logs.map(|blocks| (blocks / SEGMENT_BLOCKS + 1).div_ceil(shape.zone()));
        for (log, zones) in Log::ALL.into_iter().zip(&mut zones) {
            if streams.log(log) != log {
                *zones = 0;
            }
        }
        zones
    }
}

/// The beginning of each log: behind the zones of the one in front.
pub(super) fn starts(counts: &Counts, shape: &Shape) -> [SegNo; 6] {
    let zone = shape.zone();
    let zones = counts.zones(shape);
    let mut starts = [SegNo(0); 6];
    let mut next = 0;
    for log in ORDER {
        if let (Some(start), Some(zones)) = (starts.get_mut(log.index()), zones.get(log.index())) {
            *start = SegNo(word(next));
            next += zones * zone;
        }
    }
    starts
}

/// A volume that surely has room for a tree. It is small, since each of its segments takes memory.
fn roomy(shape: &Shape, tree: &Tree) -> Result<Geometry, FormatError> {
    let shape = Shape { nodes: u64::MAX, overprovision: None, ..*shape };
    let block = shape.block.bytes_u64();
    let blocks = tree.each_size().fold(0_u64, |blocks, (size, names)| {
        let content = size.div_ceil(block);
        let others = ENTRY_BLOCKS.saturating_mul(names + 1);
        blocks.saturating_add(content).saturating_add(content / NODE_SHARE).saturating_add(others)
    });
    let segments = blocks.div_ceil(SEGMENT_BLOCKS);
    // One in 64 is more than SIT, NAT and SSA take.
    let segments =
        segments + segments / 64 + shape.zone().saturating_mul(SPARE_ZONES).min(SEGMENTS_MAX.into());
    Geometry::new(&shape, segments.min(SEGMENTS_MAX.into()) * SEGMENT_BLOCKS * block)
}

/// A device that forgets.
struct Nowhere {
    block: BlockSize,
    blocks: u64,
}

impl BlockDevice for Nowhere {
    fn block_bytes(&self) -> u32 {
        self.block.bytes()
    }

    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn read(&mut self, _first: Lba, buffer: &mut [u8]) -> Result<(), BlockError> {
        buffer.fill(0);
        Ok(())
    }

    fn write(&mut self, _first: Lba, _buffer: &[u8]) -> Result<(), BlockError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), BlockError> {
        Ok(())
    }

    fn discard(&mut self, _first: Lba, _count: u64) -> Result<(), BlockError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pumice_vfs::{FileKind, Timestamp};

    use super::*;
    use crate::{
        layout::Features,
        mkfs::{Attributes, EntryId, NoContent},
    };

    fn tree(files: u32, size: u64) -> Tree {
        let plain = Attributes::directory(0o755, 0, 0, Timestamp::default());
        let mut tree = Tree::new(plain.clone());
        for at in 0..files {
            let what = Attributes { kind: FileKind::File, size, uid: at * 1000, ..plain.clone() };
            tree.add(EntryId::ROOT, format!("{at:0200}").as_bytes(), what).unwrap();
        }
        tree
    }

    /// The plan of a volume keeps 16 bytes for each segment that it plans on.
    #[test]
    fn a_tree_is_planned_on_few_segments() {
        let shape = Shape::default();
        let segments = |files, size| roomy(&shape, &tree(files, size)).unwrap().main;
        assert!(segments(0, 0) < 100);
        assert!(segments(1000, 4096) < 400);
        assert!(segments(1, 1 << 30) < 1000);
        assert!(segments(1, u64::MAX) > 8_000_000);
    }

    /// Blocks that a tree takes are fewer than it was planned on, with long names in deep tables and many owners.
    #[test]
    fn a_tree_has_room_where_it_is_planned() {
        let mut options = FormatOptions { dir_level: 28, ..FormatOptions::default() };
        options.shape.features = Features::QUOTA_INO;
        let extensions = Extensions::new(&[], &[]).unwrap();
        for zone in [1, 3] {
            options.shape.section_segments = zone;
            for (files, size) in [(0, 0), (1, 300 << 20), (1000, 5000), (50, 3 << 20)] {
                let tree = tree(files, size);
                let counts = Counts::of(&options, &extensions, &tree, &NoContent, NonZeroUsize::MIN).unwrap();
                let geometry = roomy(&options.shape, &tree).unwrap();
                assert!(counts.blocks() < geometry.main * SEGMENT_BLOCKS, "{files} files of {size} bytes");
            }
        }
    }
}
