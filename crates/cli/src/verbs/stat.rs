//! `pumice stat`: shows all attributes of a file.

use std::{ffi::OsString, os::unix::ffi::OsStrExt};

use pumice_vfs::{Attr, FileKind};
use serde_json::{Map, Value, json};

use crate::{
    context::Context,
    document,
    failure::{Failure, Outcome},
    image::{Access, Volume},
    losses::Losses,
    options::Reader,
    output::{self, Output},
    path, text,
    tree::xattrs,
    verbs::Image,
};

/// Show all attributes of files in an image
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Image,
    /// Files to show
    #[arg(default_value = "/", value_name = "PATH")]
    paths: Vec<OsString>,
    #[command(flatten)]
    reader: Reader,
}

struct Found {
    path: Vec<u8>,
    attr: Attr,
    target: Option<Vec<u8>>,
    xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    /// The fields of this file system alone.
    own: Map<String, Value>,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let volume = Volume::open(&self.image.image, Access::Read, context)?;
        let losses = Losses::default();
        let shown = self.show(&volume, &losses);
        let closed = volume.close();
        shown?;
        closed?;
        losses.end()
    }

    fn show(&self, volume: &Volume, losses: &Losses) -> Outcome {
        let mut found = Vec::new();
        for path in &self.paths {
            let attr = losses.pass_named(path::find(volume.fs(), path), self.paths.len())?;
            found.extend(attr.map(|attr| look(volume, path.as_bytes(), attr, losses)));
        }
        if self.reader.json {
            let files: Vec<Value> = found.iter().map(Found::json).collect();
            return output::document("stat", json!({ "files": files, "missing": losses.count() }));
        }
        let mut output = Output::new();
        found.iter().try_for_each(|found| found.print(&mut output))?;
        output.finish()
    }
}

/// Gathers the facts beyond the attributes, as far as they can be read.
fn look(volume: &Volume, path: &[u8], attr: Attr, losses: &Losses) -> Found {
    let fs = volume.fs();
    let target = (attr.kind == FileKind::Symlink).then(|| fs.readlink(attr.ino)).transpose();
    let target = losses.pass(target.map_err(|error| Failure::inside(path, &error))).flatten();
    let own = volume.own_attributes(attr.ino).map_err(|error| Failure::inside(path, &error));
    let own = losses.pass(own).unwrap_or_default();
    let xattrs = losses.pass(xattrs(fs, path, attr.ino)).unwrap_or_default();
    Found { path: path.to_vec(), attr, target, xattrs, own }
}

impl Found {
    fn print(&self, output: &mut Output) -> Outcome {
        let attr = &self.attr;
        let arrow =
            self.target.as_ref().map(|target| format!(" -> {}", text::name(target))).unwrap_or_default();
        output.line(format!("    path: {}{arrow}", text::name(&self.path)))?;
        output.line(format!(
            "    kind: {}, inode {}, generation {}",
            text::kind(attr.kind),
            attr.ino.0,
            attr.generation
        ))?;
        output.line(format!("    size: {} bytes, {} allocated", attr.size, attr.allocated))?;
        output.line(format!(
            "    mode: {:04o} {}, owner {}, group {}, links {}",
            attr.perm,
            text::mode(attr),
            attr.uid,
            attr.gid,
            attr.nlink
        ))?;
        if matches!(attr.kind, FileKind::CharDevice | FileKind::BlockDevice) {
            let (major, minor) = text::device(attr.rdev);
            output.line(format!("  device: {major}, {minor}"))?;
        }
        for (label, time) in [
            ("accessed", attr.atime),
            ("modified", attr.mtime),
            (" changed", attr.ctime),
            ("    born", attr.btime),
        ] {
            output.line(format!("{label}: {}", text::time(time)))?;
        }
        for (key, value) in &self.own {
            output.line(format!("{:>8}: {}", key.replace('_', " "), text::leaf(value)))?;
        }
        for (name, value) in &self.xattrs {
            output.line(format!("   xattr: {} = {}", text::name(name), text::name(value)))?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let mut map = Map::new();
        document::put_bytes(&mut map, "path", &self.path);
        map.extend(document::attr(&self.attr));
        map.insert("generation".into(), self.attr.generation.into());
        if let Some(target) = &self.target {
            document::put_bytes(&mut map, "target", target);
        }
        map.extend(self.own.clone());
        map.insert("xattrs".into(), document::xattrs(&self.xattrs));
        Value::Object(map)
    }
}
