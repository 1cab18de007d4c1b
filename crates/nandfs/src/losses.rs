//! Promises of fsync on pages that became unreadable in a power cut. They are told by I/O errors, never by older data.
//!
//! A volume that lost something is mounted for reading only, so that it stays as it is until it is repaired.

use alloc::{collections::BTreeSet, format, string::String, vec::Vec};

use hashbrown::HashMap;
use pumice_vfs::{FsError, Result};

use crate::addr::Addr;
use crate::error::Damage;

/// A block that has lost its newest content.
#[derive(Clone, Copy, Debug)]
struct Block {
    ino: u32,
    index: u32,
    /// The map's address when the loss was met: if it is another in the end, something newer took its place.
    then: Addr,
}

/// The losses of a volume.
#[derive(Default)]
pub(crate) struct Losses {
    blocks: Vec<Block>,
    /// Inodes with unknown length and times.
    attributes: BTreeSet<u32>,
    /// New inodes, each with the directory that has its name.
    newborn: HashMap<u32, u32>,
    /// Directories of lost names, 0 for several, with the prints of the names.
    names: Vec<(u32, [u16; 2])>,
    /// Pages with unknown promises.
    unnamed: u32,
    /// Erase blocks with pages that died.
    dead: BTreeSet<u32>,
    /// Other errors that stood in the way of replaying, by inode.
    errors: Vec<(u32, FsError)>,
    /// The table of blocks or an old node cannot be read, so that the free blocks are not known.
    uncounted: Option<FsError>,
    /// The newest page of the log, if it cannot be read: a torn program, or a loss that looks the same.
    pub(crate) newest: Option<u32>,
}

impl Losses {
    /// Adds a block, and with it the length and times of the inode.
    pub(crate) fn add_block(&mut self, ino: u32, index: u32, then: Addr) {
        self.blocks.push(Block { ino, index, then });
        self.attributes.insert(ino);
    }

    /// A new inode.
    pub(crate) fn add_new(&mut self, ino: u32, dir: u32) {
        self.newborn.insert(ino, dir);
    }

    /// Names of a directory, or 0 for several.
    pub(crate) fn add_names(&mut self, dir: u32, prints: [u16; 2]) {
        self.names.push((dir, prints));
    }

    /// Takes a name off that a later record tells; other names of its lost record stay lost.
    pub(crate) fn found_name(&mut self, dir: u32, print: u16) {
        let mut unnamed = 0;
        self.names.retain_mut(|(of, prints)| {
            let [one, other] = *prints;
            if *of != dir && *of != 0 {
                return true;
            }
            if one == print {
                prints[0] = other;
            } else if other == print {
                prints[1] = one;
            }
            let is_known = *prints == [print; 2];
            unnamed += u32::from(is_known);
            !is_known
        });
        self.unnamed += unnamed;
    }

    /// Fails if the meaning of a name is lost, by its print.
    pub(crate) fn check_name(&self, dir: u32, print: impl Fn() -> u16) -> Result<()> {
        let is_lost = |(of, prints): &(u32, [u16; 2])| (*of == dir || *of == 0) && prints.contains(&print());
        check(self.names.iter().any(is_lost), Damage::LostNames(dir))
    }

    /// Adds pages with unknown promises.
    pub(crate) fn add_unnamed(&mut self, pages: u32) {
        self.unnamed += pages;
    }

    /// Adds erase blocks with dead pages, and the number of those that no later page names.
    pub(crate) fn add_dead(&mut self, untold: u32, blocks: impl Iterator<Item = u32>) {
        self.unnamed += untold;
        self.dead.extend(blocks);
    }

    /// Adds an error that kept changes of an inode from being replayed.
    pub(crate) fn add_error(&mut self, ino: u32, error: FsError) {
        self.errors.push((ino, error));
    }

    /// The live data of erase blocks could not be counted.
    pub(crate) fn add_uncounted(&mut self, error: FsError) {
        self.uncounted.get_or_insert(error);
    }

    /// Adds an inode with unknown length and times.
    pub(crate) fn add_attributes(&mut self, ino: u32) {
        self.attributes.insert(ino);
    }

    /// Takes in a node that is newer than its loss.
    pub(crate) fn found_node(&mut self, nid: u32) {
        self.newborn.remove(&nid);
        self.attributes.remove(&nid);
    }

    /// Takes note of a commit with the times and length of an inode: they are known again unless a lost block reaches
    /// beyond that.
    pub(crate) fn found_time(
        &mut self,
        ino: u32,
        size: u64,
        block_bytes: u32,
        mut is_lost: impl FnMut(u32, Addr) -> bool,
    ) {
        let beyond = |block: &Block| (u64::from(block.index) + 1) * u64::from(block_bytes) > size;
        if !self
            .blocks
            .iter()
            .any(|block| block.ino == ino && beyond(block) && is_lost(block.index, block.then))
        {
            self.attributes.remove(&ino);
        }
    }

    /// Forgets lost blocks that something newer replaced; `is_lost` knows.
    pub(crate) fn drop_replaced(&mut self, mut is_lost: impl FnMut(u32, u32, Addr) -> bool) {
        self.blocks.retain(|block| is_lost(block.ino, block.index, block.then));
    }

    /// Fails if a block of a file is lost.
    pub(crate) fn check_block(&self, ino: u32, index: u32) -> Result<()> {
        check(self.blocks.iter().any(|block| (block.ino, block.index) == (ino, index)), Damage::Lost(ino))
    }

    /// Fails if any block of a file is lost.
    pub(crate) fn check_blocks(&self, ino: u32) -> Result<()> {
        check(self.blocks.iter().any(|block| block.ino == ino), Damage::Lost(ino))
    }

    /// Fails if length and times of an inode are lost.
    pub(crate) fn check_attributes(&self, ino: u32) -> Result<()> {
        check(self.attributes.contains(&ino), Damage::Lost(ino))
    }

    /// Fails if a directory may lack a name.
    pub(crate) fn check_names(&self, dir: u32) -> Result<()> {
        let is_lost = self.newborn.values().any(|of| *of == dir)
            || self.names.iter().any(|(of, _)| *of == dir || *of == 0);
        check(is_lost, Damage::LostNames(dir))
    }

    /// The losses in words, each with its inode.
    pub(crate) fn told(&self) -> Vec<(Option<u32>, String)> {
        let mut told = Vec::new();
        for Block { ino, index, .. } in &self.blocks {
            let text = format!("block {index} of inode {ino}, promised by fsync, cannot be read");
            told.push((Some(*ino), text));
        }
        for ino in self.attributes.iter().filter(|ino| !self.blocks.iter().any(|block| block.ino == **ino)) {
            let text = format!("length and times of inode {ino}, promised by fsync, cannot be read");
            told.push((Some(*ino), text));
        }
        for (ino, dir) in &self.newborn {
            let text = format!("new inode {ino} in directory {dir}, promised by fsync, cannot be read");
            told.push((Some(*dir), text));
        }
        for (dir, _) in &self.names {
            let (ino, of) = match dir {
                0 => (None, String::from("directories")),
                dir => (Some(*dir), format!("directory {dir}")),
            };
            told.push((ino, format!("names of {of}, promised by fsync, cannot be read")));
        }
        if self.unnamed > 0 {
            let blocks: Vec<String> = self.dead.iter().map(|block| format!("{block}")).collect();
            let of = match blocks.is_empty() {
                true => String::new(),
                false => format!(" (erase blocks {})", blocks.join(", ")),
            };
            let text = format!("{} log pages with promises of fsync cannot be read{of}", self.unnamed);
            told.push((None, text));
        }
        for (ino, error) in &self.errors {
            told.push((Some(*ino), format!("promises of fsync for inode {ino} cannot be replayed: {error}")));
        }
        if let Some(error) = &self.uncounted {
            told.push((None, format!("the free erase blocks are unknown: {error}")));
        }
        told
    }
}

fn check(is_lost: bool, damage: Damage) -> Result<()> {
    if is_lost { Err(damage.into()) } else { Ok(()) }
}
