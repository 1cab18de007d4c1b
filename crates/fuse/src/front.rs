//! Passes each request of the kernel to the file system and sends the answer.

use std::{
    ffi::OsStr,
    io,
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::{Arc, mpsc::Sender},
    time::SystemTime,
};

use fuser::{
    BsdFileFlags, Errno, FileHandle, Filesystem, FopenFlags, INodeNo, InitFlags, IoctlFlags, KernelConfig,
    LockOwner, OpenAccMode, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite,
    ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use pumice_vfs::{Access, Attr, FileKind, FileSystem, RenameMode, Seek, SpaceMode, XattrMode};

use crate::{
    acl, advise,
    attr::{NAME_TTL, View, absent, attr_ttl, generation, ino},
    dir,
    flags::{self, Asked},
    node::{self, Change, Wanted},
    options::MountOptions,
    reply,
    server::Event,
    volume::{Answer, Volume},
};

/// Most bytes that the kernel may send in one write request.
const MAX_WRITE: u32 = 1 << 20;

/// Access control lists, which the kernel enforces; it leaves the umask to us then.
const LISTS: InitFlags = InitFlags::FUSE_POSIX_ACL.union(InitFlags::FUSE_DONT_MASK);

/// Features asked of the kernel. Without some of them a mount is slower or has no access control lists, but works. Not
/// `FUSE_ASYNC_DIO`: behind a direct write that a program does not wait for, Linux leaves the old bytes in its cache if
/// others read there meanwhile.
const WISHES: [InitFlags; 6] = [
    InitFlags::FUSE_DO_READDIRPLUS,
    InitFlags::FUSE_READDIRPLUS_AUTO,
    InitFlags::FUSE_PARALLEL_DIROPS,
    InitFlags::FUSE_CACHE_SYMLINKS,
    // It opens files by handles after it has forgotten their names.
    InitFlags::FUSE_EXPORT_SUPPORT,
    // It leaves it to us to take set-id bits away, and does not ask for capabilities at each write.
    InitFlags::FUSE_HANDLE_KILLPRIV_V2,
];

/// The kernel's side of a mount.
pub(crate) struct Front<F: ?Sized> {
    volume: Arc<Volume<F>>,
    /// Features that the kernel granted.
    granted: InitFlags,
    /// The form of attributes, and the time for which the kernel may cache them.
    view: View,
    /// Access control lists are in use.
    has_lists: bool,
    /// `fusermount3` opens the mount point to learn whether anybody serves it still, so the kernel has to ask.
    is_watched: bool,
    /// Told when the last request has been served.
    events: Sender<Event>,
}

impl<F: FileSystem + ?Sized> Front<F> {
    pub(crate) fn new(volume: Arc<Volume<F>>, options: &MountOptions, events: Sender<Event>) -> Front<F> {
        let view = View { ttl: attr_ttl(options.read_only), shown: options.shown() };
        // Lists would grant rights that a mask has taken from everybody.
        let has_lists = view.shown.umask.is_none();
        let is_watched = options.auto_unmount;
        Front { volume, granted: InitFlags::empty(), view, has_lists, is_watched, events }
    }

    /// Makes an inode and counts the kernel's reference to it.
    fn make(&self, request: &Request, parent: INodeNo, name: &OsStr, wanted: &Wanted<'_>) -> Answer<Attr> {
        self.volume.change("create", parent.0, |fs| {
            let attr = node::create(charged(fs, request), request, ino(parent), name.as_bytes(), wanted)?;
            self.volume.refs.take(fs, attr.ino)?;
            Ok(attr)
        })
    }
}

/// The file system for whoever asks. Quotas do not limit root.
fn charged<'a, F: FileSystem + ?Sized>(fs: &'a F, request: &Request) -> &'a dyn FileSystem {
    if request.uid() == 0 { fs.as_file_system() } else { fs.limited() }
}

fn access(flags: OpenFlags) -> Access {
    const APPEND: i32 = 0o2000;
    match flags.acc_mode() {
        OpenAccMode::O_RDONLY => Access::Read,
        _ if flags.0 & APPEND != 0 => Access::Append,
        _ => Access::Write,
    }
}

fn space_mode(mode: i32) -> Option<SpaceMode> {
    const KEEP_SIZE: i32 = 0x01;
    const PUNCH_HOLE: i32 = 0x02;
    const ZERO_RANGE: i32 = 0x10;
    let keep_size = mode & KEEP_SIZE != 0;
    match mode & !KEEP_SIZE {
        0 => Some(SpaceMode::Reserve { keep_size }),
        PUNCH_HOLE if keep_size => Some(SpaceMode::PunchHole),
        ZERO_RANGE => Some(SpaceMode::Zero { keep_size }),
        _ => None,
    }
}

/// The kernel itself has looked that nothing is replaced where a whiteout is wanted, too.
fn rename_mode(flags: RenameFlags, request: &Request) -> Option<RenameMode> {
    let whiteout = RenameMode::Whiteout { uid: request.uid(), gid: request.gid() };
    Some(match flags {
        RenameFlags::RENAME_WHITEOUT => whiteout,
        _ if flags == RenameFlags::RENAME_WHITEOUT | RenameFlags::RENAME_NOREPLACE => whiteout,
        RenameFlags::RENAME_NOREPLACE => RenameMode::NoReplace,
        RenameFlags::RENAME_EXCHANGE => RenameMode::Exchange,
        _ if flags.is_empty() => RenameMode::Replace,
        _ => return None,
    })
}

impl<F: FileSystem + Send + Sync + ?Sized + 'static> Filesystem for Front<F> {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let lists = self.has_lists.then_some(LISTS);
        let directories = (!self.is_watched).then_some(InitFlags::FUSE_NO_OPENDIR_SUPPORT);
        // It does without open and release, where they do nothing.
        let opens = self.volume.with(FileSystem::guards_files);
        let opens = opens.ok_or_else(|| io::Error::other("the volume is unmounted already"))?;
        let files = (!opens).then_some(InitFlags::FUSE_NO_OPEN_SUPPORT);
        for wish in WISHES.into_iter().chain(lists).chain(directories).chain(files) {
            if config.add_capabilities(wish).is_ok() {
                self.granted |= wish;
            }
        }
        config
            .set_max_write(MAX_WRITE)
            .map(drop)
            .map_err(|max| io::Error::other(format!("max_write above {max}")))
    }

    fn destroy(&mut self) {
        // The receiver is gone if `Session::wait` gave up on this thread; then nobody wants to know.
        let _ = self.events.send(Event::Ended);
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let answer = self.volume.serve("lookup", parent.0, |fs| {
            let attr = match name.as_bytes() {
                // By number, to open a file by its handle.
                b"." => fs.attr(ino(parent))?,
                b".." => fs.attr(fs.parent(ino(parent))?)?,
                name => fs.lookup(ino(parent), name)?,
            };
            self.volume.refs.take(fs, attr.ino)?;
            Ok(attr)
        });
        match answer {
            Err(error) if error == Errno::ENOENT => {
                reply.entry_with_ttls(&self.view.ttl, &NAME_TTL, &absent(), fuser::Generation(0));
            }
            answer => reply::entry(reply, &self.view, answer),
        }
    }

    fn forget(&self, _request: &Request, number: INodeNo, times: u64) {
        // There is nobody to answer; `serve` has logged the error.
        let _ =
            self.volume.serve("forget", number.0, |fs| self.volume.refs.give_back(fs, ino(number), times));
    }

    fn getattr(&self, _request: &Request, number: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        reply::attr(reply, &self.view, self.volume.serve("getattr", number.0, |fs| fs.attr(ino(number))));
    }

    fn setattr(
        &self,
        request: &Request,
        number: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        ctime: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let change = Change { mode, uid, gid, size, atime, mtime, ctime };
        let kill_priv = self.granted.contains(InitFlags::FUSE_HANDLE_KILLPRIV_V2);
        let answer = self.volume.change("setattr", number.0, |fs| {
            node::change(charged(fs, request), request, ino(number), &change, kill_priv)
        });
        reply::attr(reply, &self.view, answer);
    }

    fn readlink(&self, _request: &Request, number: INodeNo, reply: ReplyData) {
        reply::data(reply, self.volume.serve("readlink", number.0, |fs| fs.readlink(ino(number))));
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        rdev: u32,
        reply: ReplyEntry,
    ) {
        let Some(kind) = FileKind::from_mode(mode) else { return reply.error(Errno::EINVAL) };
        let rdev = if matches!(kind, FileKind::CharDevice | FileKind::BlockDevice) { rdev } else { 0 };
        reply::entry(
            reply,
            &self.view,
            self.make(request, parent, name, &Wanted { kind, mode, umask, rdev, target: b"" }),
        );
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let wanted = Wanted { kind: FileKind::Dir, mode, umask, rdev: 0, target: b"" };
        reply::entry(reply, &self.view, self.make(request, parent, name, &wanted));
    }

    fn unlink(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let answer = self.volume.change("unlink", parent.0, |fs| fs.unlink(ino(parent), name.as_bytes()));
        reply::empty(reply, answer);
    }

    fn rmdir(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let answer = self.volume.change("rmdir", parent.0, |fs| fs.rmdir(ino(parent), name.as_bytes()));
        reply::empty(reply, answer);
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let target = target.as_os_str().as_bytes();
        let wanted = Wanted { kind: FileKind::Symlink, mode: 0o777, umask: 0, rdev: 0, target };
        reply::entry(reply, &self.view, self.make(request, parent, name, &wanted));
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let Some(mode) = rename_mode(flags, request) else { return reply.error(Errno::EINVAL) };
        let answer = self.volume.change("rename", parent.0, |fs| {
            let (from, to) = (name.as_bytes(), new_name.as_bytes());
            charged(fs, request).rename(ino(parent), from, ino(new_parent), to, mode)
        });
        reply::empty(reply, answer);
    }

    fn link(&self, request: &Request, number: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let answer = self.volume.change("link", number.0, |fs| {
            let attr = charged(fs, request).link(ino(number), ino(parent), name.as_bytes())?;
            self.volume.refs.take(fs, attr.ino)?;
            Ok(attr)
        });
        reply::entry(reply, &self.view, answer);
    }

    fn open(&self, _request: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        if self.granted.contains(InitFlags::FUSE_NO_OPEN_SUPPORT) {
            return reply.error(Errno::ENOSYS);
        }
        match self.volume.serve("open", number.0, |fs| fs.open(ino(number), access(flags))) {
            Ok(()) => reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE),
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        _request: &Request,
        number: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let answer = self.volume.serve("read", number.0, |fs| {
            let mut buffer = vec![0; size as usize];
            let got = fs.read(ino(number), offset, &mut buffer)?;
            buffer.truncate(got);
            Ok(buffer)
        });
        reply::data(reply, answer);
    }

    fn write(
        &self,
        request: &Request,
        number: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let kill = write_flags.contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID);
        let answer = self.volume.change("write", number.0, |fs| {
            // Pages that programs changed in memory come later, in anybody's name, and cannot be refused any more.
            let written = if write_flags.contains(WriteFlags::FUSE_WRITE_CACHE) {
                fs.write(ino(number), offset, data)?;
                data.len()
            } else {
                charged(fs, request).write_part(ino(number), offset, data)?
            };
            if kill {
                node::kill_set_id(fs, ino(number))?;
            }
            Ok(written)
        });
        match answer {
            Ok(written) => reply.written(u32::try_from(written).unwrap_or(MAX_WRITE)),
            Err(error) => reply.error(error),
        }
    }

    fn flush(
        &self,
        _request: &Request,
        _number: INodeNo,
        _handle: FileHandle,
        _lock_owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        // Nothing is kept per handle; the kernel takes this as success and never asks again.
        reply.error(Errno::ENOSYS);
    }

    fn fsync(
        &self,
        _request: &Request,
        number: INodeNo,
        _handle: FileHandle,
        data_only: bool,
        reply: ReplyEmpty,
    ) {
        reply::empty(reply, self.volume.serve("fsync", number.0, |fs| fs.fsync(ino(number), data_only)));
    }

    fn opendir(&self, _request: &Request, _number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        if self.granted.contains(InitFlags::FUSE_NO_OPENDIR_SUPPORT) {
            return reply.error(Errno::ENOSYS);
        }
        reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_CACHE_DIR);
    }

    fn readdir(
        &self,
        _request: &Request,
        number: INodeNo,
        _handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        match self.volume.serve("readdir", number.0, |fs| dir::list(fs, ino(number), offset, &mut reply)) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }

    fn readdirplus(
        &self,
        _request: &Request,
        number: INodeNo,
        _handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let answer = self.volume.serve("readdirplus", number.0, |fs| {
            dir::list_plus(fs, &self.volume.refs, ino(number), offset, &self.view, &mut reply)
        });
        match answer {
            Ok(last) => {
                reply.ok();
                // Behind the last entry there is nothing; the kernel asks once more to be told so.
                if last > offset {
                    self.volume.with(|fs| dir::prepare(fs, ino(number), last));
                }
            }
            Err(error) => reply.error(error),
        }
    }

    fn fsyncdir(
        &self,
        request: &Request,
        number: INodeNo,
        handle: FileHandle,
        data_only: bool,
        reply: ReplyEmpty,
    ) {
        self.fsync(request, number, handle, data_only, reply);
    }

    fn statfs(&self, _request: &Request, number: INodeNo, reply: ReplyStatfs) {
        reply::statfs(reply, self.volume.serve("statfs", number.0, |fs| fs.space_at(ino(number))));
    }

    fn setxattr(
        &self,
        request: &Request,
        number: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        let mode = match flags {
            0 => XattrMode::Either,
            1 => XattrMode::Create,
            2 => XattrMode::Replace,
            _ => return reply.error(Errno::EINVAL),
        };
        let name = name.as_bytes();
        let is_acl = acl::is_acl(name);
        if is_acl && !self.granted.contains(LISTS) {
            // It would promise access control that nobody enforces.
            return reply.error(Errno::EOPNOTSUPP);
        }
        let answer = self.volume.change("setxattr", number.0, |fs| {
            let fs = charged(fs, request);
            if is_acl {
                acl::set(fs, request, ino(number), name, value)
            } else {
                advise::may_change(fs, (request.uid(), &self.view), ino(number), name)?;
                fs.set_xattr(ino(number), name, value, mode)
            }
        });
        reply::empty(reply, answer);
    }

    fn getxattr(&self, _request: &Request, number: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let answer = self.volume.serve("getxattr", number.0, |fs| fs.xattr(ino(number), name.as_bytes()));
        reply::xattr(reply, size, answer);
    }

    fn listxattr(&self, _request: &Request, number: INodeNo, size: u32, reply: ReplyXattr) {
        let answer = self.volume.serve("listxattr", number.0, |fs| fs.list_xattr(ino(number)));
        reply::xattr(reply, size, answer.map(reply::names_with_nul));
    }

    fn removexattr(&self, request: &Request, number: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = name.as_bytes();
        let answer = self.volume.change("removexattr", number.0, |fs| {
            if acl::is_acl(name) {
                acl::remove(fs, ino(number), name)
            } else {
                advise::may_change(fs, (request.uid(), &self.view), ino(number), name)?;
                fs.remove_xattr(ino(number), name)
            }
        });
        reply::empty(reply, answer);
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        let wanted = Wanted { kind: FileKind::File, mode, umask, rdev: 0, target: b"" };
        match self.make(request, parent, name, &wanted) {
            // One lifetime serves name and attributes here; the shorter is right for both.
            Ok(attr) => reply.created(
                &self.view.ttl,
                &self.view.file_attr(&attr),
                generation(&attr),
                FileHandle(0),
                FopenFlags::FOPEN_KEEP_CACHE,
            ),
            Err(error) => reply.error(error),
        }
    }

    fn ioctl(
        &self,
        request: &Request,
        number: INodeNo,
        _handle: FileHandle,
        _flags: IoctlFlags,
        command: u32,
        data: &[u8],
        _out_size: u32,
        reply: ReplyIoctl,
    ) {
        let (found, caller) = (|fs: &F| fs.flags(ino(number)), (request.uid(), &self.view));
        let answer = Asked::of(command, data).and_then(|asked| match asked {
            // As in Linux, who may not administer the system is told first.
            Asked::Trim { .. } if request.uid() != 0 => Err(Errno::EPERM),
            // Linux does not look for FUSE whether the mount takes changes.
            Asked::Trim { .. } if self.volume.is_read_only() => Err(Errno::EROFS),
            Asked::Trim { range, least } => self
                .volume
                .change("ioctl", number.0, |fs| fs.trim(range.clone(), least))
                .map(|freed| flags::trimmed(&range, freed, least)),
            Asked::Flags => {
                self.volume.serve("ioctl", number.0, found).map(|got| got.bits.to_le_bytes().into())
            }
            Asked::FsXattr => self.volume.serve("ioctl", number.0, found).map(flags::fsxattr),
            Asked::Change(change) => self
                .volume
                .change("ioctl", number.0, |fs| {
                    flags::change(charged(fs, request), caller, ino(number), &change)
                })
                .map(|()| Vec::new()),
        });
        match answer {
            Ok(bytes) => reply.ioctl(0, &bytes),
            Err(error) => reply.error(error),
        }
    }

    fn fallocate(
        &self,
        request: &Request,
        number: INodeNo,
        _handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let Some(mode) = space_mode(mode) else { return reply.error(Errno::EOPNOTSUPP) };
        let answer = self.volume.change("fallocate", number.0, |fs| {
            charged(fs, request).allocate(ino(number), mode, offset, length)
        });
        reply::empty(reply, answer);
    }

    fn lseek(
        &self,
        _request: &Request,
        number: INodeNo,
        _handle: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        const SEEK_DATA: i32 = 3;
        const SEEK_HOLE: i32 = 4;
        let what = match whence {
            SEEK_DATA => Seek::Data,
            SEEK_HOLE => Seek::Hole,
            _ => return reply.error(Errno::EINVAL),
        };
        let Ok(offset) = u64::try_from(offset) else { return reply.error(Errno::ENXIO) };
        match self.volume.serve("lseek", number.0, |fs| fs.seek(ino(number), offset, what)) {
            Ok(found) => reply.offset(i64::try_from(found).unwrap_or(i64::MAX)),
            Err(error) => reply.error(error),
        }
    }
}
