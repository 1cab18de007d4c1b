//! Recovery after a power cut: the promises of fsync since the last checkpoint are replayed, the rest is dropped.
//!
//! Pages of the logs that fsync writes are put in order of their sequence numbers, and those with a commit mark of
//! their inode at or behind them are applied. Nothing is written until the caller makes a checkpoint.

use alloc::{format, string::String, vec, vec::Vec};

use hashbrown::HashMap;
use pumice_flashlog::Peek;
use pumice_vfs::{Result, Timestamp};

use crate::addr::Addr;
use crate::blocks::{State, Usage};
use crate::checkpoint_record::Checkpoint;
use crate::codec::{len32, size};
use crate::commits::Commits;
use crate::error::device;
use crate::files::Files;
use crate::log::Log;
use crate::names::NameRecord;
use crate::node::{Body, Index, IndexBody, Inode, Map, Node};
use crate::pages::{ROOT_HEAD, Spare};
use crate::promise::Promise;
use crate::survey::{Record, Survey};
use crate::tag::{ChunkKind, Desc, TURNS, Tag};

/// Pages missing in front of one that has this turn, with so many before it.
fn missing(turn: u8, pages: u32) -> u32 {
    if is_repeated(turn, pages) { 0 } else { u32::from(turn).wrapping_sub(pages) % u32::from(TURNS) }
}

/// True if a page has the turn of the one before it: its program was said to have failed, and did not.
fn is_repeated(turn: u8, pages: u32) -> bool {
    pages > 0 && (u32::from(turn) + 1) % u32::from(TURNS) == pages % u32::from(TURNS)
}

/// The time of an inode's birth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Born {
    /// Since the checkpoint: its name is in its inode alone.
    Since,
    /// Unknown, as the node table cannot be read. If its directory does not have the name, that may be wrong or right.
    Unknown,
}

/// Inodes that were found to be new.
type Created = Vec<(u32, Born)>;

/// A step of replay, in order of sequence numbers.
enum Step {
    Replay(Record),
    /// A page that recovery does not need, with the number of needed ones before it.
    Pass(Tag),
}

impl Step {
    fn tag(&self) -> &Tag {
        match self {
            Step::Replay(record) => &record.tag,
            Step::Pass(tag) => tag,
        }
    }
}

impl Files {
    /// Replays the promises of fsync after `checkpoint`. Unreadable pages are noted in the volume's losses. Returns the
    /// blocks that the cut left without parity.
    pub(crate) fn recover(&mut self, log: &mut Log<'_>, checkpoint: &Checkpoint) -> Result<Vec<u32>> {
        self.claims.replay(true);
        let done = self.replay_all(log, checkpoint);
        self.claims.replay(false);
        done
    }

    fn replay_all(&mut self, log: &mut Log<'_>, checkpoint: &Checkpoint) -> Result<Vec<u32>> {
        let mut survey = Survey::of(&mut log.pages, &self.params, checkpoint.fence())?;
        // The power may have gone while the last commit was programmed. Pages with higher numbers are no proof that it
        // did not: a mount that was cut, too, wrote them behind it.
        if let Some((page, found)) = survey.newest.take() {
            log.pages.medium_mut().pin(page, found);
        }
        self.avoid_ids(&survey.records);
        let pages = survey.records.iter().map(|record| (&record.tag, record.names.as_ref()));
        let Commits { last: last_commit, names: last_names } = Commits::of(pages);
        let ends = survey.ends.drain(..).map(Step::Pass);
        let mut steps: Vec<Step> = survey.records.drain(..).map(Step::Replay).chain(ends).collect();
        steps.sort_by_key(|step| step.tag().seq);
        let (mut created, mut pages, mut named, mut gaps) = (Vec::new(), 0, 0, 0);
        for step in &steps {
            let missing = missing(step.tag().turn, pages);
            // A page that nobody names is one that the power went in, and that was whole for a while.
            named += missing.saturating_sub(u32::from(step.tag().before.is_none()));
            pages += missing;
            gaps += size(missing.into());
            self.lose(log, step.tag().before, missing, &mut created);
            if let Step::Replay(record) = step {
                self.replay(log, record, &last_commit, &mut created);
                if let Some(names) = record.names.as_ref().filter(|_| Some(record.tag.seq) <= last_names) {
                    // Inodes created before have their present names.
                    created.clear();
                    self.replay_names(log, names);
                }
                pages += u32::from(!is_repeated(step.tag().turn, pages));
            }
        }
        // Turns do not tell of pages missing behind the last, nor of a whole round.
        let untold = len32(survey.dead.len().saturating_sub(gaps));
        self.losses.add_dead(untold, survey.dead.iter().map(|page| self.params.block_of(*page)));
        // Pages that nobody counts were torn by the cut; the newest of all may have been whole.
        let torn = survey.unread.len() > size(named.into());
        self.losses.newest = survey.unread.last().copied().filter(|_| torn);
        // No number is given twice: pages that share cells are torn together, and may be read once more.
        let unnumbered = survey.unread.len() as u64 + u64::from(survey.silent);
        log.pages.medium_mut().number_from(survey.seq + 1, unnumbered);
        log.pages.resume_epoch(pages);
        for (ino, born) in created {
            self.adopt_or_lose(log, ino, born);
        }
        let mut losses = core::mem::take(&mut self.losses);
        losses
            .drop_replaced(|ino, index, then| self.map_get(log, ino, index).map_or(true, |now| now == then));
        self.losses = losses;
        let done = log.set_block_states(&survey);
        self.counted(done);
        // Nobody will seal the open blocks.
        for (block, _) in checkpoint.heads.iter().flatten() {
            let closed = log.blocks.close(&mut log.pages, *block);
            self.counted(closed);
        }
        let left = log.without_parity(checkpoint, &survey)?;
        if self.params.copy_blocks > 0 {
            log.pages.guard(&[], &left);
        }
        Ok(left)
    }

    /// Takes note of unreadable pages, the last of them with this promise.
    fn lose(&mut self, log: &mut Log<'_>, promise: Option<Promise>, pages: u32, created: &mut Created) {
        if pages > 1 {
            self.losses.add_unnamed(pages - 1);
        }
        match promise.filter(|_| pages > 0) {
            Some(Promise::Blocks { ino, first, count }) => {
                // The page may have held blocks further away than the tag's count can say.
                if count == u16::MAX {
                    self.losses.add_unnamed(1);
                }
                for index in first..first.saturating_add(count.into()) {
                    match self
                        .is_mapped(log, ino)
                        .and_then(|mapped| Ok((mapped, self.map_get(log, ino, index)?)))
                    {
                        Ok((true, then)) => self.losses.add_block(ino, index, then),
                        // The node of a new file comes later in the log and points there itself.
                        Ok((false, _)) => {}
                        Err(error) => self.losses.add_error(ino, error),
                    }
                }
            }
            Some(Promise::Node { ino, nid }) => {
                // A new file keeps its name, which nobody can read any more once the inode is lost.
                if let Some(place) = created.iter().position(|(new, _)| *new == ino) {
                    let (ino, born) = created.remove(place);
                    self.adopt_or_lose(log, ino, born);
                }
                let and_more = nid == 0;
                self.nodes.lose(if and_more { ino } else { nid }, ino, and_more);
            }
            Some(Promise::New { ino, dir }) => self.losses.add_new(ino, dir),
            Some(Promise::Names { dir, prints }) => self.losses.add_names(dir, prints),
            None => {}
        }
    }

    /// True if an inode exists and has a map.
    fn is_mapped(&mut self, log: &mut Log<'_>, ino: u32) -> Result<bool> {
        Ok(self.exists(log, ino)? && matches!(self.inode(log, ino)?.body, Body::Mapped(_)))
    }

    /// Forbids writes if the table of blocks could not be kept.
    fn counted(&mut self, done: Result<()>) {
        if let Err(error) = done {
            self.losses.add_uncounted(error);
        }
    }

    /// The losses in words, each with its inode.
    pub(crate) fn losses(&self) -> Vec<(Option<u32>, String)> {
        let nodes = self.nodes.lost().map(|(nid, owner)| {
            (Some(owner), format!("node {nid} of inode {owner}, promised by fsync, cannot be read"))
        });
        nodes.chain(self.losses.told()).collect()
    }

    /// Keeps node ids in the log from being given to others while it is replayed.
    fn avoid_ids(&mut self, records: &[Record]) {
        let named = records.iter().filter_map(|record| record.names.as_ref());
        for nid in named.flat_map(NameRecord::ids) {
            self.nodes.ids.avoid(nid);
        }
        for desc in records.iter().flat_map(|record| &record.tag.descs) {
            if desc.kind.is_of_block() || desc.kind == ChunkKind::Node {
                self.nodes.ids.avoid(desc.id);
            }
        }
    }

    /// Replays a page of file blocks on its own.
    pub(crate) fn replay_record(&mut self, log: &mut Log<'_>, record: &Record, commits: &HashMap<u32, u64>) {
        self.replay(log, record, commits, &mut Vec::new());
    }

    fn replay(
        &mut self,
        log: &mut Log<'_>,
        record: &Record,
        commits: &HashMap<u32, u64>,
        born: &mut Created,
    ) {
        let committed = |ino: u32| commits.get(&ino).is_some_and(|seq| *seq >= record.tag.seq);
        for (offset, desc) in record.tag.chunks() {
            let addr = Addr { page: record.page, offset, len: desc.len };
            let (ino, done) = match desc.kind {
                kind if kind.is_block() && committed(desc.id) => {
                    let done = record.length_of(offset, &desc);
                    (desc.id, done.and_then(|length| self.replay_data(log, addr, &desc, length)))
                }
                ChunkKind::Node if committed(desc.index) => {
                    let done = self.replay_node(log, addr, &desc, born);
                    if done.is_err() {
                        self.nodes.lose(desc.id, desc.index, false);
                    }
                    (desc.index, done)
                }
                _ => continue,
            };
            if let Err(error) = done {
                self.losses.add_error(ino, error);
            }
        }
        let ino = record.tag.descs.first().filter(|desc| desc.kind.is_of_block()).map(|desc| desc.id);
        if let (Some(ino), Some(time)) = (ino, record.tag.commit)
            && let Err(error) = self.replay_time(log, ino, time)
        {
            self.losses.add_attributes(ino);
            self.losses.add_error(ino, error);
        }
    }

    fn replay_time(&mut self, log: &mut Log<'_>, ino: u32, time: Timestamp) -> Result<()> {
        if self.exists(log, ino)? {
            let inode = self.inode_mut(log, ino)?;
            (inode.mtime, inode.ctime) = (time, time);
            let length = inode.size;
            let mut losses = core::mem::take(&mut self.losses);
            losses.found_time(ino, length, self.params.block, |index, then| {
                self.map_get(log, ino, index).map_or(true, |now| now == then)
            });
            self.losses = losses;
        }
        Ok(())
    }

    /// Replays a block of data: the index leads to it, and the file reaches at least to its end.
    fn replay_data(&mut self, log: &mut Log<'_>, addr: Addr, desc: &Desc, length: usize) -> Result<()> {
        // The node of a new file comes later in the log and points here itself.
        if !self.exists(log, desc.id)? {
            return Ok(());
        }
        if matches!(self.inode(log, desc.id)?.body, Body::Inline(_)) {
            return Ok(());
        }
        let old = self.map_put(log, desc.id, desc.index, addr)?;
        self.count_moved(log, addr, old);
        let end = u64::from(desc.index) * u64::from(self.params.block) + length as u64;
        let inode = self.inode_mut(log, desc.id)?;
        inode.size = inode.size.max(end);
        Ok(())
    }

    /// Replays a node: it takes the place of the one in the table, and its chunks are counted in place of the old
    /// one's.
    fn replay_node(&mut self, log: &mut Log<'_>, addr: Addr, desc: &Desc, born: &mut Created) -> Result<()> {
        let nid = desc.id;
        let new = self.nodes.read_at(&mut log.pages, nid, addr, Some(desc.index))?;
        // The old one is needed for counting alone.
        let (existed, old, old_addr) = match self.replaced(log, nid) {
            Ok(found) => found,
            Err(error) => {
                self.counted(Err(error));
                (None, None, Addr::NONE)
            }
        };
        for target in old.iter().flat_map(pointers) {
            let released = log.release(target);
            self.counted(released);
        }
        for target in pointers(&new) {
            let added = log.blocks.add(&mut log.pages, target);
            self.counted(added);
        }
        self.count_moved(log, addr, old_addr);
        let blocks = |node: &Node| if let Node::Inode(inode) = node { u64::from(inode.blocks) } else { 0 };
        self.data_blocks = (self.data_blocks + blocks(&new)).saturating_sub(old.as_ref().map_or(0, blocks));
        self.nodes.bytes = (self.nodes.bytes + u64::from(addr.len)).saturating_sub(old_addr.len.into());
        self.nodes.forget(nid);
        self.nodes.set_addr(nid, addr);
        self.nodes.find(nid);
        self.losses.found_node(nid);
        let is_inode = matches!(new, Node::Inode(_));
        match existed {
            Some(false) if is_inode => {
                self.nodes.inodes += 1;
                born.push((nid, Born::Since));
            }
            None if is_inode => born.push((nid, Born::Unknown)),
            _ => {}
        }
        let kept = children(&new);
        for child in old.iter().flat_map(children).filter(|child| !kept.contains(child)) {
            self.drop_replayed(log, child)?;
        }
        Ok(())
    }

    /// The node that a replay replaces: whether there is one, itself, and its address.
    fn replaced(&mut self, log: &mut Log<'_>, nid: u32) -> Result<(Option<bool>, Option<Node>, Addr)> {
        let existed = self.exists(log, nid)?;
        let old = if existed { Some(self.nodes.current(&mut log.pages, nid)?) } else { None };
        Ok((Some(existed), old, self.nodes.addr(&mut log.pages, nid)?))
    }

    /// Counts a chunk in, and its predecessor out.
    fn count_moved(&mut self, log: &mut Log<'_>, addr: Addr, old: Addr) {
        let added = log.blocks.add(&mut log.pages, addr);
        self.counted(added);
        let released = log.release(old);
        self.counted(released);
    }

    /// Takes away an index node that replay itself had made; those of the checkpoint stay, for a later node of the log
    /// points at them.
    fn drop_replayed(&mut self, log: &mut Log<'_>, nid: u32) -> Result<()> {
        if !self.nodes.has(nid) || self.nodes.addr(&mut log.pages, nid)?.is_stored() {
            return Ok(());
        }
        let node = self.nodes.current(&mut log.pages, nid)?;
        for target in pointers(&node) {
            log.release(target)?;
        }
        for child in children(&node) {
            self.drop_replayed(log, child)?;
        }
        self.nodes.forget(nid);
        Ok(())
    }

    fn adopt_or_lose(&mut self, log: &mut Log<'_>, ino: u32, born: Born) {
        if let Err(error) = self.adopt(log, ino, born) {
            // Its directory may lack the name now.
            if let Ok(dir) = self.inode(log, ino).map(|inode| inode.parent) {
                self.losses.add_new(ino, dir);
            }
            self.losses.add_error(ino, error);
        }
    }

    /// Gives a file that is new since the checkpoint the name in its inode.
    fn adopt(&mut self, log: &mut Log<'_>, ino: u32, born: Born) -> Result<()> {
        let inode = self.inode(log, ino)?;
        let (kind, parent, name) = (inode.kind, inode.parent, inode.name.clone());
        let may_hold = self.exists(log, parent)? && self.directory(log, parent).is_ok();
        if may_hold && !name.is_empty() && self.dir_find(log, parent, &name)?.is_none() {
            if born == Born::Unknown {
                self.losses.add_new(ino, parent);
                return Ok(());
            }
            self.dir_insert(log, (parent, &name), (ino, kind))?;
            let inode = self.inode(log, ino)?;
            let born = inode.btime;
            let dir = self.inode_mut(log, parent)?;
            (dir.mtime, dir.ctime) = (dir.mtime.max(born), dir.ctime.max(born));
        }
        Ok(())
    }
}

impl Log<'_> {
    /// Blocks with parity that a power cut may have prevented or corrupted: all that were not full, and the full one
    /// that was programmed last. A torn page may read as if it were sound.
    fn without_parity(&mut self, checkpoint: &Checkpoint, survey: &Survey) -> Result<Vec<u32>> {
        let mut left = self.pages.guarded();
        if self.params.shape.parity() == 0 {
            return Ok(left);
        }
        let (_, last) = survey.last;
        let open = checkpoint.heads.iter().flatten().map(|(block, _)| *block);
        for block in open.chain(survey.touched.iter().copied()) {
            let end = self.params.page(block, self.params.pages_per_block - 1);
            let is_full = self.pages.peek(end)? != Peek::Erased;
            let medium = self.pages.medium_mut();
            // One of which copies brought pages back may have lost too many for its own parity.
            if block == last
                || !is_full
                || medium.is_tired(block)
                || !medium.has_parity(block).map_err(device)?
            {
                left.push(block);
            }
        }
        Ok(left)
    }

    /// Sets the states of blocks: those with replayed chunks are in use, the rest of the window may be opened.
    fn set_block_states(&mut self, survey: &Survey) -> Result<()> {
        let mut again = vec![];
        for block in &survey.copies {
            self.update(*block, |usage: &mut Usage| {
                (usage.state, usage.head) = (State::Used, ROOT_HEAD);
            })?;
        }
        for block in &survey.touched {
            let usage = self.usage(*block)?;
            let live = usage.valid > 0;
            let head = if live { 1 } else { usage.head };
            self.update(*block, |usage: &mut Usage| {
                usage.state = if live { State::Used } else { State::Dirty };
                usage.head = head;
            })?;
            if !live {
                again.push(Spare { block: *block, erased: false });
            }
        }
        // A record that could not be read may need what it wrote to touched blocks: they are taken last, and not for roots.
        self.pages
            .set_window(survey.untouched.iter().copied().chain(again).chain(survey.roots.iter().copied()));
        self.blocks.forget_dying(&survey.touched);
        Ok(())
    }
}

/// The chunks under a node.
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

/// The nodes under a node.
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
