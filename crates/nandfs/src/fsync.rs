//! The writes of fsync: no more than recovery needs.
//!
//! - Data alone changed: the blocks, each tagged with inode and index; the last page carries the commit mark and the
//!   time. No node is written.
//! - Attributes, inline data, or blocks already written back: the changed nodes of the inode as well, the last page of
//!   nodes carrying the mark.
//! - Names changed: records of all changes of names so far, and with them the new inodes. A new file alone needs none:
//!   recovery takes its name from its inode.
//! - Index nodes changed their parents, or more names changed than records tell: a checkpoint.

use alloc::{collections::BTreeSet, vec::Vec};

use pumice_vfs::{Errno, FileKind, FsError, Result, Timestamp};

use crate::codec::len32;
use crate::dir::print_of;
use crate::error::device;
use crate::names::{Change, Directory, Link, NameRecord, Touch};
use crate::node::{Body, Inode};
use crate::pages::{DATA, META, SYNC};
use crate::promise::{PROMISE_BYTES, Promised};
use crate::tag::{ChunkKind, desc};
use crate::volume::Volume;

/// Reads that recovery needs to reach an inode: node table twice, node once.
const READS_TO_INODE: u32 = 3;

/// The way of an fsync.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// The changes of the inode.
    Alone,
    /// All changes of names, and those of the inode.
    Names,
    Checkpoint,
}

/// The most new inodes in records of names; a checkpoint costs no more than more of them.
const NEW_MAX: usize = 4;

impl Volume<'_> {
    /// Fails if waiting changes cannot be written any more.
    pub(crate) fn check_end(&self) -> Result<()> {
        match self.log.blocks.lost() {
            _ if !self.has_changes() => Ok(()),
            Some(why) => Err(FsError::new(Errno::Io, why.into())),
            None if self.log.status.is_cut_short() => Err(self.log.worn_out_error()),
            None => Ok(()),
        }
    }

    /// Makes an inode durable; a directory with its names.
    pub(crate) fn fsync_node(&mut self, ino: u32) -> Result<()> {
        self.check_end()?;
        let inode = self.files.inode(&mut self.log, ino)?;
        let (kind, nlink) = (inode.kind, inode.nlink);
        if self.log.status.is_read_only() || nlink == 0 {
            // An inode without a name cannot be reached after a power cut.
            return Ok(());
        }
        self.settle()?;
        if self.log.recorded.is_clean() && !self.has_changes() {
            return Ok(());
        }
        // Making room may make a checkpoint: the remaining work is known only then.
        self.make_room(0)?;
        let file = (kind != FileKind::Dir).then_some(ino);
        match (self.way_of(ino, file)?, file) {
            (Way::Alone, Some(ino)) => self.fsync_alone(ino),
            (Way::Alone, None) => Ok(()),
            (Way::Names, _) => self.fsync_names(file),
            (Way::Checkpoint, _) => self.checkpoint(false),
        }
    }

    /// The way to make an inode durable; `file` is it, unless it is a directory.
    fn way_of(&mut self, ino: u32, file: Option<u32>) -> Result<Way> {
        if self.files.pending(ino).is_some_and(|pending| pending.needs_checkpoint) {
            return Ok(Way::Checkpoint);
        }
        let with_names = match file {
            None => !self.names.is_empty(),
            Some(_) => match self.names.of(ino) {
                None => false,
                Some(Touch { moved: true, .. }) => true,
                // Recovery gives a new file the name that its inode tells, if nothing stands in the way.
                Some(_) => {
                    let parent = self.files.inode(&mut self.log, ino)?.parent;
                    self.names.of(parent).is_some_and(|parent| parent.made || parent.moved)
                }
            },
        };
        match with_names {
            false => Ok(Way::Alone),
            true => Ok(if self.can_tell_names(file)? { Way::Names } else { Way::Checkpoint }),
        }
    }

    /// True if records can tell all changes of names.
    fn can_tell_names(&mut self, file: Option<u32>) -> Result<bool> {
        let mut new = 0;
        for (ino, touch) in self.names.touched() {
            let pending = self.files.pending(ino).unwrap_or_default();
            // If the page is lost, the next one tells its names, but not how many links its directories have.
            if pending.needs_checkpoint || touch.relinked {
                return Ok(false);
            }
            let Some(inode) = self.named(ino)? else { continue };
            let is_dir = inode.kind == FileKind::Dir;
            // Nor that other names of an inode, which no change leads to, tell of fewer links.
            if !is_dir && touch.moved && (inode.nlink > 1 || !self.names.lead_to(ino)) {
                return Ok(false);
            }
            new += usize::from(!is_dir && touch.made && !pending.logged && file != Some(ino));
        }
        if !self.names.fit() || new > NEW_MAX {
            return Ok(false);
        }
        let room = self.log.params.payload as usize - PROMISE_BYTES;
        let records = self.name_records(&[])?;
        Ok(records.iter().all(|(record, _)| record.encode().len() <= room))
    }

    /// An inode that has a name.
    fn named(&mut self, ino: u32) -> Result<Option<&Inode>> {
        if !self.files.exists(&mut self.log, ino)? {
            return Ok(None);
        }
        let inode = self.files.inode(&mut self.log, ino)?;
        Ok(Some(inode).filter(|inode| inode.nlink > 0))
    }

    /// The records that tell all changes of names, each with its page's promise; these inodes are promised whole.
    fn name_records(&mut self, whole: &[u32]) -> Result<Vec<(NameRecord, Promised)>> {
        let pages = self.names.pages();
        let last = pages.len() - 1;
        let mut told = BTreeSet::new();
        let mut records = Vec::new();
        for (number, changes) in pages.into_iter().enumerate() {
            let mut record = NameRecord::default();
            let dirs = || changes.iter().map(|change| change.dir);
            let named = changes.iter().filter_map(|change| change.meaning.map(|(ino, _)| ino));
            let mut inos: BTreeSet<u32> = dirs().chain(named).collect();
            if number == last {
                let rest = self.names.touched().into_iter().map(|(ino, _)| ino);
                inos.extend(rest.filter(|ino| !told.contains(ino)));
            }
            for ino in inos {
                told.insert(ino);
                match self.named(ino)? {
                    Some(inode) if inode.kind == FileKind::Dir => {
                        record.directories.push(Directory::of(ino, inode));
                    }
                    inode => {
                        let (nlink, ctime) =
                            inode.map_or((0, Timestamp::default()), |inode| (inode.nlink, inode.ctime));
                        record.links.push(Link { ino, whole: whole.contains(&ino), nlink, ctime });
                    }
                }
            }
            let first = dirs().next().unwrap_or(0);
            let dir = if dirs().all(|dir| dir == first) { first } else { 0 };
            let print = |change: &Change| print_of(self.files.name_hash(&change.name), change.dir);
            let one = changes.first().map_or(0, print);
            let other = changes.last().map_or(0, print);
            record.changes.clone_from(&changes);
            for change in &mut record.changes {
                change.born = change.meaning.map_or(0, |(ino, _)| self.files.born(&mut self.log, ino));
            }
            records.push((record, Promised::Names { dir, prints: [one, other] }));
        }
        Ok(records)
    }

    /// Makes all changes of names durable, with the inodes that are new, and with a file.
    fn fsync_names(&mut self, file: Option<u32>) -> Result<()> {
        let mut whole: Vec<u32> = Vec::new();
        for (ino, touch) in self.names.touched() {
            let logged = self.files.pending(ino).is_some_and(|pending| pending.logged);
            let is_file = self.named(ino)?.is_some_and(|inode| inode.kind != FileKind::Dir);
            if is_file && touch.made && !logged {
                whole.push(ino);
            }
        }
        whole.extend(file.filter(|ino| !whole.contains(ino)));
        for ino in &whole {
            // Until the records are there, the nodes have to tell.
            self.files.pend(*ino).unlogged = true;
            self.write_synced(*ino)?;
            self.log.program(&mut self.files, SYNC, None)?;
            self.program_data_of(*ino)?;
        }
        self.log.program(&mut self.files, META, None)?;
        self.log.keep_written(&mut self.files)?;
        let is_new = |ino: u32| self.names.of(ino).is_some_and(|touch| touch.made);
        // One new inode may share the page of its name: if that page is lost, the inode cannot be reached.
        let shares = matches!(*whole, [only] if is_new(only));
        let done = self.write_names(&whole, shares);
        self.log.pages.promise(None);
        done?;
        for ino in &whole {
            let pending = self.files.pend(*ino);
            (pending.unlogged, pending.logged) = (false, true);
        }
        for (ino, _) in self.names.touched() {
            if self.files.pending(ino).is_some_and(|pending| !pending.created && !pending.synced) {
                self.files.pend(ino).synced = true;
                self.log.reach.add(READS_TO_INODE);
            }
        }
        self.names.clear();
        self.end_promise()
    }

    fn write_names(&mut self, whole: &[u32], shares: bool) -> Result<()> {
        for ino in whole {
            self.write_nodes_of(*ino)?;
            if !shares {
                self.log.program(&mut self.files, META, None)?;
            }
        }
        let records = self.name_records(whole)?;
        let last = records.len() - 1;
        for (number, (record, promised)) in records.into_iter().enumerate() {
            for change in &record.changes {
                // A small directory has its names in its inode.
                let body = &self.files.inode(&mut self.log, change.dir)?.body;
                self.log.reach.add(u32::from(matches!(body, Body::Mapped(_))));
            }
            let bytes = record.encode();
            let index = len32(number);
            self.log.pages.append(META, desc(ChunkKind::Names, 0, index, bytes.len()), &bytes)?;
            self.log.apply_events(&mut self.files)?;
            self.log.pages.promise(Some(promised));
            let time = self.files.now();
            self.log.program(&mut self.files, META, Some(time).filter(|_| number == last))?;
        }
        Ok(())
    }

    /// Makes an inode durable if its name is, or stands in the inode.
    fn fsync_alone(&mut self, ino: u32) -> Result<()> {
        let wrote = match self.write_synced(ino) {
            Ok(wrote) => wrote,
            Err(error) => {
                // Blocks written so far carry no mark: the next fsync has to tell of them by the nodes.
                self.files.pend(ino).unlogged = true;
                return Err(error);
            }
        };
        let time = self.files.inode(&mut self.log, ino)?.mtime;
        // Writing may have found more to tell: look again.
        let pending = self.files.pending(ino).unwrap_or_default();
        // The nodes have to tell if a full page has no room for the promise of the page before.
        if pending.unlogged || (wrote && !self.log.pages.can_commit(SYNC)) {
            self.files.pend(ino).unlogged = true;
            self.log.program(&mut self.files, SYNC, None)?;
            self.program_data_of(ino)?;
            self.commit_nodes(ino)?;
        } else if wrote {
            // Until the mark is there, the nodes have to tell.
            self.files.pend(ino).unlogged = true;
            self.log.program(&mut self.files, SYNC, Some(time))?;
        } else {
            return Ok(());
        }
        let pending = self.files.pend(ino);
        (pending.unlogged, pending.logged) = (false, true);
        if !core::mem::replace(&mut pending.synced, true) && !pending.created {
            self.log.reach.add(READS_TO_INODE);
        }
        self.end_promise()
    }

    /// Ends an fsync after all its writes are on the chip: before it returns they are protected as the volume has it.
    fn end_promise(&mut self) -> Result<()> {
        self.log.pages.protect()?;
        self.log.apply_events(&mut self.files)?;
        self.log.pages.medium_mut().flush().map_err(device)
    }

    /// Writes the changed blocks of an inode; false if there were none.
    fn write_synced(&mut self, ino: u32) -> Result<bool> {
        // An fsync that failed may have left blocks of another inode: a mark counts for one inode's page.
        self.log.program(&mut self.files, SYNC, None)?;
        // Cleaning may have copied nodes of it, which must not come behind newer ones.
        if self.log.pages.gathers_nodes(META, ino) {
            self.log.program(&mut self.files, META, None)?;
        }
        let wrote = self.files.cache.next_dirty((ino, 0)).is_some_and(|(owner, _)| owner == ino);
        self.files.write_back_from(&mut self.log, (ino, 0), |_, (owner, _)| owner != ino, true)?;
        Ok(wrote)
    }

    /// Programs written-back blocks of an inode that still wait for their page to fill: nodes that are about to be
    /// committed point there.
    fn program_data_of(&mut self, ino: u32) -> Result<()> {
        for head in DATA..self.log.pages.head_count() {
            if self.log.pages.gathers(head, ino) {
                self.log.program(&mut self.files, head, None)?;
            }
        }
        Ok(())
    }

    /// Writes the changed nodes of an inode on pages of their own.
    fn commit_nodes(&mut self, ino: u32) -> Result<()> {
        self.log.program(&mut self.files, META, None)?;
        self.log.keep_written(&mut self.files)?;
        let time = self.files.inode(&mut self.log, ino)?.mtime;
        let done =
            self.write_nodes_of(ino).and_then(|()| self.log.program(&mut self.files, META, Some(time)));
        self.log.pages.promise(None);
        done
    }

    /// Writes the changed nodes of an inode for an fsync; the caller ends it with `Log::promise` of nothing.
    fn write_nodes_of(&mut self, ino: u32) -> Result<()> {
        self.files.nodes.touch(&mut self.log.pages, ino)?;
        self.files.nodes.touch_ahead(&mut self.log.pages, ino)?;
        let nids = self.files.nodes.dirty_nids(Some(ino));
        self.log.reach.add(len32(nids.len()));
        let dir = self.files.inode(&mut self.log, ino)?.parent;
        let is_new = self.files.pending(ino).is_some_and(|pending| pending.created && !pending.logged);
        self.log.pages.promise(Some(if is_new { Promised::New { dir } } else { Promised::Old }));
        nids.into_iter().try_for_each(|nid| self.log.write_node(&mut self.files, nid))
    }

    /// Makes everything durable.
    pub(crate) fn sync_all(&mut self) -> Result<()> {
        self.check_end()?;
        if self.log.status.is_read_only() {
            return Ok(());
        }
        self.settle()?;
        if !self.has_changes() {
            return Ok(());
        }
        self.make_room(0)?;
        self.checkpoint(false)
    }
}
