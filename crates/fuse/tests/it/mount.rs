//! The reference model, mounted for real and used through the kernel.
//!
//! Where FUSE cannot be used the tests say so on stderr and pass.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use pumice_fuse::{MountOptions, Unmounter, mount};
use pumice_vfs::{FileSystem, Ino, Timestamp, model::MemFs};
use rustix::{
    fs::{
        CWD, FallocateFlags, FileType, Mode, RenameFlags, XattrFlags, fallocate, getxattr, getxattr_query,
        listxattr, makedev, mknodat, removexattr, renameat_with, setxattr,
    },
    io::Errno,
    mount::{UnmountFlags, unmount},
};
use tempfile::TempDir;

/// A mount that goes when the test ends, however it ends.
struct Mounted {
    fs: Arc<MemFs>,
    place: TempDir,
    unmounter: Unmounter,
    waiter: Option<JoinHandle<()>>,
}

impl Mounted {
    /// `None`, with a line on stderr, where FUSE cannot be used.
    fn new(options: &[&str]) -> Option<Mounted> {
        if OpenOptions::new().read(true).write(true).open("/dev/fuse").is_err() {
            eprintln!("SKIPPED: /dev/fuse cannot be opened, so nothing was tested");
            return None;
        }
        let place = tempfile::tempdir().unwrap();
        let fs = Arc::new(MemFs::new(Box::new(clock)));
        let mut mount_options = MountOptions::default();
        for option in options {
            mount_options.apply(option).unwrap();
        }
        let session = mount(fs.clone(), place.path(), &mount_options).unwrap();
        let unmounter = session.unmounter();
        let waiter = Some(std::thread::spawn(move || session.wait().unwrap()));
        Some(Mounted { fs, place, unmounter, waiter })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Unmounts, and hands back the file system, which nobody else may refer to any more.
    fn unmount(mut self) -> Arc<MemFs> {
        self.unmounter.unmount();
        self.waiter.take().unwrap().join().unwrap();
        assert_eq!(Arc::strong_count(&self.fs), 1);
        self.fs.clone()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.unmounter.unmount();
        if let Some(waiter) = self.waiter.take() {
            let _ = waiter.join();
        }
    }
}

fn clock() -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp { seconds: i64::try_from(now.as_secs()).unwrap(), nanos: now.subsec_nanos() }
}

fn names(dir: &Path) -> BTreeSet<String> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn files_keep_what_is_written() {
    let Some(mounted) = Mounted::new(&[]) else { return };
    let path = mounted.path("file");
    let data: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    fs::write(&path, &data).unwrap();
    assert_eq!(fs::read(&path).unwrap(), data);

    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    file.write_all_at(b"across", 4093).unwrap();
    let mut back = [0; 8];
    file.read_exact_at(&mut back, 4092).unwrap();
    assert_eq!(&back[1..7], b"across");
    file.set_len(10).unwrap();
    file.sync_all().unwrap();
    file.sync_data().unwrap();
    assert_eq!(fs::read(&path).unwrap(), data[..10]);

    let mut appended = OpenOptions::new().append(true).open(&path).unwrap();
    appended.write_all(b"tail").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 14);
    File::create(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
}

#[test]
fn what_was_written_is_in_the_file_system_after_the_unmount() {
    let Some(mounted) = Mounted::new(&[]) else { return };
    fs::create_dir(mounted.path("dir")).unwrap();
    fs::write(mounted.path("dir/file"), b"content").unwrap();
    let fs = mounted.unmount();
    let dir = fs.lookup(Ino::ROOT, b"dir").unwrap();
    let file = fs.lookup(dir.ino, b"file").unwrap();
    let mut buffer = [0; 16];
    assert_eq!(fs.read(file.ino, 0, &mut buffer).unwrap(), 7);
    assert_eq!(&buffer[..7], b"content");
}

#[test]
fn directories_list_every_name_once() {
    let Some(mounted) = Mounted::new(&[]) else { return };
    let dir = mounted.path("many");
    fs::create_dir(&dir).unwrap();
    let made: BTreeSet<String> = (0..1000).map(|n| format!("a-rather-long-file-name-{n:04}")).collect();
    for name in &made {
        File::create(dir.join(name)).unwrap();
    }
    assert_eq!(names(&dir), made);
    assert_eq!(names(&dir), made, "from the kernel's cache");
    for name in made.iter().filter(|name| name.ends_with('7')) {
        fs::remove_file(dir.join(name)).unwrap();
    }
    assert_eq!(names(&dir).len(), 900);
    assert_eq!(fs::remove_dir(&dir).unwrap_err().raw_os_error(), Some(Errno::NOTEMPTY.raw_os_error()));
    fs::remove_dir_all(&dir).unwrap();
    assert!(!dir.exists());
}

#[test]
fn names_that_are_not_there_appear_when_made() {
    let Some(mounted) = Mounted::new(&[]) else { return };
    assert!(!mounted.path("later").exists());
    assert!(!mounted.path("later").exists());
    File::create(mounted.path("first")).unwrap();
    fs::rename(mounted.path("first"), mounted.path("later")).unwrap();
    assert!(mounted.path("later").exists());
    assert!(!mounted.path("first").exists());
}

#[test]
fn rename_obeys_its_flags() {
    let Some(mounted) = Mounted::new(&[]) else { return };
    let (a, b) = (mounted.path("a"), mounted.path("b"));
    fs::write(&a, b"a").unwrap();
    fs::write(&b, b"b").unwrap();
    assert_eq!(renameat_with(CWD, &a, CWD, &b, RenameFlags::NOREPLACE), Err(Errno::EXIST));
    renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE).unwrap();
    assert_eq!(fs::read(&a).unwrap(), b"b");
    assert_eq!(fs::read(&b).unwrap(), b"a");
    fs::rename(&a, &b).unwrap();
    assert_eq!(fs::read(&b).unwrap(), b"b");
    assert_eq!(renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE), Err(Errno::NOENT));

    fs::create_dir_all(mounted.path("up/down")).unwrap();
    let under_itself = fs::rename(mounted.path("up"), mounted.path("up/down/up"));
    assert_eq!(under_itself.unwrap_err().raw_os_error(), Some(Errno::INVAL.raw_os_error()));
}

#[test]
fn links_hard_and_symbolic() {
    let Some(mounted) = Mounted::new(&[]) else { return };
    let file = mounted.path("file");
    fs::write(&file, b"shared").unwrap();
    fs::hard_link(&file, mounted.path("second")).unwrap();
    let (one, two) = (fs::metadata(&file).unwrap(), fs::metadata(mounted.path("second")).unwrap());
    assert_eq!((one.ino(), one.nlink()), (two.ino(), 2));
    fs::remove_file(&file).unwrap();
    assert_eq!(fs::metadata(mounted.path("second")).unwrap().nlink(), 1);
    symlink("second", mounted.path("soft")).unwrap();
    assert_eq!(fs::read_link(mounted.path("soft")).unwrap(), Path::new("second"));
    assert_eq!(fs::read(mounted.path("soft")).unwrap(), b"shared");
}

#[test]
fn an_unlinked_file_lives_until_it_is_closed() {
    let Some(mounted) = Mounted::new(&[]) else { return };
    let path = mounted.path("gone");
    let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
    file.write_all(b"before ").unwrap();
    fs::remove_file(&path).unwrap();
    file.write_all(b"after").unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "before after");
    assert_eq!(file.metadata().unwrap().nlink(), 0);
    let ino = Ino(file.metadata().unwrap().ino());
    drop(file);
    let fs = mounted.unmount();
    assert!(fs.attr(ino).is_err(), "the inode outlived the mount");
}

#[test]
fn attributes_are_set_to_the_nanosecond() {
    let Some(mounted) = Mounted::new(&[]) else { return };
    let path = mounted.path("file");
    let file = File::create(&path).unwrap();
    let before_1970 = UNIX_EPOCH - Duration::new(1, 200_000_000);
    let later = UNIX_EPOCH + Duration::new(5_000_000_000, 123_456_789);
    file.set_times(fs::FileTimes::new().set_accessed(before_1970).set_modified(later)).unwrap();
    std::thread::sleep(Duration::from_millis(1100)); // past what the kernel remembers
    let found = fs::metadata(&path).unwrap();
    assert_eq!((found.atime(), found.atime_nsec()), (-2, 800_000_000));
    assert_eq!(found.modified().unwrap(), later);

    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode(), 0o100_640);
    let before = SystemTime::now() - Duration::from_millis(100);
    file.set_times(fs::FileTimes::new().set_modified(SystemTime::now())).unwrap();
    file.write_all_at(b"x", 0).unwrap();
    assert!(fs::metadata(&path).unwrap().modified().unwrap() >= before);
}

#[test]
fn set_gid_directories_hand_their_group_down() {
    let Some(mounted) = Mounted::new(&["allow_other"]).filter(|_| is_root()) else { return };
    let dir = mounted.path("shared");
    fs::create_dir(&dir).unwrap();
    chown(&dir, None, Some(1234)).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o2775)).unwrap();
    fs::create_dir(dir.join("sub")).unwrap();
    fs::write(dir.join("file"), b"").unwrap();
    let sub = fs::metadata(dir.join("sub")).unwrap();
    assert_eq!((sub.gid(), sub.mode() & 0o2000), (1234, 0o2000));
    let file = fs::metadata(dir.join("file")).unwrap();
    assert_eq!((file.gid(), file.mode() & 0o2000), (1234, 0));
}

#[test]
fn set_id_bits_go_with_a_new_owner() {
    let Some(mounted) = Mounted::new(&["allow_other"]).filter(|_| is_root()) else { return };
    let path = mounted.path("tool");
    fs::write(&path, b"#!").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o6755)).unwrap();
    chown(&path, Some(1000), Some(1000)).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o755);
}

#[test]
fn special_files_are_kept() {
    let Some(mounted) = Mounted::new(&[]).filter(|_| is_root()) else { return };
    mknodat(CWD, mounted.path("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    mknodat(CWD, mounted.path("dev"), FileType::CharacterDevice, Mode::RUSR, makedev(4, 300)).unwrap();
    assert!(fs::metadata(mounted.path("pipe")).unwrap().file_type().is_fifo());
    let device = fs::metadata(mounted.path("dev")).unwrap();
    assert!(device.file_type().is_char_device());
    assert_eq!(device.rdev(), makedev(4, 300));
}

#[test]
fn extended_attributes_follow_the_size_protocol() {
    let Some(mounted) = Mounted::new(&[]) else { return };
    let path = mounted.path("file");
    File::create(&path).unwrap();
    assert_eq!(setxattr(&path, "user.one", b"value", XattrFlags::REPLACE), Err(Errno::NODATA));
    setxattr(&path, "user.one", b"value", XattrFlags::CREATE).unwrap();
    assert_eq!(setxattr(&path, "user.one", b"value", XattrFlags::CREATE), Err(Errno::EXIST));
    assert_eq!(getxattr_query(&path, "user.one").unwrap(), 5);
    assert_eq!(getxattr(&path, "user.one", &mut [0; 4][..]), Err(Errno::RANGE));
    let mut buffer = [0; 64];
    assert_eq!(getxattr(&path, "user.one", &mut buffer[..]).unwrap(), 5);
    assert_eq!(&buffer[..5], b"value");
    let length = listxattr(&path, &mut buffer[..]).unwrap();
    assert_eq!(&buffer[..length], b"user.one\0");
    removexattr(&path, "user.one").unwrap();
    assert_eq!(getxattr(&path, "user.one", &mut buffer[..]), Err(Errno::NODATA));
}

#[test]
fn holes_are_made_and_found() {
    let Some(mounted) = Mounted::new(&[]) else { return };
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(mounted.path("f"))
        .unwrap();
    let block = 1 << 16;
    file.write_all_at(b"end", 4 * block).unwrap();
    let find = |what| rustix::fs::seek(&file, what);
    assert_eq!(find(rustix::fs::SeekFrom::Data(0)).unwrap(), 4 * block);
    assert_eq!(find(rustix::fs::SeekFrom::Hole(0)).unwrap(), 0);
    assert_eq!(find(rustix::fs::SeekFrom::Data(5 * block)), Err(Errno::NXIO));
    fallocate(&file, FallocateFlags::empty(), 0, 6 * block).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 6 * block);
    fallocate(&file, FallocateFlags::KEEP_SIZE, 0, 7 * block).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 6 * block);
    fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 4 * block, block).unwrap();
    fallocate(&file, FallocateFlags::ZERO_RANGE, 0, block).unwrap();
    let refused = fallocate(&file, FallocateFlags::COLLAPSE_RANGE, 0, block);
    assert_eq!(refused, Err(Errno::OPNOTSUPP));
    file.seek(SeekFrom::Start(0)).unwrap();
    let mut all = Vec::new();
    file.read_to_end(&mut all).unwrap();
    assert!(all.len() as u64 == 6 * block && all.iter().all(|byte| *byte == 0));
}

#[test]
fn space_is_told() {
    let Some(mounted) = Mounted::new(&[]) else { return };
    let told = rustix::fs::statvfs(mounted.place.path()).unwrap();
    let space = mounted.fs.space().unwrap();
    assert_eq!(told.f_blocks * told.f_frsize, space.total_bytes);
    assert_eq!(told.f_namemax, u64::from(space.name_max));
}

#[test]
fn a_read_only_mount_refuses_changes() {
    let Some(mounted) = Mounted::new(&["ro"]) else { return };
    let refused = File::create(mounted.path("file")).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ReadOnlyFilesystem);
}

#[test]
fn the_mount_table_names_us() {
    let Some(mounted) = Mounted::new(&["fsname=chip.img"]) else { return };
    let table = fs::read_to_string("/proc/mounts").unwrap();
    let place = mounted.place.path().to_str().unwrap();
    let line = table.lines().find(|line| line.contains(place)).unwrap();
    assert!(line.starts_with("chip.img "), "{line}");
    assert!(line.contains(" fuse.pumice "), "{line}");
}

#[test]
fn a_busy_mount_ends_all_the_same() {
    let Some(mounted) = Mounted::new(&[]) else { return };
    let open = File::create(mounted.path("open")).unwrap();
    let fs = mounted.unmount();
    assert!(fs.lookup(Ino::ROOT, b"open").is_ok());
    drop(open);
}

/// The server of a mount that someone else took away must not take the next one away.
#[test]
fn an_end_leaves_a_later_mount_alone() {
    if !is_root() {
        eprintln!("SKIPPED: only root may call umount(2), so nothing was tested");
        return;
    }
    let Some(mut first) = Mounted::new(&[]) else { return };
    fs::write(first.path("file"), b"content").unwrap();
    let open = File::open(first.path("file")).unwrap();
    unmount(first.place.path(), UnmountFlags::DETACH).unwrap();
    let later = Arc::new(MemFs::new(Box::new(clock)));
    let session = mount(later.clone(), first.place.path(), &MountOptions::default()).unwrap();
    drop(open);
    first.waiter.take().unwrap().join().unwrap();
    first.unmounter.unmount();
    fs::write(first.path("later"), b"content").unwrap();
    assert!(later.lookup(Ino::ROOT, b"later").is_ok());
    session.unmounter().unmount();
    session.wait().unwrap();
}

#[test]
fn threads_work_side_by_side() {
    let Some(mounted) = Mounted::new(&[]) else { return };
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let dir = mounted.path(&format!("worker{worker}"));
            scope.spawn(move || {
                fs::create_dir(&dir).unwrap();
                for n in 0..100 {
                    let path = dir.join(format!("{n}"));
                    fs::write(&path, format!("{worker} {n}")).unwrap();
                    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{worker} {n}"));
                    if n % 2 == 0 {
                        fs::remove_file(&path).unwrap();
                    }
                }
                assert_eq!(names(&dir).len(), 50);
            });
        }
    });
}

#[test]
fn an_open_flag_is_obeyed() {
    let Some(mounted) = Mounted::new(&[]) else { return };
    let path = mounted.path("file");
    let exclusive = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    exclusive().unwrap();
    assert_eq!(exclusive().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn a_bad_mountpoint_is_named() {
    let fs = Arc::new(MemFs::new(Box::new(clock)));
    let missing = Path::new("/nowhere/at/all");
    let error = mount(fs.clone(), missing, &MountOptions::default()).err().unwrap().to_string();
    assert!(error.starts_with("cannot mount on /nowhere/at/all: "), "{error}");
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = mount(fs, file.path(), &MountOptions::default()).err().unwrap().to_string();
    assert!(error.contains("not a directory"), "{error}");
}
