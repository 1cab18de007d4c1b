//! What was deleted: inodes that the NAT has no more, and whose nodes nobody has written over yet.

use std::sync::Arc;

use pumice_media::ReadAt;
use pumice_vfs::{FileKind, FileSystem, Ino};

use super::{
    judge::{Blocks, judge},
    names::{numbered, remembered},
    options::RescueOptions,
    scan::{Wanted, scan},
    view::{Made, View},
};
use crate::{
    error::Result,
    fs::F2fs,
    layout::{CpFlags, Inode, Nid},
    nodes::Nodes,
    volume::{Node, Volume},
};

/// Levels of directories that a path may have.
const DEPTH_MAX: usize = 1024;
/// The directories for files that are sure, and for the others.
const SURE: &[u8] = b"sure";
const UNCERTAIN: &[u8] = b"uncertain";

/// A file that was deleted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deleted {
    /// Its number.
    pub ino: Nid,
    /// The path that it had last, as far as that is known, from the root.
    pub path: Vec<u8>,
    /// Bytes.
    pub size: u64,
    /// Everything of it is still its own. Otherwise a part may be gone, or may be another file's.
    pub is_sure: bool,
}

/// The files that were deleted from a volume, anything but directories.
pub struct Undelete {
    view: View,
    files: Vec<Deleted>,
}

impl Undelete {
    /// Searches a volume that can be mounted, for files whose paths are wanted.
    ///
    /// A file is sure if the volume was unmounted, and the SSA gives every block to the slot of the file that has it. The
    /// version in the SSA must be that of the node's number before it was given up. A block of zeros may have been
    /// discarded. Only the last file of each number is found.
    ///
    /// Time: one read of the main area, and of each file that is wanted. Memory: about 50 bytes for each node that is not
    /// in use.
    ///
    /// # Errors
    /// Those of opening the volume.
    pub fn open(
        disks: Vec<Box<dyn ReadAt>>,
        options: &RescueOptions,
        is_wanted: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Undelete> {
        let disks: Vec<Arc<dyn ReadAt>> = disks.into_iter().map(Arc::from).collect();
        let open = || {
            let disks = disks.iter().map(|disk| Box::new(disk.clone()) as Box<dyn ReadAt>);
            Volume::open(disks.collect(), options.cache_bytes)
        };
        let live = F2fs::over(Nodes::new(open()?), options.keys.clone(), None);
        let is_clean = live.volume().checkpoint().flags().has(CpFlags::UMOUNT)
            && live.volume().packs().iter().all(Result::is_ok);
        let nodes = scan(live.volume(), Wanted::Deleted).nodes;
        let inos: Vec<Nid> =
            nodes.iter().filter(|(nid, entry)| **nid == entry.ino).map(|(nid, _)| *nid).collect();
        let dead = F2fs::over(Nodes::new(open()?.with_nodes(nodes)), options.keys.clone(), None);
        let (mut files, mut made) = (Vec::new(), Made::new(&live));
        for ino in inos {
            let Some((size, inode, node)) = file(&dead, ino) else { continue };
            let path = path([&live, &dead], ino, &inode);
            let shown = [b"/", path.join(&b'/').as_slice()].concat();
            let judged = is_wanted(&shown).then(|| judge(&dead, &inode, &node, size));
            let Some(blocks) = judged.filter(is_there) else { continue };
            let is_sure = is_clean && blocks.foreign == 0 && !blocks.is_broken;
            let place = std::iter::once(if is_sure { SURE } else { UNCERTAIN });
            made.add(place.chain(path.iter().map(Vec::as_slice)), Ino(ino.0.into()));
            files.push(Deleted { ino, path: shown, size, is_sure });
        }
        Ok(Undelete { view: View { fs: dead, made }, files })
    }

    /// The files that were found.
    pub fn files(&self) -> &[Deleted] {
        &self.files
    }

    /// The same, to be read: `sure` has those that are sure, `uncertain` the others, each at its path.
    pub fn view(&self) -> &(impl FileSystem + Send + Sync + use<>) {
        &self.view
    }
}

/// An inode that is no directory, and had a name, with its length.
fn file(dead: &F2fs, ino: Nid) -> Option<(u64, Inode, Node)> {
    let ino = Ino(ino.0.into());
    let attr = dead.attr(ino).ok().filter(|attr| attr.kind != FileKind::Dir)?;
    let (inode, node) = dead.inode(ino).ok()?;
    Some((attr.size, inode, node))
}

/// False if others have all that there was.
fn is_there(blocks: &Blocks) -> bool {
    blocks.own > 0 || blocks.foreign == 0 && !blocks.is_broken
}

/// The names that led to an inode, by what each remembers: directories are looked for among the living first.
fn path(both: [&F2fs; 2], ino: Nid, inode: &Inode) -> Vec<Vec<u8>> {
    let root = both[0].volume().super_block().root();
    let (mut path, mut here, mut inode) = (Vec::new(), ino, inode.clone());
    while path.len() < DEPTH_MAX && here != root {
        path.push(remembered(&both, &inode).unwrap_or_else(|| numbered(here)));
        here = inode.last_directory();
        if here == root {
            break;
        }
        let above = Ino(here.0.into());
        let is_dir = |fs: &&&F2fs| fs.attr(above).is_ok_and(|attr| attr.kind == FileKind::Dir);
        let Some((dir, _)) = both.iter().find(is_dir).and_then(|fs| fs.inode(above).ok()) else {
            path.push(numbered(here));
            break;
        };
        inode = dir;
    }
    path.reverse();
    path
}
