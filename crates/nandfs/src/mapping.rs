//! The chunk of a file's block: from the inode through index nodes (CFFS, 2.1, generalised).

use alloc::vec::Vec;

use pumice_vfs::{Errno, Result};

use crate::addr::Addr;
use crate::codec::size;
use crate::error::Damage;
use crate::files::Files;
use crate::log::Log;
use crate::node::{Body, HEIGHT_MAX, Index, IndexBody, Map};
use crate::volume::{block_index, grow_to};

/// The place of a block's pointer.
enum Place {
    /// The inode.
    Direct(u64),
    /// An index node of height 1.
    Node(u32, u64),
    /// Nowhere: the block is in a hole.
    Nowhere,
}

/// The way from an inode to a block: child of the inode, its height, and the block's place under it.
struct Way {
    child: usize,
    height: u8,
    rest: u64,
}

/// The shape of block maps.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    fanout: u64,
}

impl Shape {
    /// Blocks under a node of this height; a block pointer has height 0.
    pub(crate) fn span(self, height: u8) -> u64 {
        self.fanout.saturating_pow(height.into())
    }

    /// Blocks that an inode of this class can map.
    fn capacity(self, class: u8) -> u64 {
        ((self.fanout - 1) * self.span(class - 1)).saturating_add(self.span(class))
    }

    /// The way to a block below the capacity.
    fn way(self, class: u8, block: u64) -> Way {
        let unit = self.span(class - 1);
        let low = (self.fanout - 1) * unit;
        if block >= low {
            let last = if class == 1 { 0 } else { self.fanout - 1 };
            return Way { child: size(last), height: class, rest: block - low };
        }
        Way { child: size(block / unit), height: class - 1, rest: block % unit }
    }

    /// The first block under a child of the inode, and the child's height.
    pub(crate) fn child_start(self, class: u8, child: u64) -> (u64, u8) {
        let unit = self.span(class - 1);
        if class == 1 || child == self.fanout - 1 {
            ((self.fanout - 1) * unit, class)
        } else {
            (child * unit, class - 1)
        }
    }
}

impl Files {
    pub(crate) fn shape(&self) -> Shape {
        Shape { fanout: self.params.fanout().into() }
    }

    /// The pointers of an index node of this inode and height. Heights fall by one from parent to child and every node
    /// names its inode: so no damage can lead in a circle or into another file.
    fn expect_index(&mut self, log: &mut Log<'_>, ino: u32, nid: u32, height: u8) -> Result<&IndexBody> {
        let index = self.nodes.index(&mut log.pages, nid)?;
        if index.owner == ino && index.height() == height {
            Ok(&index.body)
        } else {
            Err(Damage::NodeKind(nid).into())
        }
    }

    fn map(&mut self, log: &mut Log<'_>, ino: u32) -> Result<Option<&Map>> {
        match &self.inode(log, ino)?.body {
            Body::Mapped(map) => Ok(Some(map)),
            Body::Inline(_) => Ok(None),
        }
    }

    /// The block map of an inode that is being changed; changes in data tags need no other note.
    fn map_mut(&mut self, log: &mut Log<'_>, ino: u32) -> Result<&mut Map> {
        match &mut self.nodes.inode_mut(&mut log.pages, ino)?.body {
            Body::Mapped(map) => Ok(map),
            Body::Inline(_) => Err(Damage::NodeKind(ino).into()),
        }
    }

    fn locate(&mut self, log: &mut Log<'_>, ino: u32, block: u64, create: bool) -> Result<Place> {
        let shape = self.shape();
        let class = loop {
            let Some(class) = self.map(log, ino)?.map(|map| map.class) else { return Ok(Place::Nowhere) };
            if block < shape.capacity(class) {
                break class;
            }
            if !create {
                return Ok(Place::Nowhere);
            }
            self.raise_class(log, ino)?;
        };
        let Way { child, mut height, mut rest } = shape.way(class, block);
        if height == 0 {
            return Ok(Place::Direct(block));
        }
        let known = self.map(log, ino)?.and_then(|map| map.children.get(child)).copied().unwrap_or(0);
        let mut nid = match known {
            0 if !create => return Ok(Place::Nowhere),
            0 => {
                let nid = self.add_index(log, Index::new(ino, height))?;
                let map = self.map_mut(log, ino)?;
                grow_to(&mut map.children, child as u64);
                map.children[child] = nid;
                nid
            }
            nid => nid,
        };
        while height > 1 {
            let stride = shape.span(height - 1);
            nid = match self.child_of(log, ino, nid, height, rest / stride)? {
                0 if !create => return Ok(Place::Nowhere),
                0 => self.add_child(log, ino, nid, rest / stride, height - 1)?,
                child => child,
            };
            (rest, height) = (rest % stride, height - 1);
        }
        self.expect_index(log, ino, nid, 1)?;
        Ok(Place::Node(nid, rest))
    }

    fn child_of(&mut self, log: &mut Log<'_>, ino: u32, nid: u32, height: u8, slot: u64) -> Result<u32> {
        match self.expect_index(log, ino, nid, height)? {
            IndexBody::Nodes { children, .. } => Ok(children.get(size(slot)).copied().unwrap_or(0)),
            IndexBody::Blocks(_) => Err(Damage::NodeKind(nid).into()),
        }
    }

    fn set_child(&mut self, log: &mut Log<'_>, nid: u32, slot: u64, child: u32) -> Result<()> {
        match &mut self.nodes.index_mut(&mut log.pages, nid)?.body {
            IndexBody::Nodes { children, .. } => {
                grow_to(children, slot);
                children[size(slot)] = child;
                Ok(())
            }
            IndexBody::Blocks(_) => Err(Damage::NodeKind(nid).into()),
        }
    }

    fn add_child(&mut self, log: &mut Log<'_>, ino: u32, nid: u32, slot: u64, height: u8) -> Result<u32> {
        let child = self.add_index(log, Index::new(ino, height))?;
        self.set_child(log, nid, slot, child)?;
        Ok(child)
    }

    /// Makes room for larger block indices: the children of the inode and of its last child are dealt out to two index
    /// nodes (CFFS, 2.3, changes i-class 1 to 2 in the same way).
    fn raise_class(&mut self, log: &mut Log<'_>, ino: u32) -> Result<()> {
        let fanout = size(self.shape().fanout);
        let map = self.map_mut(log, ino)?;
        let class = map.class;
        if class >= HEIGHT_MAX {
            return Err(Errno::FileTooBig.into());
        }
        let old = core::mem::replace(map, Map { class: class + 1, direct: Vec::new(), children: Vec::new() });
        let children = if class == 1 {
            self.deal_blocks(log, ino, old, fanout)?
        } else {
            // Index nodes change their parent, which replaying nodes one by one cannot follow.
            self.pend(ino).needs_checkpoint = true;
            self.deal_nodes(log, ino, old, fanout)?
        };
        self.map_mut(log, ino)?.children = children;
        Ok(())
    }

    fn deal_blocks(&mut self, log: &mut Log<'_>, ino: u32, old: Map, fanout: usize) -> Result<Vec<u32>> {
        let mut units = old.direct;
        let last = old.children.first().copied().unwrap_or(0);
        if last != 0 {
            units.resize(fanout - 1, Addr::NONE);
            if let IndexBody::Blocks(blocks) = &mut self.nodes.index_mut(&mut log.pages, last)?.body {
                units.append(blocks);
            }
        }
        let rest = units.split_off(fanout.min(units.len()));
        let first = Index { owner: ino, body: IndexBody::Blocks(units) };
        let mut children = Vec::new();
        children.push(self.add_index(log, first)?);
        if last != 0 {
            self.nodes.index_mut(&mut log.pages, last)?.body = IndexBody::Blocks(rest);
            children.push(last);
        }
        Ok(children)
    }

    fn deal_nodes(&mut self, log: &mut Log<'_>, ino: u32, old: Map, fanout: usize) -> Result<Vec<u32>> {
        let mut units = old.children;
        let last = if units.len() == fanout { units.pop().unwrap_or(0) } else { 0 };
        if last != 0
            && let IndexBody::Nodes { children, .. } = &mut self.nodes.index_mut(&mut log.pages, last)?.body
        {
            units.append(children);
        }
        let rest = units.split_off(fanout.min(units.len()));
        let nodes = |children| IndexBody::Nodes { height: old.class, children };
        let mut children = Vec::new();
        children.push(self.add_index(log, Index { owner: ino, body: nodes(units) })?);
        if last != 0 {
            self.nodes.index_mut(&mut log.pages, last)?.body = nodes(rest);
            children.push(last);
        }
        Ok(children)
    }

    /// The pointers beside that of a block, and its place among them; nothing in a hole.
    fn pointers(&mut self, log: &mut Log<'_>, ino: u32, block: u32) -> Result<Option<(&[Addr], u64)>> {
        Ok(match self.locate(log, ino, block.into(), false)? {
            Place::Direct(slot) => self.map(log, ino)?.map(|map| (map.direct.as_slice(), slot)),
            Place::Node(nid, slot) => match &self.nodes.index(&mut log.pages, nid)?.body {
                IndexBody::Blocks(blocks) => Some((blocks.as_slice(), slot)),
                IndexBody::Nodes { .. } => return Err(Damage::NodeKind(nid).into()),
            },
            Place::Nowhere => None,
        })
    }

    /// The address of a block's chunk, [`Addr::NONE`] in a hole.
    pub(crate) fn map_get(&mut self, log: &mut Log<'_>, ino: u32, block: u32) -> Result<Addr> {
        let found = self.pointers(log, ino, block)?.and_then(|(list, slot)| list.get(size(slot)).copied());
        Ok(found.unwrap_or(Addr::NONE))
    }

    /// Notes that a block waits to be written: the node with its pointer will have to be, too.
    pub(crate) fn soil_pointer(&mut self, log: &mut Log<'_>, ino: u32, block: u32) -> Result<()> {
        if self.cache.is_dirty(ino, block) {
            return Ok(());
        }
        let nid = match self.locate(log, ino, block.into(), false)? {
            Place::Direct(_) => ino,
            Place::Node(nid, _) => nid,
            Place::Nowhere => return Ok(()),
        };
        self.nodes.touch(&mut log.pages, nid)
    }

    /// Points a block at another chunk and returns the one it had, which is not released here.
    pub(crate) fn map_put(&mut self, log: &mut Log<'_>, ino: u32, block: u32, addr: Addr) -> Result<Addr> {
        let list = match self.locate(log, ino, block.into(), addr != Addr::NONE)? {
            Place::Direct(slot) => Some((&mut self.map_mut(log, ino)?.direct, slot)),
            Place::Node(nid, slot) => match &mut self.nodes.index_mut(&mut log.pages, nid)?.body {
                IndexBody::Blocks(blocks) => Some((blocks, slot)),
                IndexBody::Nodes { .. } => return Err(Damage::NodeKind(nid).into()),
            },
            Place::Nowhere => None,
        };
        let Some((list, slot)) = list else { return Ok(Addr::NONE) };
        grow_to(list, slot);
        let old = core::mem::replace(&mut list[size(slot)], addr);
        self.count_block(log, ino, old, addr)?;
        Ok(old)
    }

    fn count_block(&mut self, log: &mut Log<'_>, ino: u32, old: Addr, new: Addr) -> Result<()> {
        let (before, after) = (self.params.charge(old), self.params.charge(new));
        if before != after {
            let inode = self.nodes.inode_mut(&mut log.pages, ino)?;
            // Counts of a damaged volume may be lower than the truth.
            inode.blocks = (inode.blocks + after).saturating_sub(before);
            self.data_blocks = (self.data_blocks + u64::from(after)).saturating_sub(u64::from(before));
        }
        Ok(())
    }

    /// Pointers in long form in the node that holds a block's pointer.
    pub(crate) fn odd_pointers(&mut self, log: &mut Log<'_>, ino: u32, block: u32) -> Result<usize> {
        let params = self.params;
        let list = self.pointers(log, ino, block)?.map_or(&[][..], |(list, _)| list);
        Ok(crate::pointers::odd(list, &params))
    }

    /// The first block at or behind `from` that is not in a hole.
    pub(crate) fn map_next(&mut self, log: &mut Log<'_>, ino: u32, from: u64) -> Result<Option<(u64, Addr)>> {
        let shape = self.shape();
        let Some(map) = self.map(log, ino)?.cloned() else { return Ok(None) };
        if map.class == 1
            && let Some(found) = first_block(&map.direct, 0, from)
        {
            return Ok(Some(found));
        }
        let mut nodes = self.params.blocks_most().saturating_mul(HEIGHT_MAX.into());
        for (child, nid) in (0..).zip(&map.children) {
            let (start, height) = shape.child_start(map.class, child);
            if *nid != 0
                && start.saturating_add(shape.span(height)) > from
                && let Some(found) = self.next_under(log, ino, (*nid, height), start, from, &mut nodes)?
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The same below an index node; looks at as many `nodes` at most, for damaged ones may share their children.
    fn next_under(
        &mut self,
        log: &mut Log<'_>,
        ino: u32,
        (nid, height): (u32, u8),
        start: u64,
        from: u64,
        nodes: &mut u64,
    ) -> Result<Option<(u64, Addr)>> {
        let shape = self.shape();
        *nodes = nodes.checked_sub(1).ok_or(Damage::Node(nid))?;
        let children = match self.expect_index(log, ino, nid, height)? {
            IndexBody::Blocks(blocks) => return Ok(first_block(blocks, start, from)),
            IndexBody::Nodes { children, .. } => children.clone(),
        };
        let span = shape.span(height - 1);
        for (slot, child) in (0..).zip(children) {
            let start = start.saturating_add(span.saturating_mul(slot));
            if child == 0 || start.saturating_add(span) <= from {
                continue;
            }
            if let Some(found) = self.next_under(log, ino, (child, height - 1), start, from, nodes)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Makes a hole of the blocks `from..to` and takes away index nodes without children.
    pub(crate) fn unmap(&mut self, log: &mut Log<'_>, ino: u32, from: u64, to: u64) -> Result<()> {
        let shape = self.shape();
        let Some(map) = self.map(log, ino)?.cloned() else { return Ok(()) };
        if map.class == 1 {
            for block in from..to.min(map.direct.len() as u64) {
                let index = block_index(block)?;
                let old = self.map_put(log, ino, index, Addr::NONE)?;
                log.discard_block(ino, index, old)?;
            }
        }
        for (child, nid) in (0..).zip(&map.children) {
            let (start, height) = shape.child_start(map.class, child);
            if *nid == 0 || start >= to || start.saturating_add(shape.span(height)) <= from {
                continue;
            }
            self.expect_index(log, ino, *nid, height)?;
            if self.unmap_under(log, ino, (*nid, start), (from, to))? {
                self.map_mut(log, ino)?.children[size(child)] = 0;
            }
        }
        Ok(())
    }

    /// The same below an index node; true if the node is gone.
    fn unmap_under(&mut self, log: &mut Log<'_>, ino: u32, at: (u32, u64), part: (u64, u64)) -> Result<bool> {
        let ((nid, start), (from, to)) = (at, part);
        let shape = self.shape();
        let index = self.nodes.index(&mut log.pages, nid)?.clone();
        match index.body {
            IndexBody::Blocks(blocks) => {
                for (slot, addr) in (0..).zip(blocks) {
                    let block = start + slot;
                    if addr == Addr::NONE || block < from || block >= to {
                        continue;
                    }
                    if let IndexBody::Blocks(blocks) = &mut self.nodes.index_mut(&mut log.pages, nid)?.body {
                        blocks[size(slot)] = Addr::NONE;
                    }
                    self.count_block(log, ino, addr, Addr::NONE)?;
                    log.discard_block(ino, block_index(block)?, addr)?;
                }
            }
            IndexBody::Nodes { height, children } => {
                let span = shape.span(height - 1);
                for (slot, child) in (0..).zip(children) {
                    let start = start.saturating_add(span.saturating_mul(slot));
                    if child == 0 || start >= to || start.saturating_add(span) <= from {
                        continue;
                    }
                    self.expect_index(log, ino, child, height - 1)?;
                    if self.unmap_under(log, ino, (child, start), part)? {
                        self.set_child(log, nid, slot, 0)?;
                    }
                }
            }
        }
        if !self.nodes.index(&mut log.pages, nid)?.is_empty() {
            return Ok(false);
        }
        self.pend(ino).needs_checkpoint = true;
        self.remove_node(log, nid)?;
        Ok(true)
    }
}

fn first_block(blocks: &[Addr], start: u64, from: u64) -> Option<(u64, Addr)> {
    let found = (start..).zip(blocks).find(|(block, addr)| *block >= from && **addr != Addr::NONE);
    found.map(|(block, addr)| (block, *addr))
}
