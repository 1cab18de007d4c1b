//! A volume as a file system that is read.

use std::ops::Range;

use pumice_media::ReadAt;
use pumice_vfs::{
    Access, Attr, DirEntry, Errno, FileKind, FileSystem, Flags, Ino, NewNode, RenameMode, Result, Seek,
    SetAttr, SpaceInfo, SpaceMode, Stored, Timestamp, XattrMode,
};

use crate::{
    crypt::Keyring,
    error::{self, Error, Place, corrupt},
    layout::{CLUSTER_MAX, Dentry, ExtraAttr, Features, Inode, Nid, file_kind},
    listing::{self, Listed},
    nodes::{Directory, Mapped, Nodes},
    quota::{Grace, Quota, QuotaKind},
    reader::Reader,
    recovery::Recovery,
    volume::{Node, PassedOver, Volume},
    write::quota_file::QuotaFile,
};

/// The options of a mount.
pub struct MountOptions {
    /// Bytes for blocks of metadata that were read lately.
    pub cache_bytes: usize,
    /// Master keys of encrypted files.
    pub keys: Keyring,
    /// Roll forward the promises of fsync since the checkpoint, as of this time; without it the checkpoint is shown.
    pub recover: Option<Timestamp>,
}

/// A mounted volume. Nothing in it ever changes: calls that would change something fail with
/// [`Errno::ReadOnly`].
pub struct F2fs {
    reader: Reader,
    recovery: Recovery,
    warnings: Vec<String>,
}

impl F2fs {
    /// Mounts a volume from its devices, in the order of its super block, as far as it can be read: [`F2fs::warnings`]
    /// lists the missing parts.
    pub fn mount(disks: Vec<Box<dyn ReadAt>>, options: MountOptions) -> error::Result<F2fs> {
        let nodes = Nodes::new(Volume::open_in_part(disks, options.cache_bytes)?);
        Ok(F2fs::over(nodes, options.keys, options.recover))
    }

    /// The same over nodes, wherever they were found. Promises of fsync are rolled forward as of `recover`.
    pub(crate) fn over(mut nodes: Nodes, keys: Keyring, recover: Option<Timestamp>) -> F2fs {
        let mut warnings: Vec<String> = nodes.volume().missing().iter().map(Error::to_string).collect();
        warnings.extend(nodes.volume().passed_over().map(|passed| {
            let PassedOver { pack, version, why } = passed;
            format!("a newer checkpoint, version {version} in pack {pack}, cannot be used: {why}")
        }));
        let recovered = recover.map(|now| nodes.recover(now)).transpose();
        let recovery = recovered.unwrap_or_else(|error| {
            warnings.push(format!(
                "the promises of fsync since the checkpoint cannot be rolled forward: {error}"
            ));
            nodes.take_back();
            None
        });
        F2fs { reader: Reader::new(nodes, keys), recovery: recovery.unwrap_or_default(), warnings }
    }

    /// The parts of the whole volume that cannot be shown right: a line each, for people.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The files that were rolled forward.
    pub fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// The volume below.
    pub fn volume(&self) -> &Volume {
        self.nodes().volume()
    }

    /// Its nodes, with the changes of rolling forward.
    pub fn nodes(&self) -> &Nodes {
        self.reader.nodes()
    }

    /// The number on the medium of an inode: the root has another than here.
    pub fn nid(&self, ino: Ino) -> error::Result<Nid> {
        if ino == Ino::ROOT {
            return Ok(self.volume().super_block().root());
        }
        let nid = u32::try_from(ino.0).map_err(|_| Error::Errno(Errno::Stale))?;
        // 1 and 2 are the volume's own.
        if nid < 3 || nid >= self.volume().super_block().nid_limit() {
            return Err(Error::Errno(Errno::Stale));
        }
        Ok(Nid(nid))
    }

    fn ino(&self, nid: Nid) -> Ino {
        if nid == self.volume().super_block().root() { Ino::ROOT } else { Ino(u64::from(nid.0)) }
    }

    /// An inode and its node; one that nobody has, or that lost its last name, is [`Errno::Stale`].
    pub fn inode(&self, ino: Ino) -> error::Result<(Inode, Node)> {
        let nid = self.nid(ino)?;
        let found = self.nodes().find_inode(nid)?;
        found.filter(|(inode, _)| inode.links > 0).ok_or(Error::Errno(Errno::Stale))
    }

    fn dir(&self, ino: Ino) -> error::Result<(Inode, Node)> {
        let (inode, node) = self.inode(ino)?;
        if inode.kind == FileKind::Dir { Ok((inode, node)) } else { Err(Error::Errno(Errno::NotDir)) }
    }

    fn file(&self, ino: Ino) -> error::Result<(Inode, Node)> {
        let (inode, node) = self.inode(ino)?;
        match inode.kind {
            FileKind::File => Ok((inode, node)),
            FileKind::Dir => Err(Error::Errno(Errno::IsDir)),
            _ => Err(Error::Errno(Errno::Invalid)),
        }
    }

    fn attr_of(&self, inode: &Inode, node: &Node) -> error::Result<Attr> {
        // An encrypted target is longer than its shown form.
        let size = match inode.kind {
            FileKind::Symlink if inode.is_encrypted() => self.reader.target(inode, node)?.len() as u64,
            _ => inode.size,
        };
        Ok(Attr {
            ino: self.ino(inode.ino),
            kind: inode.kind,
            perm: inode.perm(),
            nlink: inode.links,
            uid: inode.uid,
            gid: inode.gid,
            rdev: inode.device(&node.block),
            size,
            allocated: inode.allocated(),
            atime: inode.atime,
            mtime: inode.mtime,
            ctime: inode.ctime,
            btime: inode.extra.filter(ExtraAttr::has_crtime).map(|extra| extra.crtime).unwrap_or_default(),
            generation: inode.generation,
        })
    }

    fn find(&self, dir: Ino, name: &[u8]) -> error::Result<Attr> {
        let (inode, node) = self.dir(dir)?;
        let nid = match name {
            b"." => inode.ino,
            _ if name.len() > 255 => return Err(Error::Errno(Errno::NameTooLong)),
            _ => self.reader.lookup(&inode, &node, name)?.ino,
        };
        let (inode, node) = self.inode(self.ino(nid))?;
        self.attr_of(&inode, &node)
    }

    /// The name of an entry of a directory as it is shown, by its bytes there.
    pub(crate) fn shown_name(&self, dir: Nid, stored: &[u8]) -> error::Result<Vec<u8>> {
        let (inode, node) = self.nodes().inode(dir)?;
        let names = self.reader.names(&inode, &node)?;
        let dentry = Dentry { slot: 0, hash: 0, ino: dir, file_type: 0, name: stored };
        Ok(names.shown(&dentry)?.into_owned())
    }

    fn target(&self, ino: Ino) -> error::Result<Vec<u8>> {
        let (inode, node) = self.inode(ino)?;
        if inode.kind != FileKind::Symlink {
            return Err(Error::Errno(Errno::Invalid));
        }
        self.reader.target(&inode, &node)
    }

    fn list(&self, ino: Ino, cookie: u64, each: &mut dyn FnMut(DirEntry<'_>) -> bool) -> error::Result<()> {
        let (inode, node) = self.dir(ino)?;
        let dir = Directory::new(self.nodes(), &inode, &node);
        let names = self.reader.names(&inode, &node)?;
        listing::list(inode.ino, &dir, &names, cookie, &mut |Listed { name, ino, file_type, cookie }| {
            each(DirEntry { name, ino: self.ino(ino), kind: file_kind(file_type), cookie })
        })
    }

    fn next_of(&self, ino: Ino, offset: u64, what: Seek) -> error::Result<u64> {
        let (inode, node) = self.file(ino)?;
        if offset >= inode.size {
            return Err(Error::Errno(Errno::NoAddress));
        }
        let limit = self.nodes().bytes_limit(&inode);
        if offset >= limit {
            return Err(Reader::too_long(&inode, limit));
        }
        let size = inode.size.min(limit);
        if inode.has_inline_data() {
            return Ok(if what == Seek::Data { offset } else { size });
        }
        let width = self.volume().block_size().bytes_u64();
        // A compressed cluster is data as a whole, whatever stands in its later slots.
        let cluster = u64::from(inode.cluster_blocks().unwrap_or(1));
        let (mut index, end) = (offset / width / cluster * cluster, size.div_ceil(width));
        while index < end {
            let most = if cluster > 1 { cluster - index % cluster } else { end - index };
            let run = match self.nodes().run_at(&inode, &node, index, most) {
                Ok(run) => run,
                // Bytes in front of damage can be read.
                Err(_) if index * width > offset => return Ok(index * width),
                Err(error) => return Err(error),
            };
            let mut next = index.saturating_add(run.blocks);
            if run.mapped == Mapped::Compressed {
                next = next.next_multiple_of(cluster);
            }
            // Reserved blocks were never written, so there are no data to be found.
            let is_data = matches!(run.mapped, Mapped::Compressed | Mapped::At(_));
            if is_data == (what == Seek::Data) && next.saturating_mul(width) > offset {
                return Ok((index * width).max(offset));
            }
            index = next;
        }
        match what {
            // Behind the end that a file can have is damage.
            Seek::Data if inode.size > limit => Ok(limit),
            Seek::Data => Err(Error::Errno(Errno::NoAddress)),
            Seek::Hole => Ok(size),
        }
    }

    /// The end of the damage at a byte of a file.
    fn damage_end(&self, ino: Ino, offset: u64) -> error::Result<u64> {
        let (inode, node) = self.file(ino)?;
        if offset >= self.nodes().bytes_limit(&inode) {
            return Ok(inode.size);
        }
        let width = self.volume().block_size().bytes_u64();
        let index = offset / width;
        let blocks = if inode.has_inline_data() { 1 } else { self.nodes().damaged_run(&inode, &node, index) };
        Ok(index.saturating_add(blocks).saturating_mul(width))
    }

    /// The quotas of all owners of a kind that have an entry, by number; `None` where the kind is not counted.
    pub fn quotas(&self, kind: QuotaKind) -> error::Result<Option<Vec<Quota>>> {
        Ok(self.quota_file(kind)?.map(|file| file.quotas().collect()))
    }

    /// The times for which soft limits of a kind may be exceeded; `None` where the kind is not counted.
    pub fn grace(&self, kind: QuotaKind) -> error::Result<Option<Grace>> {
        Ok(self.quota_file(kind)?.map(|file| file.grace()))
    }

    fn quota_file(&self, kind: QuotaKind) -> error::Result<Option<QuotaFile>> {
        let sb = self.volume().super_block();
        let file = sb.quota_inodes().get(kind.index()).copied().unwrap_or(Nid::NULL);
        if file.is_null() || !sb.features().has(Features::QUOTA_INO) {
            return Ok(None);
        }
        let (inode, node) = self.nodes().inode(file)?;
        let size = usize::try_from(inode.size).ok().filter(|_| inode.size <= sb.main_bytes());
        let broken =
            || corrupt(Place::Inode(file), "a quota file makes no sense; its bytes are", inode.size, 0_u32);
        let mut bytes = vec![0; size.ok_or_else(broken)?];
        let got = self.reader.read(&inode, &node, 0, &mut bytes)?;
        bytes.truncate(got);
        Ok(Some(QuotaFile::parse(kind.index(), &bytes).ok_or_else(broken)?))
    }

    /// Space and inodes.
    pub fn usage(&self) -> SpaceInfo {
        let cp = self.volume().checkpoint().raw();
        let width = self.volume().block_size().bytes_u64();
        let free = cp.user_block_count.get().saturating_sub(cp.valid_block_count.get());
        // An inode needs a number and a block.
        let numbers = u64::from(self.volume().super_block().nid_limit())
            .saturating_sub(u64::from(cp.valid_node_count.get()))
            .saturating_sub(3);
        let used = u64::from(cp.valid_inode_count.get());
        SpaceInfo {
            block_bytes: self.volume().block_size().bytes(),
            total_bytes: cp.user_block_count.get().saturating_mul(width),
            free_bytes: free.saturating_mul(width),
            inodes: used.saturating_add(numbers.min(free)),
            free_inodes: numbers.min(free),
            name_max: 255,
        }
    }
}

fn read_only<T>() -> Result<T> {
    Err(Errno::ReadOnly.into())
}

impl FileSystem for F2fs {
    fn space(&self) -> Result<SpaceInfo> {
        Ok(self.usage())
    }

    fn attr(&self, ino: Ino) -> Result<Attr> {
        let (inode, node) = self.inode(ino)?;
        Ok(self.attr_of(&inode, &node)?)
    }

    fn expect(&self, inos: &[Ino]) {
        let nids: Vec<Nid> = inos.iter().filter_map(|ino| self.nid(*ino).ok()).collect();
        self.volume().read_ahead(&nids);
    }

    fn set_attr(&self, _: Ino, _: &SetAttr) -> Result<Attr> {
        read_only()
    }

    fn trim(&self, _: Range<u64>, _: u64) -> Result<u64> {
        read_only()
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Attr> {
        if name == b".." {
            return self.attr(self.parent(dir)?);
        }
        Ok(self.find(dir, name)?)
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        let (inode, _) = self.dir(dir)?;
        let root = self.volume().super_block().root();
        Ok(if inode.ino == root { Ino::ROOT } else { self.ino(inode.parent) })
    }

    fn readlink(&self, ino: Ino) -> Result<Vec<u8>> {
        Ok(self.target(ino)?)
    }

    fn create(&self, _: Ino, _: &[u8], _: &NewNode<'_>) -> Result<Attr> {
        read_only()
    }

    fn link(&self, _: Ino, _: Ino, _: &[u8]) -> Result<Attr> {
        read_only()
    }

    fn unlink(&self, _: Ino, _: &[u8]) -> Result<()> {
        read_only()
    }

    fn rmdir(&self, _: Ino, _: &[u8]) -> Result<()> {
        read_only()
    }

    fn rename(&self, _: Ino, _: &[u8], _: Ino, _: &[u8], _: RenameMode) -> Result<()> {
        read_only()
    }

    fn hold(&self, _: Ino) -> Result<()> {
        Ok(())
    }

    fn release(&self, _: Ino) -> Result<()> {
        Ok(())
    }

    fn guards_files(&self) -> bool {
        self.volume().features().guards_files()
    }

    fn open(&self, ino: Ino, _: Access) -> Result<()> {
        let (inode, node) = self.file(ino)?;
        Ok(self.reader.check_key(&inode, &node)?)
    }

    fn read(&self, ino: Ino, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let (inode, node) = self.file(ino)?;
        Ok(self.reader.read(&inode, &node, offset, buffer)?)
    }

    fn write(&self, _: Ino, _: u64, _: &[u8]) -> Result<()> {
        read_only()
    }

    fn allocate(&self, _: Ino, _: SpaceMode, _: u64, _: u64) -> Result<()> {
        read_only()
    }

    fn seek(&self, ino: Ino, offset: u64, what: Seek) -> Result<u64> {
        Ok(self.next_of(ino, offset, what)?)
    }

    fn stored(&self, ino: Ino, offset: u64) -> Result<Option<Stored>> {
        let (inode, node) = self.file(ino)?;
        Ok(self.reader.stored_bytes(&inode, &node, offset)?)
    }

    fn content_max(&self) -> u64 {
        // A cluster of at most 256 blocks is stored in one block at least.
        let most = if self.volume().features().has(Features::COMPRESSION) { CLUSTER_MAX } else { 1 };
        self.volume().device_bytes().saturating_mul(most)
    }

    fn behind_damage(&self, ino: Ino, offset: u64) -> u64 {
        // If not even the inode can be read nothing of the file can.
        self.damage_end(ino, offset).unwrap_or(u64::MAX)
    }

    fn fsync(&self, _: Ino, _: bool) -> Result<()> {
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn readdir(&self, dir: Ino, cookie: u64, each: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        Ok(self.list(dir, cookie, each)?)
    }

    fn xattr(&self, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        let (inode, node) = self.inode(ino)?;
        Ok(self.nodes().xattr_value(&inode, &node, name)?)
    }

    fn set_xattr(&self, _: Ino, _: &[u8], _: &[u8], _: XattrMode) -> Result<()> {
        read_only()
    }

    fn flags(&self, ino: Ino) -> Result<Flags> {
        Ok(self.inode(ino)?.0.shown())
    }

    fn list_xattr(&self, ino: Ino) -> Result<Vec<Vec<u8>>> {
        let (inode, node) = self.inode(ino)?;
        Ok(self.nodes().xattr_names(&inode, &node)?)
    }

    fn remove_xattr(&self, _: Ino, _: &[u8]) -> Result<()> {
        read_only()
    }

    fn maintain(&self) -> Result<bool> {
        Ok(false)
    }
}
