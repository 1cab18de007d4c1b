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
        let shape = Shape { nodes: u64::MAX, overprovision: None, ..options.shape };
        let block = shape.block;
        let bytes = u64::from(SEGMENTS_MAX) * SEGMENT_BLOCKS * block.bytes_u64();
        let geometry = Geometry::new(&shape, bytes)?;
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
