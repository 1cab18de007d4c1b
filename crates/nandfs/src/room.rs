//! Room: the space of users, and the reserve that lets everything else always find room.
//!
//! A claim is made when space is promised, in bytes; the reserve is counted in erase blocks. The argument has four
//! parts.
//!
//! 1. What is taken is never more than what is counted. A file block counts with `node / fanout + 1` bytes for its
//!    pointer, so that runs may be scattered later. Nodes count twice: a page is closed when the next node does not
//!    fit. Changed nodes count with the bytes that they will have. `df` divides what is left by a block with its
//!    pointer twice, less eight nodes for the file itself.
//! 2. A checkpoint fits in the window. Before every call the window has blocks for the checkpoint that may follow,
//!    for cleaning one block, and for the checkpoint that gives back what was reclaimed, each at its most. The
//!    first has changed blocks and those of the call, changed nodes, a page of the node table for every changed
//!    node, the block table, a block for each head, and two for records. Of a table that did not change yet no more
//!    is counted than a sixth of the window: at 64 GiB no window holds both tables whole. There this is a measure,
//!    not a proof (`tests/it/large.rs`).
//! 3. Cleaning always gains. Held back are the blocks of anchors, records and heads, both tables, and the stock,
//!    which is what a write needs of the window if nothing else waits. The dead space comes on top, and the
//!    emptiest block has its share of it or more. Each round cleans such a block and makes a checkpoint, so free
//!    blocks grow until the stock is there.
//! 4. Names that move have a share of their own: a rename may fill a bucket, and an inode held open that loses its
//!    name gets one among the orphans.

use pumice_vfs::{Errno, FsError, Result};

use crate::addr::Addr;
use crate::codec::{len32, size};
use crate::files::Files;
use crate::host::{self, Call};
use crate::log::Log;
use crate::moving::Move;
use crate::params::ANCHOR_BLOCKS;
use crate::tag::DESC_BYTES;

/// Blocks that the records of checkpoints take when their present ones are full.
pub(crate) const ROOT_BLOCKS: u32 = 2;

/// Blocks that cleaning one block may open: for survivors that are data and for those that are metadata, for the nodes
/// and table pages that change with them, and one for a program that fails.
pub(crate) const LEAN_BLOCKS: u32 = 4;

/// Bytes that the pointer of a written block may add to its node: two runs, and one pointer in long form.
const POINTER_BYTES: u64 = 2 * 6 + 10;

/// Nodes that a call may make or change besides those with claimed space.
const NODES_OF_CALL: u64 = 8;

/// One in so many blocks is held back for names that are moved.
const NAME_SHARE: u32 = 256;

/// The largest write, in bytes, that gets its room at once, and the share of a chip's blocks that it takes at the most.
const PIECE_MAX: usize = 64 << 10;
const PIECE_SHARE: u32 = 24;

/// One in so many blocks of the window may be kept for a table that did not change yet.
const TABLE_SHARE: u64 = 6;

/// One in so many blocks is kept free in stock: fewer, and checkpoints come often; more, and there is less dead space.
const STOCK_SHARE: u32 = 42;

/// One in so many blocks is held back to be the dead space that cleaning lives on.
const CLEANING_SHARE: u32 = 32;

/// One in so many bytes that users can still write is a burst that idle time prepares for.
const BURST_SHARE: u64 = 10;

/// The figures of room in a volume.
pub(crate) struct Room<'a, 'c> {
    log: &'a Log<'c>,
    files: &'a Files,
}

impl<'a, 'c> Room<'a, 'c> {
    pub(crate) fn of(log: &'a Log<'c>, files: &'a Files) -> Room<'a, 'c> {
        Room { log, files }
    }

    pub(crate) fn has_room(&self, extra: usize) -> bool {
        self.log.pages.spares() >= self.blocks_needed(extra)
    }

    pub(crate) fn out_of_room(&self, extra: usize) -> FsError {
        FsError::new(
            Errno::NoSpace,
            alloc::format!(
                "no block can be reclaimed ({} of {} blocks in the window, {} free, {} candidates)",
                self.log.pages.spares(),
                self.blocks_needed(extra),
                self.log.blocks.free(),
                self.log.blocks.candidates()
            ),
        )
    }

    pub(crate) fn supply(&self) -> u32 {
        self.log.blocks.supply()
    }

    /// True if the window has room for survivors.
    pub(crate) fn may_clean(&self, extra: usize) -> bool {
        self.spare_blocks(extra) > 0
    }

    /// Blocks of the window beyond those that a call needs that writes so many bytes.
    pub(crate) fn spare_blocks(&self, extra: usize) -> u32 {
        self.log.pages.spares().saturating_sub(self.blocks_needed(extra))
    }

    /// True if cleaning is so far behind that it hastens.
    pub(crate) fn is_short(&self) -> bool {
        self.supply() + 2 < self.stock()
    }

    fn heads(&self) -> u32 {
        len32(self.log.pages.head_count())
    }

    /// Log pages that so many bytes of chunks of up to a node take, each chunk in the page being filled or in the next.
    fn pages_of_nodes(&self, bytes: u64) -> u64 {
        let (payload, node) = (u64::from(self.log.params.payload), u64::from(self.log.params.node));
        // The rest of a page is less than the chunk that begins the next one.
        match payload >= 2 * node {
            true => bytes.div_ceil(payload - node) + 1,
            false => (2 * bytes).div_ceil(payload) + 1,
        }
    }

    /// Pages of both tables, at the most.
    fn table_pages(&self) -> u64 {
        self.files.nodes.table.pages_of(self.files.nodes.end())
            + self.log.blocks.table.pages_of(self.log.params.blocks)
    }

    /// Log pages that the table pages of a checkpoint take. The node table changes no more than nodes do; the block
    /// table may change whole, and pages changed by writing it are written once more.
    fn pages_of_tables(&self) -> u64 {
        let per_page = u64::from(self.log.params.payload / self.log.params.node);
        let changed = (self.files.nodes.table.overlay.len() + self.files.nodes.dirty()) as u64;
        let height = u64::from(self.files.nodes.table.height) + 1;
        let nodes = self.files.nodes.table.pages_of(self.files.nodes.end()).min(changed * height);
        let blocks = self.log.blocks.table.pages_of(self.log.params.blocks).min(self.table_room() * per_page);
        (nodes + blocks + height + 1).div_ceil(per_page) + 2
    }

    /// Log pages with room for a table ahead of its changes, at the most: its share of the window. Large chips and
    /// millions of files have tables that no window could take whole.
    fn table_room(&self) -> u64 {
        let window = self.log.window_most() as u64;
        window / TABLE_SHARE * u64::from(self.log.params.pages_per_block)
    }

    /// Log pages of an erase block that take the writes of fsync, or that a head fills at the least.
    fn safe_pages(&self) -> u64 {
        self.log.params.skips.safe_pages.into()
    }

    /// Erase blocks that so many blocks of files may open. Each head that gets pages rolls over once more than they
    /// fill blocks. Blocks of directories go to the head of nodes.
    fn blocks_of_files(&self, blocks: u64) -> u64 {
        let params = &self.log.params;
        let (pages, usable) = match params.packs {
            // Back to back, but for the end of an erase block, where one may find no room.
            true => {
                let bytes = blocks * u64::from(params.block + DESC_BYTES);
                let lost = (params.block + DESC_BYTES).div_ceil(params.payload);
                (bytes.div_ceil(params.payload.into()), self.safe_pages() - u64::from(lost))
            }
            false => (blocks.div_ceil(params.slots.into()), self.safe_pages()),
        };
        let heads = u64::from(self.heads());
        ((pages + heads) / usable + heads).min(blocks)
    }

    /// Blocks of files that a checkpoint made now writes, with `extra` bytes that are about to be written; and log pages of
    /// nodes and tables.
    fn written_by_checkpoint(&self, extra: usize) -> (u64, u64) {
        let block = u64::from(self.log.params.block);
        let fresh = (extra as u64).div_ceil(block) + u64::from(extra > 0);
        let blocks = self.files.cache.dirty_bytes() as u64 / block + fresh;
        let node = u64::from(self.log.params.node);
        let call = if extra > 0 { NODES_OF_CALL * node } else { 0 };
        let nodes = self.files.nodes.dirty_bytes() + blocks * POINTER_BYTES + call;
        (blocks, self.pages_of_nodes(nodes) + self.pages_of_tables() + u64::from(self.heads()))
    }

    /// Bytes that the host's disk has left for users; none if it cannot be full.
    pub(crate) fn host_room(&self) -> Result<Option<u64>> {
        let room = host::room(self.log.pages.medium())?;
        Ok(room.map(|room| Call::Any.left(room, self.checkpoint_pages(0), self.log.params.payload)))
    }

    /// Log pages that a checkpoint made now may program, those of roots among them.
    fn checkpoint_pages(&self, extra: usize) -> u64 {
        let (blocks, pages) = self.written_by_checkpoint(extra);
        let of_files = blocks.div_ceil(self.log.params.slots.into());
        let of_block = u64::from(self.log.params.block.div_ceil(self.log.params.payload));
        of_files * of_block + u64::from(self.heads()) + pages + 2 * u64::from(ROOT_BLOCKS)
    }

    /// Erase blocks that a checkpoint made now may open, with `extra` bytes of files that are about to be written.
    pub(crate) fn checkpoint_blocks(&self, extra: usize) -> u32 {
        let (blocks, pages) = self.written_by_checkpoint(extra);
        let full = pages.div_ceil(self.safe_pages()) + self.blocks_of_files(blocks);
        u32::try_from(full).unwrap_or(u32::MAX - self.log.params.blocks)
            + ROOT_BLOCKS
            + self.log.params.copy_blocks
    }

    /// Erase blocks of a checkpoint that follows another and finds only the tables changed: there is room in the blocks
    /// of its records.
    fn idle_blocks(&self) -> u32 {
        let pages = self.table_pages().div_ceil(u64::from(self.log.params.payload / self.log.params.node));
        let pages = pages.min(self.table_room()) + 4 + u64::from(self.log.params.skips.lost);
        let blocks = u32::try_from(pages.div_ceil(self.log.params.pages_per_block.into()));
        blocks.unwrap_or(self.log.params.blocks) + 1 + self.log.params.copy_blocks
    }

    /// Blocks that the window must have before a call that writes so many bytes: for the checkpoint that may follow it,
    /// for cleaning a block, and for the checkpoint that frees reclaimed blocks. An fsync, too, may copy all parity
    /// anew. Of the blocks for cleaning some are open already if a block is being emptied.
    pub(crate) fn blocks_needed(&self, extra: usize) -> u32 {
        let opened = self.log.cleaner.moving().map_or(0, Move::opened);
        let cleaning = LEAN_BLOCKS.saturating_sub(opened);
        self.checkpoint_blocks(extra) + self.idle_blocks() + cleaning + self.log.params.copy_blocks
    }

    /// Bytes of a write that get their room at once: a small chip has less of it.
    pub(crate) fn piece_bytes(&self) -> usize {
        let share =
            (self.log.params.blocks / PIECE_SHARE).max(1) as usize * self.log.params.block_payload() as usize;
        share.min(PIECE_MAX)
    }

    /// Free blocks that cleaning keeps in stock: those that a write needs if nothing else waits, and some for others.
    pub(crate) fn stock(&self) -> u32 {
        let window = len32(self.log.window_most()) / 2;
        let blocks =
            len32(self.piece_bytes()).div_ceil(self.log.params.skips.safe_pages * self.log.params.payload);
        let roots = 3 * (ROOT_BLOCKS + self.log.params.copy_blocks);
        let write = 2 * self.idle_blocks() + self.heads() + blocks + LEAN_BLOCKS + roots;
        (self.log.params.blocks / STOCK_SHARE).min(window).max(write)
    }

    /// Bytes of all chunks.
    pub(crate) fn live_bytes(&self) -> u64 {
        self.files.data_blocks * u64::from(self.log.params.unit()) + self.files.nodes.bytes
    }

    /// Free blocks that idle time brings the supply to: enough for a burst of a tenth of the bytes that users can still
    /// write. Half of the bytes that cleaning can reclaim are enough, if they are fewer.
    pub(crate) fn idle_stock(&self) -> u32 {
        let in_blocks = |bytes: u64| len32(size(bytes.div_ceil(self.log.params.block_payload().into())));
        let good = self.log.params.blocks - self.log.blocks.bad().min(self.log.params.blocks);
        let dead =
            good.saturating_sub(in_blocks(self.live_bytes()) + ANCHOR_BLOCKS + ROOT_BLOCKS + self.heads());
        let burst = 2 * in_blocks(self.free_bytes() / BURST_SHARE) + self.heads();
        let stock = self.stock();
        stock + burst.min(dead.saturating_sub(stock) / 2)
    }

    /// Blocks never given to users: anchors, those of checkpoints, open heads, both tables, the stock, the dead space
    /// for cleaning, and room for names.
    fn reserved_blocks(&self) -> u32 {
        let tables = self.pages_of_nodes(self.table_pages() * u64::from(self.log.params.node));
        let tables = u32::try_from(tables / u64::from(self.log.params.pages_per_block))
            .unwrap_or(self.log.params.blocks);
        // Of each block that cleaning fills, the pages that it has to pass over are dead from the start.
        let skipped =
            (self.log.params.blocks * self.log.params.skips.lost).div_ceil(self.log.params.pages_per_block);
        let cleaning = (self.log.params.blocks / CLEANING_SHARE).max(4) + skipped;
        let names = self.log.params.blocks / NAME_SHARE + 1;
        // Those of before a cut are kept for a while.
        let copies = 2 * self.log.params.copy_blocks;
        ANCHOR_BLOCKS + ROOT_BLOCKS + self.heads() + tables + self.stock() + cleaning + names + copies
    }

    /// Bytes that users can fill in all.
    pub(crate) fn total_bytes(&self) -> u64 {
        let good = self.log.params.blocks.saturating_sub(self.log.blocks.bad() + self.reserved_blocks());
        u64::from(good) * u64::from(self.log.params.usable_payload())
    }

    /// True if too many blocks have gone bad: one is left for anchors, or the stored data leaves cleaning less than half of
    /// the dead space held back for it.
    pub(crate) fn is_at_end(&self) -> bool {
        let lent = u64::from((self.log.params.blocks / CLEANING_SHARE).max(4) / 2);
        let is_short = self.log.blocks.bad() > 0
            && self.used_bytes() > self.total_bytes() + lent * u64::from(self.log.params.block_payload());
        is_short || self.log.roots.are_at_last_block()
    }

    /// Bytes that so many blocks of files take, each with its pointer.
    fn bytes_of_blocks(&self, blocks: u64) -> u64 {
        blocks * self.bytes_of_charge(self.log.params.charge(Addr::RESERVED).into())
    }

    /// Bytes of a charge, with the pointers.
    fn bytes_of_charge(&self, charge: u64) -> u64 {
        // Where blocks may be compressed the pointer is in the charge.
        let pointer = if self.log.params.packs { 0 } else { u64::from(self.log.params.share_of_node()) };
        charge * (u64::from(self.log.params.unit()) + pointer)
    }

    /// Bytes taken: blocks of files with their pointers, however scattered they may be one day, and nodes with the
    /// waste of packing them.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.bytes_of_charge(self.files.data_blocks) + 2 * self.files.nodes.expected_bytes()
    }

    /// Bytes that one file can get now, to the last.
    pub(crate) fn free_bytes(&self) -> u64 {
        let (block, share) = (u64::from(self.log.params.block), u64::from(self.log.params.share_of_node()));
        let inode = NODES_OF_CALL * 2 * u64::from(self.log.params.node);
        let free = self.total_bytes().saturating_sub(self.used_bytes() + inode);
        // A block takes its pointer twice: where it is, and where it may have to go.
        free / (self.bytes_of_blocks(1) + share) * block
    }

    /// Bytes beyond the space of users that names may take, so that a full volume can be tidied up.
    fn name_bytes(&self) -> u64 {
        u64::from(self.log.params.blocks / NAME_SHARE + 1) * u64::from(self.log.params.block_payload())
    }
}

impl Files {
    /// Refuses a call that writes `extra` bytes of files if the host's disk is too full for it.
    pub(crate) fn check_host(&mut self, log: &mut Log<'_>, extra: usize, call: Call) -> Result<()> {
        let Some(room) = host::room(log.pages.medium())? else { return Ok(()) };
        self.nodes.measure();
        call.check(room, Room::of(log, self).checkpoint_pages(extra), self.params.payload)
    }

    /// Begins a call: its claims are counted from here.
    pub(crate) fn begin_claims(&mut self, log: &mut Log<'_>) {
        self.nodes.measure();
        self.claims.begin(Room::of(log, self).used_bytes());
    }

    /// Takes a block for names. A call that moves a name or takes one away finds room where nothing else does.
    pub(crate) fn claim_bucket(&mut self, log: &mut Log<'_>) -> Result<()> {
        let spare = if self.claims.moves_names() { Room::of(log, self).name_bytes() } else { 0 };
        self.claims.take(Room::of(log, self).bytes_of_blocks(1), Room::of(log, self).total_bytes() + spare)
    }

    /// Fails unless `bytes` more can be taken by this call.
    pub(crate) fn claim(&mut self, log: &mut Log<'_>, bytes: u64) -> Result<()> {
        self.claims.take(bytes, Room::of(log, self).total_bytes())
    }

    /// Takes the bytes that an overwritten block may grow beyond its chunk.
    pub(crate) fn claim_growth(&mut self, log: &mut Log<'_>, addr: Addr) -> Result<()> {
        match self.params.charge(Addr::RESERVED) - self.params.charge(addr) {
            // Blocks may have gone bad since: stored blocks can be written over until the chip's end is near.
            0 => Ok(()),
            more => self.claim(log, Room::of(log, self).bytes_of_charge(more.into())),
        }
    }

    /// Takes blocks for files: `claim` with their pointers.
    pub(crate) fn claim_blocks(&mut self, log: &mut Log<'_>, blocks: u64) -> Result<()> {
        self.claim(log, Room::of(log, self).bytes_of_blocks(blocks))
    }
}
