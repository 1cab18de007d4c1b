//! Campaigns against owners of data on a raw chip: the file system and the disk, and those to come. An owner makes a
//! volume and reports its findings on a chip that was hurt; the campaign hurts it in every way and counts.
//!
//! A campaign prints a table. If `strict` is asked for, it fails if anything is silently older, wrong or missing, or if
//! a volume does not open.
#![allow(dead_code, reason = "each crate uses a part")]

pub mod bad_page;
pub mod harm;
pub mod newest;
pub mod spare_bit;
pub mod table;

use pumice_media::{ChipSpec, PageId, SimChip};

/// The state in which a volume is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// Closed as it should be.
    Clean,
    /// The power failed between two operations, after the last promise was kept.
    Crashed,
}

/// A volume with things on it, and the facts about them.
pub struct Volume<C> {
    pub chip: SimChip,
    /// The contents that must be found.
    pub content: C,
    /// The chip pages of the newest page of the log. After a crash nobody can tell them from a torn program; their loss
    /// may take back their contents.
    pub newest: Vec<PageId>,
}

/// The access that a hurt chip allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opened {
    Writable,
    ReadOnly,
    No,
}

/// An owner's findings on a chip.
#[derive(Clone, Debug)]
pub struct Found {
    pub opened: Opened,
    /// Things that are lost and say so: an I/O error where they were.
    pub named: Vec<String>,
    /// Things that are older, wrong or missing without a word.
    pub silent: Vec<String>,
    /// The owner's check, where it has one, finds something.
    pub reported: bool,
}

impl Found {
    /// Nothing could be opened.
    pub fn nothing() -> Found {
        Found { opened: Opened::No, named: Vec::new(), silent: Vec::new(), reported: true }
    }
}

/// An owner of data on a chip.
pub trait Owner {
    /// Its knowledge of its volume.
    type Content;
    /// Its name in tables.
    const NAME: &'static str;

    /// Makes a volume with some hundred things on a fresh chip.
    fn populate(&self, spec: &ChipSpec, left: Left) -> Volume<Self::Content>;

    /// Opens a chip, reads everything, closes it, opens it and reads everything again.
    fn examine(&self, chip: SimChip, content: &Self::Content) -> Found;
}

/// The pages of a chip that hold something, ascending.
pub fn programmed(chip: &mut SimChip) -> Vec<PageId> {
    use pumice_media::Nand;
    let pages = u32::try_from(chip.geometry().pages()).unwrap();
    (0..pages).map(PageId).filter(|page| chip.page_state(*page).unwrap().is_written()).collect()
}
