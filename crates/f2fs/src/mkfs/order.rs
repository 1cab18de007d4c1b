//! The order in which a tree is written: path by path, a directory in front of its entries. It decides inode numbers
//! and addresses, so that the same tree gives the same volume.

use pumice_vfs::FileKind;

use super::tree::{EntryId, Tree};
use crate::layout::Nid;

/// A name that is met for the first time, and its inode.
#[derive(Clone, Debug)]
pub(super) struct Visit<'a> {
    pub(super) entry: EntryId,
    /// The visit of its directory.
    pub(super) parent: usize,
    pub(super) name: &'a [u8],
}

/// All visits, the root's first; numbers and links by entry.
pub(super) struct Order<'a> {
    pub(super) visits: Vec<Visit<'a>>,
    /// The first number that no inode has.
    pub(super) next_nid: u32,
    inodes: Vec<Nid>,
    links: Vec<u32>,
}

impl<'a> Order<'a> {
    /// Inodes are numbered from `root`, and those in it from `first` on.
    pub(super) fn new(tree: &'a Tree, root: Nid, first: u32) -> Order<'a> {
        let mut order = Order {
            visits: Vec::with_capacity(tree.len()),
            next_nid: first,
            inodes: vec![Nid::NULL; tree.len()],
            links: vec![0; tree.len()],
        };
        order.visit(Visit { entry: EntryId::ROOT, parent: 0, name: b"" }, root);
        // One iterator for each directory on the way down.
        let mut open = vec![(0, tree.names(EntryId::ROOT).map(|names| names.iter()))];
        while let Some((parent, names)) = open.last_mut() {
            let Some((name, entry)) = names.as_mut().and_then(Iterator::next) else {
                open.pop();
                continue;
            };
            let (parent, entry) = (*parent, *entry);
            let is_dir = tree.attributes(entry).is_some_and(|what| what.kind == FileKind::Dir);
            order.count_link(entry, if is_dir { 2 } else { 1 });
            if is_dir {
                let above = order.visits.get(parent).map_or(EntryId::ROOT, |visit| visit.entry);
                order.count_link(above, 1);
            }
            if order.ino(entry).is_null() {
                let at = order.visits.len();
                order.visit(Visit { entry, parent, name }, Nid(order.next_nid));
                order.next_nid = order.next_nid.saturating_add(1);
                if is_dir {
                    open.push((at, tree.names(entry).map(|names| names.iter())));
                }
            }
        }
        order.count_link(EntryId::ROOT, 2);
        order
    }

    /// The inode of an entry.
    pub(super) fn ino(&self, entry: EntryId) -> Nid {
        self.inodes.get(entry.index()).copied().unwrap_or(Nid::NULL)
    }

    /// Names that an entry has; of a directory those in it count too.
    pub(super) fn links(&self, entry: EntryId) -> u32 {
        self.links.get(entry.index()).copied().unwrap_or_default()
    }

    /// The inode of the directory that a visit was made from; the root's is its own.
    pub(super) fn parent(&self, visit: &Visit<'_>) -> Nid {
        self.visits.get(visit.parent).map_or(Nid::NULL, |above| self.ino(above.entry))
    }

    /// The path of a visit, from the root.
    pub(super) fn path(&self, visit: &Visit<'_>) -> String {
        let mut parts = vec![visit.name];
        let mut at = visit.parent;
        while let Some(above) = self.visits.get(at).filter(|_| at > 0) {
            parts.push(above.name);
            at = above.parent;
        }
        parts.reverse();
        format!("/{}", parts.join(&b'/').escape_ascii())
    }

    fn visit(&mut self, visit: Visit<'a>, ino: Nid) {
        if let Some(place) = self.inodes.get_mut(visit.entry.index()) {
            *place = ino;
        }
        self.visits.push(visit);
    }

    fn count_link(&mut self, entry: EntryId, count: u32) {
        if let Some(links) = self.links.get_mut(entry.index()) {
            *links = links.saturating_add(count);
        }
    }
}
