//! A volume that is written to, as a file system.
//!
//! Its floors, each standing on those before it:
//! - [`nodes`]: those that changed wait in memory;
//! - [`xattrs`], and the [`keys`] that they name;
//! - [`index`]: from a block of a file to its address;
//! - [`blocks`]: those that changed wait, too;
//! - [`content`] and [`directory`] beside each other, the latter with [`digests`] of blocks;
//! - the [`tree`] of names;
//! - [`commit`], which has the [`cleaner`] work.
//!
//! Beneath all of them is the writer, which knows logs and tables and nothing of files.

mod attributes;
mod blocks;
mod care;
mod cleaner;
mod clusters;
mod commit;
mod content;
mod digests;
mod directory;
mod flags;
mod fsync;
mod index;
mod keys;
mod limits;
mod mend;
mod mount;
mod nodes;
mod options;
mod permission;
mod promises;
mod quota;
mod replay;
mod sealing;
mod tree;
mod usage;
mod xattrs;

use std::{ops::Range, sync::Arc};

use parking_lot::Mutex;
use pumice_media::BlockDevice;
use pumice_vfs::{
    Access, Attr, Clock, DirEntry, Errno, FileKind, FileSystem, FlagChange, Flags, Ino, NewNode, RenameMode,
    Result, Seek, SetAttr, SpaceInfo, SpaceMode, Timestamp, XattrMode,
};

use self::{
    commit::{Commit, Need},
    mount::Opened,
    permission::{may_open, may_read, may_redo, may_write},
};
pub use self::{
    mount::check_writable,
    options::{IdleCleaning, InPlace, Logging, MasterKeys, Nonces, WritableOptions},
};
use crate::{
    error::{self, Error},
    layout::{Inode, InodeFlags, Nid, file_kind},
    quota::{Grace, Quota, QuotaKind},
    recovery::Recovery,
};

/// Largest file that any file system takes, in bytes.
const FILE_MAX: u64 = i64::MAX.unsigned_abs();

/// Bytes that are written at a time.
const PIECE: usize = 1 << 20;

/// A mounted volume that can be written to. Changes are kept in memory and in free blocks until [`FileSystem::sync`] or
/// [`WritableF2fs::unmount`] makes a checkpoint of them, or [`FileSystem::fsync`] promises those of a file. A power cut
/// leaves the volume as the last checkpoint left it, with the promises since.
///
/// Without their key encrypted files are listed, changed in all but name and content, and removed: anything else fails
/// with [`Error::NoKey`]. Volumes on several devices or with zones are refused by a mount, with [`Error::Unsupported`] and a
/// name; [`crate::F2fs`] reads them. A call that fails has changed nothing, but for one that writes more than 1 MiB: it
/// may have written some of it. After a failed write nothing more is written: calls that change anything fail with
/// [`Errno::ReadOnly`].
pub struct WritableF2fs {
    state: Arc<Mutex<State>>,
    clock: Arc<Clock>,
    /// The time of the mount, and the seconds of earlier mounts.
    start: (Timestamp, u64),
    recovery: Recovery,
    /// The same volume for callers that quotas limit, if any are enforced; `None` there, too.
    limited: Option<Box<WritableF2fs>>,
    /// Quotas limit its callers.
    is_limited: bool,
    strict_fsync: bool,
}

struct State {
    commit: Commit,
    /// The reason why nothing more is written.
    failed: Option<Error>,
}

impl WritableF2fs {
    /// Mounts a volume on a device with blocks as large as the volume's. The promises of fsync since the last
    /// checkpoint are rolled forward, and a checkpoint is made of them; inodes that lost their last name while they
    /// were open are given back.
    pub fn mount(
        device: Box<dyn BlockDevice + Send>,
        options: WritableOptions,
    ) -> error::Result<WritableF2fs> {
        let now = (options.clock)();
        let opened = mount::open(device, &options, now)?;
        let is_flagged = opened.is_flagged;
        let fs = WritableF2fs::of(opened, options, now);
        fs.evict_orphans()?;
        if is_flagged {
            fs.state.lock().commit.tree_mut().blocks_mut().nodes_mut().touch();
        }
        if is_flagged || fs.recovery.inodes > 0 {
            fs.checkpoint()?;
        }
        Ok(fs)
    }

    fn of(opened: Opened, options: WritableOptions, now: Timestamp) -> WritableF2fs {
        let Opened { tree, recovery, reserve, elapsed, .. } = opened;
        let commit = Commit::new(tree, options.idle_cleaning, reserve);
        let state = Arc::new(Mutex::new(State { commit, failed: None }));
        let (clock, start, strict_fsync) = (Arc::new(options.clock), (now, elapsed), options.strict_fsync);
        let of = |is_limited| {
            let (state, clock) = (state.clone(), clock.clone());
            WritableF2fs { state, clock, start, recovery, limited: None, is_limited, strict_fsync }
        };
        let limited = (!options.enforced.is_empty()).then(|| Box::new(of(true)));
        WritableF2fs { limited, ..of(false) }
    }

    /// The files that were rolled forward.
    pub fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// Gives an owner other limits. Its use is counted, and times of grace begin now, whatever stands in `quota`.
    pub fn set_quota(&self, kind: QuotaKind, quota: Quota) -> error::Result<()> {
        self.change(NAMES, |commit, now| quota::set(commit.tree_mut().blocks_mut(), kind, quota, now))?;
        self.enforce_anew(kind)
    }

    /// Sets the times for which soft limits of a kind may be exceeded. Those that run end when they did.
    pub fn set_grace(&self, kind: QuotaKind, grace: Grace) -> error::Result<()> {
        self.change(NAMES, |commit, _| quota::set_grace(commit.tree_mut().blocks_mut(), kind, grace))?;
        self.enforce_anew(kind)
    }

    /// Limits of a kind count as they stand in its file now, if they are enforced.
    fn enforce_anew(&self, kind: QuotaKind) -> error::Result<()> {
        let mut state = self.state.lock();
        let blocks = state.commit.tree_mut().blocks_mut();
        if blocks.nodes().usage().enforces(kind.index()) { quota::enforce(blocks, kind) } else { Ok(()) }
    }

    /// Makes a last checkpoint. Inodes without a name go, though they are held.
    pub fn unmount(self) -> error::Result<()> {
        self.evict_orphans()?;
        self.keep(Commit::close)
    }

    fn evict_orphans(&self) -> error::Result<()> {
        let orphans = self.state.lock().commit.tree().orphans();
        for ino in orphans {
            self.change(Need::default(), |commit, _| commit.tree_mut().evict(ino))?;
        }
        Ok(())
    }

    fn nid(&self, ino: Ino) -> error::Result<Nid> {
        let root = self.state.lock().commit.tree().root();
        nid(root, ino)
    }

    /// Seconds that the volume was mounted in its life. A clock that goes back does not take any away.
    fn elapsed(&self) -> u64 {
        let (start, before) = self.start;
        let seconds = (self.clock)().seconds.saturating_sub(start.seconds);
        before.saturating_add(u64::try_from(seconds).unwrap_or(0))
    }

    /// Changes something, with room for it. A call that fails has done nothing.
    fn change<T>(
        &self,
        need: Need,
        work: impl FnOnce(&mut Commit, Timestamp) -> error::Result<T>,
    ) -> error::Result<T> {
        let (now, elapsed) = ((self.clock)(), self.elapsed());
        let mut state = self.state.lock();
        state.writable()?;
        state.write(|commit| commit.make_room(need, elapsed))?;
        let before = state.commit.claimed();
        state.commit.tree_mut().begin();
        let done = work(&mut state.commit, now);
        let done = done.and_then(|done| {
            state.commit.check_claimed(before)?;
            state.commit.check_quotas(self.is_limited, now)?;
            Ok(done)
        });
        match &done {
            Ok(_) => state.commit.tree_mut().keep(),
            Err(_) => state.commit.tree_mut().take_back(),
        }
        state.tell(&done);
        done
    }

    /// Reads something.
    fn look<T>(&self, work: impl FnOnce(&Commit) -> error::Result<T>) -> error::Result<T> {
        let mut state = self.state.lock();
        let done = work(&state.commit);
        state.tell(&done);
        done
    }

    fn checkpoint(&self) -> error::Result<()> {
        self.keep(Commit::commit)
    }

    /// Writes to the medium, if it is still written to.
    fn keep(&self, write: impl FnOnce(&mut Commit, u64) -> error::Result<()>) -> error::Result<()> {
        let elapsed = self.elapsed();
        let mut state = self.state.lock();
        state.writable()?;
        state.write(|commit| write(commit, elapsed))
    }

    /// The need of a call that makes a file `size` bytes long, or changes other attributes.
    fn need_of_size(&self, nid: Nid, size: Option<u64>) -> error::Result<Need> {
        if size.is_none() {
            return Ok(ATTRIBUTES);
        }
        let inode = self.state.lock().commit.tree().inode(nid)?;
        Ok(Need { data: 2 + attributes::at_ends(&inode), nodes: 8 })
    }

    /// Writes as much as there is always room for, and is undone as a whole if it fails.
    fn write_piece(&self, nid: Nid, offset: u64, data: &[u8]) -> error::Result<()> {
        let need = {
            let state = self.state.lock();
            let inode = file(&state.commit, nid)?;
            attributes::need(&state.commit, &inode, offset..end_of_range(offset, data.len() as u64)?)?
        };
        self.change(need, |commit, now| {
            let mut inode = file(commit, nid)?;
            let blocks = commit.tree_mut().blocks_mut();
            content::write(blocks, &mut inode, offset, data)?;
            (inode.mtime, inode.ctime) = (now, now);
            blocks.nodes_mut().put(&inode)
        })
    }

    /// Writes as many blocks from the start of `data` on as there is room for; returns the bytes, and the reason why it is
    /// not all.
    fn write_blocks(&self, nid: Nid, offset: u64, data: &[u8]) -> (usize, error::Result<()>) {
        let width = u64::from(self.state.lock().commit.tree().blocks().nodes().size().bytes());
        let (mut done, mut most) = (0, PIECE as u64 / width);
        while let Some(rest) = data.get(done..).filter(|rest| !rest.is_empty()) {
            let at = offset + done as u64;
            let end = (at / width).saturating_add(most).saturating_mul(width);
            let count = usize::try_from(end - at).map_or(rest.len(), |count| count.min(rest.len()));
            let piece = rest.get(..count).unwrap_or(rest);
            match self.write_piece(nid, at, piece) {
                Ok(()) => done += count,
                Err(Error::Errno(Errno::NoSpace | Errno::Quota)) if most > 1 => most /= 2,
                Err(error) => return (done, Err(error)),
            }
        }
        (done, Ok(()))
    }

    /// Checks that a file can be written to from `offset` on.
    fn check_writable(&self, nid: Nid, offset: u64) -> error::Result<()> {
        let state = self.state.lock();
        let inode = file(&state.commit, nid)?;
        state.writable()?;
        may_write(state.commit.tree().blocks(), &inode, offset)
    }

    fn has_flag(&self, nid: Nid, flag: InodeFlags) -> error::Result<bool> {
        Ok(self.state.lock().commit.tree().inode(nid)?.flags.has(flag))
    }

    /// Makes a checkpoint behind a change of names, if a directory of theirs asks for it.
    fn settle(&self, dirs: &[Nid]) -> error::Result<()> {
        for dir in dirs {
            if self.has_flag(*dir, InodeFlags::DIRSYNC)? || self.has_flag(*dir, InodeFlags::SYNC)? {
                return self.checkpoint();
            }
        }
        Ok(())
    }

    fn attr_of(&self, nid: Nid) -> error::Result<Attr> {
        self.look(|commit| attributes::attr(commit.tree(), nid))
    }
}

impl State {
    fn writable(&self) -> error::Result<()> {
        if self.failed.is_some() { Err(Error::Errno(Errno::ReadOnly)) } else { Ok(()) }
    }

    /// Writes to the medium. Nothing more is written after a failure halfway.
    fn write(&mut self, write: impl FnOnce(&mut Commit) -> error::Result<()>) -> error::Result<()> {
        let before = self.commit.changes();
        let done = write(&mut self.commit);
        if let Err(error) = &done {
            // That there is no room is found out when all is written.
            let is_halfway = self.commit.changes() != before && *error != Error::Errno(Errno::NoSpace);
            let is_failure = matches!(error, Error::Write { .. } | Error::Flush(_));
            self.failed = (is_halfway || is_failure).then(|| error.clone());
        }
        if let Some(error) = self.failed.as_ref().filter(|error| !error.is_host_full()) {
            // A device that fails here, too, cannot be told anything.
            let _ = self.commit.tree_mut().blocks_mut().nodes_mut().writer_mut().stopped(error);
        }
        self.tell(&done);
        done
    }

    /// Remembers damage that was met.
    fn tell<T>(&mut self, done: &error::Result<T>) {
        if let Err(error) = done
            && self.failed.is_none()
            && self.commit.tree().blocks().nodes().writer().is_news(error)
        {
            self.commit.tree_mut().blocks_mut().nodes_mut().writer_mut().met(error);
        }
    }
}

/// The number on the medium of an inode: the root has another than here.
fn nid(root: Nid, ino: Ino) -> error::Result<Nid> {
    if ino == Ino::ROOT {
        return Ok(root);
    }
    // 1 and 2 are the volume's own.
    let found = u32::try_from(ino.0).ok().filter(|nid| *nid >= 3).map(Nid);
    found.ok_or(Error::Errno(Errno::Stale))
}

/// A regular file.
fn file(commit: &Commit, nid: Nid) -> error::Result<Inode> {
    let inode = commit.tree().inode(nid)?;
    match inode.kind {
        FileKind::File => Ok(inode),
        FileKind::Dir => Err(Error::Errno(Errno::IsDir)),
        _ => Err(Error::Errno(Errno::Invalid)),
    }
}

/// The end of a range of a file.
fn end_of_range(offset: u64, length: u64) -> error::Result<u64> {
    let end = offset.checked_add(length).filter(|end| *end <= FILE_MAX);
    end.ok_or(Error::Errno(Errno::FileTooBig))
}

/// A name put into, or taken out of, a directory: its block and the nodes above it, and the inodes at both ends.
const NAMES: Need = Need { data: 6, nodes: 18 };
/// Two names and an inode more.
const NAMES_TWICE: Need = Need { data: 12, nodes: 36 };
/// The same, where nothing more is taken up.
const NAMES_LESS: Need = Need { data: 4, nodes: 14 };
/// Attributes of one inode.
const ATTRIBUTES: Need = Need { data: 1, nodes: 3 };

impl FileSystem for WritableF2fs {
    fn space(&self) -> Result<SpaceInfo> {
        let state = self.state.lock();
        Ok(attributes::space(&state.commit))
    }

    fn space_at(&self, dir: Ino) -> Result<SpaceInfo> {
        let dir = self.nid(dir)?;
        Ok(self.look(|commit| attributes::space_at(commit, dir))?)
    }

    fn limited(&self) -> &dyn FileSystem {
        self.limited.as_deref().unwrap_or(self)
    }

    fn attr(&self, ino: Ino) -> Result<Attr> {
        Ok(self.attr_of(self.nid(ino)?)?)
    }

    fn set_attr(&self, ino: Ino, change: &SetAttr) -> Result<Attr> {
        let nid = self.nid(ino)?;
        let need = self.need_of_size(nid, change.size)?;
        self.change(need, |commit, now| attributes::set(commit.tree_mut(), nid, change, now))?;
        Ok(self.attr_of(nid)?)
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Attr> {
        let dir = self.nid(dir)?;
        Ok(self.look(|commit| attributes::attr(commit.tree(), commit.tree().lookup(dir, name)?))?)
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        let dir = self.nid(dir)?;
        Ok(self.look(|commit| Ok(attributes::ino(commit.tree(), commit.tree().parent(dir)?)))?)
    }

    fn readlink(&self, ino: Ino) -> Result<Vec<u8>> {
        let nid = self.nid(ino)?;
        Ok(self.look(|commit| attributes::target(commit.tree(), nid))?)
    }

    fn create(&self, dir: Ino, name: &[u8], node: &NewNode<'_>) -> Result<Attr> {
        let dir = self.nid(dir)?;
        let made = self.change(NAMES, |commit, now| commit.tree_mut().create(dir, name, node, now))?;
        self.settle(&[dir])?;
        Ok(self.attr_of(made)?)
    }

    fn link(&self, ino: Ino, dir: Ino, name: &[u8]) -> Result<Attr> {
        let (nid, dir) = (self.nid(ino)?, self.nid(dir)?);
        self.change(NAMES, |commit, now| commit.tree_mut().link(nid, dir, name, now))?;
        self.settle(&[dir])?;
        Ok(self.attr_of(nid)?)
    }

    fn unlink(&self, dir: Ino, name: &[u8]) -> Result<()> {
        let dir = self.nid(dir)?;
        self.change(NAMES_LESS, |commit, now| commit.tree_mut().unlink(dir, name, now))?;
        Ok(self.settle(&[dir])?)
    }

    fn rmdir(&self, dir: Ino, name: &[u8]) -> Result<()> {
        let dir = self.nid(dir)?;
        self.change(NAMES_LESS, |commit, now| commit.tree_mut().rmdir(dir, name, now))?;
        Ok(self.settle(&[dir])?)
    }

    fn rename(&self, dir: Ino, name: &[u8], to_dir: Ino, to_name: &[u8], mode: RenameMode) -> Result<()> {
        let (from, to) = ((self.nid(dir)?, name), (self.nid(to_dir)?, to_name));
        let need = if matches!(mode, RenameMode::Whiteout { .. }) { NAMES_TWICE } else { NAMES };
        self.change(need, |commit, now| commit.tree_mut().rename(from, to, mode, now))?;
        Ok(self.settle(&[from.0, to.0])?)
    }

    fn hold(&self, ino: Ino) -> Result<()> {
        let nid = self.nid(ino)?;
        Ok(self.state.lock().commit.tree_mut().hold(nid)?)
    }

    fn release(&self, ino: Ino) -> Result<()> {
        let nid = self.nid(ino)?;
        let goes = self.state.lock().commit.tree_mut().release(nid)?;
        if goes {
            self.change(Need::default(), |commit, _| commit.tree_mut().evict(nid))?;
        }
        Ok(())
    }

    /// Any file may become immutable, or append-only.
    fn guards_files(&self) -> bool {
        true
    }

    fn open(&self, ino: Ino, access: Access) -> Result<()> {
        let nid = self.nid(ino)?;
        Ok(self.look(|commit| may_open(commit.tree().blocks(), &commit.tree().inode(nid)?, access))?)
    }

    fn read(&self, ino: Ino, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let nid = self.nid(ino)?;
        Ok(self.look(|commit| {
            let inode = file(commit, nid)?;
            may_read(commit.tree().blocks(), &inode)?;
            content::read(commit.tree().blocks(), &inode, offset, buffer)
        })?)
    }

    fn write(&self, ino: Ino, offset: u64, data: &[u8]) -> Result<()> {
        let nid = self.nid(ino)?;
        self.check_writable(nid, offset)?;
        if data.is_empty() {
            return Ok(());
        }
        {
            let state = self.state.lock();
            let end = end_of_range(offset, data.len() as u64)?;
            attributes::need(&state.commit, &file(&state.commit, nid)?, offset..end)?;
        }
        let mut at = offset;
        for piece in data.chunks(PIECE) {
            self.write_piece(nid, at, piece)?;
            at += piece.len() as u64;
        }
        if self.has_flag(nid, InodeFlags::SYNC)? { self.fsync(ino, false) } else { Ok(()) }
    }

    fn write_part(&self, ino: Ino, offset: u64, data: &[u8]) -> Result<usize> {
        let nid = self.nid(ino)?;
        self.check_writable(nid, offset)?;
        end_of_range(offset, data.len() as u64)?;
        let (done, ended) = self.write_blocks(nid, offset, data);
        if done == 0 {
            ended?;
        } else if self.has_flag(nid, InodeFlags::SYNC)? {
            self.fsync(ino, false)?;
        }
        Ok(done)
    }

    fn allocate(&self, ino: Ino, mode: SpaceMode, offset: u64, length: u64) -> Result<()> {
        let nid = self.nid(ino)?;
        let (need, end) = {
            let state = self.state.lock();
            let inode = file(&state.commit, nid)?;
            state.writable()?;
            // Room may be reserved behind a file that is added to.
            let from = if matches!(mode, SpaceMode::Reserve { .. }) { inode.size } else { 0 };
            may_write(state.commit.tree().blocks(), &inode, from)?;
            if length == 0 {
                return Err(Errno::Invalid.into());
            }
            let end = end_of_range(offset, length)?;
            let need = match mode {
                SpaceMode::PunchHole => attributes::need_to_punch(&state.commit, &inode, length),
                _ => attributes::need(&state.commit, &inode, offset..end)?,
            };
            // Nothing is written where room is only reserved.
            (Need { data: need.data.min(4 + attributes::at_ends(&inode)), ..need }, end)
        };
        Ok(self.change(need, |commit, now| {
            let mut inode = file(commit, nid)?;
            let blocks = commit.tree_mut().blocks_mut();
            content::allocate(blocks, &mut inode, mode, offset..end)?;
            (inode.mtime, inode.ctime) = (now, now);
            blocks.nodes_mut().put(&inode)
        })?)
    }

    fn seek(&self, ino: Ino, offset: u64, what: Seek) -> Result<u64> {
        let nid = self.nid(ino)?;
        Ok(self.look(|commit| {
            let inode = file(commit, nid)?;
            may_read(commit.tree().blocks(), &inode)?;
            if offset >= inode.size {
                return Err(Error::Errno(Errno::NoAddress));
            }
            content::seek(commit.tree().blocks(), &inode, offset, what)
        })?)
    }

    fn fsync(&self, ino: Ino, data_only: bool) -> Result<()> {
        let nid = self.nid(ino)?;
        self.state.lock().commit.tree().inode(nid)?;
        Ok(self.keep(|commit, elapsed| fsync::fsync(commit, nid, data_only, self.strict_fsync, elapsed))?)
    }

    fn sync(&self) -> Result<()> {
        Ok(self.checkpoint()?)
    }

    fn trim(&self, range: Range<u64>, least: u64) -> Result<u64> {
        let elapsed = self.elapsed();
        let mut state = self.state.lock();
        state.writable()?;
        let sb = state.commit.tree().blocks().nodes().writer().super_block();
        let width = sb.block().bytes_u64();
        if range.start >= sb.main_end() * width || range.end.saturating_sub(range.start) < width {
            return Err(Errno::Invalid.into());
        }
        let mut freed = 0;
        state.write(|commit| {
            freed = commit.trim(&range, least, elapsed)?;
            Ok(())
        })?;
        Ok(freed)
    }

    fn maintain(&self) -> Result<bool> {
        let elapsed = self.elapsed();
        let mut state = self.state.lock();
        if state.failed.is_some() {
            return Ok(false);
        }
        let mut more = false;
        state.write(|commit| {
            more = commit.maintain(elapsed)?;
            Ok(())
        })?;
        Ok(more)
    }

    fn readdir(&self, dir: Ino, cookie: u64, each: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        let dir = self.nid(dir)?;
        let mut after = cookie;
        let mut damage = Ok(());
        loop {
            // `each` may call back, so nothing is locked while it runs.
            let (entries, whole) = {
                let mut state = self.state.lock();
                let found = attributes::entries(state.commit.tree(), dir, after);
                state.tell(&found);
                let (entries, whole) = found?;
                state.tell(&whole);
                (entries, whole)
            };
            damage = damage.and(whole);
            if entries.is_empty() {
                return Ok(damage?);
            }
            for entry in entries {
                let (name, cookie) = (entry.name.as_slice(), entry.cookie);
                let kind = file_kind(entry.file_type);
                if !each(DirEntry { name, ino: entry.ino, kind, cookie }) {
                    return Ok(damage?);
                }
                after = cookie;
            }
        }
    }

    fn xattr(&self, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        let nid = self.nid(ino)?;
        Ok(self
            .look(|commit| xattrs::get(commit.tree().blocks().nodes(), &commit.tree().inode(nid)?, name))?)
    }

    fn set_xattr(&self, ino: Ino, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        let nid = self.nid(ino)?;
        let need = Need { data: 0, nodes: 2 };
        Ok(self.change(need, |commit, now| {
            let mut inode = commit.tree().inode(nid)?;
            may_redo(&inode)?;
            let nodes = commit.tree_mut().blocks_mut().nodes_mut();
            xattrs::set(nodes, &mut inode, name, value, mode, now)?;
            if inode.kind == FileKind::Dir {
                // Files below may depend on it.
                nodes.promises_mut().unsettle(nid);
            }
            nodes.put(&inode)
        })?)
    }

    fn flags(&self, ino: Ino) -> Result<Flags> {
        let nid = self.nid(ino)?;
        Ok(self.look(|commit| Ok(commit.tree().inode(nid)?.shown()))?)
    }

    fn set_flags(&self, ino: Ino, change: &FlagChange) -> Result<()> {
        let nid = self.nid(ino)?;
        Ok(self.change(ATTRIBUTES, |commit, now| flags::set(commit.tree_mut(), nid, change, now))?)
    }

    fn list_xattr(&self, ino: Ino) -> Result<Vec<Vec<u8>>> {
        let nid = self.nid(ino)?;
        Ok(self.look(|commit| xattrs::names(commit.tree().blocks().nodes(), &commit.tree().inode(nid)?))?)
    }

    fn remove_xattr(&self, ino: Ino, name: &[u8]) -> Result<()> {
        let nid = self.nid(ino)?;
        Ok(self.change(ATTRIBUTES, |commit, now| {
            let mut inode = commit.tree().inode(nid)?;
            may_redo(&inode)?;
            let nodes = commit.tree_mut().blocks_mut().nodes_mut();
            xattrs::remove(nodes, &mut inode, name)?;
            inode.ctime = now;
            nodes.put(&inode)
        })?)
    }
}
