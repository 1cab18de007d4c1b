//! A model of the tree found on a chip, so that a run can go on after a power cut.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use pumice_vfs::conformance::TestClock;
use pumice_vfs::model::MemFs;
use pumice_vfs::{FileKind, FileSystem, Ino, NewNode, Result, SetAttr, Timestamp, XattrMode};

use super::image::{Image, Node};

struct Rebuild<'a> {
    image: &'a Image,
    model: MemFs,
    /// The model's clock while it is set: the time of birth is whatever the clock says.
    born: Arc<Mutex<Option<Timestamp>>>,
    /// The model's number of each inode found.
    known: BTreeMap<Ino, Ino>,
}

/// Makes the model; it goes on with `clock`.
pub fn rebuild(image: &Image, clock: &TestClock) -> Result<MemFs> {
    let born: Arc<Mutex<Option<Timestamp>>> = Arc::default();
    let (set, clock) = (Arc::clone(&born), clock.clone());
    let model = MemFs::new(Box::new(move || set.lock().unwrap().unwrap_or(clock.now())));
    let known = BTreeMap::from([(Ino::ROOT, Ino::ROOT)]);
    let mut rebuild = Rebuild { image, model, born, known };
    rebuild.fill(Ino::ROOT)?;
    for (found, made) in &rebuild.known {
        if let Some(node) = image.0.get(found) {
            rebuild.attributes(*made, node)?;
        }
    }
    *rebuild.born.lock().unwrap() = None;
    Ok(rebuild.model)
}

impl Rebuild<'_> {
    /// Makes everything in a directory.
    fn fill(&mut self, dir: Ino) -> Result<()> {
        let Some(node) = self.image.0.get(&dir) else { return Ok(()) };
        let made_dir = self.known[&dir];
        for (name, ino) in &node.entries {
            if let Some(made) = self.known.get(ino) {
                self.model.link(*made, made_dir, name)?;
                continue;
            }
            let Some(node) = self.image.0.get(ino) else { continue };
            let made = self.make(made_dir, name, node)?;
            self.known.insert(*ino, made);
            self.fill(*ino)?;
        }
        Ok(())
    }

    fn make(&self, dir: Ino, name: &[u8], node: &Node) -> Result<Ino> {
        *self.born.lock().unwrap() = Some(node.attr.btime);
        let attr = node.attr;
        let target: &[u8] = if attr.kind == FileKind::Symlink { &node.content } else { b"" };
        let (kind, perm, uid, gid, rdev) = (attr.kind, attr.perm, attr.uid, attr.gid, attr.rdev);
        let made = self.model.create(dir, name, &NewNode { kind, perm, uid, gid, rdev, target })?.ino;
        if attr.kind == FileKind::File {
            self.model.write(made, 0, &node.content)?;
        }
        Ok(made)
    }

    /// Everything that making other things changes again.
    fn attributes(&self, made: Ino, node: &Node) -> Result<()> {
        for (name, value) in &node.xattrs {
            self.model.set_xattr(made, name, value, XattrMode::Either)?;
        }
        let attr = node.attr;
        let change = SetAttr {
            perm: Some(attr.perm),
            uid: Some(attr.uid),
            gid: Some(attr.gid),
            size: None,
            atime: Some(attr.atime),
            mtime: Some(attr.mtime),
            ctime: Some(attr.ctime),
        };
        self.model.set_attr(made, &change).map(|_| ())
    }
}
