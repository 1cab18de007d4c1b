//! Section 2.1: metadata and data go to separate blocks, which are filled page by page.

use pumice_common::{PageCache, chip, damaged};
use pumice_media::NandError;
use pumice_vfs::{Errno, FsError, Result};

use crate::flash::Flash;
use crate::layout::{Addr, Layout};
use crate::map_block::InodeBlockHash;
use crate::spare::{self, Kind, Mark};
use crate::usage::{Role, Usage};

/// The block of a role that is being filled.
#[derive(Clone, Copy)]
struct Head {
    block: u32,
    /// The next page.
    index: u32,
}

/// Pages written since the mount: inodes, data, index, and those of them that collection copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// Inode pages.
    pub inodes: u64,
    /// Chunks of files.
    pub data: u64,
    /// Index pages.
    pub index: u64,
    /// Pages written for the sake of garbage collection, of any of these.
    pub copied: u64,
    /// Blocks reclaimed.
    pub reclaimed: u64,
}

/// Pages of the smallest cache.
const CACHE_MIN: usize = 16;

/// The chip, the use of its blocks, and the cache.
pub(crate) struct Store<'c> {
    flash: Flash<'c>,
    pub(crate) usage: Usage,
    hash: InodeBlockHash,
    /// Section 2.3: the cache list, inode pages and index pages. Files in it keep their index entries in memory.
    cache: PageCache<Addr, Vec<u8>>,
    inode_head: Option<Head>,
    data_head: Option<Head>,
    written: Written,
}

impl<'c> Store<'c> {
    pub(crate) fn new(flash: Flash<'c>, cache_pages: usize) -> Store<'c> {
        let usage = Usage::new(flash.layout());
        Store {
            flash,
            usage,
            hash: InodeBlockHash::new(),
            cache: PageCache::new(cache_pages.max(CACHE_MIN)),
            inode_head: None,
            data_head: None,
            written: Written::default(),
        }
    }

    pub(crate) fn layout(&self) -> Layout {
        self.flash.layout()
    }

    pub(crate) fn flash(&mut self) -> &mut Flash<'c> {
        &mut self.flash
    }

    pub(crate) fn shared_flash(&self) -> &Flash<'c> {
        &self.flash
    }

    pub(crate) fn hash(&mut self) -> &mut InodeBlockHash {
        &mut self.hash
    }

    pub(crate) fn written(&self) -> Written {
        self.written
    }

    /// Pages in the cache.
    pub(crate) fn cached(&self) -> usize {
        self.cache.len()
    }

    pub(crate) fn into_flash(self) -> (Flash<'c>, InodeBlockHash) {
        (self.flash, self.hash)
    }

    fn head(&mut self, role: Role) -> &mut Option<Head> {
        match role {
            Role::Inode => &mut self.inode_head,
            Role::Data => &mut self.data_head,
        }
    }

    /// Pages that can be written for a role before a new block is opened.
    pub(crate) fn tail(&self, role: Role) -> u32 {
        let head = if role == Role::Inode { self.inode_head } else { self.data_head };
        head.map_or(0, |head| self.layout().pages() - head.index)
    }

    /// Writes a page behind those of its role; it is live from now on.
    pub(crate) fn append(&mut self, mark: Mark, page: &[u8]) -> Result<Addr> {
        let role = if mark.kind.is_inode() { Role::Inode } else { Role::Data };
        let layout = self.layout();
        loop {
            let head = match *self.head(role) {
                Some(head) => head,
                None => self.open(role)?,
            };
            let at = layout.addr(head.block, head.index);
            let next = Head { block: head.block, index: head.index + 1 };
            let programmed = self.flash.program(at, page, spare::encode(mark, page));
            *self.head(role) = Some(next);
            match programmed {
                Ok(()) => {}
                Err(NandError::ProgramFailed(_)) => {
                    self.usage.suspect(head.block);
                    self.close(role, head.block);
                    continue;
                }
                Err(error) => return Err(chip(error)),
            }
            match mark.kind {
                Kind::Inode | Kind::Removed => {
                    self.usage.add_resident(head.block, mark.ino);
                    self.written.inodes += 1;
                }
                Kind::Data => self.written.data += 1,
                _ => self.written.index += 1,
            }
            if mark.kind != Kind::Data {
                self.cache.insert(at, page.to_vec());
            }
            self.usage.mark(at);
            if next.index >= layout.pages() {
                self.close(role, head.block);
            }
            return Ok(at);
        }
    }

    fn close(&mut self, role: Role, block: u32) {
        *self.head(role) = None;
        self.usage.close(block);
    }

    fn open(&mut self, role: Role) -> Result<Head> {
        loop {
            let Some((block, erased)) = self.usage.take(role) else {
                return Err(FsError::new(Errno::NoSpace, "no free block is left".into()));
            };
            if erased || self.flash.erase(block)? {
                if role == Role::Inode {
                    self.hash.insert(block);
                }
                let head = Head { block, index: 0 };
                *self.head(role) = Some(head);
                return Ok(head);
            }
            self.usage.close(block);
            self.usage.drop_residents(block);
            self.usage.reclaimed(block, false);
        }
    }

    /// The page of an inode or of the index, from the cache or the chip.
    pub(crate) fn metadata(&mut self, at: Addr, want: Mark) -> Result<&[u8]> {
        if self.cache.get(at).is_none() {
            let page = self.flash.read(at, want)?;
            self.cache.insert(at, page);
        }
        let kept = self.cache.get(at).map(Vec::as_slice);
        kept.ok_or_else(|| damaged(format_args!("page {} is gone from the cache", at.0)))
    }

    /// Reads a chunk of a file.
    pub(crate) fn data(&mut self, at: Addr, ino: u32, chunk: u32) -> Result<Vec<u8>> {
        self.flash.read(at, Mark { kind: Kind::Data, ino, number: chunk })
    }

    /// Erases a block without live pages; returns the inodes whose pages were in it.
    pub(crate) fn reclaim(&mut self, block: u32) -> Result<Vec<u32>> {
        debug_assert!(self.usage.is_empty(block), "block {block} holds something");
        let layout = self.layout();
        let is_good = if self.usage.is_suspect(block) {
            self.flash.mark_bad(block)?;
            false
        } else {
            self.flash.erase(block)?
        };
        self.cache.forget(layout.addr(block, 0), Addr(layout.addr(block, 0).0 + layout.pages()));
        self.hash.remove(block);
        let gone = self.usage.drop_residents(block);
        self.usage.reclaimed(block, is_good);
        self.written.reclaimed += 1;
        Ok(gone)
    }

    /// Counts pages that were written for garbage collection.
    pub(crate) fn count_copied(&mut self, before: Written) {
        let sum = |written: Written| written.inodes + written.data + written.index;
        self.written.copied += sum(self.written) - sum(before);
    }
}
