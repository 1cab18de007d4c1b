//! Writes a tree, entry by entry in its order.

use std::collections::BTreeSet;

use pumice_vfs::FileKind;

use super::{
    FormatError, FormatOptions,
    compression::Compression,
    content::Failed,
    directory::{Entries, Named, entries},
    extensions::Extensions,
    feed::Feed,
    filler::Filler,
    form::{Form, Forms},
    inode::{Body, Standing, begin, finish, stored_attributes},
    order::{Order, Visit},
    quota::{KINDS, Usage},
    tree::{Attributes, EntryId, Tree, wrong},
};
use crate::{
    fold::fold_or_bytes,
    hash::name_hash,
    layout::{Advise, Features, InlineFlags, Inode, InodeFlags, Nid},
    verity::{Seal, Sealed, metadata_start},
    write::{Writer, head::Log, warmth::Warmth},
};

/// A tree on its way to a volume.
pub(super) struct Builder<'a> {
    pub(super) tree: &'a Tree,
    pub(super) order: &'a Order<'a>,
    pub(super) options: &'a FormatOptions,
    pub(super) extensions: &'a Extensions,
    pub(super) forms: &'a Forms<'a>,
    /// The use of users, groups and projects.
    pub(super) usage: [Usage; KINDS],
    /// Digests of sealed files, by their paths.
    pub(super) digests: Vec<(String, Vec<u8>)>,
}

/// Mode of a quota file.
const QUOTA_PERM: u32 = 0o600;

impl Builder<'_> {
    /// Writes everything; `progress` hears of bytes.
    pub(super) fn run(
        &mut self,
        writer: &mut Writer,
        feed: &mut Feed<'_, '_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), FormatError> {
        let order = self.order;
        for visit in &order.visits {
            let Some(what) = self.tree.attributes(visit.entry) else { continue };
            let blocks = self.entry(writer, feed, visit, what)?;
            self.count(what, blocks);
            progress(what.size);
        }
        Ok(())
    }

    /// The reason why a visit failed.
    fn failed(&self, (visit, failed): (usize, Failed)) -> FormatError {
        match failed {
            Failed::Format(error) => error,
            Failed::Source(error) => {
                let path =
                    self.order.visits.get(visit).map_or_else(String::new, |visit| self.order.path(visit));
                FormatError::Source { path, error: error.to_string() }
            }
        }
    }

    fn count(&mut self, what: &Attributes, blocks: u64) {
        let bytes = blocks.saturating_sub(1) * self.options.shape.block.bytes_u64();
        for (usage, id) in self.usage.iter_mut().zip([what.uid, what.gid, 0]) {
            let used = usage.entry(id).or_default();
            *used = (used.0 + 1, used.1 + bytes);
        }
    }

    /// Returns the blocks that the entry counts.
    fn entry(
        &mut self,
        writer: &mut Writer,
        feed: &mut Feed<'_, '_>,
        visit: &Visit<'_>,
        what: &Attributes,
    ) -> Result<u64, FormatError> {
        let standing = Standing {
            ino: self.order.ino(visit.entry),
            parent: self.order.parent(visit),
            name: visit.name,
            links: self.order.links(visit.entry),
        };
        let mut inode = begin(what, &standing, self.options);
        let log = self.warm(&mut inode, visit.name);
        let room = inode.xattr_range().len() + self.options.shape.block.node_bytes();
        self.check_flags(visit, &inode)?;
        let seal = self.forms.seal(what);
        let attributes = if what.xattrs.is_empty() && seal.is_none() {
            crate::layout::XattrList::default()
        } else {
            stored_attributes(what, seal, room, &self.order.path(visit))?
        };
        let body = match what.kind {
            FileKind::Dir => self.directory(writer, visit, &mut inode)?,
            FileKind::File => {
                inode.size = what.size;
                match what.size {
                    0 if seal.is_none() => Body::Inline(Vec::new()),
                    _ => self.file(writer, feed, visit, what, &mut inode, log)?,
                }
            }
            FileKind::Symlink => self.bytes(writer, &mut inode, &what.target, log)?,
            _ => Body::Empty,
        };
        finish(writer, inode, &body, what.rdev, &attributes)
    }

    /// Hints for whoever writes to it later, and the log of its content.
    fn warm(&self, inode: &mut Inode, name: &[u8]) -> Log {
        if inode.links > 1 && inode.kind != FileKind::Dir {
            inode.advise = inode.advise.with(Advise::LOST_PINO);
        }
        match (inode.kind, self.extensions.warmth(name)) {
            (FileKind::Dir, _) => Log::HotData,
            (FileKind::File, Warmth::Hot) => {
                inode.advise = inode.advise.with(Advise::HOT);
                Log::HotData
            }
            (FileKind::File, Warmth::Cold) => {
                inode.advise = inode.advise.with(Advise::COLD);
                Log::ColdData
            }
            _ => Log::WarmData,
        }
    }

    /// Refuses flags that need features which the volume does not have.
    fn check_flags(&self, visit: &Visit<'_>, inode: &Inode) -> Result<(), FormatError> {
        if inode.is_casefolded() && !self.options.shape.features.has(Features::CASEFOLD) {
            let what = "it ignores case, which needs the feature casefold and an encoding".to_owned();
            return Err(wrong(self.order.path(visit).as_bytes(), what));
        }
        Ok(())
    }

    /// The content of a file that is not empty, or sealed.
    fn file(
        &mut self,
        writer: &mut Writer,
        feed: &mut Feed<'_, '_>,
        visit: &Visit<'_>,
        what: &Attributes,
        inode: &mut Inode,
        log: Log,
    ) -> Result<Body, FormatError> {
        let (form, seal) = (self.forms.of(visit.name, what), self.forms.seal(what));
        if let Form::Clusters(compression) = form {
            compression.rule.mark(inode);
        }
        let mut filler = Filler::new(writer, inode, log);
        if matches!(form, Form::Clusters(Compression { release: true, .. })) {
            filler.release();
        }
        let mut hashes = Vec::new();
        let mut is_whole = what.size == 0;
        while !is_whole {
            let piece = feed.next().map_err(|failed| self.failed(failed))?;
            if matches!(form, Form::Inline) {
                return Ok(Body::Inline(piece.bytes));
            }
            filler.piece(writer, &piece)?;
            if let Some(seal) = seal {
                seal.hash_hole(piece.start, &mut hashes);
                hashes.extend_from_slice(&piece.hashes);
            }
            is_whole = piece.is_last;
            feed.give_back(piece);
        }
        if let Some(seal) = seal {
            seal.hash_hole(what.size, &mut hashes);
            let digest = self.seal(writer, &mut filler, what.size, seal, hashes)?;
            inode.advise = inode.advise.with(Advise::VERITY);
            self.digests.push((self.order.path(visit), digest));
        }
        match (form, filler.saved()) {
            (Form::Clusters(Compression { release: true, .. }), 1..) => {
                inode.inline = inode.inline.with(InlineFlags::RELEASED);
            }
            (_, saved) => inode.extra.iter_mut().for_each(|extra| extra.saved_blocks = saved),
        }
        Ok(Body::Mapped(filler.finish(writer)?))
    }

    /// Writes the proof of a file's content, behind its end. Returns the digest.
    fn seal(
        &self,
        writer: &mut Writer,
        filler: &mut Filler,
        size: u64,
        seal: &Seal,
        hashes: Vec<u8>,
    ) -> Result<Vec<u8>, FormatError> {
        let Sealed { mut metadata, digest } = seal.finish(size, hashes);
        let block = self.options.shape.block;
        metadata.resize(metadata.len().next_multiple_of(block.width()), 0);
        let start = metadata_start(size).unwrap_or(u64::MAX);
        // No file reaches so far: the mapper refuses it by name.
        filler.put(writer, u32::try_from(start / block.bytes_u64()).unwrap_or(u32::MAX), &metadata)?;
        Ok(digest)
    }

    /// Content that is known: in the inode if it fits, otherwise in blocks.
    fn bytes(
        &self,
        writer: &mut Writer,
        inode: &mut Inode,
        bytes: &[u8],
        log: Log,
    ) -> Result<Body, FormatError> {
        inode.size = bytes.len() as u64;
        if bytes.len() <= inode.inline_range().len() {
            return Ok(Body::Inline(bytes.to_vec()));
        }
        let mut blocks = bytes.to_vec();
        blocks.resize(bytes.len().next_multiple_of(self.options.shape.block.width()), 0);
        let mut filler = Filler::new(writer, inode, log);
        filler.put(writer, 0, &blocks)?;
        Ok(Body::Mapped(filler.finish(writer)?))
    }

    fn directory(
        &self,
        writer: &mut Writer,
        visit: &Visit<'_>,
        inode: &mut Inode,
    ) -> Result<Body, FormatError> {
        let dots = [inode.ino, inode.parent];
        let mut names = Vec::new();
        let mut folded = inode.is_casefolded().then(BTreeSet::new);
        for (name, entry) in self.tree.names(visit.entry).into_iter().flatten() {
            let kind = self.tree.attributes(*entry).map_or(FileKind::File, |what| what.kind);
            let hash = match &mut folded {
                Some(folded) => self.folded_hash(name, visit, folded)?,
                None => name_hash(name),
            };
            names.push(Named { name, hash, ino: self.order.ino(*entry), kind });
        }
        let width = self.options.shape.block;
        // The kernel does not mount a volume if its root has no blocks.
        let room = if visit.entry == EntryId::ROOT { 0 } else { inode.inline_range().len() };
        let found = entries(dots, &names, room, self.options.dir_level, width).ok_or_else(|| {
            wrong(self.order.path(visit).as_bytes(), "its names do not fit into a directory".to_owned())
        })?;
        let (blocks, levels) = match found {
            Entries::Inline(bytes) => {
                inode.size = bytes.len() as u64;
                return Ok(Body::Inline(bytes));
            }
            Entries::Blocks { blocks, levels } => (blocks, levels),
        };
        inode.depth = levels;
        let end = blocks.last_key_value().map_or(0, |(index, _)| u64::from(*index) + 1);
        inode.size = end * width.bytes_u64();
        let mut filler = Filler::new(writer, inode, Log::HotData);
        for (index, block) in blocks {
            filler.put(writer, index, &block)?;
        }
        Ok(Body::Mapped(filler.finish(writer)?))
    }

    /// The hash of a name in a directory that ignores case, where no two names may be the same.
    fn folded_hash(
        &self,
        name: &[u8],
        visit: &Visit<'_>,
        others: &mut BTreeSet<Vec<u8>>,
    ) -> Result<u32, FormatError> {
        let refused = |what: String| {
            let path = self.order.path(visit);
            let path = format!("{}/{}", path.trim_end_matches('/'), name.escape_ascii());
            FormatError::Tree { path, what }
        };
        let folded =
            fold_or_bytes(name, self.options.strict_encoding).map_err(|error| refused(error.to_string()))?;
        let hash = name_hash(&folded);
        if !others.insert(folded) {
            return Err(refused("its directory ignores case, and has another such name".to_owned()));
        }
        Ok(hash)
    }

    /// Writes the quota files, which no directory names.
    pub(super) fn quota(&self, writer: &mut Writer, inodes: [u32; KINDS]) -> Result<(), FormatError> {
        for (kind, (ino, usage)) in
            inodes.into_iter().zip(&self.usage).enumerate().filter(|(_, (ino, _))| *ino != 0)
        {
            let what = Attributes {
                kind: FileKind::File,
                ..Attributes::directory(QUOTA_PERM, 0, 0, self.options.time)
            };
            let standing = Standing { ino: Nid(ino), parent: Nid::NULL, name: b"", links: 1 };
            let mut inode = begin(&what, &standing, self.options);
            inode.flags = inode.flags.with(InodeFlags::IMMUTABLE).with(InodeFlags::NOATIME);
            let content = super::quota::file(kind, usage);
            let mut blocks = content.clone();
            blocks.resize(content.len().next_multiple_of(self.options.shape.block.width()), 0);
            inode.size = content.len() as u64;
            let mut filler = Filler::new(writer, &inode, Log::HotData);
            filler.put(writer, 0, &blocks)?;
            let body = Body::Mapped(filler.finish(writer)?);
            finish(writer, inode, &body, 0, &crate::layout::XattrList::default())?;
        }
        Ok(())
    }
}

/// The kinds of quota that features ask for: users and groups, and projects.
pub(super) fn quota_kinds(features: Features) -> [bool; KINDS] {
    let project = features.has(Features::PROJECT_QUOTA);
    let quota = features.has(Features::QUOTA_INO);
    [quota, quota, quota && project]
}
