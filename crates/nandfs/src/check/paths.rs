//! The path of an inode, for people.

use alloc::{format, string::String};

use super::Check;
use super::known::Place;
use crate::nodes::ROOT;

/// The longest path, in names; longer ones are cut off, as a damaged tree may lead in a circle.
const DEPTH: usize = 64;

impl Check<'_, '_> {
    /// A path of a node, or of the inode that it belongs to.
    pub(super) fn path(&mut self, nid: u32) -> Option<String> {
        let (mut path, mut at) = (String::new(), nid);
        for _ in 0..DEPTH {
            if at == ROOT {
                return Some(if path.is_empty() { "/".into() } else { path });
            }
            match self.place_of(at)? {
                Place::Name { dir, name } => {
                    path = format!("/{}{path}", String::from_utf8_lossy(&name));
                    at = dir;
                }
                Place::Map { ino } => at = ino,
            }
        }
        None
    }

    fn place_of(&mut self, nid: u32) -> Option<Place> {
        if let Some(place) = self.places.get(&nid) {
            return Some(place.clone());
        }
        let inode = self.files.inode(&mut self.log, nid).ok()?;
        let (dir, name) = (inode.parent, inode.name.clone());
        Some(Place::Name { dir, name }).filter(|_| dir != nid)
    }
}
