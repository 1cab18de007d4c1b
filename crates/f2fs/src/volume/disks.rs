//! The devices of a volume as one row of blocks.

use pumice_media::ReadAt;
use pumice_vfs::Stored;

use crate::{
    error::{Error, Result},
    layout::{BlockAddr, BlockSize, SuperBlock},
};

/// A device and the blocks of the volume that are on it.
struct Part {
    first: u64,
    blocks: u64,
    disk: Box<dyn ReadAt>,
}

/// All devices of a volume.
pub(crate) struct Disks {
    block: BlockSize,
    parts: Vec<Part>,
}

impl Disks {
    /// The devices in the order of the super block. Missing ones cannot be read.
    pub(crate) fn new(disks: Vec<Box<dyn ReadAt>>, sb: &SuperBlock) -> Disks {
        let named = sb.devices();
        let mut parts = Vec::new();
        for (index, disk) in disks.into_iter().enumerate() {
            let (first, blocks) = match named.get(index) {
                Some(device) => (device.first, device.blocks),
                None if index == 0 => (0, sb.main_end()),
                None => break,
            };
            parts.push(Part { first, blocks, disk });
        }
        Disks { block: sb.block(), parts }
    }

    /// The first device that is missing or too small for its blocks.
    pub(crate) fn missing(&self, sb: &SuperBlock) -> Option<Error> {
        let bytes = |blocks: u64| blocks.saturating_mul(sb.block().bytes_u64());
        let is_short = |part: &Part| part.disk.bytes() < bytes(part.blocks);
        if let Some(index) = self.parts.iter().position(is_short) {
            let part = self.parts.get(index)?;
            return Some(missing(sb, index, part.disk.bytes(), bytes(part.blocks)));
        }
        let device = sb.devices().into_iter().nth(self.parts.len())?;
        Some(missing(sb, self.parts.len(), 0, bytes(device.blocks)))
    }

    /// Bytes of the volume that are there.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = |part: &Part| part.blocks.saturating_mul(self.block.bytes_u64()).min(part.disk.bytes());
        self.parts.iter().map(bytes).fold(0, u64::saturating_add)
    }

    fn part(&self, at: u64) -> Option<(usize, &Part)> {
        let holds = |part: &Part| at >= part.first && at - part.first < part.blocks;
        self.parts.iter().enumerate().find(|(_, part)| holds(part))
    }

    /// The device of block `addr`, its byte there, and how many bytes of the volume go on from it on this device.
    pub(crate) fn stored(&self, addr: BlockAddr) -> Option<Stored> {
        let at = u64::from(addr.0);
        let (device, part) = self.part(at)?;
        let inside = at - part.first;
        let bytes = |blocks: u64| blocks.saturating_mul(self.block.bytes_u64());
        Some(Stored { device, offset: bytes(inside), length: bytes(part.blocks - inside) })
    }

    /// Fills `buffer`, a whole number of blocks, with the blocks from `addr` on.
    pub(crate) fn read(&self, addr: BlockAddr, buffer: &mut [u8]) -> Result<()> {
        let mut at = u64::from(addr.0);
        let mut rest = buffer;
        while !rest.is_empty() {
            let (_, part) = self.part(at).ok_or_else(|| beyond(at))?;
            let inside = at - part.first;
            let room = (part.blocks - inside).saturating_mul(self.block.bytes_u64());
            let length = usize::try_from(room).map_or(rest.len(), |room| room.min(rest.len()));
            let (now, later) = rest.split_at_mut(length);
            part.disk
                .read_at(inside.saturating_mul(self.block.bytes_u64()), now)
                .map_err(|error| Error::Read { addr: at, error })?;
            at += length as u64 / self.block.bytes_u64();
            rest = later;
        }
        Ok(())
    }
}

fn missing(sb: &SuperBlock, index: usize, found: u64, want: u64) -> Error {
    let path = sb.devices().get(index).map(|device| device.path.clone()).unwrap_or_default();
    Error::Device { index, path, found, want }
}

fn beyond(at: u64) -> Error {
    let error = pumice_media::BlockError::OutOfRange { first: pumice_media::Lba(at), count: 1, blocks: at };
    Error::Read { addr: at, error }
}
