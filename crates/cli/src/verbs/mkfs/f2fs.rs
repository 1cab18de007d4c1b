//! `pumice mkfs -t f2fs`: makes F2FS in an image file or on a disk, empty or filled.

use std::{
    fs,
    io::{BufWriter, Write},
    num::NonZeroUsize,
    os::unix::fs::FileTypeExt,
    path::{Component, Path, PathBuf},
    thread,
};

use pumice_f2fs::{
    BlockSize, Features, InodeFlags,
    mkfs::{Attributes, FormatError, FormatOptions, Made, NoContent, Plan, Shape, Size, Source, Tree},
};
use pumice_media::{BlockDevice, FileDisk, Lba};
use pumice_vfs::{FileKind, Timestamp};

use crate::{
    chip_choice,
    context::{Context, now},
    document,
    f2fs::args,
    failure::{Failure, Outcome},
    image::{self, holds_f2fs},
    interrupt::Watched,
    message::complain,
    output,
    progress::Progress,
    source::{archive, directory, file_contexts, fs_config, manifest},
    staged::{self, Staged},
    text,
    tree::push::next_data,
    verbs::mkfs::{compression, letters, sealing, sparse::Sparse},
};

/// Mode of the root directory of an empty volume.
const ROOT_PERM: u32 = 0o755;
/// The variable that fixes the time, as reproducible builds have it.
const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// The options of F2FS alone.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "F2FS options", group(clap::ArgGroup::new("lists").multiple(true)))]
#[group(skip)]
pub(crate) struct Args {
    /// Free space for users; the volume is as small as that allows
    #[arg(long, value_name = "SIZE", value_parser = crate::size::parse)]
    free: Option<u64>,
    /// Bytes of a block: 4k, 8k or 16k [default: 4k]
    #[arg(short, long, value_name = "SIZE", value_parser = block_size)]
    block_size: Option<BlockSize>,
    /// Segments of a section, the unit of cleaning [default: 1]
    #[arg(short, long, value_name = "N")]
    section_segments: Option<u32>,
    /// Sections of a zone: each log keeps to zones of its own [default: 1]
    #[arg(short, long, value_name = "N")]
    zone_sections: Option<u32>,
    /// Share of the volume that users cannot fill [default: the one that leaves them most]
    #[arg(short, long, value_name = "PERCENT", value_parser = percent)]
    overprovision: Option<f64>,
    /// Inodes and other nodes that there must be room for [default: by the size]
    #[arg(long, value_name = "N")]
    nodes: Option<u64>,
    /// Extensions of files that are written once, in addition to the usual ones
    #[arg(short = 'e', long, value_name = "LIST", value_delimiter = ',')]
    cold_extensions: Vec<String>,
    /// Extensions of files that are overwritten often, in addition to the usual ones
    #[arg(short = 'E', long, value_name = "LIST", value_delimiter = ',')]
    hot_extensions: Vec<String>,
    /// Features, by their names in f2fs-tools, such as extra_attr,inode_checksum
    #[arg(short = 'O', long, value_name = "LIST", value_delimiter = ',', value_parser = args::feature)]
    features: Vec<Features>,
    /// Encoding for directories that ignore case; `utf8:strict` refuses names that are not UTF-8
    #[arg(short = 'C', long, value_parser = ["utf8", "utf8:strict"])]
    encoding: Option<String>,
    /// Let all directories ignore case
    #[arg(long, requires = "encoding")]
    ignore_case: bool,
    /// Let this directory and those below it ignore case
    #[arg(long, value_name = "DIR", requires = "encoding")]
    casefold: Vec<PathBuf>,
    /// Level at which the hash tables of directories begin; more suits large directories [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..32))]
    dir_level: Option<u8>,
    /// Owner of everything, in place of the owners in the directory or archive
    #[arg(long, value_name = "UID:GID", value_parser = ids)]
    owner: Option<(u32, u32)>,
    /// Write an Android sparse image, as fastboot takes it, in place of a raw one
    #[arg(long)]
    sparse: bool,
    /// File in the format of mtree(5) that overrides attributes and adds devices
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// Android's list of owners, modes and capabilities (canned fs_config)
    #[arg(long, value_name = "FILE", group = "lists")]
    fs_config: Option<PathBuf>,
    /// SELinux's list of labels by path and kind of file
    #[arg(long, value_name = "FILE", group = "lists")]
    file_contexts: Option<PathBuf>,
    /// Mount point that the paths in --fs-config and --file-contexts begin with, such as /system
    #[arg(long, value_name = "DIR", requires = "lists")]
    mount_point: Option<String>,
    /// Owner of the root directory
    #[arg(short = 'R', long, value_name = "UID:GID", value_parser = ids)]
    root_owner: Option<(u32, u32)>,
    /// Time of creation, in seconds since 1970 [default: SOURCE_DATE_EPOCH, or the clock]
    #[arg(short = 'T', long, value_name = "SECONDS")]
    time: Option<i64>,
    /// Seed of the random generator: the same input and seed give the same bytes [default: 0]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    compression: compression::Args,
    #[command(flatten)]
    sealing: sealing::Args,
    /// Threads that read and compress files; the volume is the same with any number [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    letters: letters::Args,
}

fn block_size(text: &str) -> Result<BlockSize, String> {
    let bytes = crate::size::parse(text)?;
    let found = BlockSize::ALL.into_iter().find(|size| size.bytes_u64() == bytes);
    found.ok_or_else(|| format!("invalid block size `{text}` (want 4k, 8k or 16k)"))
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.trim_end_matches('%').parse().ok().filter(|percent| (0.01..=90.0).contains(percent));
    percent.ok_or_else(|| format!("invalid percentage `{text}` (want 0.01 to 90)"))
}

fn ids(text: &str) -> Result<(u32, u32), String> {
    let (uid, gid) = text.split_once(':').ok_or("want UID:GID, such as 0:0")?;
    let number =
        |what: &str, id: &str| id.parse().map_err(|_| format!("invalid {what} `{id}` (want a number)"));
    Ok((number("user", uid)?, number("group", gid)?))
}

impl Args {
    /// The first of these options that was given, by its long name.
    pub(super) fn given(&self) -> Option<&'static str> {
        let options = [
            (self.free.is_some(), "--free"),
            (self.block_size.is_some(), "--block-size"),
            (self.section_segments.is_some(), "--section-segments"),
            (self.zone_sections.is_some(), "--zone-sections"),
            (self.overprovision.is_some(), "--overprovision"),
            (self.nodes.is_some(), "--nodes"),
            (!self.cold_extensions.is_empty(), "--cold-extensions"),
            (!self.hot_extensions.is_empty(), "--hot-extensions"),
            (!self.features.is_empty(), "--features"),
            (self.encoding.is_some(), "--encoding"),
            (self.ignore_case, "--ignore-case"),
            (!self.casefold.is_empty(), "--casefold"),
            (self.dir_level.is_some(), "--dir-level"),
            (self.owner.is_some(), "--owner"),
            (self.sparse, "--sparse"),
            (self.manifest.is_some(), "--manifest"),
            (self.fs_config.is_some(), "--fs-config"),
            (self.file_contexts.is_some(), "--file-contexts"),
            (self.root_owner.is_some(), "--root-owner"),
            (self.time.is_some(), "--time"),
            (self.seed.is_some(), "--seed"),
            (self.compression.is_given(), "--compress-algorithm"),
            (self.sealing.is_given(), "--verity"),
            (self.threads.is_some(), "--threads"),
        ];
        let given = options.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name);
        given.or_else(|| self.letters.given())
    }

    pub(crate) fn run(&self, all: &super::Args, context: &Context) -> Outcome {
        if let Some(option) = all.spec.given() {
            return Err(Failure::usage(format!("{option} is for nandfs; F2FS needs no chip")));
        }
        self.letters.check()?;
        let path = &all.image;
        let place = Place::of(path, self.may_destroy(all))?;
        let size = self.size(all, &place)?;
        let options = self.options(all, size)?;
        let (tree, source) = self.input(all, context)?;
        let plan =
            Plan::new(options, tree, &*source, size, self.threads()).map_err(|error| about(path, &error))?;
        if all.writer.dry_run {
            return output::lines([format!("would make {}", words(path, &plan.made()))]);
        }
        let digests = place.write(all, context, &plan, &*source)?;
        if self.letters.quiet {
            return Ok(());
        }
        let hash = self.sealing.wanted(0).map_or("", |seal| seal.algorithm().name());
        let sealed =
            digests.into_iter().map(|(path, digest)| format!("{hash}:{} {path}", document::hex(&digest)));
        output::lines(std::iter::once(words(path, &plan.made())).chain(sealed))
    }

    fn size(&self, all: &super::Args, place: &Place) -> Outcome<Size> {
        if let Some(bytes) = self.letters.sparse_bytes() {
            return Ok(Size::Bytes(bytes));
        }
        match (all.spec.size, self.free, place) {
            (Some(chip_choice::Size::Auto), free, _) => Ok(Size::Free(free.unwrap_or(0))),
            (Some(chip_choice::Size::Bytes(_)), Some(_), _) => {
                Err(Failure::usage("--free is for --size auto: a volume of a given size has the rest"))
            }
            (Some(chip_choice::Size::Bytes(bytes)), None, _) => Ok(Size::Bytes(bytes)),
            (None, Some(free), _) => Ok(Size::Free(free)),
            (None, None, Place::Device { bytes } | Place::Replaced { bytes }) => Ok(Size::Bytes(*bytes)),
            (None, None, Place::New) => Err(Failure::usage(format!(
                "{}: no such file; to make one say how large, such as --size 64M",
                all.image.display()
            ))),
        }
    }

    /// True if old contents may go.
    fn may_destroy(&self, all: &super::Args) -> bool {
        all.force || self.letters.is_android()
    }

    /// True if a sparse image is to be made.
    fn is_sparse(&self) -> bool {
        self.sparse || self.letters.sparse_bytes().is_some()
    }

    fn options(&self, all: &super::Args, size: Size) -> Outcome<FormatOptions> {
        let encoding = self.encoding.as_ref().map(|_| Features::CASEFOLD);
        let compression = self.compression.wanted();
        let compressing = compression.as_ref().map(|_| Features::COMPRESSION.with(Features::EXTRA_ATTR));
        let seal = self.sealing.wanted(self.seed.unwrap_or(0));
        let sealing = seal.as_ref().map(|_| Features::VERITY);
        let features = self.features.iter().copied().chain(encoding).chain(compressing).chain(sealing);
        let features = self.letters.features(features.fold(Features::default(), Features::with));
        let usual = Shape::default();
        let block = self.block_size.unwrap_or(usual.block);
        let blocks = match size {
            Size::Bytes(bytes) => Some(bytes / block.bytes_u64()),
            Size::Free(_) => None,
        };
        let nodes = self.nodes.or(self.letters.nodes(blocks)?);
        Ok(FormatOptions {
            shape: Shape {
                block,
                section_segments: self.section_segments.unwrap_or(usual.section_segments),
                zone_sections: self.zone_sections.unwrap_or(usual.zone_sections),
                features,
                overprovision: self.overprovision,
                nodes: nodes.unwrap_or(usual.nodes),
                sector_bytes: self.letters.sector_size.unwrap_or(usual.sector_bytes),
            },
            label: all.label.clone(),
            uuid: all.uuid.unwrap_or_else(uuid::Uuid::new_v4).into_bytes(),
            cold_extensions: self.cold_extensions.clone(),
            hot_extensions: self.hot_extensions.clone(),
            strict_encoding: self.encoding.as_deref() == Some("utf8:strict"),
            ignore_case: self.ignore_case,
            dir_level: self.dir_level.unwrap_or(0),
            time: self.time()?,
            seed: self.seed.unwrap_or(0),
            compression,
            seal,
        })
    }

    fn root_owner(&self) -> Option<(u32, u32)> {
        self.root_owner.or(self.letters.is_android().then_some((0, 0)))
    }

    fn threads(&self) -> NonZeroUsize {
        let asked = self.threads.and_then(|threads| NonZeroUsize::new(threads.into()));
        asked.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
    }

    fn time(&self) -> Outcome<Timestamp> {
        if let Some(seconds) = self.time {
            return Ok(Timestamp { seconds, nanos: 0 });
        }
        let Some(epoch) = std::env::var_os(EPOCH) else { return Ok(now()) };
        let seconds = epoch.to_str().and_then(|text| text.parse().ok());
        let seconds =
            seconds.ok_or_else(|| Failure::usage(format!("invalid {EPOCH} (want a number of seconds)")))?;
        Ok(Timestamp { seconds, nanos: 0 })
    }

    /// The contents of the volume.
    fn input(&self, all: &super::Args, context: &Context) -> Outcome<(Tree, Box<dyn Source>)> {
        let (mut tree, source): (Tree, Box<dyn Source>) = if let Some(from) = &all.from {
            filled_from(from, context)?
        } else {
            let (uid, gid) = crate::verbs::put::owner();
            let root = Attributes::directory(ROOT_PERM, uid, gid, self.time()?);
            (Tree::new(root), Box::new(NoContent))
        };
        if let Some((uid, gid)) = self.owner {
            tree.all_mut().for_each(|what| (what.uid, what.gid) = (uid, gid));
        }
        let mount_point = self.mount_point.as_deref().unwrap_or_default();
        if let Some(path) = &self.fs_config
            && let Some(warning) = fs_config::apply(path, mount_point, &mut tree)?
        {
            complain(&warning);
        }
        if let Some(path) = &self.manifest {
            manifest::apply(path, &mut tree)?;
        }
        if let Some(path) = &self.file_contexts {
            file_contexts::apply(path, mount_point, &mut tree)?;
        }
        if let (Some((uid, gid)), Some(root)) =
            (self.root_owner(), tree.attributes_mut(pumice_f2fs::mkfs::EntryId::ROOT))
        {
            (root.uid, root.gid) = (uid, gid);
        }
        self.casefold.iter().try_for_each(|dir| ignore_case(dir, &mut tree))?;
        self.sealing.mark(&mut tree)?;
        Ok((tree, source))
    }
}

/// Lets a directory and those below it ignore case.
fn ignore_case(dir: &Path, tree: &mut Tree) -> Outcome {
    let parts = dir.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.as_encoded_bytes()),
        _ => None,
    });
    let wanted = parts.collect::<Vec<_>>().join(&b'/');
    let mut is_there = false;
    tree.each_mut(|path, what| {
        let below = path.strip_prefix(wanted.as_slice());
        let is_below =
            below.is_some_and(|rest| wanted.is_empty() || rest.is_empty() || rest.starts_with(b"/"));
        if what.kind == FileKind::Dir && is_below {
            what.flags = what.flags.with(InodeFlags::CASEFOLD);
            is_there = true;
        }
    });
    if is_there {
        return Ok(());
    }
    Err(Failure::new(format!("--casefold {}: no such directory in the tree", dir.display())))
}

/// The tree in a directory or an archive, and where to read its files.
fn filled_from(from: &Path, context: &Context) -> Outcome<(Tree, Box<dyn Source>)> {
    let found = fs::metadata(from).map_err(|error| Failure::host(from, &error))?;
    if found.is_dir() {
        let (tree, source) = directory::walk(from, &context.interrupt)?;
        return Ok((tree, Box::new(source)));
    }
    if found.is_file() {
        let (tree, source) = archive::walk(from, &context.interrupt)?;
        return Ok((tree, Box::new(source)));
    }
    Err(Failure::new(format!("{}: neither a directory nor a tar archive", from.display())))
}

/// The state of the place where the volume is to be.
enum Place {
    /// Nothing.
    New,
    /// A file with contents that are to go.
    Replaced { bytes: u64 },
    /// A disk.
    Device { bytes: u64 },
}

impl Place {
    fn of(path: &Path, force: bool) -> Outcome<Place> {
        let found = match fs::metadata(path) {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Place::New),
            Err(error) => return Err(Failure::host(path, &error)),
        };
        if found.is_file() && found.len() == 0 {
            return Ok(Place::New);
        }
        if found.is_dir() {
            return Err(Failure::new(format!("{}: is a directory", path.display())));
        }
        if !found.is_file() && !found.file_type().is_block_device() {
            return Err(Failure::new(format!("{}: neither a file nor a disk", path.display())));
        }
        if found.is_file() {
            staged::admit(path, force || is_hole(path, found.len())?)?;
        }
        let disk = FileDisk::open(path, 512, true).map_err(|error| image::media(path, &error))?;
        let bytes = pumice_media::ReadAt::bytes(&disk);
        if !force && !found.is_file() {
            refuse_content(path, &disk)?;
        }
        Ok(if found.is_file() { Place::Replaced { bytes } } else { Place::Device { bytes } })
    }

    /// Makes the volume: a file under another name first, so that half of one is never there.
    /// Returns the digests of sealed files.
    fn write(
        &self,
        all: &super::Args,
        context: &Context,
        plan: &Plan,
        source: &dyn Source,
    ) -> Outcome<Vec<(String, Vec<u8>)>> {
        let path = &all.image;
        let (blocks, block_bytes) = plan.blocks();
        let progress = Progress::bytes("fill");
        progress.set_total(plan.bytes());
        let write = |disk: FileDisk, is_blank| {
            let disk: Box<dyn BlockDevice + Send> = Box::new(disk);
            let written = plan.write(disk, is_blank, source, &mut |bytes| progress.advance(bytes));
            written.map_err(|error| about(path, &error))
        };
        if let Place::Device { .. } = self {
            if all.f2fs.is_sparse() {
                return Err(Failure::usage("--sparse is for files; a disk takes the volume itself"));
            }
            context.interrupt.watch()?;
            let mut disk =
                FileDisk::open(path, block_bytes, false).map_err(|error| image::media(path, &error))?;
            if all.f2fs.letters.discards() {
                let blocks = disk.blocks();
                disk.discard(Lba(0), blocks).map_err(|error| image::about(path, &error))?;
            }
            return write(disk, false);
        }
        let replaces = matches!(self, Place::Replaced { .. }) || all.f2fs.may_destroy(all);
        let staged = Staged::new(path, replaces, &context.interrupt)?;
        let digests = FileDisk::create(staged.path(), block_bytes, blocks, true)
            .map_err(|error| image::media(staged.path(), &error))
            .and_then(|disk| write(disk, true))
            .map_err(|failure| staged.explain(&failure))?;
        if !all.f2fs.is_sparse() {
            return staged.commit().map(|()| digests);
        }
        // The raw volume is never given a name.
        let packed = Staged::new(path, replaces, &context.interrupt)?;
        pack(&staged, &packed, plan, context).map_err(|failure| packed.explain(&failure))?;
        drop(staged);
        packed.commit().map(|()| digests)
    }
}

/// True if nothing was ever written to a file: truncate(1) makes such.
fn is_hole(path: &Path, bytes: u64) -> Outcome<bool> {
    let next = fs::File::open(path).and_then(|file| next_data(&file, 0, bytes));
    next.map(|data| data.is_none()).map_err(|error| Failure::host(path, &error))
}

/// Writes a raw volume as a sparse image.
fn pack(raw: &Staged, to: &Staged, plan: &Plan, context: &Context) -> Outcome {
    let (blocks, block_bytes) = plan.blocks();
    let disk =
        FileDisk::open(raw.path(), block_bytes, true).map_err(|error| image::media(raw.path(), &error))?;
    let sb = pumice_f2fs::read_super_block(&disk).map_err(|error| image::about(raw.path(), &error))?;
    let raw = raw.open()?;
    let mut out = BufWriter::new(Watched::new(to.open()?, &context.interrupt));
    let sparse = Sparse::new(&raw, block_bytes, blocks, sb.main_start().0.into());
    let written = sparse.write(&mut out).and_then(|()| out.flush());
    written.map_err(|error| Failure::host(to.path(), &error))
}

/// Refuses to destroy anything.
fn refuse_content(path: &Path, disk: &FileDisk) -> Outcome {
    const LOOKED_AT: usize = 1 << 20;
    if holds_f2fs(path) {
        return Err(Failure::new(format!("{}: holds F2FS; use --force to destroy it", path.display())));
    }
    let bytes =
        usize::try_from(pumice_media::ReadAt::bytes(disk)).map_or(LOOKED_AT, |all| all.min(LOOKED_AT));
    let mut start = vec![0; bytes];
    pumice_media::ReadAt::read_at(disk, 0, &mut start)
        .map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    match start.iter().position(|byte| *byte != 0) {
        Some(at) => Err(Failure::new(format!(
            "{}: byte {at} is written, so it holds something; use --force to destroy it",
            path.display()
        ))),
        None => Ok(()),
    }
}

fn words(path: &Path, made: &Made) -> String {
    format!(
        "{}: F2FS of {}, {}, {}, {} free",
        path.display(),
        text::size(made.bytes),
        text::count(made.directories, "directory", "directories"),
        text::count(made.files, "other file", "other files"),
        text::size(made.free_bytes)
    )
}

fn about(path: &Path, error: &FormatError) -> Failure {
    match error {
        // These name a file of the tree.
        FormatError::Source { .. } | FormatError::Tree { .. } => Failure::new(error.to_string()),
        _ => image::about(path, error),
    }
}
