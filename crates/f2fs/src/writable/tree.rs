//! The tree of names: making, moving and removing, and the end of inodes.

use std::borrow::Cow;

use pumice_vfs::{Counts, Errno, FileKind, Ino, NewNode, RenameMode, Timestamp, flag};

use super::{
    blocks::Blocks,
    content, directory,
    directory::Found,
    permission::{has_project_of, may_change, may_hold, may_name, may_redo},
    xattrs,
};
use crate::{
    compression::CompressionRule,
    error::{self, Error, Result, corrupt},
    layout::{Advise, Features, InlineFlags, Inode, InodeFlags, Nid},
    names::Name,
    undo::Tracked,
    write::warmth::{Lists, Warmth},
};

/// Longest target of a symbolic link: as it is, and encrypted, with its length.
const TARGET_MAX: usize = 4095;
const ENCRYPTED_TARGET_MAX: usize = 4093;
/// The flags that inodes take over from the directory they are made in: all of them; files and directories;
/// directories.
const INHERITED_ALL: u32 = flag::NODUMP | flag::NOATIME;
const INHERITED_FILES: u32 = flag::SYNC;
const INHERITED_DIRS: u32 = flag::DIRSYNC | flag::PROJECT_INHERIT | flag::CASEFOLD;

/// The tree of a volume.
pub(super) struct Tree {
    blocks: Blocks,
    lists: Lists,
    compression: CompressionRule,
    holds: Counts,
    /// Inodes without a name that somebody holds.
    orphans: Tracked<Nid, ()>,
    /// Makes generations differ.
    seed: u64,
}

/// A name that is there.
#[derive(Clone, Copy)]
struct Place<'a> {
    dir: Nid,
    name: &'a [u8],
    hash: u32,
    found: Found,
}

impl Tree {
    pub(super) fn new(blocks: Blocks, compression: CompressionRule, seed: u64) -> Tree {
        let lists = Lists::of(blocks.nodes().writer().super_block());
        Tree { blocks, lists, compression, holds: Counts::default(), orphans: Tracked::empty(), seed }
    }

    /// A call begins, which may be taken back as long as it writes nothing to the medium.
    pub(super) fn begin(&mut self) {
        self.blocks.begin();
        self.orphans.begin();
    }

    /// Keeps the changes of the call.
    pub(super) fn keep(&mut self) {
        self.blocks.keep();
        self.orphans.keep();
    }

    /// Undoes the changes of the call.
    pub(super) fn take_back(&mut self) {
        self.blocks.take_back();
        self.orphans.take_back();
    }

    /// The blocks below.
    pub(super) fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// The same, to write to.
    pub(super) fn blocks_mut(&mut self) -> &mut Blocks {
        &mut self.blocks
    }

    /// The rule by which files are compressed.
    pub(super) fn compression(&self) -> &CompressionRule {
        &self.compression
    }

    /// Inodes that have no name any more and are held.
    pub(super) fn orphans(&self) -> Vec<Nid> {
        self.orphans.keys().copied().collect()
    }

    /// An inode has no name any more, and is there until it is evicted.
    pub(super) fn set_orphan(&mut self, ino: Nid) {
        self.orphans.put(ino, ());
    }

    /// The root directory.
    pub(super) fn root(&self) -> Nid {
        self.blocks.nodes().writer().super_block().root()
    }

    /// An inode that has a name, or is held; otherwise [`Errno::Stale`].
    pub(super) fn inode(&self, ino: Nid) -> Result<Inode> {
        let stale = Error::Errno(Errno::Stale);
        if self.is_hidden(ino) || !self.blocks.nodes().has_inode(ino)? {
            return Err(stale);
        }
        let inode = self.blocks.nodes().inode(ino)?;
        if inode.links == 0 && !self.orphans.contains_key(&ino) { Err(stale) } else { Ok(inode) }
    }

    /// Quota files are in no directory.
    fn is_hidden(&self, ino: Nid) -> bool {
        self.blocks.nodes().writer().super_block().quota_inodes().contains(&ino)
    }

    /// A directory.
    pub(super) fn dir(&self, ino: Nid) -> Result<Inode> {
        let inode = self.inode(ino)?;
        if inode.kind == FileKind::Dir { Ok(inode) } else { Err(Error::Errno(Errno::NotDir)) }
    }

    /// A directory that has its name, so that others can be made in it.
    fn linked_dir(&self, ino: Nid) -> Result<Inode> {
        let dir = self.dir(ino)?;
        if dir.links == 0 { Err(Error::Errno(Errno::NoEntry)) } else { Ok(dir) }
    }

    /// The inode above a directory.
    pub(super) fn parent(&self, ino: Nid) -> Result<Nid> {
        let dir = self.linked_dir(ino)?;
        Ok(if ino == self.root() { ino } else { dir.parent })
    }

    fn named(&self, dir: &Inode, name: &[u8]) -> Result<Name> {
        self.blocks.names(dir)?.name(name)
    }

    /// The inode behind a name.
    pub(super) fn lookup(&self, dir: Nid, name: &[u8]) -> Result<Nid> {
        let inode = self.dir(dir)?;
        match name {
            b"." => Ok(dir),
            b".." => self.parent(dir),
            _ if name.len() > 255 => Err(Error::Errno(Errno::NameTooLong)),
            _ => Ok(self.entry(&inode, name)?.found.ino),
        }
    }

    fn entry<'a>(&self, dir: &Inode, name: &'a [u8]) -> Result<Place<'a>> {
        let named = self.named(dir, name)?;
        let found = directory::find(&self.blocks, dir, &named)?.ok_or(Error::Errno(Errno::NoEntry))?;
        Ok(Place { dir: dir.ino, name, hash: named.hash(), found })
    }

    /// A name that is to be moved or removed.
    fn place<'a>(&self, dir: Nid, name: &'a [u8]) -> Result<Place<'a>> {
        check_name(name)?;
        self.entry(&self.dir(dir)?, name)
    }

    /// Checks that a name can be made.
    fn check_free(&self, dir: &Inode, name: &[u8]) -> Result<()> {
        check_name(name)?;
        match self.entry(dir, name) {
            Ok(_) => Err(Error::Errno(Errno::Exists)),
            Err(Error::Errno(Errno::NoEntry)) => may_change(dir),
            Err(error) => Err(error),
        }
    }

    /// Makes an inode under a new name.
    pub(super) fn create(&mut self, dir: Nid, name: &[u8], new: &NewNode<'_>, now: Timestamp) -> Result<Nid> {
        check_name(name)?;
        let parent = self.linked_dir(dir)?;
        self.check_free(&parent, name)?;
        may_name(&self.blocks, &parent)?;
        let most = if parent.is_encrypted() { ENCRYPTED_TARGET_MAX } else { TARGET_MAX };
        check_target(new, most)?;
        if new.kind == FileKind::Dir && parent.links == u32::MAX {
            return Err(Error::Errno(Errno::TooManyLinks));
        }
        let named = self.named(&parent, name)?;
        let ino = self.make(&parent, name, &named, new, now)?;
        self.arrive(dir, &named, ino, new.kind, now)?;
        Ok(ino)
    }

    /// Makes an inode that no name leads to yet.
    fn make(
        &mut self,
        parent: &Inode,
        name: &[u8],
        named: &Name,
        new: &NewNode<'_>,
        now: Timestamp,
    ) -> Result<Nid> {
        let ino = self.blocks.nodes_mut().make_inode(new.kind == FileKind::Dir)?;
        let mut inode = self.fresh(ino, parent, name, new, now);
        inode.set_name(parent, named.bytes(), named.hash());
        self.blocks.nodes_mut().put_first(&inode)?;
        self.blocks.inherit(parent, &mut inode)?;
        match new.kind {
            FileKind::Dir => directory::begin(&mut self.blocks, &mut inode, parent.ino)?,
            FileKind::Symlink => {
                inode.inline = inode.inline.with(InlineFlags::DATA);
                let target = self.stored_target(&inode, new.target)?;
                content::write(&mut self.blocks, &mut inode, 0, &target)?;
            }
            FileKind::File if inode.compression().is_some() || inode.is_encrypted() => {}
            FileKind::File => inode.inline = inode.inline.with(InlineFlags::DATA),
            FileKind::CharDevice | FileKind::BlockDevice => {
                let block = self.blocks.nodes_mut().edit(ino)?;
                let words = Inode::device_words(new.rdev);
                block.iter_mut().skip(inode.addrs_at()).zip(words).for_each(|(to, from)| *to = from);
            }
            FileKind::Fifo | FileKind::Socket => {}
        }
        self.blocks.nodes_mut().put(&inode)?;
        Ok(ino)
    }

    /// The target of a link as it is stored: encrypted, if the link is.
    fn stored_target<'a>(&self, inode: &Inode, target: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        if !inode.is_encrypted() {
            return Ok(target.into());
        }
        let nodes = self.blocks.nodes();
        let key = self.blocks.keys().of(nodes, inode)?.ok_or(Error::Errno(Errno::NoKey))?;
        let stored = key.encrypt_link(target, nodes.size().width());
        Ok(stored.map_err(|error| Error::Crypt { ino: inode.ino, error })?.into())
    }

    fn fresh(&mut self, ino: Nid, dir: &Inode, name: &[u8], new: &NewNode<'_>, now: Timestamp) -> Inode {
        let (size, features) = (self.blocks.nodes().size(), self.blocks.nodes().features());
        let perm = crate::word::half(new.perm & 0o7777);
        let mut inode = Inode::fresh(ino, new.kind, perm, size, features);
        (inode.uid, inode.gid) = (new.uid, new.gid);
        (inode.atime, inode.mtime, inode.ctime) = (now, now, now);
        inode.links = if new.kind == FileKind::Dir { 2 } else { 1 };
        self.seed = mixed(self.seed ^ u64::from(ino.0));
        let [a, b, c, d, ..] = self.seed.to_le_bytes();
        inode.generation = u32::from_le_bytes([a, b, c, d]);
        inode.flags = InodeFlags(dir.flags.0 & inherited(new.kind));
        if new.kind == FileKind::Dir {
            inode.flags = inode.flags.with(InodeFlags::INDEX);
        }
        if let Some(extra) = &mut inode.extra {
            extra.crtime = now;
            let inherits = dir.flags.has(InodeFlags::PROJECT_INHERIT);
            extra.project = dir.extra.filter(|_| inherits).map_or(0, |extra| extra.project);
        }
        if new.kind == FileKind::File {
            inode.advise = match self.lists.warmth(name) {
                Warmth::Hot => Advise::HOT,
                Warmth::Cold => Advise::COLD,
                Warmth::Warm => Advise(0),
            };
        }
        self.compress(&mut inode, dir, name);
        inode
    }

    /// Marks a new file or directory as compressed, or as not to be: a file by its extension, otherwise as the directory hands it down.
    fn compress(&self, inode: &mut Inode, dir: &Inode, name: &[u8]) {
        let is_file = inode.kind == FileKind::File;
        let has_feature = self.blocks.nodes().features().has(Features::COMPRESSION) && inode.extra.is_some();
        let is_excluded = is_file && (inode.advise.has(Advise::HOT) || self.compression.excludes(name));
        if !has_feature || is_excluded || !is_file && inode.kind != FileKind::Dir {
            return;
        }
        let is_wanted = is_file && self.compression.wants(name);
        if !is_wanted && dir.flags.has(InodeFlags::NOT_COMPRESSED) {
            inode.flags = inode.flags.with(InodeFlags::NOT_COMPRESSED);
        } else if is_wanted || dir.flags.has(InodeFlags::COMPRESSED) {
            self.compression.mark(inode);
        }
    }

    /// Points a new name to an inode; the `..` of a directory becomes a link of `dir`.
    fn arrive(&mut self, dir: Nid, name: &Name, ino: Nid, kind: FileKind, now: Timestamp) -> Result<()> {
        let mut inode = self.dir(dir)?;
        directory::insert(&mut self.blocks, &mut inode, name, ino, kind)?;
        gain_link(&mut inode, kind)?;
        (inode.mtime, inode.ctime) = (now, now);
        self.blocks.nodes_mut().put(&inode)
    }

    /// Gives an inode a name as it is stored, whatever names it counts: a repair counts them.
    pub(super) fn adopt(&mut self, dir: Nid, name: &[u8], ino: Nid, now: Timestamp) -> Result<()> {
        let parent = self.linked_dir(dir)?;
        let mut inode = self.blocks.nodes().inode(ino)?;
        let named = self.as_stored(&parent, name, &inode)?;
        if directory::find(&self.blocks, &parent, &named)?.is_some() {
            return Err(Error::Errno(Errno::Exists));
        }
        may_change(&parent)?;
        inode.set_name(&parent, named.bytes(), named.hash());
        self.blocks.nodes_mut().put(&inode)?;
        self.arrive(dir, &named, ino, inode.kind, now)
    }

    /// A name by its stored bytes, which an inode perhaps remembers: the hash of some is known to nobody else.
    fn as_stored(&self, dir: &Inode, name: &[u8], inode: &Inode) -> Result<Name> {
        if !dir.is_encrypted() {
            check_name(name)?;
            return self.named(dir, name);
        }
        let remembered = Name::remembered(dir, inode).filter(|known| known.bytes() == name);
        remembered.or_else(|| Name::of_stored(dir, name)).ok_or(Error::Errno(Errno::NoKey))
    }

    /// True if an inode has the name that it remembers.
    pub(super) fn has_last_name(&self, ino: Nid) -> Result<bool> {
        let inode = self.blocks.nodes().inode(ino)?;
        let dir = self.dir(inode.parent)?;
        let named = self.as_stored(&dir, inode.last_name(), &inode)?;
        Ok(directory::find(&self.blocks, &dir, &named)?.is_some_and(|found| found.ino == ino))
    }

    /// Takes a name away, and with it the link that the `..` of a directory was.
    fn depart(&mut self, place: &Place<'_>, kind: FileKind, now: Timestamp) -> Result<()> {
        let mut inode = self.dir(place.dir)?;
        let found = self.entry(&inode, place.name)?.found;
        directory::remove(&mut self.blocks, &mut inode, &found)?;
        lose_link(&mut inode, kind)?;
        (inode.mtime, inode.ctime) = (now, now);
        self.blocks.nodes_mut().put(&inode)
    }

    /// Gives an inode one more name.
    pub(super) fn link(&mut self, ino: Nid, dir: Nid, name: &[u8], now: Timestamp) -> Result<()> {
        let mut inode = self.inode(ino)?;
        if inode.kind == FileKind::Dir {
            return Err(Error::Errno(Errno::Perm));
        }
        if inode.links == 0 {
            return Err(Error::Errno(Errno::NoEntry));
        }
        let parent = self.linked_dir(dir)?;
        self.check_free(&parent, name)?;
        may_redo(&inode)?;
        may_name(&self.blocks, &parent)?;
        may_hold(&self.blocks, &parent, &inode)?;
        let named = self.named(&parent, name)?;
        inode.links = inode.links.checked_add(1).ok_or(Error::Errno(Errno::TooManyLinks))?;
        inode.ctime = now;
        inode.set_name(&parent, named.bytes(), named.hash());
        inode.advise = inode.advise.with(Advise::LOST_PINO);
        self.blocks.nodes_mut().put(&inode)?;
        self.arrive(dir, &named, ino, inode.kind, now)
    }

    /// Removes a name that is not a directory's.
    pub(super) fn unlink(&mut self, dir: Nid, name: &[u8], now: Timestamp) -> Result<()> {
        let place = self.place(dir, name)?;
        let inode = self.blocks.nodes().inode(place.found.ino)?;
        if inode.kind == FileKind::Dir {
            return Err(Error::Errno(Errno::IsDir));
        }
        self.may_lose(&place, &inode)?;
        self.depart(&place, inode.kind, now)?;
        if inode.links > 1 || self.dir(dir)?.is_casefolded() {
            self.vacate(&place);
        }
        self.drop_name(inode.ino, now)
    }

    /// Rolling forward must not give a name to another: whoever has it in the last checkpoint has others now, was a
    /// directory, or has it in another case.
    fn vacate(&mut self, place: &Place<'_>) {
        self.blocks.nodes_mut().promises_mut().vacate(place.dir, place.hash);
    }

    /// Removes an empty directory.
    pub(super) fn rmdir(&mut self, dir: Nid, name: &[u8], now: Timestamp) -> Result<()> {
        let place = self.place(dir, name)?;
        let inode = self.blocks.nodes().inode(place.found.ino)?;
        if inode.kind != FileKind::Dir {
            return Err(Error::Errno(Errno::NotDir));
        }
        self.check_empty(&inode)?;
        self.may_lose(&place, &inode)?;
        self.depart(&place, inode.kind, now)?;
        self.vacate(&place);
        self.drop_name(inode.ino, now)
    }

    fn check_empty(&self, dir: &Inode) -> Result<()> {
        if directory::is_empty(&self.blocks, dir)? { Ok(()) } else { Err(Error::Errno(Errno::NotEmpty)) }
    }

    /// Checks that an inode may lose a name: a checkpoint has room for so many inodes without one.
    fn may_lose(&self, place: &Place<'_>, inode: &Inode) -> Result<()> {
        self.may_go(place, inode)?;
        let is_full = self.orphans.len() >= self.blocks.nodes().writer().orphans_max();
        if is_full { Err(Error::Errno(Errno::NoSpace)) } else { Ok(()) }
    }

    /// Checks that a name, and perhaps its inode, may be taken away.
    fn may_go(&self, place: &Place<'_>, inode: &Inode) -> Result<()> {
        may_redo(&self.dir(place.dir)?)?;
        may_redo(inode)
    }

    /// An inode has lost a name: a directory its only one.
    fn drop_name(&mut self, ino: Nid, now: Timestamp) -> Result<()> {
        let mut inode = self.blocks.nodes().inode(ino)?;
        inode.links = if inode.kind == FileKind::Dir { 0 } else { inode.links.saturating_sub(1) };
        inode.ctime = now;
        self.blocks.nodes_mut().put(&inode)?;
        if inode.links > 0 {
            return Ok(());
        }
        if self.holds.get(Ino(ino.0.into())) > 0 {
            self.orphans.put(ino, ());
            return Ok(());
        }
        self.evict(ino)
    }

    /// Gives back an inode and everything it has.
    pub(super) fn evict(&mut self, ino: Nid) -> Result<()> {
        self.orphans.remove(&ino);
        let mut inode = self.blocks.nodes().inode(ino)?;
        let has_blocks = matches!(inode.kind, FileKind::File | FileKind::Dir | FileKind::Symlink);
        if has_blocks && !inode.has_inline_data() && !inode.has_inline_dentry() {
            self.blocks.cut(&mut inode, 0)?;
        }
        xattrs::drop_node(self.blocks.nodes_mut(), &mut inode)?;
        self.blocks.nodes_mut().put(&inode)?;
        self.blocks.nodes_mut().remove_inode(&inode)
    }

    /// Keeps an inode though its last name may go.
    pub(super) fn hold(&mut self, ino: Nid) -> Result<()> {
        self.inode(ino)?;
        self.holds.add(Ino(ino.0.into()));
        Ok(())
    }

    /// Ends one [`Tree::hold`]. True if the inode must be evicted.
    pub(super) fn release(&mut self, ino: Nid) -> Result<bool> {
        self.inode(ino)?;
        let left = self.holds.take(Ino(ino.0.into()), 1).ok_or(Error::Errno(Errno::Invalid))?;
        Ok(left == 0 && self.orphans.contains_key(&ino))
    }

    /// Moves a name.
    pub(super) fn rename(
        &mut self,
        (dir, name): (Nid, &[u8]),
        (to_dir, to_name): (Nid, &[u8]),
        mode: RenameMode,
        now: Timestamp,
    ) -> Result<()> {
        check_name(to_name)?;
        let source = self.place(dir, name)?;
        let to = self.linked_dir(to_dir)?;
        let target = match self.entry(&to, to_name) {
            Ok(target) => Some(target),
            Err(Error::Errno(Errno::NoEntry)) => None,
            Err(error) => return Err(error),
        };
        match (mode, target) {
            (RenameMode::NoReplace, Some(_)) => return Err(Error::Errno(Errno::Exists)),
            (RenameMode::Exchange, None) => return Err(Error::Errno(Errno::NoEntry)),
            (_, Some(target)) if target.found.ino == source.found.ino => return Ok(()),
            _ => {}
        }
        let inode = self.blocks.nodes().inode(source.found.ino)?;
        if inode.kind == FileKind::Dir && self.is_within(to_dir, inode.ino)? {
            return Err(Error::Errno(Errno::Invalid));
        }
        self.may_go(&source, &inode)?;
        may_change(&to)?;
        let from = self.dir(dir)?;
        let may_move = self.may_move((&from, &to), &inode);
        self.vacate(&source);
        let Some(target) = target else {
            may_move?;
            let named = self.named(&to, to_name)?;
            self.leave(&source, &inode, mode, now)?;
            self.arrive(to_dir, &named, inode.ino, inode.kind, now)?;
            return self.moved(inode.ino, to_dir, to_name, now);
        };
        let other = self.blocks.nodes().inode(target.found.ino)?;
        if mode == RenameMode::Exchange {
            self.may_go(&target, &other)?;
        } else {
            self.may_lose(&target, &other)?;
            check_kinds(&inode, &other)?;
        }
        may_move?;
        self.vacate(&target);
        if mode == RenameMode::Exchange {
            self.may_move((&to, &from), &other)?;
            if other.kind == FileKind::Dir && self.is_within(dir, other.ino)? {
                return Err(Error::Errno(Errno::Invalid));
            }
            self.point(&source, &inode, &other, now)?;
            self.point(&target, &other, &inode, now)?;
            self.moved(inode.ino, to_dir, to_name, now)?;
            return self.moved(other.ino, dir, name, now);
        }
        if other.kind == FileKind::Dir {
            self.check_empty(&other)?;
        }
        self.leave(&source, &inode, mode, now)?;
        self.point(&target, &other, &inode, now)?;
        self.moved(inode.ino, to_dir, to_name, now)?;
        self.drop_name(other.ino, now)
    }

    /// Checks that an inode may move from one directory to another.
    fn may_move(&self, (from, to): (&Inode, &Inode), inode: &Inode) -> Result<()> {
        may_name(&self.blocks, from)?;
        may_name(&self.blocks, to)?;
        match from.ino == to.ino {
            true => has_project_of(&self.blocks, to, inode),
            false => may_hold(&self.blocks, to, inode),
        }
    }

    /// Takes a name away from what moves; a whiteout stays behind if the mode wants one.
    fn leave(&mut self, source: &Place<'_>, inode: &Inode, mode: RenameMode, now: Timestamp) -> Result<()> {
        let RenameMode::Whiteout { uid, gid } = mode else { return self.depart(source, inode.kind, now) };
        let (parent, new) = (self.dir(source.dir)?, NewNode::whiteout(uid, gid));
        let named = self.named(&parent, source.name)?;
        let white = self.make(&parent, source.name, &named, &new, now)?;
        self.depart(source, inode.kind, now)?;
        self.arrive(source.dir, &named, white, new.kind, now)
    }

    /// Has a name lead from one inode to another; links of the directory follow.
    fn point(&mut self, place: &Place<'_>, from: &Inode, to: &Inode, now: Timestamp) -> Result<()> {
        let mut dir = self.dir(place.dir)?;
        let found = self.entry(&dir, place.name)?.found;
        directory::redirect(&mut self.blocks, &mut dir, &found, to.ino, to.kind)?;
        lose_link(&mut dir, from.kind)?;
        gain_link(&mut dir, to.kind)?;
        (dir.mtime, dir.ctime) = (now, now);
        self.blocks.nodes_mut().put(&dir)
    }

    /// An inode has come under another name: it knows it, and a directory where its `..` leads.
    fn moved(&mut self, ino: Nid, dir: Nid, name: &[u8], now: Timestamp) -> Result<()> {
        let mut inode = self.blocks.nodes().inode(ino)?;
        if inode.kind != FileKind::Dir {
            // Otherwise the name that it had at its last fsync would come back with it.
            inode.advise = inode.advise.with(Advise::LOST_PINO);
        } else if inode.parent != dir {
            let dots = self.entry(&inode, b"..")?.found;
            directory::redirect(&mut self.blocks, &mut inode, &dots, dir, FileKind::Dir)?;
        }
        if inode.kind == FileKind::Dir {
            self.blocks.nodes_mut().promises_mut().unsettle(ino);
        }
        let above = self.dir(dir)?;
        let named = self.named(&above, name)?;
        inode.set_name(&above, named.bytes(), named.hash());
        inode.ctime = now;
        self.blocks.nodes_mut().put(&inode)
    }

    /// A file that moved carries the name that it has in the last checkpoint, if it can be found by it: then it need not be
    /// looked for any more.
    pub(super) fn find_name(&mut self, ino: Nid) -> Result<()> {
        let mut inode = self.inode(ino)?;
        if inode.links != 1 || inode.kind != FileKind::File || !inode.advise.has(Advise::LOST_PINO) {
            return Ok(());
        }
        let dir = match self.dir(inode.parent) {
            Ok(dir) => dir,
            Err(Error::Errno(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        let Some(name) = Name::remembered(&dir, &inode) else { return Ok(()) };
        if directory::find(&self.blocks, &dir, &name)?.is_some_and(|found| found.ino == ino) {
            inode.advise = inode.advise.without(Advise::LOST_PINO);
            self.blocks.nodes_mut().put(&inode)?;
        }
        Ok(())
    }

    /// True if directory `dir` is `top` or lies somewhere below it.
    fn is_within(&self, dir: Nid, top: Nid) -> Result<bool> {
        let (mut at, mut seen) = (dir, dir);
        for steps in 1_u64.. {
            if at == top || at == self.root() {
                break;
            }
            at = self.parent(at)?;
            if at == seen {
                return Err(corrupt(
                    error::Place::Inode(dir),
                    "a circle above a directory begins at",
                    at.0,
                    self.root().0,
                ));
            }
            if steps.is_power_of_two() {
                seen = at;
            }
        }
        Ok(at == top)
    }
}

/// Checks that the one is of a kind to take the place of the other.
fn check_kinds(inode: &Inode, other: &Inode) -> Result<()> {
    match (inode.kind == FileKind::Dir, other.kind == FileKind::Dir) {
        (true, false) => Err(Error::Errno(Errno::NotDir)),
        (false, true) => Err(Error::Errno(Errno::IsDir)),
        _ => Ok(()),
    }
}

/// Something of kind `kind` comes into a directory: the `..` of another one is a link.
fn gain_link(dir: &mut Inode, kind: FileKind) -> Result<()> {
    let links = dir.links.checked_add(u32::from(kind == FileKind::Dir));
    dir.links = links.ok_or(Error::Errno(Errno::TooManyLinks))?;
    Ok(())
}

/// Something of kind `kind` leaves a directory.
fn lose_link(dir: &mut Inode, kind: FileKind) -> Result<()> {
    if kind == FileKind::Dir {
        let left = dir.links.checked_sub(1).filter(|left| *left >= 2);
        let damage = || {
            corrupt(
                error::Place::Inode(dir.ino),
                "links of a directory with another in it are",
                dir.links,
                3_u32,
            )
        };
        dir.links = left.ok_or_else(damage)?;
    }
    Ok(())
}

fn check_name(name: &[u8]) -> Result<()> {
    pumice_vfs::check_name(name).map_err(|error| Error::Errno(error.errno()))
}

/// `most` are the bytes that a target can have.
fn check_target(new: &NewNode<'_>, most: usize) -> Result<()> {
    if new.kind != FileKind::Symlink {
        return Ok(());
    }
    match new.target {
        target if target.len() > most => Err(Error::Errno(Errno::NameTooLong)),
        target if target.is_empty() || target.contains(&0) => Err(Error::Errno(Errno::Invalid)),
        _ => Ok(()),
    }
}

fn inherited(kind: FileKind) -> u32 {
    match kind {
        FileKind::Dir => INHERITED_ALL | INHERITED_FILES | INHERITED_DIRS,
        FileKind::File => INHERITED_ALL | INHERITED_FILES,
        _ => INHERITED_ALL,
    }
}

/// SplitMix64: every bit of the result depends on every bit of the seed.
fn mixed(seed: u64) -> u64 {
    let word = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
