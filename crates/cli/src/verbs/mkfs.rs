//! `pumice mkfs`: makes a file system, and the simulated chip under it if there is none.

mod compression;
mod f2fs;
mod letters;
mod nandfs;
mod rcffs;
mod sealing;
mod sparse;

use std::{
    fs,
    path::{Path, PathBuf},
};

use pumice_media::{BlockId, ChipFile, ChipSpec, Geometry, Nand, NandError, SimChip};
use pumice_vfs::Ino;

use crate::{
    chip_choice::{Spec, would_create},
    context::{Context, now},
    failure::{Failure, Outcome},
    image::{self, Access, Volume, is_device, open_chip},
    metered::{Meter, Metered},
    on_chip::{Kind, NewVolume},
    options::Writer,
    output::{self, Output},
    progress::Progress,
    recognise::admit,
    staged::Staged,
    text,
    tree::push::{Push, measure},
    verbs::{
        put::{owner, say_tree},
        warn_of,
    },
};

pub(crate) use self::letters::from_tool;

/// Longest label on a chip, in bytes.
const LABEL_MAX: usize = 64;

/// Make a file system: nandfs (or one of a paper) on a chip, simulated if there is none, or F2FS in an image file or on a disk
#[derive(clap::Args, Debug)]
#[command(version, mut_arg("size", |arg| arg.help("Size of the chip, in place of its own; size of the F2FS volume, or `auto` for the smallest")))]
pub(crate) struct Args {
    /// Type of file system
    #[arg(short = 't', long = "type", value_name = "TYPE", default_value = "nandfs", value_parser = ["nandfs", "pumice", "f2fs", "scaleffs", "cffs", "rcffs"])]
    kind: String,
    #[command(flatten)]
    spec: Spec,
    /// Fill it with the content of this directory; for F2FS also of this tar archive
    #[arg(long, value_name = "DIR|FILE.tar")]
    from: Option<PathBuf>,
    /// Name of the volume, up to 64 bytes, of F2FS up to 511 units of UTF-16
    #[arg(short, long, default_value = "", hide_default_value = true)]
    label: String,
    /// UUID of the volume [default: random]
    #[arg(short = 'U', long)]
    uuid: Option<uuid::Uuid>,
    /// Replace the old contents of the image
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    writer: Writer,
    /// Chip container or F2FS image (made if missing), /dev/mtdN, or a disk for F2FS
    image: PathBuf,
    #[command(flatten)]
    nandfs: nandfs::Nandfs,
    #[command(flatten)]
    rcffs: rcffs::Rcffs,
    #[command(flatten)]
    f2fs: f2fs::Args,
}

/// The state of the image before.
enum Before {
    /// Nothing that is to be kept: a container for this chip is to be made.
    Absent(ChipSpec),
    /// A chip to be formatted as it is.
    Chip,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let kind = Kind::named(&self.kind);
        if let Some(option) = self.nandfs.given(kind == Some(Kind::Rcffs))
            && kind != Some(Kind::Nandfs)
        {
            return Err(Failure::usage(format!("{option} is for nandfs; leave it out or use -t nandfs")));
        }
        if let Some(option) = self.rcffs.given()
            && kind != Some(Kind::Rcffs)
        {
            return Err(Failure::usage(format!("{option} is for RCFFS; add -t rcffs")));
        }
        if self.kind == "f2fs" {
            return self.f2fs.run(self, context);
        }
        if let Some(option) = self.f2fs.given() {
            return Err(Failure::usage(format!("{option} is for F2FS; add -t f2fs")));
        }
        if self.label.len() > LABEL_MAX {
            let bytes = self.label.len();
            return Err(Failure::usage(format!(
                "--label: a label of {bytes} bytes is too long (want at most {LABEL_MAX})"
            )));
        }
        if let Some(from) = &self.from
            && !fs::metadata(from).map_err(|error| Failure::host(from, &error))?.is_dir()
        {
            return Err(Failure::new(format!("{}: not a directory", from.display())));
        }
        let before = self.look(context)?;
        if self.writer.dry_run {
            self.try_in_memory(&before, context)?;
            return self.say(&before);
        }
        let staged = match &before {
            Before::Absent(_) => Staged::new(&self.image, true, &context.interrupt)?,
            Before::Chip if is_device(&self.image) => return self.make_on_device(context),
            Before::Chip => Staged::copy_of(&self.image, &context.interrupt)?,
        };
        let made = self.make(before, staged.path(), context);
        let uuid = made.map_err(|failure| staged.explain(&failure))?;
        let geometry = open_chip(staged.path(), Access::Read, context)?.geometry();
        staged.commit()?;
        self.report(&uuid, &geometry)
    }

    /// A chip cannot be made under another name: half a file system is marked as none.
    fn make_on_device(&self, context: &Context) -> Outcome {
        context.interrupt.watch()?;
        // Who cannot have it leaves it as it is.
        drop(open_chip(&self.image, Access::Write, context)?);
        let uuid = self.make(Before::Chip, &self.image, context).map_err(|failure| {
            let erased = open_chip(&self.image, Access::Write, context)
                .and_then(|mut chip| erase(&mut chip).map_err(|error| image::about(&self.image, &error)));
            failure.and(if erased.is_ok() {
                "the chip is erased"
            } else {
                "the chip holds half a file system"
            })
        })?;
        let geometry = open_chip(&self.image, Access::Read, context)?.geometry();
        self.report(&uuid, &geometry)
    }

    /// Makes the file system at `path`, and fills it.
    fn make(&self, before: Before, path: &Path, context: &Context) -> Outcome<uuid::Uuid> {
        let uuid = self.format(before, path, context)?;
        self.fill(path, context)?;
        context.interrupt.check().map(|()| uuid)
    }

    /// Decides on the new file system, and refuses to destroy anything unless that was asked for.
    fn look(&self, context: &Context) -> Outcome<Before> {
        let wanted = self.spec.wanted()?;
        let path = self.image.display();
        match fs::metadata(&self.image) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return self.spec.needed(&self.image).map(Before::Absent);
            }
            Err(error) => return Err(Failure::host(&self.image, &error)),
            // An empty file holds nothing: mktemp(1) makes such.
            Ok(found) if found.is_file() && found.len() == 0 => {
                return self.spec.needed(&self.image).map(Before::Absent);
            }
            Ok(_) => admit(&self.image)?,
        }
        match wanted {
            Some(spec) if self.force => Ok(Before::Absent(spec)),
            Some(_) => Err(Failure::new(format!(
                "{path}: exists already; use --force to replace it by a new chip, or leave out --chip and --geometry to use the chip it has"
            ))),
            None => {
                let mut chip = open_chip(&self.image, Access::Read, context)?;
                if !self.force {
                    self.refuse_content(&mut chip)?;
                }
                Ok(Before::Chip)
            }
        }
    }

    /// The file system that was asked for, of those that stand on a chip.
    fn on_chip(&self) -> Outcome<Kind> {
        Kind::named(&self.kind)
            .ok_or_else(|| Failure::usage(format!("no file system {} on chips", self.kind)))
    }

    fn refuse_content(&self, chip: &mut Metered) -> Outcome {
        let path = self.image.display();
        let failed = |error: &dyn std::fmt::Display| Failure::new(format!("{path}: {error}"));
        if let Some(kind) = Kind::on(chip).map_err(|error| failed(&error))? {
            return Err(Failure::new(format!(
                "{path}: holds a {} file system; use --force to destroy it",
                kind.name()
            )));
        }
        match written_block(chip).map_err(|error| failed(&error))? {
            Some(block) => Err(Failure::new(format!(
                "{path}: block {} is written, so the chip holds something; use --force to destroy it",
                block.0
            ))),
            None => Ok(()),
        }
    }

    /// Formats a chip of the same kind in memory: what that refuses is refused.
    fn try_in_memory(&self, before: &Before, context: &Context) -> Outcome {
        let spec = match before {
            Before::Absent(spec) => spec.clone(),
            Before::Chip if is_device(&self.image) => {
                let shape = text::shape(&open_chip(&self.image, Access::Read, context)?.geometry());
                ChipSpec::parse_geometry(&shape).map_err(|error| image::about(&self.image, &error))?
            }
            Before::Chip => image::open_container(&self.image, Access::Read)?.spec().clone(),
        };
        let mut chip = Metered::new(Box::new(SimChip::new(&spec)), Meter::default());
        let new = self.new_volume(uuid::Uuid::nil(), true, Some(spec.endurance_erases()));
        let formatted = self.on_chip()?.format(&mut chip, new, &mut |_, _| ());
        formatted.map_err(|error| image::about(&self.image, &error))
    }

    fn new_volume(&self, uuid: uuid::Uuid, erased: bool, endurance: Option<u32>) -> NewVolume {
        NewVolume {
            label: self.label.clone(),
            uuid: uuid.into_bytes(),
            created: now(),
            owner: owner(),
            nandfs: self.nandfs.options().with(|it| {
                it.erased = erased;
                it.endurance = endurance;
            }),
            rcffs: self.rcffs.options(self.nandfs.parity_pages),
        }
    }

    fn say(&self, before: &Before) -> Outcome {
        let mut output = Output::new();
        let path = self.image.display();
        if let Before::Absent(spec) = before {
            output.line(would_create(&self.image, spec))?;
        }
        output.line(format!("would make a {} file system on {path}", self.on_chip()?.name()))?;
        if let Some(from) = &self.from {
            say_tree(from, b"/", &mut output)?;
        }
        output.finish()
    }

    fn format(&self, before: Before, path: &Path, context: &Context) -> Outcome<uuid::Uuid> {
        let (mut chip, erased, endurance) = match before {
            Before::Absent(spec) => {
                let file = ChipFile::create(path, &spec, true);
                let file = file.map_err(|error| image::media(path, &error))?;
                let chip = Metered::new(Box::new(file), context.meter.clone());
                (chip, true, Some(spec.endurance_erases()))
            }
            Before::Chip => {
                let endurance = image::endurance(path)?;
                (open_chip(path, Access::Write, context)?, false, endurance)
            }
        };
        let uuid = self.uuid.unwrap_or_else(uuid::Uuid::new_v4);
        let new = self.new_volume(uuid, erased, endurance);
        let progress = Progress::counted("format");
        self.on_chip()?
            .format(&mut chip, new, &mut |done, total| progress.set(done, total))
            .map_err(|error| image::about(path, &error))?;
        chip.flush().map_err(|error| image::about(path, &error))?;
        Ok(uuid)
    }

    fn fill(&self, path: &Path, context: &Context) -> Outcome {
        let Some(from) = &self.from else { return Ok(()) };
        let volume = Volume::open(path, Access::Write, context)?;
        let progress = Progress::bytes("fill");
        progress.set_total(measure(from).0);
        let mut push = Push::new(volume.fs(), false, &progress, &context.interrupt);
        push.put_content(from, Ino::ROOT)?;
        let lost = push.into_lost();
        drop(progress);
        warn_of(&lost);
        volume.close()
    }

    fn report(&self, uuid: &uuid::Uuid, geometry: &Geometry) -> Outcome {
        output::lines([format!(
            "{}: {} on {}, {}, uuid {uuid}",
            self.image.display(),
            self.on_chip()?.name(),
            text::shape(geometry),
            text::size(geometry.capacity_bytes())
        )])
    }
}

/// Erases every good block.
fn erase(chip: &mut Metered) -> Result<(), NandError> {
    for block in (0..chip.geometry().blocks).map(BlockId) {
        if !chip.is_bad(block)? {
            chip.erase(block)?;
        }
    }
    chip.flush()
}

/// The first good block with a first page that is not erased.
fn written_block(chip: &mut Metered) -> Result<Option<BlockId>, NandError> {
    let geometry = chip.geometry();
    let mut data = vec![0; geometry.page_bytes as usize];
    let mut spare = vec![0; geometry.free_spare_bytes as usize];
    for block in (0..geometry.blocks).map(BlockId) {
        if chip.is_bad(block)? {
            continue;
        }
        let is_blank = match chip.read(geometry.page(block, 0), &mut data, &mut spare) {
            Ok(_) => data.iter().chain(&spare).all(|byte| *byte == 0xff),
            Err(NandError::Uncorrectable(_)) => false,
            Err(error) => return Err(error),
        };
        if !is_blank {
            return Ok(Some(block));
        }
    }
    Ok(None)
}
