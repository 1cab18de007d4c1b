//! The tree: look-ups through pages, changes in memory, and their writing.

use std::collections::BTreeMap;
use std::sync::Arc;

use pumice_common::damaged;
use pumice_vfs::{FsError, Result};

use super::page::{Header, Image, NodeShape, SAME_PAGE};
use super::state::State;
use super::{Key, Place};
use crate::layout::{Addr, count};

/// The page of a child that is in memory; the low half of the value is its number there.
const MEMORY: u32 = u32::MAX;
/// The height that a tree may have: a higher one is damaged.
const HEIGHT_MAX: usize = 32;

/// The source of pages.
pub(crate) trait Pages {
    fn page(&mut self, at: Addr) -> Result<Arc<Vec<u8>>>;
}

/// The sink of pages; tells the place of each.
pub(crate) trait Sink {
    fn write(&mut self, image: &Image, is_root: bool) -> Result<Addr>;
}

/// The effects of a change of the tree.
#[derive(Default)]
pub(crate) struct Change {
    /// The place that the key led to before.
    pub(crate) old: Option<Place>,
    /// Pages with leaves that are in memory now.
    pub(crate) leaves: Vec<Addr>,
}

type Entries = Vec<(u64, u64)>;

/// A child: a page, or a node in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    Page(Addr),
    Memory(u32),
}

impl Link {
    fn of(value: u64, page: Addr) -> Link {
        let [a, b, c, d, ..] = value.to_le_bytes();
        let place = Place::of(value);
        match place.page.0 {
            MEMORY => Link::Memory(u32::from_le_bytes([a, b, c, d])),
            SAME_PAGE => Link::Page(page),
            _ => Link::Page(place.page),
        }
    }

    fn value(self) -> u64 {
        match self {
            Link::Page(at) => u64::from(at.0) << 32,
            Link::Memory(number) => u64::from(MEMORY) << 32 | u64::from(number),
        }
    }
}

/// The mu-tree.
pub(crate) struct Tree {
    shape: NodeShape,
    state: State,
    root: Link,
    nodes: BTreeMap<u32, Entries>,
    fresh: u32,
}

/// The child of a key: the last that begins at or before it, or else the first.
fn child_of(entries: &Entries, key: u64) -> usize {
    entries.partition_point(|entry| entry.0 <= key).saturating_sub(1)
}

fn nonsense(at: Addr) -> FsError {
    damaged(format_args!("page {} is no node of the tree, or has no child there", at.0))
}

impl Tree {
    /// An empty tree.
    pub(crate) fn empty(shape: NodeShape) -> Tree {
        let state =
            State { root: Addr(MEMORY), height: 1, highest: 0, inodes: 0, live: 0, leaves: 1, commit: 0 };
        Tree { shape, state, root: Link::Memory(0), nodes: BTreeMap::from([(0, Vec::new())]), fresh: 1 }
    }

    /// The tree on flash.
    pub(crate) fn at(shape: NodeShape, state: State) -> Option<Tree> {
        let root = Link::Page(state.root);
        (state.height <= HEIGHT_MAX).then(|| Tree { shape, state, root, nodes: BTreeMap::new(), fresh: 0 })
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    pub(crate) fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    /// Something is in memory that is not on flash.
    pub(crate) fn is_dirty(&self) -> bool {
        !self.nodes.is_empty()
    }

    fn entries(&self, pages: &mut impl Pages, link: Link, level: usize) -> Result<Entries> {
        let at = match link {
            Link::Memory(number) => {
                return self.nodes.get(&number).cloned().ok_or_else(|| nonsense(self.state.root));
            }
            Link::Page(at) => at,
        };
        let bytes = pages.page(at)?;
        let header = Header::of(&bytes, self.shape).ok_or_else(|| nonsense(at))?;
        let (storey, place) = self.shape.place(level);
        let mut entries = if header.storey == storey { header.node(place) } else { Vec::new() };
        if entries.is_empty() && self.state.height > 1 {
            return Err(nonsense(at));
        }
        if level > 0 {
            for entry in &mut entries {
                entry.1 = Link::of(entry.1, at).value();
            }
        }
        Ok(entries)
    }

    /// The place that a key leads to.
    pub(crate) fn get(&self, pages: &mut impl Pages, key: Key) -> Result<Option<Place>> {
        let found = self.next(pages, key)?;
        Ok(found.filter(|(at, _)| *at == key).map(|(_, place)| place))
    }

    /// The first key at or behind one, and its place. Reads a page a level, less those that are cached or shared.
    pub(crate) fn next(&self, pages: &mut impl Pages, key: Key) -> Result<Option<(Key, Place)>> {
        self.next_below(pages, self.root, self.state.height - 1, key.0)
    }

    fn next_below(
        &self,
        pages: &mut impl Pages,
        link: Link,
        level: usize,
        key: u64,
    ) -> Result<Option<(Key, Place)>> {
        let entries = self.entries(pages, link, level)?;
        if level == 0 {
            let at = entries.partition_point(|entry| entry.0 < key);
            return Ok(entries.get(at).map(|entry| (Key(entry.0), Place::of(entry.1))));
        }
        for entry in entries.iter().skip(child_of(&entries, key)) {
            let link = Link::of(entry.1, Addr(MEMORY));
            if let Some(found) = self.next_below(pages, link, level - 1, key)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The page that has the node of a level on the way to a key, unless it is in memory.
    pub(crate) fn page_of(&self, pages: &mut impl Pages, key: u64, level: usize) -> Result<Option<Addr>> {
        if level >= self.state.height {
            return Ok(None);
        }
        let mut link = self.root;
        for above in (level + 1..self.state.height).rev() {
            let entries = self.entries(pages, link, above)?;
            let Some(entry) = entries.get(child_of(&entries, key)) else { return Ok(None) };
            link = Link::of(entry.1, Addr(MEMORY));
        }
        Ok(match link {
            Link::Page(at) => Some(at),
            Link::Memory(_) => None,
        })
    }

    fn keep(&mut self, entries: Entries) -> Link {
        let number = self.fresh;
        self.fresh += 1;
        self.nodes.insert(number, entries);
        Link::Memory(number)
    }

    /// Brings the nodes from the root to a level on the way to a key into memory; gives their numbers, from the root, and which
    /// child of each was taken.
    fn open(
        &mut self,
        pages: &mut impl Pages,
        key: u64,
        level: usize,
        change: &mut Change,
    ) -> Result<Vec<(u32, usize)>> {
        let mut path: Vec<(u32, usize)> = Vec::new();
        let mut link = self.root;
        for at in (level..self.state.height).rev() {
            let number = match link {
                Link::Memory(number) => number,
                Link::Page(page) => {
                    let entries = self.entries(pages, link, at)?;
                    if at == 0 {
                        change.leaves.push(page);
                    }
                    let number = self.fresh;
                    let fresh = self.keep(entries);
                    match path.last() {
                        None => self.root = fresh,
                        Some((above, child)) => {
                            let above = self.nodes.get_mut(above).ok_or_else(|| nonsense(page))?;
                            above[*child].1 = fresh.value();
                        }
                    }
                    number
                }
            };
            let entries = self.nodes.get(&number).ok_or_else(|| nonsense(self.state.root))?;
            let child = child_of(entries, key);
            path.push((number, child));
            if at > level {
                let entry = entries.get(child).ok_or_else(|| nonsense(self.state.root))?;
                link = Link::of(entry.1, Addr(MEMORY));
            }
        }
        Ok(path)
    }

    /// Lets the node of a level on the way to a key be written anew.
    pub(crate) fn touch(&mut self, pages: &mut impl Pages, key: u64, level: usize) -> Result<Change> {
        let mut change = Change::default();
        self.open(pages, key, level, &mut change)?;
        Ok(change)
    }

    /// Lets a key lead to a place, or nowhere.
    pub(crate) fn set(&mut self, pages: &mut impl Pages, key: Key, place: Option<Place>) -> Result<Change> {
        let mut change = Change::default();
        let path = self.open(pages, key.0, 0, &mut change)?;
        let Some(((leaf, _), above)) = path.split_last() else { return Err(nonsense(self.state.root)) };
        let entries = self.nodes.get_mut(leaf).ok_or_else(|| nonsense(self.state.root))?;
        let at = entries.partition_point(|entry| entry.0 < key.0);
        let is_there = entries.get(at).is_some_and(|entry| entry.0 == key.0);
        match (is_there, place) {
            (true, Some(place)) => {
                change.old = Some(Place::of(entries[at].1));
                entries[at].1 = place.value();
            }
            (true, None) => {
                change.old = Some(Place::of(entries.remove(at).1));
                self.prune(*leaf, above)?;
            }
            (false, Some(place)) => {
                entries.insert(at, (key.0, place.value()));
                self.split((*leaf, at), above)?;
            }
            (false, None) => {}
        }
        Ok(change)
    }

    /// Removes nodes that became empty; an empty tree has one level.
    fn prune(&mut self, leaf: u32, above: &[(u32, usize)]) -> Result<()> {
        let mut gone = leaf;
        for (parent, child) in above.iter().rev() {
            if self.nodes.get(&gone).is_some_and(|entries| !entries.is_empty()) {
                return Ok(());
            }
            if gone == leaf {
                let leaves = self.state.leaves.checked_sub(1);
                self.state.leaves = leaves.ok_or_else(|| nonsense(self.state.root))?;
            }
            self.nodes.remove(&gone);
            if let Some(entries) = self.nodes.get_mut(parent) {
                entries.remove(*child);
            }
            gone = *parent;
        }
        if !above.is_empty() && self.nodes.get(&gone).is_some_and(Vec::is_empty) {
            self.state.height = 1;
            self.state.leaves = 1;
        }
        Ok(())
    }

    /// Splits nodes that have grown too large, from a leaf upwards.
    fn split(&mut self, leaf: (u32, usize), above: &[(u32, usize)]) -> Result<()> {
        let (mut full, mut at) = leaf;
        for (level, (parent, child)) in above.iter().rev().enumerate() {
            let most = self.shape.capacity(level, self.state.height);
            let Some(right) = self.split_off(full, at, most) else { return Ok(()) };
            self.state.leaves += u32::from(level == 0);
            let first = right[0].0;
            let link = self.keep(right);
            let entries = self.nodes.get_mut(parent).ok_or_else(|| nonsense(self.state.root))?;
            entries.insert(child + 1, (first, link.value()));
            (full, at) = (*parent, child + 1);
        }
        self.grow(full)
    }

    /// The upper half of a node with too many entries. Where the last one was added, the rest stays together: keys come in
    /// order.
    fn split_off(&mut self, number: u32, added: usize, most: usize) -> Option<Entries> {
        let entries = self.nodes.get_mut(&number)?;
        let length = entries.len();
        (length > most).then(|| entries.split_off(if added + 1 == length { most } else { length / 2 }))
    }

    /// Makes the tree higher if the root has too many entries. The old root has less room then.
    fn grow(&mut self, root: u32) -> Result<()> {
        let height = self.state.height;
        let Some(entries) = self.nodes.get(&root).cloned() else { return Err(nonsense(self.state.root)) };
        if entries.len() <= self.shape.capacity(height - 1, height) {
            return Ok(());
        }
        self.nodes.remove(&root);
        let most = self.shape.capacity(height - 1, height + 1);
        let parts = entries.len().div_ceil(most);
        let each = entries.len().div_ceil(parts);
        let children: Entries =
            entries.chunks(each).map(|part| (part[0].0, self.keep(part.to_vec()).value())).collect();
        if height == 1 {
            self.state.leaves = count(parts);
        }
        self.state.height = height + 1;
        self.root = self.keep(children);
        Ok(())
    }

    /// Writes the nodes in memory: a page for each leaf that changed, its ancestors with the last of theirs, the root
    /// last.
    pub(crate) fn write(&mut self, sink: &mut impl Sink) -> Result<()> {
        if let Link::Memory(root) = self.root {
            self.state.commit += 1;
            let level = self.state.height - 1;
            let mut image = self.image(root, level, sink)?;
            image.crown(&self.state);
            let at = sink.write(&image, true)?;
            self.state.root = at;
            self.root = Link::Page(at);
            self.nodes.clear();
        }
        Ok(())
    }

    /// The page that a node in memory is part of, with all of its level and below; pages that are full of theirs are written.
    fn image(&mut self, number: u32, level: usize, sink: &mut impl Sink) -> Result<Image> {
        let (storey, place) = self.shape.place(level);
        let mut entries = self.nodes.remove(&number).ok_or_else(|| nonsense(self.state.root))?;
        let first = entries.first().map_or(0, |entry| entry.0);
        let mut image: Option<Image> = None;
        if level > 0 {
            let mut last: Option<usize> = None;
            for child in 0..entries.len() {
                let Link::Memory(number) = Link::of(entries[child].1, Addr(MEMORY)) else { continue };
                if let (Some(image), Some(last)) = (image.take(), last) {
                    entries[last].1 = self.put(image, sink)?.value();
                }
                image = Some(self.image(number, level - 1, sink)?);
                last = Some(child);
            }
            if let (Some(done), Some(last)) = (image.take(), last) {
                if done.storey == storey {
                    entries[last].1 = Link::Page(Addr(SAME_PAGE)).value();
                    image = Some(done);
                } else {
                    entries[last].1 = self.put(done, sink)?.value();
                }
            }
        }
        let mut image = match image {
            Some(image) => image,
            None => Image::new(self.shape, storey, self.state.height, first),
        };
        image.put(self.shape, place, &entries);
        Ok(image)
    }

    fn put(&mut self, mut image: Image, sink: &mut impl Sink) -> Result<Link> {
        image.set_highest(self.state.highest);
        sink.write(&image, false).map(Link::Page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Memory(Vec<Arc<Vec<u8>>>);

    impl Pages for Memory {
        fn page(&mut self, at: Addr) -> Result<Arc<Vec<u8>>> {
            self.0.get(at.0 as usize).cloned().ok_or_else(|| nonsense(at))
        }
    }

    impl Sink for Memory {
        fn write(&mut self, image: &Image, _is_root: bool) -> Result<Addr> {
            self.0.push(Arc::new(image.bytes.clone()));
            Ok(Addr(count(self.0.len() - 1)))
        }
    }

    fn place(number: u64) -> Place {
        Place {
            page: Addr(count(usize::try_from(number).unwrap_or_default())),
            offset: 5,
            bytes: 77,
            packed: true,
        }
    }

    fn reopened(tree: &Tree, pages: &mut Memory) -> Tree {
        let root = pages.page(tree.state.root).unwrap();
        let state = Header::of(&root, tree.shape).unwrap().state(tree.state.root).unwrap();
        assert_eq!(state, tree.state);
        Tree::at(tree.shape, state).unwrap()
    }

    /// The tree against a map of the library, with trees written and opened again; with two levels a page the tree
    /// grows over storeys.
    #[test]
    fn a_tree_holds_what_was_put_in_at_any_height() {
        for (levels, most) in [(2, 40_000_u64), (5, 40_000), (5, 300)] {
            let shape = NodeShape { page_bytes: 1024, levels };
            let mut pages = Memory::default();
            let mut tree = Tree::empty(shape);
            let mut model: BTreeMap<u64, u64> = BTreeMap::new();
            let mut rng = fastrand::Rng::with_seed(most);
            let mut height = 0;
            for round in 0..40 {
                for number in 0..most / 8 {
                    let key = rng.u64(..most);
                    let is_gone = round > 20 && rng.bool();
                    let new = (!is_gone).then(|| place(number));
                    let old = tree.set(&mut pages, Key(key), new).unwrap().old;
                    let was = if is_gone { model.remove(&key) } else { model.insert(key, number) };
                    assert_eq!(old, was.map(place), "key {key}");
                }
                tree.write(&mut pages).unwrap();
                height = height.max(tree.state.height);
                tree = reopened(&tree, &mut pages);
                for _ in 0..200 {
                    let key = rng.u64(..most);
                    let want = model.range(key..).next().map(|(key, value)| (Key(*key), place(*value)));
                    assert_eq!(tree.next(&mut pages, Key(key)).unwrap(), want);
                }
            }
            assert!(height > if most > 1000 { levels } else { 1 }, "{levels} levels a page, height {height}");
            for key in model.keys() {
                tree.set(&mut pages, Key(*key), None).unwrap();
            }
            tree.write(&mut pages).unwrap();
            tree = reopened(&tree, &mut pages);
            assert_eq!((tree.state.height, tree.state.leaves), (1, 1));
            assert_eq!(tree.next(&mut pages, Key(0)).unwrap(), None);
        }
    }

    /// The paper's point: one page an update, whatever the height, as long as that is the paper's.
    #[test]
    fn an_update_writes_one_page() {
        let shape = NodeShape::new(2048);
        let mut pages = Memory::default();
        let mut tree = Tree::empty(shape);
        for key in 0..100_000 {
            tree.set(&mut pages, Key(key), Some(place(key))).unwrap();
        }
        tree.write(&mut pages).unwrap();
        assert_eq!((shape.levels, tree.state.height), (5, 4));
        for key in [0, 99_999, 31_415] {
            let before = pages.0.len();
            tree.set(&mut pages, Key(key), Some(place(1))).unwrap();
            tree.write(&mut pages).unwrap();
            assert_eq!(pages.0.len(), before + 1);
        }
    }
}
