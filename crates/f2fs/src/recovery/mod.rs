//! Rolling forward: the promises of fsync since the checkpoint are in a chain of nodes, which begins at the head of the
//! log of warm nodes. It is replayed in memory as the kernel replays it at its mount.

mod entries;
mod nodes;

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt,
};

use pumice_vfs::Timestamp;

use crate::{
    error::{Error, Place, Result, corrupt},
    layout::{BlockAddr, CpFlags, Features, Nid, NodeFooter, NodeOffset},
    nodes::Nodes,
    volume::{Block, footer},
};

/// The counts of a roll-forward.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Recovery {
    /// Inodes with something that fsync promised.
    pub inodes: usize,
    /// Nodes that were replayed.
    pub nodes: u64,
    /// Names that were made.
    pub names: u64,
}

/// A promise of fsync that cannot be kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokenPromise {
    /// The inode; `None` if it is about all that was promised since the checkpoint.
    pub ino: Option<Nid>,
    /// The reason.
    pub why: String,
}

impl BrokenPromise {
    /// The promises of an inode.
    pub(crate) fn of(ino: Nid, why: impl fmt::Display) -> BrokenPromise {
        BrokenPromise { ino: Some(ino), why: why.to_string() }
    }

    /// All of them.
    pub(crate) fn of_all(why: impl fmt::Display) -> BrokenPromise {
        BrokenPromise { ino: None, why: why.to_string() }
    }
}

impl fmt::Display for BrokenPromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ino {
            Some(ino) => write!(f, "promises of fsync to inode {ino}: {}", self.why),
            None => write!(f, "promises of fsync since the checkpoint: {}", self.why),
        }
    }
}

/// The facts about an inode in the chain.
struct Entry {
    /// Its last node with an fsync mark: later ones were not promised.
    last: BlockAddr,
    /// Its last inode that bears the mark of a new name.
    last_dentry: Option<BlockAddr>,
    /// Its first, if no inode had its number: nodes that it owns may come before it.
    made_by: Option<BlockAddr>,
}

/// A replay under way.
struct Replay<'a> {
    nodes: &'a mut Nodes,
    /// The time at which directories change.
    now: Timestamp,
    entries: BTreeMap<Nid, Entry>,
    done: Recovery,
    /// The end of the chain, if inodes are left out whose nodes make no sense.
    end: Option<u64>,
    /// The inodes that were left out.
    broken: Vec<BrokenPromise>,
}

impl Nodes {
    /// Rolls forward, in memory. Directories that gain names change at `now`.
    pub fn recover(&mut self, now: Timestamp) -> Result<Recovery> {
        self.roll(now, None).map(|(recovery, _)| recovery)
    }

    /// Rolls forward as far as the nodes make sense: a promise that does not is left out, and others are kept. A chain
    /// that comes back to itself ends there.
    pub(crate) fn recover_sound(&mut self, now: Timestamp) -> Result<(Recovery, Vec<BrokenPromise>)> {
        let end = self.chain_blocks()?.len() as u64;
        self.roll(now, Some(end))
    }

    fn roll(&mut self, now: Timestamp, end: Option<u64>) -> Result<(Recovery, Vec<BrokenPromise>)> {
        // A volume that was made to be read was never written to since. While checkpoints are switched off fsync promises
        // nothing.
        let is_paused = self.chained().flags().has(CpFlags::DISABLED);
        if self.volume().features().has(Features::RO) || is_paused {
            return Ok((Recovery::default(), Vec::new()));
        }
        let entries = self.promised(end)?;
        let (done, broken) = (Recovery::default(), Vec::new());
        let mut replay = Replay { nodes: self, now, entries, done, end, broken };
        replay.done.inodes = replay.entries.len();
        if !replay.entries.is_empty() {
            replay.run()?;
        }
        Ok((replay.done, replay.broken))
    }

    /// The nodes of the chain, in their order. One that comes back to itself is an error, unless its end is known.
    fn chain(&self, end: Option<u64>) -> Chain<'_> {
        let (segno, offset) = self.chained().node_log(1);
        let next = self.volume().segment_start(segno).plus(u32::from(offset)).unwrap_or(BlockAddr::NULL);
        Chain { nodes: self, next, seen: 0, turtle: next, limit: 1, end }
    }

    /// The addresses of the nodes of the chain, up to where it comes back to itself.
    pub(crate) fn chain_blocks(&self) -> Result<Vec<BlockAddr>> {
        let (mut chain, mut blocks, mut seen) = (self.chain(Some(u64::MAX)), Vec::new(), HashSet::new());
        while let Some(link) = chain.next()?.filter(|link| seen.insert(link.addr)) {
            blocks.push(link.addr);
        }
        Ok(blocks)
    }

    /// Inodes that fsync promised something of, as far as the chain does not come back to itself.
    pub(crate) fn promised_inodes(&self) -> Result<Vec<Nid>> {
        let end = self.chain_blocks()?.len() as u64;
        Ok(self.promised(Some(end))?.into_keys().collect())
    }

    /// The same, with the facts about each.
    fn promised(&self, end: Option<u64>) -> Result<BTreeMap<Nid, Entry>> {
        let orphans: BTreeSet<Nid> =
            self.volume().orphan_blocks()?.into_iter().flat_map(|block| block.inodes).collect();
        let mut entries: BTreeMap<Nid, Entry> = BTreeMap::new();
        let mut chain = self.chain(end);
        while let Some(link) = chain.next()? {
            let ino = link.footer.ino;
            let new_name = link.is_inode() && link.footer.is_dentry;
            // A node of an inode that nobody knows yet may come before that inode's own.
            let has_inode = self.has_inode(ino)?;
            let known = entries.contains_key(&ino) || new_name || has_inode;
            if !link.footer.is_fsync || !known || orphans.contains(&ino) || !self.is_file_number(ino) {
                continue;
            }
            let made_by = (!has_inode).then_some(link.addr);
            let entry = entries.entry(ino).or_insert(Entry { last: link.addr, last_dentry: None, made_by });
            entry.last = link.addr;
            if new_name {
                entry.last_dentry = Some(link.addr);
            }
        }
        Ok(entries)
    }

    fn is_file_number(&self, ino: Nid) -> bool {
        ino >= self.volume().super_block().root() && ino.0 < self.volume().super_block().nid_limit()
    }
}

/// A node of the chain.
struct Link {
    addr: BlockAddr,
    footer: NodeFooter,
    block: Block,
}

impl Link {
    fn is_inode(&self) -> bool {
        self.footer.is_inode() && self.footer.offset == NodeOffset::INODE
    }
}

/// Walks the chain, and notices when it goes round in a circle (Brent's way).
struct Chain<'a> {
    nodes: &'a Nodes,
    next: BlockAddr,
    seen: u64,
    turtle: BlockAddr,
    limit: u64,
    /// The number of nodes, if it is known.
    end: Option<u64>,
}

impl Chain<'_> {
    fn next(&mut self) -> Result<Option<Link>> {
        if self.end == Some(self.seen) || !self.nodes.volume().is_main(self.next) {
            return Ok(None);
        }
        let (addr, block) = (self.next, self.nodes.volume().block(self.next)?);
        let footer = footer(&block, addr)?;
        if !self.belongs(&footer) {
            return Ok(None);
        }
        self.next = footer.next;
        self.seen += 1;
        if self.end.is_none() && self.next == self.turtle {
            return Err(corrupt(
                Place::Block(addr),
                "the chain of promised nodes comes back to",
                self.next.0,
                0_u32,
            ));
        }
        if self.seen == self.limit {
            self.turtle = self.next;
            self.limit = self.limit.saturating_mul(2);
        }
        Ok(Some(Link { addr, footer, block }))
    }

    /// True if the node was written after the checkpoint and before the next one.
    fn belongs(&self, footer: &NodeFooter) -> bool {
        let cp = self.nodes.chained();
        if cp.flags().has(CpFlags::NOCRC_RECOVERY) {
            // Only the lower half counts.
            return footer.cp_version << 32 == cp.version() << 32;
        }
        footer.cp_version == cp.footer_version()
    }
}

impl Replay<'_> {
    fn run(&mut self) -> Result<()> {
        let made = |(ino, entry): (&Nid, &Entry)| Some((*ino, entry.made_by?));
        let made: Vec<(Nid, BlockAddr)> = self.entries.iter().filter_map(made).collect();
        for (ino, addr) in made {
            let done = self.make_inode(addr);
            self.or_leave_out(ino, done)?;
        }
        // The chain was walked once: it ends.
        let (mut next, mut seen) = (self.nodes.chain(None).next, 0);
        while let Some(link) = (Chain { next, seen, ..self.nodes.chain(self.end) }).next()? {
            (next, seen) = (link.footer.next, seen + 1);
            let done = self.link(&link);
            self.or_leave_out(link.footer.ino, done)?;
        }
        Ok(())
    }

    /// Damage to an inode ends the replay, or leaves out what comes of that inode.
    fn or_leave_out(&mut self, ino: Nid, done: Result<()>) -> Result<()> {
        match done {
            Err(error @ Error::Corrupt(_)) if self.end.is_some() => {
                self.entries.remove(&ino);
                self.broken.push(BrokenPromise::of(ino, error));
                Ok(())
            }
            done => done,
        }
    }

    fn link(&mut self, link: &Link) -> Result<()> {
        let ino = link.footer.ino;
        let Some(entry) = self.entries.get(&ino) else { return Ok(()) };
        let (is_last, has_name) = (entry.last == link.addr, entry.last_dentry == Some(link.addr));
        if link.is_inode() {
            self.inode(link)?;
        }
        if has_name {
            self.name(link)?;
        }
        self.node(link)?;
        self.done.nodes += 1;
        if is_last {
            self.entries.remove(&ino);
        }
        Ok(())
    }
}
