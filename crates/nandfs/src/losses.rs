//! What fsync promised and a power cut left on a page that cannot be read: it is told by I/O errors, never by something
//! older.
//!
//! A volume that lost something is mounted for reading only, so that it stays what it is until it is repaired.

use alloc::{collections::BTreeSet, format, string::String, vec::Vec};

use hashbrown::HashMap;
use pumice_vfs::{FsError, Result};

use crate::addr::Addr;
use crate::error::Damage;

/// A block whose newest content is lost.
#[derive(Clone, Copy, Debug)]
struct Block {
    ino: u32,
    index: u32,
    /// Where the map led when the loss was met: if it leads elsewhere in the end, something newer took its place.
    then: Addr,
}

/// What is lost.
#[derive(Default)]
pub(crate) struct Losses {
    blocks: Vec<Block>,
    /// Inodes of which length and times are not known.
    attributes: BTreeSet<u32>,
    /// New inodes, each with the directory that has its name.
    newborn: HashMap<u32, u32>,
    /// Directories of lost names, 0 for several, with the prints of the names.
    names: Vec<(u32, [u16; 2])>,
    /// Pages of which nobody knows what they promised.
    unnamed: u32,
    /// Erase blocks with pages that died.
    dead: BTreeSet<u32>,
    /// What else stood in the way of replaying, by inode.
    errors: Vec<(u32, FsError)>,
    /// The table of blocks or an old node cannot be read, so that nobody knows what is free.
    uncounted: Option<FsError>,
    /// The newest page of the log cannot be read: a torn program, or a loss that nobody can tell from one.
    pub(crate) newest: Option<u32>,
}

impl Losses {
    /// A block, and with it what the inode says of length and times.
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

    /// A record tells of a name that came behind a lost one; what else that one told stays lost.
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

    /// Fails if nobody knows what a name stands for, by its print.
    pub(crate) fn check_name(&self, dir: u32, print: impl Fn() -> u16) -> Result<()> {
        let is_lost = |(of, prints): &(u32, [u16; 2])| (*of == dir || *of == 0) && prints.contains(&print());
        if self.names.iter().any(is_lost) { Err(Damage::LostNames(dir).into()) } else { Ok(()) }
    }

    /// Pages of which nobody knows what they promised.
    pub(crate) fn add_unnamed(&mut self, pages: u32) {
        self.unnamed += pages;
    }

    /// Pages of these erase blocks died, so many of which no later page tells.
    pub(crate) fn add_dead(&mut self, untold: u32, blocks: impl Iterator<Item = u32>) {
        self.unnamed += untold;
        self.dead.extend(blocks);
    }

    /// Something of an inode could not be replayed.
    pub(crate) fn add_error(&mut self, ino: u32, error: FsError) {
        self.errors.push((ino, error));
    }

    /// What lies in erase blocks could not be counted.
    pub(crate) fn add_uncounted(&mut self, error: FsError) {
        self.uncounted.get_or_insert(error);
    }

    /// Length and times of an inode are not known.
    pub(crate) fn add_attributes(&mut self, ino: u32) {
        self.attributes.insert(ino);
    }

    /// A node was found that is newer than what is lost of it.
    pub(crate) fn found_node(&mut self, nid: u32) {
        self.newborn.remove(&nid);
        self.attributes.remove(&nid);
    }

    /// A commit told times and length of an inode: they are known again unless a lost block reaches beyond that.
    pub(crate) fn found_time(
        &mut self,
        ino: u32,
        size: u64,
        block_bytes: u32,
        is_lost: impl FnMut(u32, Addr) -> bool,
    ) {
        let mut is_lost = is_lost;
        let beyond = |block: &Block| (u64::from(block.index) + 1) * u64::from(block_bytes) > size;
        if !self
            .blocks
            .iter()
            .any(|block| block.ino == ino && beyond(block) && is_lost(block.index, block.then))
        {
            self.attributes.remove(&ino);
        }
    }

    /// Forgets blocks of which something newer was found; `is_lost` knows.
    pub(crate) fn settle(&mut self, mut is_lost: impl FnMut(u32, u32, Addr) -> bool) {
        self.blocks.retain(|block| is_lost(block.ino, block.index, block.then));
    }

    /// Fails if a block of a file is lost.
    pub(crate) fn check_block(&self, ino: u32, index: u32) -> Result<()> {
        let lost = self.blocks.iter().any(|block| (block.ino, block.index) == (ino, index));
        if lost { Err(Damage::Lost(ino).into()) } else { Ok(()) }
    }

    /// Fails if any block of a file is lost.
    pub(crate) fn check_blocks(&self, ino: u32) -> Result<()> {
        let lost = self.blocks.iter().any(|block| block.ino == ino);
        if lost { Err(Damage::Lost(ino).into()) } else { Ok(()) }
    }

    /// Fails if length and times of an inode are not known.
    pub(crate) fn check_attributes(&self, ino: u32) -> Result<()> {
        if self.attributes.contains(&ino) { Err(Damage::Lost(ino).into()) } else { Ok(()) }
    }

    /// Fails if a directory may lack a name.
    pub(crate) fn check_names(&self, dir: u32) -> Result<()> {
        let is_lost = self.newborn.values().any(|of| *of == dir)
            || self.names.iter().any(|(of, _)| *of == dir || *of == 0);
        if is_lost { Err(Damage::LostNames(dir).into()) } else { Ok(()) }
    }

    /// The losses in words, each with the inode that it is about.
    pub(crate) fn told(&self) -> Vec<(Option<u32>, String)> {
        let mut told = Vec::new();
        for Block { ino, index, .. } in &self.blocks {
            told.push((
                Some(*ino),
                format!("block {index} of inode {ino}, promised by fsync, cannot be read"),
            ));
        }
        for ino in self.attributes.iter().filter(|ino| !self.blocks.iter().any(|block| block.ino == **ino)) {
            told.push((
                Some(*ino),
                format!("length and times of inode {ino}, promised by fsync, cannot be read"),
            ));
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
            let of = if blocks.is_empty() {
                String::new()
            } else {
                format!(" (erase blocks {})", blocks.join(", "))
            };
            told.push((
                None,
                format!("{} log pages with promises of fsync cannot be read{of}", self.unnamed),
            ));
        }
        for (ino, error) in &self.errors {
            told.push((
                Some(*ino),
                format!("what fsync promised of inode {ino} cannot be replayed: {error}"),
            ));
        }
        if let Some(error) = &self.uncounted {
            told.push((None, format!("nobody knows which erase blocks are free: {error}")));
        }
        told
    }
}
