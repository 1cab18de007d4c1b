//! Making a volume, empty or filled with a tree: append-only, one checkpoint, laid out for reading.

mod build;
mod compression;
mod content;
mod directory;
mod error;
pub(crate) mod extensions;
mod feed;
mod filler;
mod form;
pub(crate) mod geometry;
mod inode;
mod mapper;
mod options;
mod order;
mod piece;
mod plan;
mod quota;
mod tree;

use std::num::NonZeroUsize;

use crate::word::word;
use pumice_media::BlockDevice;
use pumice_vfs::FileKind;
use zerocopy::IntoBytes;

use self::{
    build::{Builder, quota_kinds},
    extensions::Extensions,
    feed::feed,
    form::Forms,
    geometry::Geometry,
    inode::mixed,
    order::Order,
    piece::Files,
    plan::{Counts, starts},
    quota::{KINDS, Usage},
};
pub use self::{
    compression::Compression,
    error::FormatError,
    geometry::Shape,
    options::FormatOptions,
    tree::{Attributes, Content, EntryId, NoContent, Source, Tree},
};
use crate::{
    error::Result as WriteResult,
    layout::{BlockAddr, Features, NatEntry, Nid, SUPER_OFFSET, SuperBlock},
    write::{Writer, head::Log, medium::Medium, pack::Reserve},
};

/// The root directory, and the first number that anything else may have.
const ROOT: Nid = Nid(3);
const FIRST_FREE_NID: u64 = 4;
/// A directory for the files that fsck finds.
const LOST_FOUND: (&[u8], u32) = (b"lost+found", 0o700);

/// The size of a new volume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// So many bytes.
    Bytes(u64),
    /// As few segments as hold the tree and leave so many bytes for users to write.
    Free(u64),
}

/// A volume that was planned: its contents, and their places.
pub struct Plan {
    options: FormatOptions,
    extensions: Extensions,
    tree: Tree,
    counts: Counts,
    geometry: Geometry,
    threads: NonZeroUsize,
}

/// The figures of the new volume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Made {
    /// Bytes of the volume.
    pub bytes: u64,
    /// Directories, the root among them.
    pub directories: u64,
    /// All other inodes, quota files aside.
    pub files: u64,
    /// Bytes that users can still write.
    pub free_bytes: u64,
}

impl Plan {
    /// Checks the options and plans all places. The source is asked only for the data ranges of sparse files, unless
    /// compressed files give back their saved room: then they are compressed once to know how much. Up to `threads`
    /// threads read and compress; the result does not depend on their number.
    pub fn new(
        mut options: FormatOptions,
        mut tree: Tree,
        source: &dyn Source,
        size: Size,
        threads: NonZeroUsize,
    ) -> Result<Plan, FormatError> {
        options.check()?;
        if let Some(compression) = options.compression.as_mut().filter(|_| options.shape.is_read_only()) {
            // Nobody will write to the room that is saved.
            compression.release = true;
        }
        let extensions = Extensions::new(&options.cold_extensions, &options.hot_extensions)?;
        add_lost_found(&options, &mut tree)?;
        let counts = Counts::of(&options, &extensions, &tree, source, threads)?;
        let geometry = counts.geometry(&options, size)?;
        Ok(Plan { options, extensions, tree, counts, geometry, threads })
    }

    /// Blocks that the device must have, and their bytes.
    pub fn blocks(&self) -> (u64, u32) {
        (self.geometry.blocks, self.options.shape.block.bytes())
    }

    /// Bytes of all files, as [`Plan::write`] counts them.
    pub fn bytes(&self) -> u64 {
        let sizes = (0..self.tree.len()).filter_map(|at| self.tree.at(at)).map(|what| what.size);
        sizes.fold(0, u64::saturating_add)
    }

    /// The figures of the volume to be made.
    pub fn made(&self) -> Made {
        let is_dir = |at: &usize| self.tree.at(*at).is_some_and(|what| what.kind == FileKind::Dir);
        let reached = self.counts.inodes - self.counts.hidden;
        let directories = (0..self.tree.len()).filter(is_dir).count() as u64;
        let block = self.options.shape.block.bytes_u64();
        let users = (self.geometry.main - self.geometry.overprovision) * 512;
        Made {
            bytes: self.geometry.blocks * block,
            directories,
            files: reached.saturating_sub(directories),
            free_bytes: users.saturating_sub(self.counts.blocks()) * block,
        }
    }

    /// Makes the volume. `is_blank` says that the device holds zeros. `progress` hears of bytes of files. Returns the paths of
    /// sealed files and their digests.
    pub fn write(
        &self,
        device: Box<dyn BlockDevice + Send>,
        is_blank: bool,
        source: &dyn Source,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Vec<(String, Vec<u8>)>, FormatError> {
        let (order, quota) = numbered(&self.options, &self.tree);
        let sb = self.options.super_block(&self.geometry, &self.extensions, quota)?;
        let mut medium = Medium::new(device, sb.block());
        prepare(&mut medium, &sb, is_blank)?;
        let first = order.next_nid;
        let mut writer = Writer::fresh(sb, medium, starts(&self.counts, &self.options.shape), first)?;
        let forms = Forms::new(&self.options, &self.extensions);
        let files = Files { tree: &self.tree, order: &order, forms: &forms, source, reads: true };
        let mut builder = Builder {
            tree: &self.tree,
            order: &order,
            options: &self.options,
            extensions: &self.extensions,
            forms: &forms,
            usage: [const { Usage::new() }; KINDS],
            digests: Vec::new(),
        };
        feed(&files, self.threads, |feed| builder.run(&mut writer, feed, progress))?;
        builder.quota(&mut writer, quota)?;
        finish(writer, &self.options, &self.geometry, is_blank)?;
        Ok(builder.digests)
    }
}

fn add_lost_found(options: &FormatOptions, tree: &mut Tree) -> Result<(), FormatError> {
    let (name, perm) = LOST_FOUND;
    if options.shape.features.has(Features::LOST_FOUND) && tree.find(EntryId::ROOT, name).is_none() {
        tree.add(EntryId::ROOT, name, Attributes::directory(perm, 0, 0, options.time))?;
    }
    Ok(())
}

/// Inode numbers: the root, quota files, then everything else in order.
fn numbered<'a>(options: &FormatOptions, tree: &'a Tree) -> (Order<'a>, [u32; KINDS]) {
    let mut next = 4;
    let quota = quota_kinds(options.shape.features).map(|wanted| {
        let ino = if wanted { next } else { 0 };
        next += u32::from(wanted);
        ino
    });
    (Order::new(tree, ROOT, next), quota)
}

/// Clears old structures that must not be found, and the tables; writes the two entries of the NAT that stand for no
/// node.
fn prepare(medium: &mut Medium, sb: &SuperBlock, is_blank: bool) -> WriteResult<()> {
    let raw = sb.raw();
    if !is_blank {
        medium.clear(BlockAddr(0), 2)?;
        medium.flush()?;
        medium.clear(sb.checkpoint_addr(1), raw.segment_count_ckpt.get() * sb.blocks_per_segment())?;
        medium.clear(
            BlockAddr(raw.sit_blkaddr.get()),
            raw.segment_count_sit.get() / 2 * sb.blocks_per_segment(),
        )?;
        for pair in 0..raw.segment_count_nat.get() / 2 {
            let first = raw.nat_blkaddr.get() + pair * 2 * sb.blocks_per_segment();
            medium.clear(BlockAddr(first), sb.blocks_per_segment())?;
        }
    }
    let mut block = vec![0; sb.block().width()];
    for nid in [raw.node_ino.get(), raw.meta_ino.get()] {
        let entry = NatEntry { version: 0, ino: Nid(nid), addr: BlockAddr(1) }.to_raw();
        let at = nid as usize * entry.as_bytes().len();
        block.iter_mut().skip(at).zip(entry.as_bytes()).for_each(|(to, from)| *to = *from);
    }
    medium.write(BlockAddr(raw.nat_blkaddr.get()), &block)
}

/// The checkpoint, and then the super blocks, without which there is no volume.
fn finish(
    mut writer: Writer,
    options: &FormatOptions,
    geometry: &Geometry,
    is_blank: bool,
) -> WriteResult<()> {
    if !is_blank {
        // Nothing may be taken for a node that fsync wrote behind this checkpoint.
        let (next, _) = writer.next(writer.stream(Log::WarmNode));
        writer.medium().clear(next, 1)?;
    }
    let version = (mixed(options.seed) >> 33) | 2;
    let reserve = Reserve {
        reserved: word(geometry.reserved),
        overprovision: word(geometry.overprovision),
        users: (geometry.main - geometry.overprovision) * 512,
        large_nat: geometry.large_nat,
    };
    writer.format(version, reserve)?;
    let sb = writer.super_block().clone();
    let mut block = vec![0; sb.block().width()];
    let at = usize::try_from(SUPER_OFFSET).unwrap_or_default();
    block.iter_mut().skip(at).zip(sb.raw().as_bytes()).for_each(|(to, from)| *to = *from);
    for copy in [1, 0] {
        writer.medium().write(BlockAddr(copy), &block)?;
    }
    writer.medium().flush()
}
