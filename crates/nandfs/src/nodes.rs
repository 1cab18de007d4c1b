//! The node table and the nodes in memory.

use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use hashbrown::HashMap;
use pumice_vfs::{Errno, Result};

use crate::addr::Addr;
use crate::codec::len32;
use crate::error::Damage;
use crate::ids::{FIRST_NID, Ids};
use crate::node::{Index, Inode, Node};
use crate::pack::Compression;
use crate::pages::Pages;
use crate::params::Params;
use crate::table::Table;
use crate::tag::{ChunkKind, desc};

/// Topmost pages of the node table in a checkpoint: with 2 KiB pages up to 8,192 nodes are found without a further
/// level.
pub(crate) const NODE_ROOTS: usize = 32;
/// The root directory's node.
pub(crate) const ROOT: u32 = 1;
/// The hidden directory of inodes that have no name left but are held; emptied after a mount.
pub(crate) const ORPHANS: u32 = 2;

/// Bytes of a node in memory besides those that it counts itself: its place in the map, and the heap's own.
const OVERHEAD: usize = 128;

struct Cached {
    node: Node,
    owner: u32,
    dirty: bool,
    used: u64,
    /// Bytes of memory that it was last counted with.
    memory: usize,
    /// Bytes that it has on the chip.
    stored: u32,
    /// The bytes that a changed node will have there: as many as it can have, until it is measured.
    charge: u32,
    measured: bool,
}

/// Nodes by id.
pub(crate) struct Nodes {
    params: Params,
    pub(crate) table: Table<8>,
    /// The place of the root directory's inode, so that reaching it takes no look into the table.
    pub(crate) root_inode: Addr,
    cache: HashMap<u32, Cached>,
    tick: u64,
    /// The changed nodes, each behind its owner.
    dirty: BTreeSet<(u32, u32)>,
    /// Nodes written ahead of the next checkpoint, each behind its owner.
    ahead: BTreeSet<(u32, u32)>,
    /// Bytes of the changed nodes on the chip, and those that they will take there.
    dirty_stored: u64,
    dirty_charge: u64,
    /// Nodes changed since they were measured.
    unmeasured: Vec<u32>,
    memory: usize,
    /// Memory of nodes within one call, in bytes; changed ones stay all the same.
    limit: usize,
    pub(crate) ids: Ids,
    /// Inodes that exist.
    pub(crate) inodes: u64,
    /// Bytes of all nodes on the chip.
    pub(crate) bytes: u64,
    /// Nodes with a newer promised copy that cannot be read.
    lost: BTreeMap<u32, Lost>,
}

/// A node that must not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Lost {
    owner: u32,
    /// Its owner has lost more than this node, nobody knows which.
    and_more: bool,
}

impl Nodes {
    pub(crate) fn new(params: Params, limit: usize) -> Nodes {
        Nodes {
            params,
            table: Table::new(ChunkKind::NodeTable, params.node, NODE_ROOTS),
            root_inode: Addr::NONE,
            cache: HashMap::new(),
            tick: 0,
            dirty: BTreeSet::new(),
            ahead: BTreeSet::new(),
            dirty_stored: 0,
            dirty_charge: 0,
            unmeasured: Vec::new(),
            memory: 0,
            limit,
            ids: Ids::from(FIRST_NID, 0),
            inodes: 0,
            bytes: 0,
            lost: BTreeMap::new(),
        }
    }

    /// Notes a lost node; if it is its own owner, more of that may be lost.
    pub(crate) fn lose(&mut self, nid: u32, owner: u32, and_more: bool) {
        self.forget(nid);
        self.lost.insert(nid, Lost { owner, and_more });
    }

    /// Takes note of a newer copy of a node.
    pub(crate) fn find(&mut self, nid: u32) {
        self.lost.retain(|lost, what| *lost != nid || what.and_more);
    }

    /// Gives up lost nodes: the older copies count again.
    pub(crate) fn give_up_lost(&mut self) {
        self.lost.clear();
    }

    /// True if a node is lost.
    pub(crate) fn is_lost(&self, nid: u32) -> bool {
        self.lost.contains_key(&nid)
    }

    /// Nodes that are lost, with their owners.
    pub(crate) fn lost(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.lost.iter().map(|(nid, lost)| (*nid, lost.owner))
    }

    /// Nodes changed since they were last written.
    pub(crate) fn dirty(&self) -> usize {
        self.dirty.len()
    }

    /// Bytes that the changed nodes will have on the chip, at the most.
    pub(crate) fn dirty_bytes(&self) -> u64 {
        self.dirty_charge
    }

    /// Bytes that all nodes will have on the chip once the changed ones are written, at the most.
    pub(crate) fn expected_bytes(&self) -> u64 {
        // Counts of a damaged volume may be lower than the truth.
        (self.bytes + self.dirty_charge).saturating_sub(self.dirty_stored)
    }

    /// Measures the nodes that were changed since the last time.
    pub(crate) fn measure(&mut self) {
        self.count_memory();
        for nid in core::mem::take(&mut self.unmeasured) {
            let Some(cached) = self.cache.get_mut(&nid).filter(|cached| !cached.measured) else { continue };
            let bytes = len32(cached.node.bound(&self.params));
            debug_assert!(bytes <= cached.charge, "a node is larger than a node can be");
            self.dirty_charge = self.dirty_charge - u64::from(cached.charge) + u64::from(bytes);
            (cached.charge, cached.measured) = (bytes, true);
        }
    }

    /// Counts the memory of nodes changed since they were measured: they grow and shrink in place.
    fn count_memory(&mut self) {
        for nid in &self.unmeasured {
            // Some were dropped since.
            let Some(cached) = self.cache.get_mut(nid) else { continue };
            let now = cached.node.memory() + OVERHEAD;
            self.memory = self.memory - core::mem::replace(&mut cached.memory, now) + now;
        }
    }

    /// A node is being changed.
    fn soil(&mut self, nid: u32) {
        let most = self.params.node;
        let Some(cached) = self.cache.get_mut(&nid) else { return };
        if !cached.dirty {
            cached.dirty = true;
            self.dirty.insert((cached.owner, nid));
            self.dirty_stored += u64::from(cached.stored);
        } else if !cached.measured {
            return;
        }
        // Index nodes are made to fit in half a page.
        let charge = if matches!(cached.node, Node::Index(_)) { most / 2 } else { most };
        self.dirty_charge = self.dirty_charge - u64::from(cached.charge) + u64::from(charge);
        (cached.charge, cached.measured) = (charge, false);
        self.unmeasured.push(nid);
    }

    /// Marks a node unchanged, as it is on the chip or goes.
    fn mark_clean(&mut self, nid: u32) {
        let Some(cached) = self.cache.get_mut(&nid).filter(|cached| cached.dirty) else { return };
        self.dirty.remove(&(cached.owner, nid));
        self.dirty_stored -= u64::from(cached.stored);
        self.dirty_charge -= u64::from(cached.charge);
        (cached.dirty, cached.charge, cached.measured) = (false, 0, true);
    }

    /// Notes the address that a node was written to.
    pub(crate) fn written(&mut self, nid: u32, old: Addr, addr: Addr) {
        if let Some(cached) = self.cache.get_mut(&nid) {
            let before = core::mem::replace(&mut cached.stored, addr.len.into());
            // A program that failed may have led one of its pointers elsewhere meanwhile.
            if cached.dirty {
                self.dirty_stored = self.dirty_stored - u64::from(before) + u64::from(addr.len);
            }
        }
        self.bytes = (self.bytes + u64::from(addr.len)).saturating_sub(old.len.into());
        self.set_addr(nid, addr);
    }

    /// The place of a node on the chip.
    pub(crate) fn addr(&mut self, pages: &mut Pages<'_>, nid: u32) -> Result<Addr> {
        if nid == ROOT {
            return Ok(self.root_inode);
        }
        Ok(Addr::from_u64(u64::from_le_bytes(self.table.get(pages, nid)?)))
    }

    pub(crate) fn set_addr(&mut self, nid: u32, addr: Addr) {
        if nid == ROOT {
            self.root_inode = addr;
            return;
        }
        self.table.set(nid, addr.to_u64().to_le_bytes());
    }

    fn cached(&mut self, pages: &mut Pages<'_>, nid: u32) -> Result<&mut Cached> {
        self.tick += 1;
        if self.lost.contains_key(&nid) {
            return Err(Damage::Lost(nid).into());
        }
        if !self.cache.contains_key(&nid) {
            if self.memory > self.limit {
                self.trim(self.limit);
            }
            let node = self.read(pages, nid)?;
            let stored = self.addr(pages, nid)?.len;
            self.insert(nid, node, stored.into());
        }
        let tick = self.tick;
        let cached = self.cache.get_mut(&nid).ok_or(Damage::NoNode(nid))?;
        cached.used = tick;
        Ok(cached)
    }

    /// True if the node is an inode.
    pub(crate) fn is_inode(&mut self, pages: &mut Pages<'_>, nid: u32) -> Result<bool> {
        Ok(matches!(self.cached(pages, nid)?.node, Node::Inode(_)))
    }

    /// True if the node is in memory.
    pub(crate) fn has(&self, nid: u32) -> bool {
        self.cache.contains_key(&nid)
    }

    /// True if the node is in memory and changed.
    pub(crate) fn is_dirty(&self, nid: u32) -> bool {
        self.cache.get(&nid).is_some_and(|cached| cached.dirty)
    }

    /// A node as it is on the chip.
    pub(crate) fn read(&mut self, pages: &mut Pages<'_>, nid: u32) -> Result<Node> {
        let addr = self.addr(pages, nid)?;
        if !addr.is_stored() {
            return Err(Damage::NoNode(nid).into());
        }
        self.read_at(pages, nid, addr, None)
    }

    /// The node at an address; `owner` is not checked when not given.
    pub(crate) fn read_at(
        &mut self,
        pages: &mut Pages<'_>,
        nid: u32,
        addr: Addr,
        owner: Option<u32>,
    ) -> Result<Node> {
        let params = self.params;
        let (node, found) = pages
            .read_as(addr, ChunkKind::Node, nid, |bytes, desc| (Node::decode(bytes, &params), desc.index))?;
        let node = node.ok_or(Damage::Node(nid))?;
        if node.owner(nid) != found || owner.is_some_and(|owner| owner != found) {
            return Err(Damage::Node(nid).into());
        }
        Ok(node)
    }

    fn insert(&mut self, nid: u32, node: Node, stored: u32) {
        self.forget(nid);
        let (owner, memory) = (node.owner(nid), node.memory() + OVERHEAD);
        self.memory += memory;
        let cached =
            Cached { node, owner, dirty: false, used: self.tick, memory, stored, charge: 0, measured: true };
        self.cache.insert(nid, cached);
    }

    /// Drops a node from memory, changed or not.
    pub(crate) fn forget(&mut self, nid: u32) {
        self.mark_clean(nid);
        if let Some(old) = self.cache.remove(&nid) {
            self.memory -= old.memory;
        }
    }

    pub(crate) fn inode(&mut self, pages: &mut Pages<'_>, ino: u32) -> Result<&Inode> {
        match &self.cached(pages, ino)?.node {
            Node::Inode(inode) => Ok(inode),
            Node::Index(_) => Err(Damage::NodeKind(ino).into()),
        }
    }

    /// The same, about to be changed.
    pub(crate) fn inode_mut(&mut self, pages: &mut Pages<'_>, ino: u32) -> Result<&mut Inode> {
        match self.node_mut(pages, ino)? {
            Node::Inode(inode) => Ok(inode),
            Node::Index(_) => Err(Damage::NodeKind(ino).into()),
        }
    }

    pub(crate) fn index(&mut self, pages: &mut Pages<'_>, nid: u32) -> Result<&Index> {
        match &self.cached(pages, nid)?.node {
            Node::Index(index) => Ok(index),
            Node::Inode(_) => Err(Damage::NodeKind(nid).into()),
        }
    }

    /// The same, about to be changed.
    pub(crate) fn index_mut(&mut self, pages: &mut Pages<'_>, nid: u32) -> Result<&mut Index> {
        match self.node_mut(pages, nid)? {
            Node::Index(index) => Ok(index),
            Node::Inode(_) => Err(Damage::NodeKind(nid).into()),
        }
    }

    /// A node about to be changed.
    fn node_mut(&mut self, pages: &mut Pages<'_>, nid: u32) -> Result<&mut Node> {
        self.touch(pages, nid)?;
        Ok(&mut self.cache.get_mut(&nid).ok_or(Damage::NoNode(nid))?.node)
    }

    /// Marks a node changed.
    pub(crate) fn touch(&mut self, pages: &mut Pages<'_>, nid: u32) -> Result<()> {
        self.cached(pages, nid)?;
        self.soil(nid);
        Ok(())
    }

    /// Adds a new node under an unused id.
    pub(crate) fn add(&mut self, pages: &mut Pages<'_>, node: Node) -> Result<u32> {
        if let Some(page) = self.ids.page_to_look_at(self.table.per_leaf()) {
            // Ids on a page that cannot be read are left alone.
            let unused = self.table.unused_on(pages, page).unwrap_or_default();
            let cache = &self.cache;
            self.ids.found(unused.into_iter().filter(|nid| !cache.contains_key(nid)));
        }
        loop {
            let nid = self.ids.take().ok_or(Errno::NoSpace)?;
            match self.addr(pages, nid) {
                Ok(addr) if !addr.is_stored() && !self.has(nid) => {
                    self.add_at(nid, node);
                    return Ok(nid);
                }
                // Damage gave it two owners, and each freed it.
                Ok(_) => {}
                Err(error) => {
                    let unknown = self.table.lost_with(pages, nid);
                    if !self.ids.pass_page_of(nid, unknown) {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// No id from here on is in use.
    pub(crate) fn end(&self) -> u32 {
        self.ids.end()
    }

    /// Lowers the end of the ids to the last node; all nodes must have been written. True if pages of the table are of
    /// no use behind it.
    pub(crate) fn lower_end(&mut self, pages: &mut Pages<'_>) -> bool {
        if !self.ids.begin_checkpoint() {
            return false;
        }
        let before = self.end();
        self.ids.lower(self.table.end_of_use(pages, before));
        let pages = |end: u32| end.div_ceil(self.table.per_leaf());
        pages(self.end()) < pages(before)
    }

    /// Adds or replaces a node under a given id.
    pub(crate) fn add_at(&mut self, nid: u32, node: Node) {
        self.inodes += u64::from(matches!(node, Node::Inode(_)));
        self.tick += 1;
        self.insert(nid, node, 0);
        self.soil(nid);
    }

    /// A copy of a node as it is in memory.
    pub(crate) fn current(&mut self, pages: &mut Pages<'_>, nid: u32) -> Result<Node> {
        Ok(self.cached(pages, nid)?.node.clone())
    }

    /// Takes a node away; hands back the address it had on the chip, to be released.
    pub(crate) fn remove(&mut self, pages: &mut Pages<'_>, nid: u32) -> Result<Addr> {
        let addr = self.addr(pages, nid)?;
        let node = &self.cached(pages, nid)?.node;
        let (owner, is_inode) = (node.owner(nid), matches!(node, Node::Inode(_)));
        self.inodes = self.inodes.saturating_sub(is_inode.into());
        self.ahead.remove(&(owner, nid));
        self.forget(nid);
        self.set_addr(nid, Addr::NONE);
        self.bytes = self.bytes.saturating_sub(addr.len.into());
        self.ids.free(nid);
        Ok(addr)
    }

    /// Ids of the nodes to write, inodes with their index nodes beside them.
    pub(crate) fn dirty_nids(&self, owner: Option<u32>) -> Vec<u32> {
        let range = match owner {
            Some(owner) => self.dirty.range((owner, 0)..=(owner, u32::MAX)),
            None => self.dirty.range(..),
        };
        range.map(|(_, nid)| *nid).collect()
    }

    /// The changed index nodes, each behind its owner, with the bytes that they will have on the chip.
    pub(crate) fn dirty_indices(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        self.dirty.iter().filter_map(|(owner, nid)| {
            let cached = self.cache.get(nid).filter(|cached| matches!(cached.node, Node::Index(_)))?;
            Some((*owner, *nid, cached.charge))
        })
    }

    /// Notes that a node was written ahead of the next checkpoint.
    pub(crate) fn note_ahead(&mut self, nid: u32) {
        if let Some(cached) = self.cache.get(&nid) {
            self.ahead.insert((cached.owner, nid));
        }
    }

    /// Marks those of an inode changed that were written ahead: an fsync has to write them as well.
    pub(crate) fn touch_ahead(&mut self, pages: &mut Pages<'_>, owner: u32) -> Result<()> {
        while let Some((_, nid)) = self.ahead.range((owner, 0)..=(owner, u32::MAX)).next().copied() {
            self.touch(pages, nid)?;
            self.ahead.remove(&(owner, nid));
        }
        Ok(())
    }

    /// True if nodes were written ahead of the next checkpoint.
    pub(crate) fn has_ahead(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// A checkpoint was made.
    pub(crate) fn checkpointed(&mut self) {
        self.ids.checkpointed();
        self.ahead.clear();
    }

    /// The bytes of a node in memory with its owner, compressed like this unless it says otherwise; it counts as
    /// written from here on.
    pub(crate) fn take_bytes(&mut self, nid: u32, usual: Compression) -> Option<(Vec<u8>, u32)> {
        self.mark_clean(nid);
        let cached = self.cache.get(&nid)?;
        let bytes = cached.node.encode(&self.params, usual);
        let bound = cached.node.bound(&self.params);
        debug_assert!(bytes.len() == bound || self.params.packs && bytes.len() < bound, "node {nid}");
        Some((bytes, cached.node.owner(nid)))
    }

    /// Drops unchanged nodes, least recently used first, until `bytes` remain.
    pub(crate) fn trim(&mut self, bytes: usize) {
        self.count_memory();
        let count = self.cache.len() - self.dirty.len();
        if self.memory <= bytes || count == 0 {
            return;
        }
        // Memory is short here: a list that grows would take three times as much for a moment.
        let mut clean: Vec<(u64, u32)> = Vec::with_capacity(count);
        let of_clean = self.cache.iter().filter(|(_, cached)| !cached.dirty);
        clean.extend(of_clean.map(|(nid, cached)| (cached.used, *nid)));
        clean.sort_unstable();
        for (_, nid) in clean {
            if self.memory <= bytes / 2 {
                return;
            }
            self.forget(nid);
        }
    }

    /// A chunk descriptor for a node.
    pub(crate) fn desc(nid: u32, owner: u32, len: usize) -> crate::tag::Desc {
        desc(ChunkKind::Node, nid, owner, len)
    }
}

/// An inode as a node.
pub(crate) fn inode_node(inode: Inode) -> Node {
    Node::Inode(Box::new(inode))
}
