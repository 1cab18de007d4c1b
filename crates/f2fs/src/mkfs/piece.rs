//! Files cut into pieces, and the way of a piece from its source to its stored form: read, and compressed.

use std::ops::Range;

use pumice_vfs::FileKind;

use super::{
    FormatError,
    compression::Compression,
    content::{Failed, Ranges},
    form::{Form, Forms},
    order::{Order, Visit},
    tree::{Attributes, Content, EntryId, Source, Tree},
};
use crate::{compress::Packer, verity::Seal, word::word};

/// Bytes of a piece, unless a cluster has more.
const PIECE: u64 = 1 << 20;

/// The files of a tree, and how each is kept.
pub(super) struct Files<'a> {
    pub(super) tree: &'a Tree,
    pub(super) order: &'a Order<'a>,
    pub(super) forms: &'a Forms<'a>,
    pub(super) source: &'a dyn Source,
    /// Content matters, not only where it goes.
    pub(super) reads: bool,
}

impl<'a> Files<'a> {
    /// The visit of that number, if it is a file that is not empty.
    fn file(&self, at: usize) -> Option<(&'a Visit<'a>, &'a Attributes)> {
        let visit = self.order.visits.get(at)?;
        let what = self.tree.attributes(visit.entry)?;
        (what.kind == FileKind::File && what.size > 0).then_some((visit, what))
    }
}

/// A piece of a file that is still to be read.
pub(super) struct Task<'a> {
    /// The number of the visit.
    pub(super) visit: usize,
    entry: EntryId,
    form: Form<'a>,
    seal: Option<&'a Seal>,
    range: Range<u64>,
    /// Nothing of the file is behind it.
    is_last: bool,
}

impl Task<'_> {
    /// Bytes to be read.
    pub(super) fn bytes(&self) -> u64 {
        self.range.end - self.range.start
    }
}

/// The tasks, file by file, and piece by piece of each. Each file has one piece at least.
pub(super) struct Tasks<'a> {
    files: &'a Files<'a>,
    visit: usize,
    cut: Option<Cut<'a>>,
}

/// A file that is being cut.
struct Cut<'a> {
    entry: EntryId,
    form: Form<'a>,
    seal: Option<&'a Seal>,
    size: u64,
    /// Asked where data are.
    content: Option<Box<dyn Content + 'a>>,
    ranges: Ranges,
    range: Range<u64>,
    /// Bytes of a piece at most; pieces begin at multiples of that, but for the first of a range.
    step: u64,
}

impl<'a> Tasks<'a> {
    pub(super) fn new(files: &'a Files<'a>) -> Tasks<'a> {
        Tasks { files, visit: 0, cut: None }
    }

    /// The next piece; an error is of the visit that it comes with.
    pub(super) fn next(&mut self) -> Result<Option<Task<'a>>, (usize, Failed)> {
        while self.cut.is_none() {
            if self.visit >= self.files.order.visits.len() {
                return Ok(None);
            }
            match self.files.file(self.visit) {
                Some((visit, what)) => {
                    let cut = Cut::begin(self.files, visit, what);
                    self.cut = Some(cut.map_err(|error| (self.visit, error.into()))?);
                }
                None => self.visit += 1,
            }
        }
        let Some(cut) = &mut self.cut else { return Ok(None) };
        let (range, is_last) = cut.next().map_err(|error| (self.visit, error.into()))?;
        let task =
            Task { visit: self.visit, entry: cut.entry, form: cut.form, seal: cut.seal, range, is_last };
        if is_last {
            self.cut = None;
            self.visit += 1;
        }
        Ok(Some(task))
    }
}

impl<'a> Cut<'a> {
    fn begin(files: &'a Files<'a>, visit: &Visit<'_>, what: &Attributes) -> std::io::Result<Cut<'a>> {
        let content = if what.sparse { Some(files.source.open(visit.entry)?) } else { None };
        let (form, block) = (files.forms.of(visit.name, what), files.forms.block_bytes());
        let cluster = match form {
            Form::Clusters(compression) => u64::from(compression.rule.cluster_blocks()) * block,
            Form::Inline | Form::Blocks => 0,
        };
        Ok(Cut {
            entry: visit.entry,
            form,
            seal: files.forms.seal(what),
            size: what.size,
            content,
            ranges: Ranges::new(what.size, block),
            range: 0..0,
            step: PIECE.max(cluster),
        })
    }

    /// The next piece, and whether it is the last.
    fn next(&mut self) -> std::io::Result<(Range<u64>, bool)> {
        if matches!(self.form, Form::Inline) {
            return Ok((0..self.size, true));
        }
        if self.range.is_empty() {
            match self.ranges.next(self.content.as_deref_mut())? {
                Some(range) => self.range = range,
                None => return Ok((self.size..self.size, true)),
            }
        }
        // No cluster is in two pieces.
        let step = self.step;
        let end = ((self.range.start / step + 1) * step).min(self.range.end);
        let piece = self.range.start..end;
        self.range.start = end;
        Ok((piece, end == self.size))
    }
}

/// A run of blocks in a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stretch {
    /// So many blocks as they are.
    Blocks(u32),
    /// A cluster that takes so many blocks.
    Cluster(u32),
}

/// A piece of a file as it is stored.
pub(super) struct Piece {
    /// Its first block in the file.
    pub(super) index: u32,
    /// Whole blocks, or the bytes inside the inode.
    pub(super) bytes: Vec<u8>,
    pub(super) stretches: Vec<Stretch>,
    /// The byte of the file that it begins at, and hashes of its blocks, of a file that is sealed.
    pub(super) start: u64,
    pub(super) hashes: Vec<u8>,
    pub(super) is_last: bool,
}

/// Makes pieces; one for each thread.
pub(super) struct Maker<'a> {
    files: &'a Files<'a>,
    open: Option<(EntryId, Box<dyn Content + 'a>)>,
    packer: Option<Packer>,
    /// The bytes read to be compressed.
    raw: Vec<u8>,
}

impl<'a> Maker<'a> {
    pub(super) fn new(files: &'a Files<'a>) -> Maker<'a> {
        Maker { files, open: None, packer: None, raw: Vec::new() }
    }

    /// Does a task; its bytes are put into `bytes`.
    pub(super) fn make(&mut self, task: &Task<'_>, mut bytes: Vec<u8>) -> Result<Piece, Failed> {
        let block = self.files.forms.block_bytes();
        // No file reaches so far: the mapper refuses it by name.
        let index = u32::try_from(task.range.start / block).unwrap_or(u32::MAX);
        let blocks = word(task.bytes().div_ceil(block));
        let (mut stretches, mut hashes) = (Vec::new(), Vec::new());
        let (length, reads) = (word(task.bytes()) as usize, self.files.reads);
        let mut seal = |data: &[u8]| {
            if let Some(seal) = task.seal.filter(|_| reads) {
                debug_assert!(length <= data.len(), "what is sealed was read");
                seal.hash(data.get(..length).unwrap_or_default(), &mut hashes);
            }
        };
        match task.form {
            _ if blocks == 0 => bytes.clear(),
            Form::Inline => self.read(task, length, &mut bytes)?,
            Form::Clusters(compression) if self.files.reads => {
                let mut raw = std::mem::take(&mut self.raw);
                self.read(task, blocks as usize * word(block) as usize, &mut raw)?;
                seal(&raw);
                bytes.clear();
                stretches = self.pack(&raw, index, compression, &mut bytes)?;
                self.raw = raw;
            }
            Form::Clusters(_) | Form::Blocks => {
                self.read(task, blocks as usize * word(block) as usize, &mut bytes)?;
                seal(&bytes);
                stretches.push(Stretch::Blocks(blocks));
            }
        }
        let start = task.range.start;
        Ok(Piece { index, bytes, stretches, start, hashes, is_last: task.is_last })
    }

    /// Reads the bytes of a task into `bytes`, and behind them zeros up to `length` bytes. If only places matter,
    /// anything stands there.
    fn read(&mut self, task: &Task<'_>, length: usize, bytes: &mut Vec<u8>) -> std::io::Result<()> {
        bytes.resize(length, 0);
        if !self.files.reads {
            return Ok(());
        }
        let content = match &mut self.open {
            Some((entry, content)) if *entry == task.entry => content,
            open => &mut open.insert((task.entry, self.files.source.open(task.entry)?)).1,
        };
        let (data, rest) = bytes.split_at_mut(word(task.bytes()) as usize);
        rest.fill(0);
        content.read(task.range.start, data)
    }

    /// Compresses the whole clusters among blocks of a file, of which the first is block `index`.
    fn pack(
        &mut self,
        mut blocks: &[u8],
        mut index: u32,
        compression: &Compression,
        out: &mut Vec<u8>,
    ) -> Result<Vec<Stretch>, FormatError> {
        let packer = match &mut self.packer {
            Some(packer) => packer,
            none => none.insert(compression.packer()?),
        };
        let (width, cluster) =
            (word(self.files.forms.block_bytes()) as usize, compression.rule.cluster_blocks());
        let mut stretches = Vec::new();
        while !blocks.is_empty() {
            let count = (cluster - index % cluster).min(word(blocks.len() / width));
            let (now, later) = blocks.split_at(count as usize * width);
            let stored = if count == cluster { packer.pack(now, width, out) } else { None };
            match (stored, stretches.last_mut()) {
                (Some(count), _) => stretches.push(Stretch::Cluster(word(count))),
                (None, Some(Stretch::Blocks(before))) => *before += count,
                (None, _) => stretches.push(Stretch::Blocks(count)),
            }
            if stored.is_none() {
                out.extend_from_slice(now);
            }
            blocks = later;
            index += count;
        }
        Ok(stretches)
    }
}
