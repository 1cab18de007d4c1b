//! Repairs of directories: entries that fit their slots, name inodes that are there, and stand where they are looked for.

use std::collections::{BTreeMap, BTreeSet};

use pumice_vfs::FileKind;

use super::{
    bench::{Bench, put, word_at},
    field, tree,
};
use crate::{
    check::{Code, Cure, Finding, Object, Report},
    error::Result,
    hash::name_hash,
    layout::{
        Advise, BlockAddr, Dentry, DentryLayout, Inode, LEVELS_MAX, Nid, bucket_beside, file_kind, file_type,
    },
};

/// Longest name.
const NAME_MAX: usize = 255;

/// A name that must be made again, in its right place.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Homeless {
    pub(super) directory: Nid,
    pub(super) name: Vec<u8>,
    pub(super) ino: Nid,
}

/// An entry, and where it stands.
pub(super) struct Entry {
    pub(super) directory: Nid,
    pub(super) ino: Nid,
    pub(super) file_type: u8,
    pub(super) name: Vec<u8>,
    hash: u32,
    slot: u32,
    leaf: Leaf,
}

/// Entries of a block of a directory, or of its inode.
#[derive(Clone, Copy)]
pub(super) struct Leaf {
    directory: Nid,
    /// The block; none if the entries stand in the inode.
    addr: Option<BlockAddr>,
    start: usize,
    bytes: usize,
}

impl Leaf {
    pub(super) fn of(bench: &Bench, directory: Nid, index: u64) -> Option<Leaf> {
        let (inode, block) = bench.inode(directory)?;
        if inode.has_inline_dentry() {
            let range = inode.inline_range();
            return Some(Leaf { directory, addr: None, start: range.start, bytes: range.len() });
        }
        let addr = tree::block_of(bench, &inode, &block, index).filter(|addr| bench.volume.is_main(*addr))?;
        Some(Leaf { directory, addr: Some(addr), start: 0, bytes: bench.volume.block_size().width() })
    }

    pub(super) fn layout(&self) -> DentryLayout {
        DentryLayout::for_bytes(self.bytes)
    }

    pub(super) fn read(&self, bench: &Bench) -> Option<Vec<u8>> {
        let block = match self.addr {
            Some(addr) => bench.draft.read(addr).ok()?,
            None => bench.node(self.directory)?,
        };
        block.get(self.start..self.start + self.bytes).map(<[u8]>::to_vec)
    }

    pub(super) fn edit(&self, bench: &Bench, edit: impl FnOnce(&mut [u8])) -> Result<()> {
        let part = self.start..self.start + self.bytes;
        let change = |block: &mut [u8]| {
            let part = block.get_mut(part);
            debug_assert!(part.is_some(), "entries behind the end of a block");
            if let Some(part) = part {
                edit(part);
            }
        };
        match self.addr {
            Some(addr) => bench.draft.edit(addr, change),
            None => bench.edit_node(self.directory, change),
        }
    }

    /// Gives the name in a slot the length with which its hash is right; true if there is one.
    fn set_length(&self, bench: &Bench, bytes: &[u8], slot: u32) -> Result<bool> {
        let layout = self.layout();
        let Some(length) = length_by_hash(&layout, bytes, slot) else { return Ok(false) };
        let place = layout.entry_at(slot) + 8;
        let (stored, slots): (u16, u32) = (field(length as u64)?, field(length.div_ceil(8) as u64)?);
        self.edit(bench, |block| {
            put(block, place, &stored.to_le_bytes());
            let end = slot + slots;
            (slot..end.min(layout.slots)).for_each(|slot| layout.set_used(block, slot, true));
        })?;
        Ok(true)
    }

    /// All entries that make sense.
    fn entries(&self, bench: &Bench) -> Vec<Entry> {
        let (Some(bytes), layout) = (self.read(bench), self.layout()) else { return Vec::new() };
        let (mut slot, mut entries) = (0, Vec::new());
        loop {
            match layout.next(&bytes, slot) {
                Ok(None) => return entries,
                Ok(Some(entry)) => {
                    slot = entry.slot + entry.slots();
                    entries.push(Entry::new(*self, &entry));
                }
                Err(at) => slot = at + 1,
            }
        }
    }
}

impl Entry {
    fn new(leaf: Leaf, entry: &Dentry<'_>) -> Entry {
        Entry {
            directory: leaf.directory,
            ino: entry.ino,
            file_type: entry.file_type,
            name: entry.name.to_vec(),
            hash: entry.hash,
            slot: entry.slot,
            leaf,
        }
    }

    /// The entry that a finding is about.
    pub(super) fn at(bench: &Bench, object: Object) -> Option<Entry> {
        let Object::Entry { directory, block, slot } = object else { return None };
        let leaf = Leaf::of(bench, directory, block)?;
        let bytes = leaf.read(bench)?;
        let layout = leaf.layout();
        (slot < layout.slots && layout.is_used(&bytes, slot))
            .then(|| layout.entry(&bytes, slot).map(|entry| Entry::new(leaf, &entry)))
            .flatten()
    }

    fn slots(&self) -> std::ops::Range<u32> {
        let count = self.name.len().div_ceil(crate::layout::DIR_SLOT_BYTES);
        self.slot..self.slot + u32::try_from(count).unwrap_or(0)
    }

    /// Changes a number of the entry: hash at 0, inode at 4, length of the name at 8, kind at 10.
    fn set(&self, bench: &Bench, at: usize, bytes: &[u8]) -> Result<()> {
        let place = self.leaf.layout().entry_at(self.slot) + at;
        self.leaf.edit(bench, |block| put(block, place, bytes))
    }

    pub(super) fn set_ino(&self, bench: &Bench, ino: Nid) -> Result<()> {
        self.set(bench, 4, &ino.0.to_le_bytes())
    }

    pub(super) fn set_type(&self, bench: &Bench, file_type: u8) -> Result<()> {
        self.set(bench, 10, &[file_type])
    }

    /// Takes it away.
    pub(super) fn remove(&self, bench: &Bench) -> Result<()> {
        let (layout, slots) = (self.leaf.layout(), self.slots());
        self.leaf.edit(bench, |block| slots.for_each(|slot| layout.set_used(block, slot, false)))
    }

    /// Gives the name the length with which its hash is right; true if there is one.
    fn set_length(&self, bench: &Bench) -> Result<bool> {
        let Some(bytes) = self.leaf.read(bench) else { return Ok(false) };
        self.leaf.set_length(bench, &bytes, self.slot)
    }

    fn set_name(&self, bench: &Bench, name: &[u8]) -> Result<()> {
        debug_assert_eq!(name.len(), self.name.len());
        let place = self.leaf.layout().name_at(self.slot);
        self.leaf.edit(bench, |block| put(block, place, name))
    }
}

/// All entries of a directory.
pub(super) fn entries(bench: &Bench, directory: Nid) -> Vec<Entry> {
    let leaves = leaves(bench, directory);
    leaves.into_iter().flat_map(|(_, leaf)| leaf.entries(bench)).collect()
}

/// The blocks of a directory with their numbers, or its inode's own entries.
pub(super) fn leaves(bench: &Bench, directory: Nid) -> Vec<(u64, Leaf)> {
    let Some((inode, block)) = bench.inode(directory) else { return Vec::new() };
    if inode.has_inline_dentry() {
        return Leaf::of(bench, directory, 0).map(|leaf| (0, leaf)).into_iter().collect();
    }
    let bytes = bench.volume.block_size().width();
    let addrs = tree::blocks_of(bench, &inode, &block).into_iter();
    let leaf = |(index, addr)| (index, Leaf { directory, addr: Some(addr), start: 0, bytes });
    addrs.map(leaf).collect()
}

/// Mends all findings about entries. Names that have to be made again are added to `homeless`.
pub(super) fn mend(bench: &Bench, report: &Report, homeless: &mut BTreeSet<Homeless>) -> Result<()> {
    let lost = Lost::of(bench, report);
    for finding in &report.findings {
        if let (Code::DentrySlots, Object::Entry { directory, block, slot }) = (finding.code, finding.object)
        {
            slots(bench, report, directory, (block, slot))?;
            continue;
        }
        let Some(entry) = Entry::at(bench, finding.object) else { continue };
        match (finding.code, finding.cure) {
            (Code::DentryInode, _) => match lost.named(&entry).or_else(|| lost.only(&entry)) {
                Some(ino) => entry.set_ino(bench, ino)?,
                None => entry.remove(bench)?,
            },
            (Code::DentryType, Cure::Number(right)) => kind(bench, &entry, field(right)?)?,
            (Code::DentryHash, Cure::Number(right)) => hash(bench, &entry, right)?,
            (Code::DentryName, _) => rename(bench, &entry, homeless)?,
            (Code::DentryPlace, Cure::Number(depth)) => deepen(bench, entry.directory, depth)?,
            (Code::DentryPlace, _) => move_away(bench, entry, finding.object, homeless)?,
            (Code::DentryTwice, _) => twice(bench, &entry, homeless)?,
            _ => {}
        }
    }
    lost.redirect(bench)
}

/// Inodes that lack a name.
struct Lost {
    /// Those that no entry names, by the directory and name that they remember.
    unnamed: BTreeMap<(Nid, Vec<u8>), Nid>,
    /// The only one that lacks a name, if only one entry names nothing.
    only: Option<Nid>,
    /// Its kind, and the directory of its name, if it can be in no other.
    fits: Option<(FileKind, Option<Nid>)>,
}

impl Lost {
    fn of(bench: &Bench, report: &Report) -> Lost {
        let unnamed = report.findings.iter().filter(|finding| finding.code == Code::InodeUnnamed);
        let name = |finding: &Finding| {
            let Object::Inode(ino) = finding.object else { return None };
            let (directory, name) = remembered(bench, ino)?;
            Some(((directory, name), ino))
        };
        let unnamed = unnamed.filter_map(name).collect();
        let dangling = report.findings.iter().filter(|finding| finding.code == Code::DentryInode).count();
        let mut short = report.findings.iter().filter_map(|finding| Lost::short(bench, finding));
        let only = short.next().filter(|_| dangling == 1 && short.next().is_none());
        let (only, fits) = only.unzip();
        Lost { unnamed, only, fits }
    }

    /// The inode of a finding, if it has one name fewer than it counts: its kind, and the directory of its only name.
    fn short(bench: &Bench, finding: &Finding) -> Option<(Nid, (FileKind, Option<Nid>))> {
        let Object::Inode(ino) = finding.object else { return None };
        let (inode, _) = bench.inode(ino).filter(|_| !bench.pack.orphans.contains(&ino))?;
        let is_dir = inode.kind == FileKind::Dir;
        let is_short = match (finding.code, finding.cure) {
            (Code::InodeUnnamed, _) => is_dir || inode.links == 1,
            (Code::InodeLinks, Cure::Number(names)) => !is_dir && u64::from(inode.links) == names + 1,
            _ => false,
        };
        let is_alone = is_dir || inode.links == 1;
        is_short.then_some((ino, (inode.kind, is_alone.then_some(inode.parent))))
    }

    fn only(&self, entry: &Entry) -> Option<Nid> {
        let (kind, parent) = self.fits?;
        let fits =
            kind == file_kind(entry.file_type) && parent.is_none_or(|parent| parent == entry.directory);
        self.only.filter(|_| fits && !is_dots(&entry.name))
    }

    fn named(&self, entry: &Entry) -> Option<Nid> {
        self.unnamed.get(&(entry.directory, entry.name.clone())).copied()
    }

    /// An entry with the very name of a lost inode names another: that one has its own name elsewhere.
    fn redirect(&self, bench: &Bench) -> Result<()> {
        for ((directory, name), ino) in &self.unnamed {
            for entry in entries(bench, *directory).iter().filter(|entry| entry.name == *name) {
                let is_its_own =
                    remembered(bench, entry.ino).is_some_and(|own| own == (*directory, name.clone()));
                if entry.ino != *ino && !is_its_own {
                    entry.set_ino(bench, *ino)?;
                }
            }
        }
        Ok(())
    }
}

/// An inode that lacks names.
pub(super) struct Lacking {
    /// As entries have it.
    pub(super) file_type: u8,
    /// Names that it counts and does not have.
    pub(super) names: u64,
    /// It counts more than one: it need not remember all.
    pub(super) has_others: bool,
    /// The directory and the name that it remembers.
    pub(super) remembered: Option<(Nid, Vec<u8>)>,
}

/// The inodes that lack names, but for orphans.
pub(super) fn lacking(bench: &Bench, report: &Report) -> BTreeMap<Nid, Lacking> {
    let found = report.findings.iter().filter_map(|finding| {
        let Object::Inode(ino) = finding.object else { return None };
        let (inode, _) = bench.inode(ino).filter(|_| !bench.pack.orphans.contains(&ino))?;
        let (is_dir, links) = (inode.kind == FileKind::Dir, u64::from(inode.links));
        let names = match (finding.code, finding.cure) {
            (Code::InodeUnnamed, _) if is_dir => 1,
            (Code::InodeUnnamed, _) => links,
            (Code::InodeLinks, Cure::Number(names)) if !is_dir => links.saturating_sub(names),
            _ => 0,
        };
        let (file_type, has_others) = (file_type(inode.kind), !is_dir && links > 1);
        let lacking = Lacking { file_type, names, has_others, remembered: remembered(bench, ino) };
        (names > 0).then_some((ino, lacking))
    });
    found.collect()
}

/// The directory and the name that a file was made with, if it was not moved since. A directory might come to hang from
/// itself.
pub(super) fn own_name(bench: &Bench, ino: Nid) -> Option<(Nid, Vec<u8>)> {
    let (inode, _) = bench.inode(ino)?;
    let is_own = inode.kind != FileKind::Dir && !inode.advise.has(Advise::LOST_PINO);
    remembered(bench, ino).filter(|_| is_own)
}

/// One inode has more names than it counts and another fewer: an entry of the first may be the second's. True if one is
/// given over.
pub(super) fn redirect(bench: &Bench, report: &Report) -> Result<bool> {
    let links = report.findings.iter().filter(|finding| finding.code == Code::InodeLinks);
    let counted = links.filter_map(|finding| match (finding.object, finding.cure) {
        (Object::Inode(ino), Cure::Number(names)) => {
            let (inode, _) = bench.inode(ino)?;
            (inode.kind != FileKind::Dir).then(|| (ino, inode.kind, inode.links.into(), names))
        }
        _ => None,
    });
    let (over, short): (Vec<_>, Vec<_>) = counted
        .filter(|(.., links, _): &(_, _, u64, u64)| *links > 0)
        .partition(|(.., links, names)| links < names);
    if over.is_empty() || short.is_empty() {
        return Ok(false);
    }
    let mut done = false;
    for entry in every_entry(bench) {
        let Some((_, kind, ..)) = over.iter().find(|(ino, ..)| *ino == entry.ino) else { continue };
        let place = (entry.directory, entry.name.clone());
        if remembered(bench, entry.ino).as_ref() == Some(&place) {
            continue;
        }
        let mut fitting = short.iter().filter(|(_, other, ..)| other == kind).map(|(ino, ..)| *ino);
        let named = fitting.clone().find(|ino| remembered(bench, *ino).as_ref() == Some(&place));
        let only = fitting.next().filter(|_| fitting.next().is_none() && over.len() == 1);
        if let Some(ino) = named.or(only.filter(|_| !done)) {
            entry.set_ino(bench, ino)?;
            done = true;
        }
    }
    Ok(done)
}

/// All directories.
pub(super) fn every_directory(bench: &Bench) -> impl Iterator<Item = Nid> {
    let is_directory = |ino: &Nid| bench.inode(*ino).is_some_and(|(inode, _)| inode.kind == FileKind::Dir);
    bench.inodes().into_iter().filter(is_directory)
}

/// The entries of all directories but `.` and `..`.
fn every_entry(bench: &Bench) -> impl Iterator<Item = Entry> {
    let found = every_directory(bench).flat_map(|ino| entries(bench, ino));
    found.filter(|entry| !is_dots(&entry.name))
}

/// The directory and the name that an inode remembers.
pub(super) fn remembered(bench: &Bench, ino: Nid) -> Option<(Nid, Vec<u8>)> {
    let (inode, _) = bench.inode(ino)?;
    let name = inode.last_name().to_vec();
    (!name.is_empty()).then_some((inode.parent, name))
}

/// The length of a name is wrong, or bits of its slots are missing.
fn slots(bench: &Bench, report: &Report, directory: Nid, (block, slot): (u64, u32)) -> Result<()> {
    let Some(leaf) = Leaf::of(bench, directory, block) else { return Ok(()) };
    let Some(bytes) = leaf.read(bench) else { return Ok(()) };
    let layout = leaf.layout();
    if slot >= layout.slots || !layout.is_used(&bytes, slot) {
        return Ok(());
    }
    // A wrong bit may have brought a removed name back.
    let ino = word_at(&bytes, layout.entry_at(slot) + 4).map(Nid);
    let has_enough = ino.is_some_and(|ino| has_surplus(bench, report, ino));
    if !has_enough && leaf.set_length(bench, &bytes, slot)? {
        return Ok(());
    }
    leaf.edit(bench, |block| layout.set_used(block, slot, false))
}

/// An entry and its inode differ about the kind. The inode is wrong where its entries agree with its name: a directory has
/// one for itself.
fn kind(bench: &Bench, entry: &Entry, right: u8) -> Result<()> {
    let [said, named] = [right, entry.file_type].map(file_kind);
    let has_dot = entries(bench, entry.ino).iter().any(|own| own.name == b"." && own.ino == entry.ino);
    let is_dir = |kind| kind == FileKind::Dir;
    if is_dir(said) == has_dot || is_dir(named) != has_dot {
        return entry.set_type(bench, right);
    }
    bench.set_file_kind(entry.ino, named)
}

/// True if a file has more names than it counts.
fn has_surplus(bench: &Bench, report: &Report, ino: Nid) -> bool {
    let links =
        bench.inode(ino).filter(|(inode, _)| inode.kind != FileKind::Dir).map(|(inode, _)| inode.links);
    let is_its =
        |finding: &&Finding| finding.code == Code::InodeLinks && finding.object == Object::Inode(ino);
    let mut counts = report.findings.iter().filter(is_its).map(|finding| finding.cure);
    counts.any(|cure| matches!((cure, links), (Cure::Number(names), Some(links)) if names > links.into()))
}

/// The length of a name whose hash is right.
fn length_by_hash(layout: &DentryLayout, bytes: &[u8], slot: u32) -> Option<usize> {
    let hash = word_at(bytes, layout.entry_at(slot))?;
    let name = bytes.get(layout.name_at(slot)..)?;
    let most = NAME_MAX.min(name.len());
    (1..=most).find(|length| name.get(..*length).is_some_and(|name| name_hash(name) == hash))
}

/// A hash that is not the name's: the inode may remember the name that it is of.
fn hash(bench: &Bench, entry: &Entry, right: u64) -> Result<()> {
    if let Some(name) = better_name(bench, entry) {
        return entry.set_name(bench, &name);
    }
    if !is_dots(&entry.name) && entry.set_length(bench)? {
        return Ok(());
    }
    let right: u32 = if is_dots(&entry.name) { 0 } else { field(right)? };
    entry.set(bench, 0, &right.to_le_bytes())
}

/// The name that the inode remembers, if it has the entry's hash.
fn better_name(bench: &Bench, entry: &Entry) -> Option<Vec<u8>> {
    let (directory, name) = remembered(bench, entry.ino)?;
    let fits = directory == entry.directory && name.len() == entry.name.len();
    (fits && name != entry.name && name_hash(&name) == entry.hash).then_some(name)
}

/// A name that is not looked for where it stands. If the one that the inode remembers is, that is its name.
fn move_away(bench: &Bench, entry: Entry, at: Object, homeless: &mut BTreeSet<Homeless>) -> Result<()> {
    let own = bench.inode(entry.directory);
    let (directory, name) = remembered(bench, entry.ino).unwrap_or((Nid::NULL, Vec::new()));
    let hash = name_hash(&name);
    let stands = matches!(at, Object::Entry { block, .. }
        if own.is_some_and(|(own, _)| own.may_hold(block, hash)));
    if stands && directory == entry.directory && name.len() == entry.name.len() && !is_dots(&entry.name) {
        entry.set(bench, 0, &hash.to_le_bytes())?;
        return entry.set_name(bench, &name);
    }
    entry.remove(bench)?;
    if !is_dots(&entry.name) {
        let Entry { directory, name, ino, .. } = entry;
        homeless.insert(Homeless { directory, name, ino });
    }
    Ok(())
}

/// A name that cannot be.
fn rename(bench: &Bench, entry: &Entry, homeless: &mut BTreeSet<Homeless>) -> Result<()> {
    if let Some(name) = better_name(bench, entry) {
        return entry.set_name(bench, &name);
    }
    let is_wrong = |byte: &u8| matches!(byte, 0 | b'/');
    if !entry.name.iter().any(is_wrong) {
        return Ok(());
    }
    let name = entry.name.iter().map(|byte| if is_wrong(byte) { b'_' } else { *byte }).collect();
    entry.remove(bench)?;
    homeless.insert(Homeless { directory: entry.directory, name, ino: entry.ino });
    Ok(())
}

/// One of two names goes. If another inode had it, that one gets a name of its own.
fn twice(bench: &Bench, entry: &Entry, homeless: &mut BTreeSet<Homeless>) -> Result<()> {
    if let Some(name) = better_name(bench, entry) {
        return entry.set_name(bench, &name);
    }
    let same = entries(bench, entry.directory);
    let other = same.iter().find(|other| other.name == entry.name && other.ino != entry.ino);
    entry.remove(bench)?;
    if other.is_some() {
        let remembered = remembered(bench, entry.ino).filter(|(directory, _)| *directory == entry.directory);
        let name =
            remembered.map(|(_, name)| name).filter(|name| same.iter().all(|other| other.name != *name));
        let name = name.unwrap_or_else(|| format!("#{}", entry.ino).into_bytes());
        homeless.insert(Homeless { directory: entry.directory, name, ino: entry.ino });
    }
    Ok(())
}

/// A directory has more levels than it says.
fn deepen(bench: &Bench, directory: Nid, depth: u64) -> Result<()> {
    let depth = field(depth.min(LEVELS_MAX.into()))?;
    bench.edit_inode(directory, |raw| {
        if raw.i_current_depth.get() < depth {
            raw.i_current_depth.set(depth);
        }
    })
}

fn is_dots(name: &[u8]) -> bool {
    matches!(name, b"." | b"..")
}

/// Gives `.` and `..` their names back, where directories lack them: whatever stands in the first two slots and still
/// names the directory and its parent.
pub(super) fn restore_dots(bench: &Bench, report: &Report) -> Result<()> {
    for finding in report.findings.iter().filter(|finding| finding.code == Code::Dots) {
        if let Object::Inode(ino) = finding.object {
            restore(bench, ino)?;
        }
    }
    Ok(())
}

fn restore(bench: &Bench, ino: Nid) -> Result<()> {
    let (Some(leaf), Some(wanted)) = (Leaf::of(bench, ino, 0), dots_of(bench, ino)) else { return Ok(()) };
    for dot in wanted {
        let Some(bytes) = leaf.read(bench) else { return Ok(()) };
        let layout = leaf.layout();
        let entry = layout.entry(&bytes, dot.slot).filter(|_| layout.is_used(&bytes, dot.slot));
        let is_it = entry.is_some_and(|entry| {
            let keeps_hash = entry.hash == 0 && entry.file_type == dot.file_type;
            !is_dots(entry.name) && (entry.ino == dot.ino || keeps_hash)
        });
        if is_it && entries(bench, ino).iter().all(|entry| entry.name != dot.name) {
            leaf.edit(bench, |block| {
                layout.set_used(block, dot.slot, false);
                layout.put(block, &dot);
            })?;
        }
    }
    Ok(())
}

/// The entries `.` and `..` of a directory in their places.
fn dots_of(bench: &Bench, ino: Nid) -> Option<[Dentry<'static>; 2]> {
    let (inode, _) = bench.inode(ino)?;
    let root = bench.volume.super_block().root();
    let parent = if ino == root { root } else { inode.parent };
    let dot = |slot, name, ino| Dentry { slot, hash: 0, ino, file_type: file_type(FileKind::Dir), name };
    Some([dot(0, b".", ino), dot(1, b"..", parent)])
}

/// Mends what a directory says about its place and its size.
pub(super) fn directory(bench: &Bench, finding: &Finding, all: &Names) -> Result<()> {
    if let (Some(entry), Cure::Number(right)) = (Entry::at(bench, finding.object), finding.cure) {
        return entry.set_ino(bench, Nid(field(right)?));
    }
    let Object::Inode(ino) = finding.object else { return Ok(()) };
    match (finding.code, finding.cure) {
        (Code::DirectoryParent, Cure::Number(parent)) => {
            let parent = field(parent)?;
            bench.edit_inode(ino, |raw| raw.i_pino.set(parent))
        }
        (Code::DirectoryParent, _) => all.leave_one(bench, ino),
        (Code::InodeSize, _) => size(bench, ino),
        (Code::Dots, _) => dots(bench, ino),
        _ => Ok(()),
    }
}

/// Entries that name directories, found when they are needed.
pub(super) struct Names(std::cell::OnceCell<Vec<Entry>>);

impl Names {
    pub(super) fn new() -> Names {
        Names(std::cell::OnceCell::new())
    }

    /// Of the names of a directory that one stays which its parent has; all go that stand in a circle.
    fn leave_one(&self, bench: &Bench, ino: Nid) -> Result<()> {
        let all = self.0.get_or_init(|| directories(bench));
        let names: Vec<&Entry> = all.iter().filter(|entry| entry.ino == ino).collect();
        let parent = bench.inode(ino).map(|(inode, _)| inode.parent);
        let kept = names.iter().position(|entry| Some(entry.directory) == parent && names.len() > 1);
        for (at, entry) in names.iter().enumerate() {
            if Some(at) != kept {
                entry.remove(bench)?;
            }
        }
        Ok(())
    }
}

/// All entries of directories that name directories.
fn directories(bench: &Bench) -> Vec<Entry> {
    every_entry(bench).filter(|entry| file_kind(entry.file_type) == FileKind::Dir).collect()
}

/// The size of a directory, and its levels, are those of its blocks; the size of a symbolic link that of its target.
fn size(bench: &Bench, ino: Nid) -> Result<()> {
    let Some((inode, block)) = bench.inode(ino) else { return Ok(()) };
    let width = bench.volume.block_size();
    if inode.kind == FileKind::Symlink {
        return target(bench, ino, &inode, &block);
    }
    let last = tree::blocks_of(bench, &inode, &block).last().map_or(0, |(index, _)| *index);
    if inode.kind == FileKind::File {
        let cluster = inode.cluster_blocks().map_or(1, u64::from);
        let end = (last + 1).next_multiple_of(cluster) * width.bytes_u64();
        return bench.edit_inode(ino, |raw| raw.i_size.set(end));
    }
    let depth = (bucket_beside(last, 0, inode.dir_level.into()).0 + 1).min(LEVELS_MAX);
    let size = (last + 1) * width.bytes_u64();
    bench.edit_inode(ino, |raw| {
        if inode.size < size || !inode.size.is_multiple_of(width.bytes_u64()) || inode.depth >= depth {
            raw.i_size.set(size);
        }
        if raw.i_current_depth.get() < depth {
            raw.i_current_depth.set(depth);
        }
    })
}

/// A symbolic link without bytes has those that stand in it, or is one to itself.
fn target(bench: &Bench, ino: Nid, inode: &Inode, block: &[u8]) -> Result<()> {
    let bytes = if inode.has_inline_data() {
        block.get(inode.inline_range()).unwrap_or_default().to_vec()
    } else {
        let addr = tree::block_of(bench, inode, block, 0);
        addr.and_then(|addr| bench.draft.read(addr).ok()).unwrap_or_default()
    };
    let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()).max(1) as u64;
    bench.edit_inode(ino, |raw| raw.i_size.set(length))
}

/// `.` and `..` are the first two entries of the first block.
fn dots(bench: &Bench, ino: Nid) -> Result<()> {
    let Some(mut missing) = dots_of(bench, ino).map(Vec::from) else { return Ok(()) };
    for entry in entries(bench, ino).iter().filter(|entry| is_dots(&entry.name)) {
        let at = missing.iter().position(|dot| *dot.name == entry.name);
        match at {
            Some(at) => drop(missing.remove(at)),
            None => entry.remove(bench)?,
        }
    }
    let Some(leaf) = Leaf::of(bench, ino, 0) else { return Ok(()) };
    let layout = leaf.layout();
    for dot in missing {
        let Some(bytes) = leaf.read(bench) else { return Ok(()) };
        let free = std::iter::once(dot.slot).chain(0..layout.slots);
        let Some(slot) = { free }.find(|slot| !layout.is_used(&bytes, *slot)) else { continue };
        leaf.edit(bench, |block| layout.put(block, &Dentry { slot, ..dot }))?;
    }
    Ok(())
}
