//! Opens images and finds out their contents.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use pumice_f2fs::{
    F2fs, MasterKeys, SuperBlock, WritableF2fs, WritableOptions,
    crypt::NONCE_BYTES,
    rescue::{Rescue, RescueOptions, Undelete},
};
use pumice_ftl::{Ftl, FtlError, OpenOptions};
use pumice_media::{BlockError, ChipFile, FileDisk, Lba, MediaError, Nand, ReadAt};
use pumice_nandfs::Compression;
use pumice_vfs::{FileSystem, FsError, Ino};
use serde_json::{Map, Value};

use crate::{
    context::{Context, now},
    disk::DiskFs,
    failure::{Failure, Outcome},
    metered::{Mended, Metered},
    on_chip::{self, Mounted, owned},
    recognise::{admit, recognise},
};

/// The time for which opening an image that is in use is tried again: umount(8) returns before the process behind the
/// mount notices, which then writes the volume back.
const MOUNT_PATIENCE: Duration = Duration::from_secs(2);
/// The same for a process that writes back, or runs another command.
const LEAVING_PATIENCE: Duration = Duration::from_secs(30);
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// The access to an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// The image is only read.
    Read,
    /// The image is written; no other process may have it open.
    Write,
}

impl Access {
    /// [`Access::Write`], or [`Access::Read`] for a dry run.
    pub(crate) fn write_unless(dry_run: bool) -> Access {
        if dry_run { Access::Read } else { Access::Write }
    }

    fn is_read(self) -> bool {
        self == Access::Read
    }
}

/// A file system that several threads may call.
pub(crate) type Shared = dyn FileSystem + Send + Sync;

/// A mounted file system of any kind.
pub(crate) enum Volume {
    /// One that stands on raw NAND.
    Nand { fs: Mounted, path: PathBuf },
    /// A logical disk, as a file.
    Disk { fs: Arc<DiskFs>, path: PathBuf },
    /// F2FS, read only.
    F2fs { fs: Arc<F2fs>, path: PathBuf },
    /// F2FS that is written to.
    WritableF2fs { fs: Arc<WritableF2fs>, path: PathBuf },
}

impl Volume {
    /// Opens an image and mounts its contents.
    pub(crate) fn open(path: &Path, access: Access, context: &Context) -> Outcome<Volume> {
        Volume::open_caching(path, access, context, context.cache_bytes)
    }

    /// The same, where F2FS may keep so many bytes.
    fn open_caching(path: &Path, access: Access, context: &Context, cache_bytes: usize) -> Outcome<Volume> {
        admit(path)?;
        if holds_f2fs(path) {
            return match access {
                Access::Read => Volume::read_f2fs(path, context, cache_bytes),
                // Changes must not be built upon a state without recovery: the promises of fsync would be lost.
                Access::Write if !context.recover => {
                    let why = "with --no-recovery an F2FS volume is only read";
                    Err(Failure::new(format!("{}: {why}", path.display())))
                }
                Access::Write => write_f2fs(path, context, cache_bytes)?.map_err(|error| about(path, &error)),
            };
        }
        let mut chip = open_chip(path, access, context)?;
        let kind = must_hold_files(&mut chip, path)?;
        let fs = kind.mount(chip, access.is_read(), context.cache_bytes);
        Ok(Volume::Nand { fs: fs.map_err(|error| about(path, &error))?, path: path.into() })
    }

    /// The same, to be mounted: an image that cannot be written to is mounted to be read, with a message, unless it is asked
    /// for by name that it is written to.
    pub(crate) fn open_to_mount(path: &Path, access: Access, context: &Context) -> Outcome<Volume> {
        if access.is_read() || context.must_write || admit(path).is_err() || !holds_f2fs(path) {
            return Volume::open(path, access, context);
        }
        // Changes must not be built upon a state without recovery.
        if !context.recover {
            return Volume::read_f2fs(path, context, context.cache_bytes);
        }
        match write_f2fs(path, context, context.cache_bytes)? {
            Err(error @ pumice_f2fs::Error::Unsupported(_)) => {
                crate::message::complain(&format!("{}: {error}; it is mounted read-only", path.display()));
                Volume::read_f2fs(path, context, context.cache_bytes)
            }
            opened => opened.map_err(|error| about(path, &error)),
        }
    }

    fn read_f2fs(path: &Path, context: &Context, cache_bytes: usize) -> Outcome<Volume> {
        let fs = Arc::new(open_f2fs(path, context, cache_bytes)?);
        Ok(Volume::F2fs { fs, path: path.into() })
    }

    /// Opens an image and shows the logical disk on it as a file.
    pub(crate) fn open_disk(path: &Path, access: Access, context: &Context) -> Outcome<Volume> {
        let disk = open_disk(path, access, context)?;
        let fs = DiskFs::new(disk, access.is_read(), Box::new(now));
        Ok(Volume::Disk { fs: Arc::new(fs), path: path.into() })
    }

    /// The file system.
    pub(crate) fn fs(&self) -> &Shared {
        match self {
            Volume::Nand { fs, .. } => fs.fs(),
            Volume::Disk { fs, .. } => &**fs,
            Volume::F2fs { fs, .. } => &**fs,
            Volume::WritableF2fs { fs, .. } => &**fs,
        }
    }

    /// The file system, to be served by other threads. [`Volume::close`] must come after they are done.
    pub(crate) fn shared(&self) -> Arc<Shared> {
        match self {
            Volume::Nand { fs, .. } => fs.shared(),
            Volume::Disk { fs, .. } => fs.clone(),
            Volume::F2fs { fs, .. } => fs.clone(),
            Volume::WritableF2fs { fs, .. } => fs.clone(),
        }
    }

    /// Attributes that no other file system has.
    pub(crate) fn own_attributes(&self, ino: Ino) -> Result<Map<String, Value>, FsError> {
        match self {
            Volume::Nand { .. } | Volume::Disk { .. } | Volume::WritableF2fs { .. } => Ok(Map::new()),
            Volume::F2fs { fs, .. } => Ok(crate::f2fs::attributes(fs, ino)?),
        }
    }

    /// A pass of its patrol is to take so many seconds; false if it has none.
    pub(crate) fn set_patrol_period(&self, seconds: u64) -> Outcome<bool> {
        match self {
            Volume::Nand { fs: Mounted::Nandfs(fs), .. } => fs.set_patrol_period(seconds)?,
            Volume::Disk { fs, .. } => fs.set_patrol_period(seconds),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Blocks of files are compressed like this from now on; false if there is no such choice.
    pub(crate) fn set_compression(&self, compression: Compression) -> Outcome<bool> {
        let Volume::Nand { fs: Mounted::Nandfs(fs), .. } = self else { return Ok(false) };
        fs.set_compression(compression)?;
        Ok(true)
    }

    /// The repairs on it so far, if it has a patrol.
    pub(crate) fn mended(&self) -> Outcome<Option<Mended>> {
        Ok(match self {
            Volume::Nand { fs: Mounted::Nandfs(fs), .. } => {
                let info = fs.info()?;
                Some(Mended {
                    blocks: info.mended_blocks,
                    bits: info.corrected_bits,
                    rebuilt_pages: info.rebuilt_pages,
                    levelled_pages: info.levelled_pages,
                })
            }
            Volume::Disk { fs, .. } => {
                let info = fs.info();
                Some(Mended {
                    blocks: info.mended_segments,
                    bits: info.corrected_bits,
                    rebuilt_pages: info.rebuilt_pages,
                    levelled_pages: info.counters.relocated,
                })
            }
            _ => None,
        })
    }

    /// True if nothing in it can be changed.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self, Volume::F2fs { .. })
    }

    /// Unmounts: everything is written when this returns without an error.
    pub(crate) fn close(self) -> Outcome {
        match self {
            Volume::F2fs { .. } => Ok(()),
            Volume::WritableF2fs { fs, path } => {
                owned(fs, &path)?.unmount().map_err(|error| about(&path, &error))
            }
            Volume::Nand { fs, path } => flushed(fs.unmount(&path)?, &path),
            Volume::Disk { fs, path } => {
                let chip = owned(fs, &path)?.close().map_err(|error| about(&path, &error))?;
                flushed(chip, &path)
            }
        }
    }
}

/// The file system on a chip; refuses a chip without one, and names its contents instead.
pub(crate) fn must_hold_files(chip: &mut Metered, path: &Path) -> Outcome<on_chip::Kind> {
    if let Some(kind) = on_chip::Kind::on(chip).map_err(|error| about(path, &error))? {
        return Ok(kind);
    }
    let shown = path.display();
    Err(Failure::new(if pumice_ftl::probe(chip).map_err(|error| about(path, &error))? {
        format!("{shown}: no file system on this chip, but a logical disk: see `pumice ftl info {shown}`")
    } else {
        format!("{shown}: no file system on this chip; make one with `pumice mkfs {shown}`")
    }))
}

pub(crate) fn flushed(mut chip: Metered, path: &Path) -> Outcome {
    chip.flush().map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

/// Opens the logical disk on an image.
pub(crate) fn open_disk(path: &Path, access: Access, context: &Context) -> Outcome<Ftl<Metered>> {
    let mut chip = open_chip(path, access, context)?;
    if let Ok(Some(kind)) = on_chip::Kind::on(&mut chip) {
        return Err(Failure::new(format!(
            "{}: no logical disk on this chip, but a file system ({}): see `pumice info`",
            path.display(),
            kind.name()
        )));
    }
    let options = OpenOptions {
        read_only: access.is_read(),
        cache_bytes: context.cache_bytes,
        ..OpenOptions::default()
    };
    let disk = Ftl::open(chip, options).map_err(|error| match error {
        FtlError::Foreign => Failure::new(format!(
            "{}: no logical disk on this chip; make one with `pumice ftl create`",
            path.display()
        )),
        error => about(path, &error),
    })?;
    if let Some(missing) = disk.info().missing {
        crate::message::complain(&format!("{}: {missing}", path.display()));
    }
    Ok(disk)
}

/// The cache that a verb gives F2FS at most: it looks at each inode once, or twice within a few hundred.
const ONCE_BYTES: usize = 2 << 20;

/// Mounts, runs `work` and unmounts. If `work` fails, its failure is returned.
pub(crate) fn with_volume<T>(
    path: &Path,
    access: Access,
    context: &Context,
    work: impl FnOnce(&Shared) -> Outcome<T>,
) -> Outcome<T> {
    let volume = Volume::open_caching(path, access, context, context.cache_bytes.min(ONCE_BYTES))?;
    let result = work(volume.fs());
    let closed = volume.close();
    result.and_then(|value| closed.map(|()| value))
}

/// The place of both super blocks, with blocks of any size.
const SUPER_BLOCKS: u64 = 32 << 10;

/// True if there is a super block of F2FS, sound or damaged.
pub(crate) fn holds_f2fs(path: &Path) -> bool {
    // An image that cannot be opened or read gets its error when it is opened as a chip.
    !is_device(path)
        && match f2fs_super_block(path) {
            Ok(Err(error)) => {
                matches!(error, pumice_f2fs::Error::Corrupt(_) | pumice_f2fs::Error::UnknownFeatures(_))
            }
            Ok(Ok(_)) => true,
            Err(_) => false,
        }
}

/// The super block of F2FS, without a lock: also while somebody else has the volume. The inner error is the file system's own.
fn f2fs_super_block(path: &Path) -> io::Result<Result<SuperBlock, pumice_f2fs::Error>> {
    let mut start = Vec::new();
    File::open(path)?.take(SUPER_BLOCKS).read_to_end(&mut start)?;
    Ok(pumice_f2fs::read_super_block(&start))
}

/// Mounts F2FS, rolled forward unless the context says otherwise.
fn open_f2fs(path: &Path, context: &Context, cache_bytes: usize) -> Outcome<F2fs> {
    let options =
        pumice_f2fs::MountOptions { cache_bytes, keys: context.keys()?, recover: context.recover.then(now) };
    let failed = |error: pumice_f2fs::Error| Failure::new(format!("{}: {error}", path.display()));
    let fs = F2fs::mount(f2fs_disks(path)?, options).map_err(failed)?;
    let hint = match fs.volume().super_block().devices().len() {
        0 | 1 => String::new(),
        _ => format!("; the volume's other devices must stand beside {}", path.display()),
    };
    for warning in fs.warnings() {
        crate::message::complain(&format!("{}: {warning}; the rest is shown{hint}", path.display()));
    }
    Ok(fs)
}

/// The super block of a volume that must be F2FS.
pub(crate) fn f2fs_sizes(path: &Path) -> Outcome<SuperBlock> {
    let sb = f2fs_super_block(path).map_err(|error| Failure::host(path, &error))?;
    sb.map_err(|error| about(path, &error))
}

/// Bytes of a block of a volume of F2FS.
pub(crate) fn f2fs_block_bytes(path: &Path) -> Outcome<u32> {
    Ok(f2fs_sizes(path)?.block().bytes())
}

/// The one device of a volume of F2FS.
pub(crate) fn f2fs_disk(path: &Path, block_bytes: u32, read_only: bool) -> Outcome<FileDisk> {
    open_for_itself(|| FileDisk::open(path, block_bytes, read_only)).map_err(|error| media(path, &error))
}

/// Mounts F2FS to write to it. The inner error is the file system's own.
fn write_f2fs(
    path: &Path,
    context: &Context,
    cache_bytes: usize,
) -> Outcome<Result<Volume, pumice_f2fs::Error>> {
    let sb = match f2fs_super_block(path).map_err(|error| Failure::host(path, &error))? {
        Ok(sb) => sb,
        Err(error) => return Ok(Err(error)),
    };
    let block_bytes = sb.block().bytes();
    let disk = f2fs_disk(path, block_bytes, false)?;
    let options = WritableOptions {
        cache_bytes,
        logging: context.f2fs.logging,
        in_place: context.f2fs.in_place,
        streams: context.f2fs.streams,
        idle_cleaning: context.f2fs.cleans_idle.then_some(context.f2fs.idle_cleaning),
        compression: context.f2fs.compression.clone(),
        discard: context.f2fs.discard,
        discard_unit: context.f2fs.discard_unit,
        enforced: context.f2fs.enforced.clone(),
        strict_fsync: context.f2fs.strict_fsync,
        keys: master_keys(context)?,
        clock: Box::new(now),
    };
    let mounted = WritableF2fs::mount(Box::new(disk), options);
    Ok(mounted.map(|fs| Volume::WritableF2fs { fs: Arc::new(fs), path: path.into() }))
}

/// The keys that were given, to write with.
fn master_keys(context: &Context) -> Outcome<Option<MasterKeys>> {
    if context.key_files.is_empty() {
        return Ok(None);
    }
    Ok(Some(MasterKeys { keyring: context.keys()?, nonces: Arc::new(random_bytes) }))
}

/// Random bytes of the system.
fn random_bytes() -> io::Result<[u8; NONCE_BYTES]> {
    let mut bytes = [0; NONCE_BYTES];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if got == NONCE_BYTES { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// The devices of a volume, in its order.
type Devices = Vec<Box<dyn ReadAt>>;

/// A missing device.
struct Absent;

impl ReadAt for Absent {
    fn bytes(&self) -> u64 {
        0
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<(), BlockError> {
        Err(BlockError::OutOfRange { first: Lba(at), count: buffer.len() as u64, blocks: 0 })
    }
}

/// The devices of a volume of F2FS, of which `path` is the first. Others may be missing.
pub(crate) fn f2fs_disks(path: &Path) -> Outcome<Devices> {
    let failed = |at: &Path, error| {
        if at == path {
            return media(path, &error);
        }
        Failure::new(format!("{error}; the volume's other devices must stand beside {}", path.display()))
    };
    let open = |at: PathBuf| -> Outcome<Box<dyn ReadAt>> {
        match open_for_itself(|| FileDisk::open(&at, 512, true)) {
            Ok(disk) => Ok(Box::new(disk)),
            Err(_) if at != path && !at.exists() => Ok(Box::new(Absent)),
            Err(error) => Err(failed(&at, error)),
        }
    };
    f2fs_paths(path)?.into_iter().map(open).collect()
}

/// Their paths: beside the first under the recorded name, or where they were when the volume was made.
fn f2fs_paths(path: &Path) -> Outcome<Vec<PathBuf>> {
    let sb = f2fs_super_block(path).map_err(|error| Failure::host(path, &error))?;
    let devices = sb.map_err(|error| about(path, &error))?.devices();
    let mut paths = vec![path.to_path_buf()];
    for device in devices.iter().skip(1) {
        let named = Path::new(&device.path);
        let beside = path.with_file_name(named.file_name().unwrap_or_default());
        paths.push(if beside.exists() { beside } else { named.to_path_buf() });
    }
    Ok(paths)
}

/// The files or devices of an image, for copying what [`FileSystem::stored`] locates; none if everything must be read
/// through the file system.
pub(crate) fn devices(path: &Path) -> Outcome<Vec<File>> {
    if !holds_f2fs(path) {
        return Ok(Vec::new());
    }
    // If one is missing everything is read through the file system, which knows the missing parts.
    let files: io::Result<Vec<File>> = f2fs_paths(path)?.into_iter().map(File::open).collect();
    Ok(files.unwrap_or_default())
}

/// Refuses what is no F2FS.
fn must_be_f2fs(path: &Path) -> Outcome {
    admit(path)?;
    std::fs::metadata(path).map_err(|error| Failure::host(path, &error))?;
    if !holds_f2fs(path) {
        let what = recognise(path).map(|what| format!("; it is {what}")).unwrap_or_default();
        return Err(Failure::new(format!("{}: not F2FS{what}", path.display())));
    }
    Ok(())
}

/// Opens a volume that must be F2FS.
pub(crate) fn only_f2fs(path: &Path, context: &Context) -> Outcome<F2fs> {
    must_be_f2fs(path)?;
    open_f2fs(path, context, context.cache_bytes.min(ONCE_BYTES))
}

/// The same for a dry run: a volume that cannot be written to is refused as it would be.
pub(crate) fn only_writable_f2fs(path: &Path, context: &Context) -> Outcome<F2fs> {
    let fs = only_f2fs(path, context)?;
    pumice_f2fs::check_writable(fs.volume()).map_err(|error| about(path, &error))?;
    Ok(fs)
}

/// Opens a volume that must be F2FS, changes something, and closes it.
pub(crate) fn with_writable_f2fs<T>(
    path: &Path,
    context: &Context,
    change: impl FnOnce(&WritableF2fs) -> Outcome<T>,
) -> Outcome<T> {
    must_be_f2fs(path)?;
    let volume = Volume::open(path, Access::Write, context)?;
    let done = match &volume {
        Volume::WritableF2fs { fs, .. } => change(fs),
        _ => Err(Failure::new(format!("{}: not F2FS", path.display()))),
    };
    let closed = volume.close();
    done.and_then(|done| closed.map(|()| done))
}

/// The devices of a volume to be searched, and their files for copying from: of one without a super block that which is
/// there.
fn searched(path: &Path) -> Outcome<(Devices, Vec<File>)> {
    admit(path)?;
    if let Ok(Ok(_)) = f2fs_super_block(path) {
        return Ok((f2fs_disks(path)?, devices(path)?));
    }
    let disk = f2fs_disk(path, 512, true)?;
    let file = File::open(path).map_err(|error| Failure::host(path, &error))?;
    Ok((vec![Box::new(disk)], vec![file]))
}

/// Searches an image for a volume of F2FS and its files, also where its super blocks are gone.
pub(crate) fn rescued(path: &Path, uuid: [u8; 16], context: &Context) -> Outcome<(Rescue, Vec<File>)> {
    let (disks, files) = searched(path)?;
    let rescue = Rescue::open(disks, rescue_options(uuid, context)?).map_err(|error| about(path, &error))?;
    for warning in rescue.volume().warnings() {
        crate::message::complain(&format!("{}: {warning}", path.display()));
    }
    Ok((rescue, files))
}

/// Searches an image for files that were deleted.
pub(crate) fn undeleted(
    path: &Path,
    context: &Context,
    is_wanted: &dyn Fn(&[u8]) -> bool,
) -> Outcome<(Undelete, Vec<File>)> {
    let (disks, files) = searched(path)?;
    let options = rescue_options([0; 16], context)?;
    let undelete = Undelete::open(disks, &options, is_wanted).map_err(|error| about(path, &error))?;
    Ok((undelete, files))
}

fn rescue_options(uuid: [u8; 16], context: &Context) -> Outcome<RescueOptions> {
    let recover = context.recover.then(now);
    Ok(RescueOptions { cache_bytes: context.cache_bytes, keys: context.keys()?, recover, uuid })
}

/// Opens the chip of an image, whatever it holds.
pub(crate) fn open_chip(path: &Path, access: Access, context: &Context) -> Outcome<Metered> {
    admit(path)?;
    let chip: Box<dyn Nand + Send> = if is_device(path) {
        Box::new(pumice_media::MtdChip::open(path, access.is_read()).map_err(|error| media(path, &error))?)
    } else {
        Box::new(open_container(path, access)?)
    };
    Ok(Metered::new(chip, context.meter.clone()))
}

/// Erases that the maker of a chip promises for each erase block; `None` for a real chip, which does not tell.
pub(crate) fn endurance(path: &Path) -> Outcome<Option<u32>> {
    if is_device(path) {
        return Ok(None);
    }
    Ok(Some(open_container(path, Access::Read)?.spec().endurance_erases()))
}

/// Opens a container file; a real chip is refused.
pub(crate) fn open_container(path: &Path, access: Access) -> Outcome<ChipFile> {
    admit(path)?;
    if is_device(path) {
        return Err(Failure::new(format!("{}: a device; only a simulated chip can do this", path.display())));
    }
    open_for_itself(|| ChipFile::open(path, access.is_read())).map_err(|error| media(path, &error))
}

/// Opens a file that nobody else may have open, with some patience.
fn open_for_itself<T>(open: impl Fn() -> Result<T, MediaError>) -> Result<T, MediaError> {
    let begun = Instant::now();
    loop {
        match open() {
            Err(MediaError::Busy { holder, .. }) if begun.elapsed() < patience(holder) => {
                std::thread::sleep(BUSY_PAUSE);
            }
            opened => return opened,
        }
    }
}

/// The wait for a process: short if it serves a mount or cannot be looked at, long if it writes back or runs a command.
fn patience(holder: Option<u32>) -> Duration {
    let serves_none = || {
        let mut open = std::fs::read_dir(format!("/proc/{}/fd", holder?)).ok()?;
        Some(!open.any(|entry| entry.is_ok_and(|entry| is_fuse(&entry.path()))))
    };
    if serves_none() == Some(true) { LEAVING_PATIENCE } else { MOUNT_PATIENCE }
}

/// True for an open `/dev/fuse`, which is gone once its mount is.
fn is_fuse(path: &Path) -> bool {
    let fuse = rustix::fs::makedev(10, 229);
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_char_device() && found.rdev() == fuse)
}

/// True for `/dev/mtdN`.
pub(crate) fn is_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_char_device())
}

/// A media error as a failure, with a hint where one helps.
pub(crate) fn media(path: &Path, error: &MediaError) -> Failure {
    let hint = match error {
        MediaError::Io { what: "open", source, .. } if source.kind() == io::ErrorKind::NotFound => {
            return Failure::new(format!(
                "{}: no such file; make one with `pumice mkfs --chip NAME {}`",
                path.display(),
                path.display()
            ));
        }
        MediaError::Io { what, source, .. } => {
            return Failure::new(format!(
                "cannot {what} {}: {}",
                path.display(),
                crate::failure::host_reason(source)
            ));
        }
        MediaError::Busy { .. } => "; unmount it first, or wait until the other command is done",
        MediaError::Foreign { .. } => {
            let Some(what) = recognise(path) else { return Failure::new(error.to_string()) };
            return Failure::new(format!("{} is not a chip container; it is {what}", path.display()));
        }
        _ => "",
    };
    Failure::new(format!("{error}{hint}"))
}

pub(crate) fn about(path: &Path, error: &impl std::fmt::Display) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}
