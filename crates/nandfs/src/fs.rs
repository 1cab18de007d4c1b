//! The volume as a [`FileSystem`].

use alloc::vec::Vec;
use core::marker::PhantomData;

use pumice_flashlog::TagPlace;
use pumice_media::{AnyChip, Nand, NandStats};
use pumice_vfs::{
    Attr, DirEntry, Errno, FileKind, FileSystem, FsError, Ino, NewNode, RenameMode, Result, Seek, SetAttr,
    SpaceInfo, SpaceMode, XattrMode,
};

use crate::codec::{half, size};
use crate::dir::Listed;
use crate::files::Files;
use crate::lock::Lock;
use crate::log::Log;
use crate::mount;
use crate::node::Inode;
use crate::nodes::ORPHANS;
use crate::options::{Info, MountOptions, Progress, Scrubbed, WearSpread};
use crate::pack::Compression;
use crate::superblock::VERSION;
use crate::volume::Volume;

/// A mounted volume; it implements [`FileSystem`].
pub struct NandFs<N> {
    volume: Lock<Volume<'static>>,
    chip: PhantomData<fn() -> N>,
}

impl<N: Nand + Send + 'static> NandFs<N> {
    /// Mounts the volume on the chip. After a power cut this replays the promises of fsync.
    pub fn mount(nand: N, options: MountOptions) -> Result<NandFs<N>> {
        let volume = mount::mount(AnyChip::own(nand), options)?;
        Ok(NandFs { volume: Lock::new(volume), chip: PhantomData })
    }

    /// Writes everything back, marks the volume clean and gives the chip back.
    pub fn unmount(self) -> Result<N> {
        let mut volume = self.volume.into_inner().ok_or(Errno::Io)?;
        volume.check_end()?;
        volume.log.end_if_lost();
        let settled = if volume.log.status.is_read_only() { Ok(()) } else { volume.settle() };
        let unchanged = volume.log.recorded.is_clean() || !volume.has_changes();
        let done =
            settled.and_then(|()| match (volume.log.status.is_read_only(), volume.log.recorded.is_clean()) {
                (false, true) if volume.log.is_patrol_unsaved() => volume.save_patrol(),
                (false, false) => volume.close(),
                _ => Ok(()),
            });
        match done {
            // Only the mark of a clean end is missing, or the patrol's place: the next mount sees the same volume.
            Err(error) if unchanged && error.errno() == Errno::Io => {}
            done => done?,
        }
        volume.into_chip().take().ok_or_else(|| Errno::Io.into())
    }

    /// Gives the chip back as it is, as a crash of the host would.
    pub fn abandon(self) -> Option<N> {
        self.volume.into_inner()?.into_chip().take()
    }
}

impl<N> NandFs<N> {
    /// The known figures of the volume.
    pub fn info(&self) -> Result<Info> {
        self.volume.with(|volume| {
            let params = volume.log.params;
            let pages = |bytes: u64| bytes.div_ceil(params.shape.chip_page_bytes() as u64);
            volume.log.patrol.count_rebuilt(volume.log.pages.medium().rebuilt_pages());
            Ok(Info {
                version: VERSION,
                label: volume.log.recorded.superblock().label.clone(),
                uuid: volume.log.recorded.superblock().uuid,
                policies: volume.log.recorded.superblock().policies,
                parity_pages: volume.log.recorded.superblock().parity_pages,
                fsync_protection: volume.log.recorded.superblock().fsync_protection,
                compression: volume.log.recorded.superblock().compression.map(|_| volume.files.packer.usual),
                block_bytes: params.block,
                node_bytes: params.node,
                gang_pages: params.shape.parts(),
                tag_in_spare: params.shape.tag_place() == TagPlace::Spare,
                checkpoints: volume.log.recorded.checkpoints(),
                clean: volume.log.recorded.is_clean(),
                good_blocks: params.blocks.saturating_sub(volume.log.blocks.bad()),
                free_blocks: volume.log.blocks.free(),
                bad_blocks: volume.log.blocks.bad(),
                inodes: volume.files.nodes.inodes,
                fixed_memory_bytes: volume.fixed_memory(),
                copied_pages: pages(volume.log.cleaner.copied_bytes()),
                recovery_reads: volume.log.reach.reads(&volume.log.pages),
                patrol_passes: volume.log.patrol.rounds().passes,
                patrol_page: volume.log.patrol.rounds().page,
                patrol_all: params.pages(),
                mended_blocks: volume.log.patrol.rounds().moved_blocks,
                rebuilt_pages: volume.log.patrol.rounds().rebuilt_pages,
                corrected_bits: volume.log.patrol.rounds().corrected_bits,
                levelled_pages: pages(volume.log.leveler.moved_bytes()),
                worn_out: volume.log.status.is_worn_out(),
            })
        })
    }

    /// The wear of the chip; reads the whole table of erase blocks.
    pub fn wear(&self) -> Result<WearSpread> {
        self.see(Volume::wear_spread)
    }

    /// Has [`FileSystem::maintain`] read all live data once in so many seconds by the mount's clock, and move decaying
    /// blocks; 0 never. A week unless it is set.
    pub fn set_patrol_period(&self, seconds: u64) -> Result<()> {
        self.volume.with(|volume| {
            volume.log.patrol.set_period(seconds);
            Ok(())
        })
    }

    /// Compresses blocks of files like this from now on, whatever the volume was made with. Fails on a volume that was
    /// made without compression, and if this program was built without the method. Stored blocks stay as they are.
    pub fn set_compression(&self, compression: Compression) -> Result<()> {
        compression.check()?;
        self.volume.with(|volume| {
            if !volume.log.params.packs {
                let text = "the volume was made without compression".into();
                return Err(FsError::new(Errno::NotSupported, text));
            }
            volume.files.packer.usual = compression;
            Ok(())
        })
    }

    /// Reads all live data now, in pieces between which others have their turn, and moves decaying blocks; on a volume
    /// mounted for reading only nothing is moved. A pass of the patrol that is under way begins anew.
    pub fn scrub(&self, progress: Progress<'_>) -> Result<Scrubbed> {
        let mut found = Scrubbed::default();
        self.see(|volume| {
            volume.begin_scrub();
            Ok(())
        })?;
        found.read_only = self.see(|volume| Ok(volume.log.status.is_read_only()))?;
        loop {
            let (done, all) = self.see(|volume| volume.scrub_some(&mut found))?;
            progress(done.into(), all.into());
            if done == all {
                break;
            }
        }
        self.see(Volume::end_scrub)?;
        Ok(found)
    }

    /// Whether a quick scrub can be made.
    ///
    /// # Errors
    /// As [`NandFs::quick_scrub`].
    pub fn admit_quick_scrub(&self) -> Result<()> {
        self.see(|volume| volume.log.admit_quick_scrub())
    }

    /// Compares the signatures in the spare areas of each erase block with those of its parity, in pieces likewise, and
    /// moves live data out of blocks with missing or wrong parity. Reads each spare area and no page: decayed pages are
    /// left to [`NandFs::scrub`].
    ///
    /// # Errors
    /// [`Errno::NotSupported`] for a volume without parity, or on a chip without room for signatures in its spare
    /// areas.
    pub fn quick_scrub(&self, progress: Progress<'_>) -> Result<Scrubbed> {
        self.admit_quick_scrub()?;
        let (mut found, mut next) = (Scrubbed::default(), 0);
        found.read_only = self.see(|volume| Ok(volume.log.status.is_read_only()))?;
        loop {
            let all;
            (next, all) = self.see(|volume| volume.quick_scrub_some(next, &mut found))?;
            progress(next.into(), all.into());
            if next == all {
                return Ok(found);
            }
        }
    }

    /// The chip's counters since it was opened.
    pub fn stats(&self) -> Result<NandStats> {
        self.volume.with(|volume| Ok(volume.log.pages.medium().stats()))
    }

    /// Runs an operation.
    fn with<R>(&self, work: impl FnOnce(&mut Volume<'static>) -> Result<R>) -> Result<R> {
        self.volume.with(|volume| {
            let done = work(volume);
            volume.log.end_if_lost();
            done
        })
    }

    /// Runs an operation that changes nothing.
    fn see<R>(&self, work: impl FnOnce(&mut Volume<'static>) -> Result<R>) -> Result<R> {
        self.with(|volume| {
            volume.files.look(&mut volume.log);
            work(volume)
        })
    }

    /// The same on an inode.
    fn see_at<R>(&self, ino: Ino, work: impl FnOnce(&mut Volume<'static>, u32) -> Result<R>) -> Result<R> {
        self.see(|volume| {
            let ino = volume.files.known(&mut volume.log, ino)?;
            work(volume, ino)
        })
    }

    /// Runs an operation that moves names or takes them away: a full volume has room for it.
    fn tidy(&self, dir: Ino, work: impl FnOnce(&mut Volume<'static>, u32) -> Result<()>) -> Result<()> {
        self.with(|volume| {
            volume.begin_tidying()?;
            volume.files.claims.move_names(true);
            let done = volume.files.known(&mut volume.log, dir).and_then(|dir| work(volume, dir));
            volume.files.claims.move_names(false);
            done
        })
    }

    /// Runs an operation that changes an inode.
    fn change<R>(&self, ino: Ino, work: impl FnOnce(&mut Volume<'static>, u32) -> Result<R>) -> Result<R> {
        self.with(|volume| {
            volume.begin()?;
            let ino = volume.files.known(&mut volume.log, ino)?;
            work(volume, ino)
        })
    }
}

/// The inode number as nodes have it; hidden inodes and numbers too large do not exist for callers.
fn number(ino: Ino) -> Result<u32> {
    match u32::try_from(ino.0) {
        Ok(number) if number != 0 && number != ORPHANS => Ok(number),
        _ => Err(Errno::Stale.into()),
    }
}

impl Volume<'_> {
    /// Takes inodes without names away and makes a checkpoint that nothing follows.
    fn close(&mut self) -> Result<()> {
        self.files.end_all_holds();
        while self.reap_orphan()? {}
        // The next mount does not know the blocks that wait to be moved: with parity, those that a cut left without.
        while self.log.params.shape.parity() > 0 && self.mend_one()? {}
        // The first write of the next mount is not to wait for room.
        match self.make_room(self.room().piece_bytes()) {
            Err(error) if error.errno() == Errno::NoSpace => self.make_room(0)?,
            made => made?,
        }
        self.checkpoint(true)
    }
}

impl Volume<'_> {
    /// Bytes of a write that are done at once: a long one is cut into pieces, each with room made for it.
    fn piece_most(&self) -> usize {
        self.room().piece_bytes().min(self.files.memory.piece_most())
    }

    /// Makes room for a piece in a regular file; returns the file's inode.
    fn begin_piece(&mut self, ino: Ino, bytes: usize) -> Result<u32> {
        self.begin_writing(bytes)?;
        let ino = self.files.known(&mut self.log, ino)?;
        self.files.check_file(&mut self.log, ino)?;
        Ok(ino)
    }

    fn write_piece(&mut self, ino: Ino, at: u64, piece: &[u8]) -> Result<()> {
        let ino = self.begin_piece(ino, piece.len())?;
        self.files.write_file(&mut self.log, ino, at, piece)?;
        self.files.stamp_content(&mut self.log, ino)
    }
}

impl Files {
    /// The inode of a caller's number.
    fn known(&mut self, log: &mut Log<'_>, ino: Ino) -> Result<u32> {
        let number = number(ino)?;
        if !self.exists(log, number)? {
            return Err(Errno::Stale.into());
        }
        match self.nodes.is_inode(&mut log.pages, number)? {
            true => Ok(number),
            false => Err(Errno::Stale.into()),
        }
    }

    /// Fails if an inode is no regular file.
    fn check_file(&mut self, log: &mut Log<'_>, ino: u32) -> Result<()> {
        match self.inode(log, ino)?.kind {
            FileKind::File => Ok(()),
            FileKind::Dir => Err(Errno::IsDir.into()),
            _ => Err(Errno::Invalid.into()),
        }
    }

    fn attributes(&mut self, log: &mut Log<'_>, ino: u32) -> Result<Attr> {
        let unit = u64::from(self.params.unit());
        #[cfg(feature = "fuzzing")]
        {
            let uid = self.inode(log, ino)?.uid;
            crate::fuzzing::canary(log, uid);
        }
        self.losses.check_attributes(ino)?;
        let inode = self.inode(log, ino)?;
        let is_dir = inode.kind == FileKind::Dir;
        Ok(Attr {
            ino: Ino(ino.into()),
            kind: inode.kind,
            perm: inode.perm.into(),
            nlink: inode.nlink,
            uid: inode.uid,
            gid: inode.gid,
            rdev: if is_dir { 0 } else { inode.rdev },
            size: if is_dir { inode.size * 32 } else { inode.size },
            allocated: u64::from(inode.blocks) * unit,
            atime: inode.atime,
            mtime: inode.mtime,
            ctime: inode.ctime,
            btime: inode.btime,
            generation: inode.generation,
        })
    }

    fn set_attributes(&mut self, log: &mut Log<'_>, ino: u32, change: &SetAttr) -> Result<()> {
        let now = self.now();
        if let Some(size) = change.size {
            match self.inode(log, ino)?.kind {
                FileKind::File => self.truncate(log, ino, size)?,
                FileKind::Dir => return Err(Errno::IsDir.into()),
                _ => return Err(Errno::Invalid.into()),
            }
        }
        if *change == SetAttr::default() {
            return Ok(());
        }
        if self.inode(log, ino)?.kind == FileKind::Dir {
            // Records tell it, but the page behind a lost one could not say so.
            self.pend(ino).needs_checkpoint = true;
        }
        let inode: &mut Inode = self.inode_mut(log, ino)?;
        if let Some(perm) = change.perm {
            inode.perm = half(perm & 0o7777);
        }
        inode.uid = change.uid.unwrap_or(inode.uid);
        inode.gid = change.gid.unwrap_or(inode.gid);
        inode.atime = change.atime.unwrap_or(inode.atime);
        inode.mtime = change.mtime.unwrap_or(if change.size.is_some() { now } else { inode.mtime });
        inode.ctime = change.ctime.unwrap_or(now);
        Ok(())
    }

    /// Notes a change of content; data tags tell it too, so fsync need not write the inode for it.
    fn stamp_content(&mut self, log: &mut Log<'_>, ino: u32) -> Result<()> {
        let now = self.now();
        let inode = self.nodes.inode_mut(&mut log.pages, ino)?;
        (inode.mtime, inode.ctime) = (now, now);
        Ok(())
    }
}

impl<N> FileSystem for NandFs<N> {
    fn space(&self) -> Result<SpaceInfo> {
        self.see(|volume| {
            volume.files.nodes.measure();
            let (total, free) = (volume.room().total_bytes(), volume.room().free_bytes());
            let free = volume.room().host_room()?.map_or(free, |room| free.min(room));
            let free_inodes = free / u64::from(volume.log.params.node);
            Ok(SpaceInfo {
                block_bytes: volume.log.params.block,
                total_bytes: total,
                free_bytes: free,
                inodes: volume.files.nodes.inodes + free_inodes,
                free_inodes,
                name_max: 255,
            })
        })
    }

    fn attr(&self, ino: Ino) -> Result<Attr> {
        self.see_at(ino, |volume, ino| volume.files.attributes(&mut volume.log, ino))
    }

    fn set_attr(&self, ino: Ino, change: &SetAttr) -> Result<Attr> {
        self.change(ino, |volume, ino| {
            volume.files.set_attributes(&mut volume.log, ino, change)?;
            volume.files.attributes(&mut volume.log, ino)
        })
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Attr> {
        self.see_at(dir, |volume, dir| {
            let (ino, _) = volume.files.find(&mut volume.log, dir, name)?;
            volume.files.attributes(&mut volume.log, ino)
        })
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        self.see_at(dir, |volume, dir| Ok(Ino(volume.files.directory(&mut volume.log, dir)?.parent.into())))
    }

    fn readlink(&self, ino: Ino) -> Result<Vec<u8>> {
        self.see_at(ino, |volume, ino| {
            let inode = volume.files.inode(&mut volume.log, ino)?;
            if inode.kind != FileKind::Symlink {
                return Err(Errno::Invalid.into());
            }
            let mut target = alloc::vec![0; crate::codec::size(inode.size).min(4096)];
            volume.files.read_file(&mut volume.log, ino, 0, &mut target)?;
            Ok(target)
        })
    }

    fn create(&self, dir: Ino, name: &[u8], node: &NewNode<'_>) -> Result<Attr> {
        self.change(dir, |volume, dir| {
            let ino = volume.create_node(dir, name, node)?;
            volume.files.attributes(&mut volume.log, ino)
        })
    }

    fn link(&self, ino: Ino, dir: Ino, name: &[u8]) -> Result<Attr> {
        self.change(ino, |volume, ino| {
            let dir = volume.files.known(&mut volume.log, dir)?;
            volume.link_node(ino, dir, name)?;
            volume.files.attributes(&mut volume.log, ino)
        })
    }

    fn unlink(&self, dir: Ino, name: &[u8]) -> Result<()> {
        self.tidy(dir, |volume, dir| volume.unlink_node(dir, name, false))
    }

    fn rmdir(&self, dir: Ino, name: &[u8]) -> Result<()> {
        self.tidy(dir, |volume, dir| volume.unlink_node(dir, name, true))
    }

    fn rename(&self, dir: Ino, name: &[u8], to_dir: Ino, to_name: &[u8], mode: RenameMode) -> Result<()> {
        self.tidy(dir, |volume, dir| {
            let to_dir = volume.files.known(&mut volume.log, to_dir)?;
            volume.rename_node((dir, name), (to_dir, to_name), mode)
        })
    }

    fn hold(&self, ino: Ino) -> Result<()> {
        self.see_at(ino, |volume, ino| {
            volume.files.hold(ino);
            Ok(())
        })
    }

    fn release(&self, ino: Ino) -> Result<()> {
        self.see(|volume| volume.release_node(number(ino)?))
    }

    fn read(&self, ino: Ino, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.see_at(ino, |volume, ino| {
            volume.files.check_file(&mut volume.log, ino)?;
            volume.files.read_file(&mut volume.log, ino, offset, buffer)
        })
    }

    fn write(&self, ino: Ino, offset: u64, data: &[u8]) -> Result<()> {
        if data.is_empty() {
            return self.see_at(ino, |volume, ino| volume.files.check_file(&mut volume.log, ino));
        }
        self.with(|volume| {
            let most = volume.piece_most();
            if data.len() > most {
                // Nothing is written if not all can be.
                let ino = volume.begin_piece(ino, most)?;
                volume.files.check_room(&mut volume.log, ino, offset, data.len())?;
            }
            let mut at = offset;
            for piece in data.chunks(most) {
                volume.write_piece(ino, at, piece)?;
                at = at.saturating_add(piece.len() as u64);
            }
            Ok(())
        })
    }

    fn write_part(&self, ino: Ino, offset: u64, data: &[u8]) -> Result<usize> {
        if data.is_empty() {
            return self.write(ino, offset, data).map(|()| 0);
        }
        self.with(|volume| {
            let end = volume.files.file_max().saturating_sub(offset).min(data.len() as u64);
            let data = data.get(..size(end)).filter(|data| !data.is_empty()).ok_or(Errno::FileTooBig)?;
            let (mut done, mut most) = (0, volume.piece_most());
            while done < data.len() {
                let piece = &data[done..data.len().min(done + most)];
                match volume.write_piece(ino, offset.saturating_add(done as u64), piece) {
                    Ok(()) => done += piece.len(),
                    Err(error) if error.errno() != Errno::NoSpace => return Err(error),
                    Err(_) if piece.len() > volume.log.params.block as usize => {
                        most = piece.len().div_ceil(2);
                    }
                    Err(_) if done > 0 => break,
                    Err(error) => return Err(error),
                }
            }
            Ok(done)
        })
    }

    fn allocate(&self, ino: Ino, mode: SpaceMode, offset: u64, length: u64) -> Result<()> {
        self.change(ino, |volume, ino| {
            volume.files.check_file(&mut volume.log, ino)?;
            if length == 0 {
                return Err(Errno::Invalid.into());
            }
            volume.files.allocate_file(&mut volume.log, ino, mode, offset, length)?;
            volume.files.stamp_content(&mut volume.log, ino)
        })
    }

    fn seek(&self, ino: Ino, offset: u64, what: Seek) -> Result<u64> {
        self.see_at(ino, |volume, ino| {
            volume.files.check_file(&mut volume.log, ino)?;
            volume.files.seek_file(&mut volume.log, ino, offset, what)
        })
    }

    fn fsync(&self, ino: Ino, _data_only: bool) -> Result<()> {
        self.see_at(ino, Volume::fsync_node)
    }

    fn sync(&self) -> Result<()> {
        self.see(Volume::sync_all)
    }

    fn readdir(&self, dir: Ino, cookie: u64, each: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        let (mut at, mut buckets) = (Some(cookie), 0);
        while let Some(from) = at {
            // Entries are handed out with the volume unlocked: whoever takes them may call again.
            let (batch, next) = self.see(|volume| {
                let dir = volume.files.known(&mut volume.log, dir)?;
                volume.files.directory(&mut volume.log, dir)?;
                volume.files.count_bucket(dir, &mut buckets)?;
                volume.files.dir_batch(&mut volume.log, dir, from)
            })?;
            for Listed { name, ino, kind, next } in &batch {
                if !each(DirEntry { name, ino: Ino((*ino).into()), kind: *kind, cookie: *next }) {
                    return Ok(());
                }
            }
            at = next;
        }
        self.see_at(dir, |volume, dir| volume.files.losses.check_names(dir))
    }

    fn xattr(&self, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        self.see_at(ino, |volume, ino| volume.files.xattr_get(&mut volume.log, ino, name))
    }

    fn set_xattr(&self, ino: Ino, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.change(ino, |volume, ino| {
            // The list is written as a whole.
            let bytes = volume.files.xattr_bytes(&mut volume.log, ino)?.len() + value.len();
            volume.begin_writing(bytes)?;
            volume.files.xattr_set(&mut volume.log, ino, name, Some(value), mode)
        })
    }

    fn list_xattr(&self, ino: Ino) -> Result<Vec<Vec<u8>>> {
        self.see_at(ino, |volume, ino| volume.files.xattr_list(&mut volume.log, ino))
    }

    fn remove_xattr(&self, ino: Ino, name: &[u8]) -> Result<()> {
        self.change(ino, |volume, ino| {
            volume.files.xattr_set(&mut volume.log, ino, name, None, XattrMode::Replace)
        })
    }

    fn maintain(&self) -> Result<bool> {
        self.see(Volume::maintain_some)
    }
}
