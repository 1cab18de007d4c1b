//! A mounted volume: the index, the write buffer, the open inodes, and the times of checkpoints.

mod clean;
mod file;
mod names;
mod recovery;
mod xattr;

use std::collections::BTreeMap;

use pumice_common::{Identity, Inodes, Mode};
use pumice_media::AnyChip;
use pumice_vfs::{Attr, Clock, Errno, FsError, Result, SpaceInfo, Timestamp};

use crate::checkpoint::{self, Checkpoint, Ring};
use crate::flash::Flash;
use crate::index::{Census, Index};
use crate::info::{Blocks, Info, Memory};
use crate::inode::{INODES, Inode, Step};
use crate::layout::{BLOCK_BYTES, Layout};
use crate::log::{Log, UNKNOWN};
use crate::spare::Owner;

/// Blocks written between two checkpoints at the most: 4 MB (4.4).
const CHECKPOINT_BLOCKS: u32 = (4 << 20) / 1024;
/// A checkpoint is due each time this part of a small log was written.
const CHECKPOINT_SHARE: u32 = 8;
/// The live blocks in a hundred of the log, at most: round robin copies 1 / (1 - u) as much as it frees.
const LIVE_SHARE: u64 = 88;
/// Blocks of one call that are written before cleaning gets its turn again: at the most, and of a small log this part.
const AT_ONCE: u32 = 64;
const AT_ONCE_SHARE: u32 = 32;

/// The write buffer (4.1): a single block of data.
struct Buffer {
    owner: Owner,
    bytes: Vec<u8>,
    dirty: bool,
}

/// A mounted volume.
pub struct Volume<'c> {
    index: Index<'c>,
    ring: Ring,
    identity: Identity,
    buffer: Option<Buffer>,
    held: BTreeMap<u32, u32>,
    /// No inode number below it is free, except for those that ghosts have.
    unused_from: u32,
    clock: Clock,
    mode: Mode,
    recovered: bool,
    /// The newest checkpoint is an unmount's.
    sealed: bool,
}

impl<'c> Volume<'c> {
    /// An empty volume on a chip after a look at its blocks: the root directory, and the first checkpoint.
    pub(crate) fn make(log: Log<'c>, identity: Identity, root: &Inode) -> Result<AnyChip<'c>> {
        let ring = Ring::fresh(log.shared_flash());
        let roots = vec![crate::layout::Addr::NONE; crate::index::ROOTS as usize];
        let census = Census { highest: 0, inodes: 0, live: 0, roots };
        let mut index = Index::new(log, census, 16)?;
        index.add_inode(1, root)?;
        let clock: Clock = Box::new(Timestamp::default);
        let (buffer, held) = (None, BTreeMap::new());
        let mut volume = Volume {
            index,
            ring,
            identity,
            buffer,
            held,
            unused_from: 2,
            clock,
            mode: Mode::Writable,
            recovered: false,
            sealed: false,
        };
        volume.checkpoint_with(&[], true)?;
        Ok(volume.index.into_chip())
    }

    pub(crate) fn index(&mut self) -> &mut Index<'c> {
        &mut self.index
    }

    pub(crate) fn shared_index(&self) -> &Index<'c> {
        &self.index
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(crate) fn recovered(&self) -> bool {
        self.recovered
    }

    pub(crate) fn layout(&self) -> Layout {
        self.index.shared_log().layout()
    }

    fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Runs a change that writes at most `blocks` blocks and makes `new` of them; refuses it where they do not fit. If it
    /// fails half way the volume is written no more.
    fn change<T>(
        &mut self,
        blocks: u32,
        new: u32,
        change: impl FnOnce(&mut Volume<'c>) -> Result<T>,
    ) -> Result<T> {
        self.writable()?;
        self.admit(new)?;
        self.make_room(blocks)?;
        let done = change(self);
        self.break_on_error(done)
    }

    /// Ends a call on the log: after an error nothing is written any more.
    fn break_on_error<T>(&mut self, done: Result<T>) -> Result<T> {
        if done.is_err() {
            self.mode = Mode::Broken;
        }
        done
    }

    /// Blocks that may be live. Cleaning needs the rest: to begin, for a call, and for blocks dirtied meanwhile.
    pub(crate) fn live_max(&self) -> u32 {
        let capacity = self.index.shared_log().capacity();
        let share = u64::from(capacity) * LIVE_SHARE / 100;
        u32::try_from(share)
            .unwrap_or(u32::MAX)
            .saturating_sub(self.reserve() + 2 * self.at_once() + self.dirty_max())
    }

    /// Dirty blocks with which a checkpoint is due.
    fn dirty_max(&self) -> u32 {
        (self.checkpoint_blocks() / 2).max(16)
    }

    /// Blocks written after which a checkpoint is due.
    fn checkpoint_blocks(&self) -> u32 {
        (self.index.shared_log().capacity() / CHECKPOINT_SHARE).clamp(1, CHECKPOINT_BLOCKS)
    }

    /// Blocks of one call that are written before cleaning gets its turn again.
    fn at_once(&self) -> u32 {
        (self.index.shared_log().capacity() / AT_ONCE_SHARE).clamp(4, AT_ONCE)
    }

    /// Blocks that are free for cleaning and a checkpoint to begin.
    pub(super) fn reserve(&self) -> u32 {
        self.layout().slots() * 8
    }

    /// Refuses blocks that there is no room for. Where only some of a call's blocks may be new, they count all.
    fn admit(&self, new: u32) -> Result<()> {
        let live = self.index.census().live.saturating_add(new);
        if new > 0 && live > self.live_max() { Err(Errno::NoSpace.into()) } else { Ok(()) }
    }

    fn checkpoint_due(&self) -> bool {
        self.index.shared_log().since_checkpoint() >= self.checkpoint_blocks()
            || self.index.dirty_blocks() >= self.dirty_max() as usize
    }

    /// Sees to it that `blocks` blocks can be written, and a checkpoint after them: makes one where it is due, and cleans.
    fn make_room(&mut self, blocks: u32) -> Result<()> {
        if self.checkpoint_due() {
            self.checkpoint()?;
        }
        let most = self.layout().log_blocks();
        for _ in 0..most {
            let dirty = u32::try_from(self.index.dirty_blocks()).unwrap_or(u32::MAX);
            let want = blocks.saturating_mul(2) + self.reserve();
            let free = self.index.shared_log().free();
            // Each dirty block has fewer than six above it.
            if free >= want.saturating_add(dirty.saturating_mul(6))
                || free >= want.saturating_add(self.index.checkpoint_needs())
            {
                return Ok(());
            }
            if !self.clean()? {
                break;
            }
        }
        Err(FsError::new(Errno::NoSpace, "cleaning finds nothing to free".into()))
    }

    /// Section 4.4: writes all modified data to the log, then the checkpoint.
    pub(crate) fn checkpoint(&mut self) -> Result<()> {
        self.checkpoint_with(&[], false)
    }

    /// The same; the erase blocks in `cleaned` hold nothing that is live any more. `last` at the unmount.
    fn checkpoint_with(&mut self, cleaned: &[u32], last: bool) -> Result<()> {
        self.flush_buffer()?;
        if !self.index.is_dirty() && cleaned.is_empty() && (self.sealed || !last) {
            return Ok(());
        }
        self.index.flush_all()?;
        let log = self.index.log();
        if self.sealed && log.since_checkpoint() == 0 {
            // Nothing in the log would tell the next mount that a page in this block may only look erased.
            self.ring.leave_block(log.flash());
        }
        log.tick()?;
        log.release(cleaned)?;
        let mut position = log.position();
        if !last {
            position.unsure = UNKNOWN;
        }
        let census = self.index.census().clone();
        let checkpoint = Checkpoint { census, position, identity: self.identity.clone() };
        self.ring.write(self.index.log().flash(), &checkpoint)?;
        self.sealed = last;
        self.index.log().checkpointed(cleaned)
    }

    /// Writes the buffer of an inode, then the inode.
    fn flush_file(&mut self, ino: u32, step: Step) -> Result<()> {
        if self.buffer.as_ref().is_some_and(|buffer| buffer.owner.ino == ino) {
            self.flush_buffer()?;
        }
        self.index.flush_inode(ino, step)
    }
}

impl Inodes for Volume<'_> {
    type Inode = Inode;

    const INODES: u32 = INODES;

    fn inode(&mut self, ino: u32) -> Result<Inode> {
        self.index.inode(ino)
    }

    fn shown(&self, ino: u32, inode: &Inode) -> Attr {
        inode.attr(ino)
    }

    fn writable(&self) -> Result<()> {
        self.mode.writable()
    }

    fn held(&mut self) -> &mut BTreeMap<u32, u32> {
        &mut self.held
    }

    fn let_go(&mut self, ino: u32) -> Result<()> {
        if self.inode(ino)?.nlink == 0 {
            self.forget_buffer(ino);
            self.index.drop_inode(ino)?;
            self.unused_from = self.unused_from.min(ino);
        }
        Ok(())
    }
}

fn sorted(by_kind: &[u64; 10]) -> [u64; 7] {
    let [_, data, dir, first, second, third, inode, map, index, checkpoint] = *by_kind;
    [data, dir, inode, first + second + third, map, index, checkpoint]
}

impl Volume<'_> {
    /// Memory in use.
    pub fn memory(&self) -> Memory {
        let index = self.shared_index();
        let (now, most) = index.cached();
        Memory {
            checkpoint: BLOCK_BYTES,
            buffer: BLOCK_BYTES,
            map_index: index.indirect_map_blocks() * BLOCK_BYTES,
            metadata: now * BLOCK_BYTES,
            metadata_most: most * BLOCK_BYTES,
        }
    }

    /// The blocks written and read, by type.
    pub fn blocks(&self) -> Blocks {
        let traffic = self.shared_index().shared_log().shared_flash().traffic();
        Blocks { written: sorted(&traffic.written), read: sorted(&traffic.read) }
    }
}

impl<'c> pumice_common::Volume<'c> for Volume<'c> {
    type Info = Info;

    /// Section 4.5: mounts the newest checkpoint, with the log behind it.
    fn mount(nand: AnyChip<'c>, clock: Clock, read_only: bool, cache_bytes: usize) -> Result<Volume<'c>> {
        let mut flash = Flash::new(nand)?;
        let Some((found, mut ring)) = checkpoint::find(&mut flash)? else {
            return Err(FsError::new(Errno::Invalid, "no scaleffs on this chip (no checkpoint)".into()));
        };
        let mut log = Log::new(flash, found.position)?;
        let met = log.scan()?;
        let sealed = found.position.unsure != UNKNOWN;
        if !met.is_empty() || !sealed {
            ring.leave_block(log.flash());
        }
        let index = Index::new(log, found.census, cache_bytes / BLOCK_BYTES)?;
        let all_used = index.census().highest == index.census().inodes;
        let mut volume = Volume {
            unused_from: if all_used { index.census().highest + 1 } else { 1 },
            index,
            ring,
            identity: found.identity,
            buffer: None,
            held: BTreeMap::new(),
            clock,
            mode: Mode::new(read_only),
            recovered: !met.is_empty(),
            sealed,
        };
        if volume.recovered {
            volume.unused_from = 1;
            volume.recover(&met)?;
            if !read_only {
                volume.checkpoint()?;
            }
        }
        Ok(volume)
    }

    /// Writes everything and gives the chip back.
    fn unmount(mut self) -> Result<AnyChip<'c>> {
        if self.mode == Mode::Writable {
            self.release_all()?;
            self.checkpoint_with(&[], true)?;
        }
        Ok(self.index.into_chip())
    }

    /// Gives the chip back as it is.
    fn abandon(self) -> AnyChip<'c> {
        self.index.into_chip()
    }

    fn chip(&self) -> &AnyChip<'c> {
        self.shared_index().shared_log().shared_flash().chip()
    }

    fn info(&self) -> Info {
        let (layout, index) = (self.layout(), self.shared_index());
        let position = index.shared_log().position();
        let identity = self.identity();
        Info {
            label: identity.label.clone(),
            uuid: identity.uuid,
            recovered: self.recovered(),
            erase_blocks: [layout.log_blocks().saturating_sub(position.bad), position.free, position.bad],
            checkpoint_blocks: layout.region_blocks(),
            live_blocks: index.census().live,
            inodes: index.census().inodes,
        }
    }

    fn space(&self) -> SpaceInfo {
        let census = self.shared_index().census();
        let (total, each) = (self.live_max(), BLOCK_BYTES as u64);
        let free = total.saturating_sub(census.live);
        let free_inodes = (INODES - 1).saturating_sub(census.inodes).min(free);
        SpaceInfo {
            block_bytes: 1024,
            total_bytes: u64::from(total) * each,
            free_bytes: u64::from(free) * each,
            inodes: u64::from(census.inodes) + u64::from(free_inodes),
            free_inodes: u64::from(free_inodes),
            name_max: 255,
        }
    }

    /// An inode and its data outlive a power cut: written behind its data and indirect blocks (4.1).
    fn fsync(&mut self, ino: u32) -> Result<()> {
        self.inode(ino)?;
        if self.mode == Mode::ReadOnly {
            return Ok(());
        }
        self.writable()?;
        self.make_room(0)?;
        let done = self.flush_file(ino, Step::Plain).and_then(|()| self.index.log().flash().flush());
        self.break_on_error(done)
    }

    /// Everything outlives a power cut.
    fn sync(&mut self) -> Result<()> {
        if self.mode == Mode::ReadOnly {
            return Ok(());
        }
        self.writable()?;
        self.make_room(0)?;
        let done = self.checkpoint();
        self.break_on_error(done)
    }
}
