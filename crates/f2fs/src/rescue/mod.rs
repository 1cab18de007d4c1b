//! Rescue: what is there of a volume of which checkpoints or tables are gone.
//!
//! The main area is searched for nodes, and the reader reads by what was found where it would ask the NAT. Names come from
//! directories; an inode whose directory is gone, or has lost a part, gets the name that it remembers, as a guess.

mod geometry;
mod judge;
mod names;
mod options;
mod scan;
mod undelete;
mod unnamed;
mod view;

use std::collections::{BTreeMap, BTreeSet};

use pumice_media::ReadAt;
use pumice_vfs::{FileSystem, Ino};

pub use self::{
    options::RescueOptions,
    undelete::{Deleted, Undelete},
};
use self::{
    scan::{Wanted, scan},
    unnamed::names,
    view::{Made, View},
};
use crate::{
    crypt::Keyring,
    error::{Error, Result},
    fs::F2fs,
    layout::{Checkpoint, NatEntry, Nid, SuperBlock},
    nodes::Nodes,
    volume::{Volume, read_super_block},
};

/// The directory with what has its name.
const TREE: &[u8] = b"tree";
/// The directory with what has a guessed one.
const GUESSED: &[u8] = b"guessed";

/// A volume as it can be rescued.
pub struct Rescue {
    view: View,
    found: Found,
}

/// The things that were found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// Directories, and other inodes, that have their names.
    pub directories: u64,
    /// All other inodes that have theirs.
    pub files: u64,
    /// Inodes with a guessed name, and what is in the directories among them.
    pub guessed: u64,
    /// Inodes that no directory names, though none is damaged where they may have had one: they were deleted.
    pub deleted: Vec<Nid>,
    /// Names of inodes that are gone.
    pub missing: u64,
    /// Blocks of the main area that cannot be read.
    pub unread: u64,
    /// A super block was found. Otherwise there is one by guess.
    pub has_super_block: bool,
    /// Checkpoints and NAT were used where nodes agree with them.
    pub has_checkpoint: bool,
}

/// The nodes of all inodes that have a name, or may have had one: what a rescue copies out.
pub(crate) struct Kept {
    pub(crate) nodes: BTreeMap<Nid, NatEntry>,
    /// The newest version of a checkpoint that is known.
    pub(crate) version: u64,
    /// Checkpoints were there.
    pub(crate) has_checkpoint: bool,
}

/// The super block of a volume; if both are lost the one that fits what is there.
pub(crate) fn super_block(disk: &dyn ReadAt, uuid: [u8; 16]) -> Result<SuperBlock> {
    read_super_block(disk).or_else(|error| geometry::super_block(disk, uuid).ok_or(error))
}

/// Searches a volume on one device for what is to be kept of it.
pub(crate) fn kept(disk: Box<dyn ReadAt>, sb: SuperBlock, cache_bytes: usize) -> Result<Kept> {
    let (volume, has_checkpoint) = Volume::open_without_roots(vec![disk], sb, cache_bytes)?;
    let wanted = if has_checkpoint { Wanted::Stored } else { Wanted::Newest };
    let stored = volume.packs().iter().flatten().map(Checkpoint::version).max().unwrap_or_default();
    let scan::Found { mut nodes, promised, version, .. } = scan(&volume, wanted);
    let version = stored.max(version.into());
    let promised = if has_checkpoint { BTreeSet::new() } else { promised };
    let fs = F2fs::over(Nodes::new(volume.with_nodes(nodes.clone())), Keyring::default(), None);
    let kept = names(&fs, &inodes(&nodes), &promised).kept;
    nodes.retain(|_, entry| kept.contains(&entry.ino));
    Ok(Kept { nodes, version, has_checkpoint })
}

fn inodes(nodes: &BTreeMap<Nid, NatEntry>) -> BTreeSet<Nid> {
    nodes.iter().filter(|(nid, entry)| **nid == entry.ino).map(|(nid, _)| *nid).collect()
}

impl Rescue {
    /// Searches a volume, from its devices in the order of its super block.
    ///
    /// Time: one read of the main area, and one of all directories; another read of all if no super block is left. Memory: about 100 bytes for each node, and the names
    /// of directories.
    ///
    /// # Errors
    /// If neither a super block nor an inode is left. All other damage is passed over.
    pub fn open(disks: Vec<Box<dyn ReadAt>>, options: RescueOptions) -> Result<Rescue> {
        let first = disks.first().ok_or(Error::NotF2fs { found: 0 })?;
        let has_super_block = read_super_block(&**first).is_ok();
        let sb = super_block(&**first, options.uuid)?;
        let (volume, has_checkpoint) = Volume::open_without_roots(disks, sb, options.cache_bytes)?;
        let wanted = if has_checkpoint { Wanted::Stored } else { Wanted::Newest };
        let scan::Found { nodes, promised, unread, .. } = scan(&volume, wanted);
        let inodes = inodes(&nodes);
        let now = options.recover.filter(|_| has_checkpoint);
        let fs = F2fs::over(Nodes::new(volume.with_nodes(nodes)), options.keys, now);
        // With a checkpoint they were rolled forward.
        let promised = if has_checkpoint { BTreeSet::new() } else { promised };
        let names = names(&fs, &inodes, &promised);
        let mut made = Made::new(&fs);
        let root = fs.volume().super_block().root();
        if inodes.contains(&root) {
            made.add([TREE], Ino(root.0.into()));
        }
        for guess in &names.guesses {
            let path = std::iter::once(GUESSED).chain(guess.path.iter().map(Vec::as_slice));
            made.add(path, Ino(guess.ino.0.into()));
        }
        let found = Found {
            directories: names.directories,
            files: names.files,
            guessed: names.guessed,
            deleted: names.deleted,
            missing: names.missing,
            unread,
            has_super_block,
            has_checkpoint,
        };
        Ok(Rescue { view: View { fs, made }, found })
    }

    /// The files: `tree` has those with their names, `guessed` those with others.
    pub fn files(&self) -> &(impl FileSystem + Send + Sync + use<>) {
        &self.view
    }

    /// The volume below.
    pub fn volume(&self) -> &F2fs {
        &self.view.fs
    }

    /// The things that were found.
    pub fn found(&self) -> &Found {
        &self.found
    }
}
