//! `pumice mkdir`: makes directories.

use std::ffi::{OsStr, OsString};

use pumice_vfs::{FileKind, FileSystem, NewNode};

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{Access, with_volume},
    options::Writer,
    output, path,
    verbs::Writable,
};

/// Make directories in an image
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Writable,
    /// Directories to make
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,
    /// Make missing parents too; ignore directories that exist
    #[arg(short, long)]
    parents: bool,
    /// Permissions, in octal
    #[arg(short, long, value_name = "MODE", default_value = "755", value_parser = octal)]
    mode: u32,
    #[command(flatten)]
    writer: Writer,
}

fn octal(text: &str) -> Result<u32, String> {
    match u32::from_str_radix(text, 8) {
        Ok(mode) if mode <= 0o7777 => Ok(mode),
        _ => Err(format!("invalid mode `{text}` (want octal digits, such as 755)")),
    }
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let access = Access::write_unless(self.writer.dry_run);
        with_volume(&self.image.image, access, context, |fs| {
            self.paths.iter().try_for_each(|path| self.make(fs, path))
        })
    }

    fn make(&self, fs: &dyn FileSystem, path: &OsStr) -> Outcome {
        if self.parents {
            return self.make_all(fs, path);
        }
        let (dir, name) = path::split(fs, path)?;
        if fs.lookup(dir, name).is_ok() {
            return Err(Failure::new(format!("{}: file exists", path.display())));
        }
        self.make_one(fs, path, self.mode)
    }

    /// Makes each directory of the path that is missing.
    fn make_all(&self, fs: &dyn FileSystem, path: &OsStr) -> Outcome {
        use std::os::unix::ffi::OsStrExt;
        let bytes = path.as_bytes();
        let ends = bytes
            .iter()
            .enumerate()
            .filter(|(at, byte)| **byte == b'/' && *at > 0)
            .map(|(at, _)| at)
            .chain([bytes.len()]);
        for end in ends {
            let part = OsStr::from_bytes(bytes.get(..end).unwrap_or_default());
            match path::find_target(fs, part) {
                Ok(found) if found.kind == FileKind::Dir => {}
                Ok(_) => return Err(Failure::new(format!("{}: not a directory", part.display()))),
                Err(_) if self.writer.dry_run => return self.make_one(fs, path, self.mode),
                Err(_) => self.make_one(fs, part, if end == bytes.len() { self.mode } else { 0o755 })?,
            }
        }
        Ok(())
    }

    fn make_one(&self, fs: &dyn FileSystem, path: &OsStr, perm: u32) -> Outcome {
        if self.writer.dry_run {
            return output::lines([format!("would make the directory {}", crate::text::path(path))]);
        }
        let (dir, name) = path::split(fs, path)?;
        let (uid, gid) = super::put::owner();
        let node = NewNode { kind: FileKind::Dir, perm, uid, gid, rdev: 0, target: b"" };
        fs.create(dir, name, &node)
            .map(drop)
            .map_err(|error| Failure::new(format!("{}: {error}", path.display())))
    }
}
