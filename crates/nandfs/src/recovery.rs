//! After a power cut: what fsync promised since the last checkpoint is replayed, the rest is dropped.
//!
//! The blocks that may have been written since are known: the open ones and the window of the checkpoint. Pages
//! of the logs that fsync writes are read there, put in order of their sequence numbers, and those with a commit
//! mark of their inode at or behind them are applied. Nothing is written until the caller makes a checkpoint.

use alloc::{vec, vec::Vec};

use hashbrown::HashMap;
use pumice_flashlog::Peek;
use pumice_media::Nand;
use pumice_vfs::{Result, Timestamp};

use crate::addr::Addr;
use crate::blocks::{State, Usage};
use crate::checkpoint_record::Checkpoint;
use crate::error::device;
use crate::log::Spare;
use crate::node::{Body, Index, IndexBody, Inode, Map, Node};
use crate::tag::{ChunkKind, Desc, LogKind, Tag};
use crate::volume::Volume;

/// A page that fsync may have written.
struct Record {
    page: u32,
    tag: Tag,
}

/// What was found of the blocks that the log may have used.
struct Survey {
    records: Vec<Record>,
    /// Blocks of the window that were written to.
    touched: Vec<u32>,
    untouched: Vec<Spare>,
    /// The highest sequence number seen.
    seq: u64,
}

/// The inode that a chunk belongs to.
fn owner(desc: &Desc) -> Option<u32> {
    match desc.kind {
        ChunkKind::Data => Some(desc.id),
        ChunkKind::Node => Some(desc.index),
        _ => None,
    }
}

fn is_scanned(log: LogKind) -> bool {
    matches!(log, LogKind::Meta | LogKind::Sync)
}

impl<N: Nand> Volume<N> {
    /// Replays what fsync promised after `checkpoint`.
    pub(crate) fn recover(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let mut survey = self.survey(checkpoint)?;
        survey.records.sort_unstable_by_key(|record| record.tag.seq);
        self.log.seq = self.log.seq.max(survey.seq + 1);
        self.avoid_ids(&survey.records);
        let mut last_commit: HashMap<u32, u64> = HashMap::new();
        for record in &survey.records {
            if let (Some(_), Some(ino)) = (record.tag.commit, record.tag.descs.first().and_then(owner)) {
                last_commit.insert(ino, record.tag.seq);
            }
        }
        let mut created = Vec::new();
        for record in &survey.records {
            self.replay(record, &last_commit, &mut created)?;
        }
        for ino in created {
            self.adopt(ino)?;
        }
        self.settle_blocks(&survey)?;
        // Nobody will seal what was open.
        for (block, _) in checkpoint.heads.iter().flatten() {
            self.blocks.close(&mut self.log, *block)?;
        }
        Ok(())
    }

    /// Looks at every block that may have been written since the checkpoint.
    fn survey(&mut self, checkpoint: &Checkpoint) -> Result<Survey> {
        let mut survey = Survey { records: Vec::new(), touched: Vec::new(), untouched: Vec::new(), seq: 0 };
        for (block, index) in checkpoint.heads.iter().flatten() {
            let log = self.log_of_open(*block, *index)?;
            if log.is_none_or(is_scanned) {
                self.scan(*block, *index, checkpoint.seq, &mut survey)?;
            } else {
                self.skim(*block, *index, checkpoint.seq, &mut survey)?;
            }
        }
        let mut last = 0;
        let mut seen = Vec::new();
        for (place, spare) in checkpoint.window.iter().enumerate() {
            let peek = self.log.flash.peek(self.params.page(spare.block, 0))?;
            let new = match peek {
                Peek::Erased => false,
                Peek::Programmed(Some((_, seq))) => seq >= checkpoint.seq,
                // Garbage is what a torn page leaves, on a block known to be erased.
                Peek::Programmed(None) => spare.erased,
            };
            if let (true, Peek::Programmed(Some((kind, _)))) = (new, peek) {
                if LogKind::from_bits(kind).is_some_and(is_scanned) {
                    self.scan(spare.block, 0, checkpoint.seq, &mut survey)?;
                } else {
                    self.skim(spare.block, 0, checkpoint.seq, &mut survey)?;
                }
            }
            if new {
                last = place + 1;
            }
            seen.push((*spare, new));
        }
        // A block whose first page was being programmed may look untouched: those next in order are erased again.
        let doubtful = last + self.log.head_count() + 1;
        for (place, (spare, new)) in seen.into_iter().enumerate() {
            if new {
                survey.touched.push(spare.block);
            } else {
                let erased = spare.erased && place >= doubtful;
                survey.untouched.push(Spare { erased, ..spare });
            }
        }
        Ok(survey)
    }

    fn log_of_open(&mut self, block: u32, index: u32) -> Result<Option<LogKind>> {
        let before = self.params.page(block, index.saturating_sub(1));
        match self.log.flash.peek(before)? {
            Peek::Programmed(header) => Ok(header.and_then(|(kind, _)| LogKind::from_bits(kind))),
            Peek::Erased => Ok(None),
        }
    }

    /// Reads the pages of a block from `index` on that were written since the checkpoint.
    fn scan(&mut self, block: u32, index: u32, since: u64, survey: &mut Survey) -> Result<()> {
        for index in index..self.params.pages_per_block {
            let page = self.params.page(block, index);
            if self.log.flash.peek(page)? == Peek::Erased {
                break;
            }
            let Ok(found) = self.log.flash.read(page) else { continue };
            survey.seq = survey.seq.max(found.tag.seq);
            if found.tag.seq >= since && is_scanned(found.tag.log) {
                survey.records.push(Record { page, tag: found.tag.clone() });
            }
        }
        Ok(())
    }

    /// Learns the highest sequence number of a block that needs no replay: that of its last page.
    fn skim(&mut self, block: u32, index: u32, since: u64, survey: &mut Survey) -> Result<()> {
        let (mut low, mut high) = (index, self.params.pages_per_block);
        while low < high {
            let middle = u32::midpoint(low, high);
            match self.log.flash.peek(self.params.page(block, middle))? {
                Peek::Erased => high = middle,
                Peek::Programmed(..) => low = middle + 1,
            }
        }
        for index in (index..low).rev() {
            let page = self.params.page(block, index);
            if let Some(found) = self.log.flash.medium.read_proved(page).map_err(device)? {
                survey.seq = survey.seq.max(found.tag.seq.max(since));
                break;
            }
        }
        Ok(())
    }

    /// Node ids that appear in the log must not be given to others while it is replayed.
    fn avoid_ids(&mut self, records: &[Record]) {
        for desc in records.iter().flat_map(|record| &record.tag.descs) {
            if matches!(desc.kind, ChunkKind::Data | ChunkKind::Node) {
                self.nodes.avoid(desc.id);
            }
        }
    }

    fn replay(&mut self, record: &Record, commits: &HashMap<u32, u64>, created: &mut Vec<u32>) -> Result<()> {
        let committed = |ino: u32| commits.get(&ino).is_some_and(|seq| *seq >= record.tag.seq);
        for (offset, desc) in record.tag.chunks() {
            let addr = Addr { page: record.page, offset, len: desc.len };
            match desc.kind {
                ChunkKind::Data if committed(desc.id) => self.replay_data(addr, &desc)?,
                ChunkKind::Node if committed(desc.index) => self.replay_node(addr, &desc, created)?,
                _ => {}
            }
        }
        let ino = record.tag.descs.first().filter(|desc| desc.kind == ChunkKind::Data).map(|desc| desc.id);
        match (ino, record.tag.commit) {
            (Some(ino), Some(time)) => self.replay_time(ino, time),
            _ => Ok(()),
        }
    }

    fn exists(&mut self, nid: u32) -> Result<bool> {
        Ok(self.nodes.has(nid) || self.nodes.addr(&mut self.log, nid)?.is_stored())
    }

    fn replay_time(&mut self, ino: u32, time: Timestamp) -> Result<()> {
        if self.exists(ino)? {
            let inode = self.inode_mut(ino)?;
            (inode.mtime, inode.ctime) = (time, time);
        }
        Ok(())
    }

    /// A block of data: the index leads to it, and the file reaches at least to its end.
    fn replay_data(&mut self, addr: Addr, desc: &Desc) -> Result<()> {
        // The node of a new file comes later in the log and points here itself.
        if !self.exists(desc.id)? {
            return Ok(());
        }
        if matches!(self.inode(desc.id)?.body, Body::Inline(_)) {
            return Ok(());
        }
        let old = self.map_put(desc.id, desc.index, addr)?;
        self.blocks.add(&mut self.log, addr)?;
        self.release(old)?;
        let end = u64::from(desc.index) * u64::from(self.params.block) + u64::from(desc.len);
        let inode = self.inode_mut(desc.id)?;
        inode.size = inode.size.max(end);
        Ok(())
    }

    /// A node: it takes the place of the one in the table, and what it points at is counted in place of what
    /// that one pointed at.
    fn replay_node(&mut self, addr: Addr, desc: &Desc, created: &mut Vec<u32>) -> Result<()> {
        let nid = desc.id;
        let new = self.nodes.read_at(&mut self.log, nid, addr, Some(desc.index))?;
        let existed = self.exists(nid)?;
        let old = if existed { Some(self.nodes.current(&mut self.log, nid)?) } else { None };
        let old_addr = self.nodes.addr(&mut self.log, nid)?;
        for target in old.iter().flat_map(pointers) {
            self.release(target)?;
        }
        for target in pointers(&new) {
            self.blocks.add(&mut self.log, target)?;
        }
        self.blocks.add(&mut self.log, addr)?;
        self.release(old_addr)?;
        let blocks = |node: &Node| if let Node::Inode(inode) = node { u64::from(inode.blocks) } else { 0 };
        self.data_blocks = (self.data_blocks + blocks(&new)).saturating_sub(old.as_ref().map_or(0, blocks));
        self.nodes.bytes = (self.nodes.bytes + u64::from(addr.len)).saturating_sub(old_addr.len.into());
        self.nodes.forget(nid);
        self.nodes.set_addr(nid, addr);
        let is_inode = matches!(new, Node::Inode(_));
        if !existed && is_inode {
            self.nodes.inodes += 1;
            created.push(nid);
        }
        let kept = children(&new);
        for child in old.iter().flat_map(children).filter(|child| !kept.contains(child)) {
            self.drop_replayed(child)?;
        }
        Ok(())
    }

    /// Takes away an index node that replay itself had made; those of the checkpoint stay where they are, for
    /// a later node of the log points at them.
    fn drop_replayed(&mut self, nid: u32) -> Result<()> {
        if !self.nodes.has(nid) || self.nodes.addr(&mut self.log, nid)?.is_stored() {
            return Ok(());
        }
        let node = self.nodes.current(&mut self.log, nid)?;
        for target in pointers(&node) {
            self.release(target)?;
        }
        for child in children(&node) {
            self.drop_replayed(child)?;
        }
        self.nodes.forget(nid);
        Ok(())
    }

    /// Gives a file that is new since the checkpoint the name that its inode tells.
    fn adopt(&mut self, ino: u32) -> Result<()> {
        let inode = self.inode(ino)?;
        let (kind, parent, name) = (inode.kind, inode.parent, inode.name.clone());
        let may_hold = self.exists(parent)? && self.directory(parent).is_ok();
        if may_hold && !name.is_empty() && self.dir_find(parent, &name)?.is_none() {
            self.dir_insert(parent, &name, ino, kind)?;
            let inode = self.inode(ino)?;
            let born = inode.btime;
            let dir = self.inode_mut(parent)?;
            (dir.mtime, dir.ctime) = (dir.mtime.max(born), dir.ctime.max(born));
        }
        Ok(())
    }

    /// Sets blocks right: those with replayed chunks are in use, the rest of the window may be opened.
    fn settle_blocks(&mut self, survey: &Survey) -> Result<()> {
        let mut again = vec![];
        for block in &survey.touched {
            let usage = self.blocks.get(&mut self.log, *block)?;
            let live = usage.valid > 0;
            let head = if live { 1 } else { usage.head };
            self.blocks.update(&mut self.log, *block, |usage: &mut Usage| {
                usage.state = if live { State::Used } else { State::Dirty };
                usage.head = head;
            })?;
            if !live {
                again.push(Spare { block: *block, erased: false });
            }
        }
        self.log.window = survey.untouched.iter().copied().chain(again).collect();
        let erased: Vec<Spare> = self.log.window.iter().copied().filter(|spare| !spare.erased).collect();
        for spare in erased {
            self.blocks.update(&mut self.log, spare.block, |usage| {
                if usage.state == State::Erased {
                    usage.state = State::Dirty;
                }
            })?;
        }
        self.blocks.dying.retain(|block| !survey.touched.contains(block));
        Ok(())
    }
}

/// The chunks that a node points at.
fn pointers(node: &Node) -> Vec<Addr> {
    let list = match node {
        Node::Inode(inode) => match &inode.body {
            Body::Mapped(Map { direct, .. }) => direct.as_slice(),
            Body::Inline(_) => &[],
        },
        Node::Index(Index { body: IndexBody::Blocks(blocks), .. }) => blocks,
        Node::Index(_) => &[],
    };
    list.iter().copied().filter(|addr| addr.is_stored()).collect()
}

/// The nodes that a node points at.
fn children(node: &Node) -> Vec<u32> {
    let list = match node {
        Node::Inode(inode) => match &**inode {
            Inode { body: Body::Mapped(Map { children, .. }), .. } => children.as_slice(),
            _ => &[],
        },
        Node::Index(Index { body: IndexBody::Nodes { children, .. }, .. }) => children,
        Node::Index(_) => &[],
    };
    list.iter().copied().filter(|nid| *nid != 0).collect()
}
