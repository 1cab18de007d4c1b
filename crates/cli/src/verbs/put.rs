//! `pumice put`: copies from the host into an image.

use std::{
    ffi::OsString,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use pumice_vfs::{FileKind, FileSystem, Ino};

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{Access, with_volume},
    options::Writer,
    output::Output,
    path,
    progress::Progress,
    text,
    tree::push::{Push, children, measure},
    verbs::{Writable, warn_of},
};

/// Copy files or trees into an image, with modes, owners, times, links, attributes and holes
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Writable,
    /// Files to copy
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<OsString>,
    /// Target: a new path, or a directory to copy into
    path: OsString,
    /// Replace existing files
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    writer: Writer,
}

/// The target of a copy.
struct Target {
    dir: Ino,
    name: Vec<u8>,
    shown: Vec<u8>,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let (target, sources) = (&self.path, self.sources.as_slice());
        for source in sources {
            fs::symlink_metadata(source).map_err(|error| Failure::host(Path::new(source), &error))?;
        }
        let access = Access::write_unless(self.writer.dry_run);
        context.interrupt.watch()?;
        with_volume(&self.image.image, access, context, |fs| {
            let targets = sources.iter().map(|source| place(fs, source, target, sources.len()));
            let targets: Vec<Target> = targets.collect::<Outcome<_>>()?;
            if self.writer.dry_run {
                say(sources, &targets)
            } else {
                self.copy(fs, sources, &targets, context)
            }
        })
    }

    fn copy(
        &self,
        fs: &dyn FileSystem,
        sources: &[OsString],
        targets: &[Target],
        context: &Context,
    ) -> Outcome {
        let progress = Progress::bytes("put");
        progress.set_total(sources.iter().map(|source| measure(Path::new(source)).0).sum());
        let mut push = Push::new(fs, self.force, &progress, &context.interrupt);
        for (source, target) in sources.iter().zip(targets) {
            if let Err(failure) = push.put(Path::new(source), target.dir, &target.name) {
                return Err(push.undo(failure));
            }
        }
        let lost = push.into_lost();
        drop(progress);
        warn_of(&lost);
        Ok(())
    }
}

/// The place: the source's name in a directory that is there; otherwise, for one source, the path itself.
fn place(fs: &dyn FileSystem, source: &OsString, target: &OsString, sources: usize) -> Outcome<Target> {
    match path::find_target(fs, target) {
        Ok(found) if found.kind == FileKind::Dir => {
            let source = PathBuf::from(source);
            let full = fs::canonicalize(&source).unwrap_or_else(|_| source.clone());
            let name =
                source.file_name().or_else(|| full.file_name()).unwrap_or_default().as_bytes().to_vec();
            let shown = path::join(target.as_bytes(), &name);
            Ok(Target { dir: found.ino, name, shown })
        }
        _ if sources > 1 => Err(Failure::new(format!("{}: not a directory", target.display()))),
        _ => {
            let (dir, name) = path::split(fs, target)?;
            Ok(Target { dir, name: name.to_vec(), shown: target.as_bytes().to_vec() })
        }
    }
}

fn say(sources: &[OsString], targets: &[Target]) -> Outcome {
    let mut output = Output::new();
    for (source, target) in sources.iter().zip(targets) {
        say_tree(Path::new(source), &target.shown, &mut output)?;
    }
    output.finish()
}

/// Says where each file of a host tree would go.
pub(crate) fn say_tree(source: &Path, target: &[u8], output: &mut Output) -> Outcome {
    output.line(format!("would copy {} to {}", text::path(source), text::name(target)))?;
    let found = fs::symlink_metadata(source).map_err(|error| Failure::host(source, &error))?;
    if found.is_dir() {
        for name in children(source)? {
            say_tree(&source.join(&name), &path::join(target, name.as_bytes()), output)?;
        }
    }
    Ok(())
}

/// The owner of this user's new files.
pub(crate) fn owner() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}
