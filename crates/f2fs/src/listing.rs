//! The entries of a directory as `readdir` hands them out. Whatever of it is damaged is passed over, and told at the end.

use pumice_vfs::check_name;

use crate::{
    error::{Error, Place, Result, corrupt},
    layout::{Dentry, Nid},
    names::Names,
    nodes::Directory,
};

/// An entry.
pub(crate) struct Listed<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) ino: Nid,
    pub(crate) file_type: u8,
    /// The place behind it: block, and slot in the lower 16 bits.
    pub(crate) cookie: u64,
}

/// A directory under way.
struct Listing<'a> {
    ino: Nid,
    dir: &'a Directory<'a>,
    names: &'a Names,
    /// The first thing that cannot be shown, and how many there are.
    damage: Option<Error>,
    damages: u64,
}

/// Hands out the entries behind `cookie` until `each` says `false`. An error tells of damaged parts.
pub(crate) fn list(
    ino: Nid,
    dir: &Directory<'_>,
    names: &Names,
    cookie: u64,
    each: &mut dyn FnMut(Listed<'_>) -> bool,
) -> Result<()> {
    let mut listing = Listing { ino, dir, names, damage: None, damages: 0 };
    listing.run(cookie, each);
    match (listing.damage, listing.damages) {
        (None, _) => Ok(()),
        (Some(error), 1) => Err(error),
        (Some(error), damages) => Err(Error::Several { first: Box::new(error), more: damages - 1 }),
    }
}

impl Listing<'_> {
    fn run(&mut self, cookie: u64, each: &mut dyn FnMut(Listed<'_>) -> bool) {
        let (mut index, mut slot) = (cookie >> 16, u32::try_from(cookie & 0xffff).unwrap_or(0));
        while index < self.dir.leaves() {
            match self.leaf(index, slot, each) {
                Ok(Some(blocks)) => index = index.saturating_add(blocks),
                Ok(None) => return,
                Err(error) => {
                    self.pass_over(error);
                    index = index.saturating_add(self.dir.damaged_run(index));
                }
            }
            slot = 0;
        }
    }

    fn pass_over(&mut self, error: Error) {
        self.damages += 1;
        self.damage.get_or_insert(error);
    }

    /// Hands out the entries of block `index`; returns how many blocks are done, `None` if no more are wanted.
    fn leaf(
        &mut self,
        index: u64,
        mut slot: u32,
        each: &mut dyn FnMut(Listed<'_>) -> bool,
    ) -> Result<Option<u64>> {
        let leaf = match self.dir.leaf(index)? {
            Ok(leaf) => leaf,
            Err(hole) => return Ok(Some(hole)),
        };
        loop {
            match leaf.layout().next(leaf.bytes(), slot) {
                Ok(None) => return Ok(Some(1)),
                Ok(Some(dentry)) => {
                    slot = dentry.slot + dentry.slots();
                    match self.entry(index, &dentry, each) {
                        Ok(true) => {}
                        Ok(false) => return Ok(None),
                        Err(error) => self.pass_over(error),
                    }
                }
                Err(broken) => {
                    let place = Place::Inode(self.ino);
                    self.pass_over(corrupt(place, "the name is out of bounds in slot", broken, 255_u32));
                    slot = broken + 1;
                }
            }
        }
    }

    fn entry(
        &self,
        index: u64,
        dentry: &Dentry<'_>,
        each: &mut dyn FnMut(Listed<'_>) -> bool,
    ) -> Result<bool> {
        if dentry.name == b"." || dentry.name == b".." {
            return Ok(true);
        }
        let name = self.names.shown(dentry)?;
        if check_name(&name).is_err() {
            return Err(Error::Name { dir: self.ino, name: name.escape_ascii().to_string() });
        }
        let behind = dentry.slot + dentry.slots();
        let cookie = (index << 16) | u64::from(behind);
        Ok(each(Listed { name: &name, ino: dentry.ino, file_type: dentry.file_type, cookie }))
    }
}
