//! The inode: attributes, and in the words behind them addresses, inline data, or an inline directory, with
//! inline attributes at their end.

use core::ops::Range;

use pumice_vfs::{FileKind, Flags, Timestamp, flag};
use zerocopy::{
    FromBytes, FromZeros, IntoBytes,
    little_endian::{U16, U32, U64},
};

use super::{
    Advise, BlockAddr, BlockSize, Features, InlineFlags, InodeFlags, Nid,
    inode_raw::{RawExtent, RawExtraAttr, RawInode},
    levels::bucket_beside,
    size::{FOOTER_BYTES, INODE_HEAD_BYTES},
};
use crate::error::{Place, Result, corrupt};

const HEAD: usize = INODE_HEAD_BYTES as usize;
/// Bytes of all extra attributes that are known.
pub(crate) const EXTRA: usize = size_of::<RawExtraAttr>();
const EXTRA_BYTES: u16 = 36;
const _: () = assert!(EXTRA_BYTES as usize == EXTRA);
/// Blocks of a cluster of a compressed file, at most.
pub(crate) const CLUSTER_MAX: u64 = 256;
/// Words of inline attributes where nothing else is said.
const DEFAULT_XATTR_WORDS: u16 = 50;

/// A run of blocks of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// First block of the file.
    pub first: u32,
    /// The address.
    pub addr: BlockAddr,
    /// Blocks.
    pub blocks: u32,
}

/// The extra attributes of an inode; those it has no room for are zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExtraAttr {
    /// Bytes they take, a multiple of 4.
    pub bytes: u16,
    /// Words for inline attributes.
    pub xattr_words: u16,
    /// Project.
    pub project: u32,
    /// Checksum of the inode.
    pub checksum: u32,
    /// Birth.
    pub crtime: Timestamp,
    /// Blocks that compression saved.
    pub saved_blocks: u64,
    /// Algorithm: 0 lzo, 1 lz4, 2 zstd, 3 lzo-rle.
    pub algorithm: u8,
    /// A cluster has `1 << log` blocks.
    pub log_cluster: u8,
    /// Bit 0: clusters carry a checksum; bits 8 to 15: level.
    pub compress_flag: u16,
}

/// An inode with numbers that fit together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inode {
    /// Its number.
    pub ino: Nid,
    /// The kind.
    pub kind: FileKind,
    /// Kind and permissions.
    pub mode: u16,
    /// Hints.
    pub advise: Advise,
    /// The use of the words.
    pub inline: InlineFlags,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Names it has.
    pub links: u32,
    /// Length in bytes.
    pub size: u64,
    /// Blocks it takes, itself among them.
    pub blocks: u64,
    /// Last read.
    pub atime: Timestamp,
    /// Last change of attributes.
    pub ctime: Timestamp,
    /// Last change of content.
    pub mtime: Timestamp,
    /// Changes when the number is used again.
    pub generation: u32,
    /// Levels of a directory's hash table; of a file the lower half counts failed moves.
    pub depth: u32,
    /// The node with more attributes.
    pub xattr_nid: Nid,
    /// Flags.
    pub flags: InodeFlags,
    /// A directory it has a name in.
    pub parent: Nid,
    /// Bytes of that name.
    pub name_len: u32,
    /// The bytes of that name, and those left behind it.
    pub name: [u8; 255],
    /// The number of levels that a directory's hash table begins below the smallest.
    pub dir_level: u8,
    /// The largest extent.
    pub extent: Extent,
    /// Extra attributes.
    pub extra: Option<ExtraAttr>,
    size_class: BlockSize,
    /// Words of inline attributes at the end of the words.
    xattr_words: u16,
}

impl Inode {
    /// A new inode with room for inline attributes, and with extra attributes where the features ask for them, as the
    /// kernel makes one. All else is zero.
    pub fn fresh(ino: Nid, kind: FileKind, perm: u16, size: BlockSize, features: Features) -> Inode {
        let extra = features.has(Features::EXTRA_ATTR).then(|| ExtraAttr::fresh(features));
        let inline = if extra.is_some() { InlineFlags::EXTRA_ATTR } else { InlineFlags(0) };
        let inline = inline.with(InlineFlags::XATTR);
        let mut raw = RawInode::new_zeroed();
        let [low, high, ..] = kind.mode_bits().to_le_bytes();
        raw.i_mode = U16::new(u16::from_le_bytes([low, high]) | perm & 0o7777);
        raw.i_inline = inline.0;
        raw.i_links = U32::new(1);
        raw.i_blocks = U64::new(1);
        let xattr_words = xattr_words(inline, extra.as_ref(), features);
        native(ino, kind, &raw, extra, size, xattr_words)
    }

    /// An empty directory with its names in the inode, changed at `now`. It hangs from itself: a root.
    pub(crate) fn fresh_root(
        ino: Nid,
        perm: u16,
        now: Timestamp,
        size: BlockSize,
        features: Features,
    ) -> Inode {
        let mut inode = Inode::fresh(ino, FileKind::Dir, perm, size, features);
        inode.inline = inode.inline.with(InlineFlags::DENTRY);
        (inode.links, inode.depth, inode.parent) = (2, 1, ino);
        (inode.atime, inode.mtime, inode.ctime) = (now, now, now);
        inode.size = inode.inline_range().len() as u64;
        inode
    }

    /// Takes an inode's block apart and checks it: kind, extra attributes, room for inline attributes.
    pub fn from_block(ino: Nid, block: &[u8], size: BlockSize, features: Features) -> Result<Inode> {
        let place = Place::Inode(ino);
        let short = || corrupt(place, "bytes are", block.len() as u64, size.bytes());
        let (raw, rest) = RawInode::read_from_prefix(block).map_err(|_| short())?;
        let mode = raw.i_mode.get();
        let kind = FileKind::from_mode(u32::from(mode))
            .ok_or_else(|| corrupt(place, "the mode is", mode, 0o100_000_u32))?;
        let inline = InlineFlags(raw.i_inline);
        let extra = inline.has(InlineFlags::EXTRA_ATTR).then(|| extra_attr(place, rest)).transpose()?;
        let xattr_words = xattr_words(inline, extra.as_ref(), features);
        let taken = u32::from(xattr_words) + extra.map_or(0, |extra| u32::from(extra.bytes) / 4);
        if taken >= size.inode_words() {
            return Err(corrupt(place, "words of attributes are", taken, size.inode_words()));
        }
        let inode = native(ino, kind, &raw, extra, size, xattr_words);
        inode.check_compression(place)?;
        Ok(inode)
    }

    fn check_compression(&self, place: Place) -> Result<()> {
        match self.compression() {
            Some(extra) if !(2..=8).contains(&extra.log_cluster) => {
                Err(corrupt(place, "log2 of the cluster size is", extra.log_cluster, 8_u32))
            }
            Some(extra) if extra.algorithm > 3 => {
                Err(corrupt(place, "the compression algorithm is", extra.algorithm, 3_u32))
            }
            _ => Ok(()),
        }
    }

    /// Puts the attributes into a block, and leaves addresses and footer as they are.
    pub fn write_to(&self, block: &mut [u8]) {
        let head = self.raw_head();
        if let Some(place) = block.get_mut(..HEAD) {
            place.copy_from_slice(head.as_bytes());
        }
        if let Some(extra) = &self.extra {
            let raw = extra.to_raw();
            let bytes = usize::from(extra.bytes).min(EXTRA);
            if let (Some(place), Some(from)) =
                (block.get_mut(HEAD..HEAD + bytes), raw.as_bytes().get(..bytes))
            {
                place.copy_from_slice(from);
            }
        }
    }

    fn raw_head(&self) -> RawInode {
        RawInode {
            i_mode: U16::new(self.mode),
            i_advise: self.advise.0,
            i_inline: self.inline.0,
            i_uid: U32::new(self.uid),
            i_gid: U32::new(self.gid),
            i_links: U32::new(self.links),
            i_size: U64::new(self.size),
            i_blocks: U64::new(self.blocks),
            i_atime: U64::new(self.atime.seconds.cast_unsigned()),
            i_ctime: U64::new(self.ctime.seconds.cast_unsigned()),
            i_mtime: U64::new(self.mtime.seconds.cast_unsigned()),
            i_atime_nsec: U32::new(self.atime.nanos),
            i_ctime_nsec: U32::new(self.ctime.nanos),
            i_mtime_nsec: U32::new(self.mtime.nanos),
            i_generation: U32::new(self.generation),
            i_current_depth: U32::new(self.depth),
            i_xattr_nid: U32::new(self.xattr_nid.0),
            i_flags: U32::new(self.flags.0),
            i_pino: U32::new(self.parent.0),
            i_namelen: U32::new(self.name_len),
            i_name: self.name,
            i_dir_level: self.dir_level,
            i_ext: RawExtent {
                fofs: U32::new(self.extent.first),
                blk: U32::new(self.extent.addr.0),
                len: U32::new(self.extent.blocks),
            },
        }
    }

    /// Remembers a name that it has in a directory, by the bytes and the hash that stand there.
    pub(crate) fn set_name(&mut self, dir: &Inode, name: &[u8], hash: u32) {
        debug_assert!(name.len() <= self.name.len());
        self.parent = dir.ino;
        self.name_len = crate::word::word(name.len());
        self.name = [0; 255];
        self.name.iter_mut().zip(name).for_each(|(to, from)| *to = *from);
        if !dir.is_encrypted() {
            self.advise = self.advise.without(Advise::ENC_NAME);
            return;
        }
        self.advise = self.advise.with(Advise::ENC_NAME);
        if !dir.is_casefolded() {
            return;
        }
        // Rolling forward has no keys, and finds the hash behind the name. Without room for it the name is not used.
        match self.name.get_mut(name.len()..name.len() + 4) {
            Some(behind) => behind.copy_from_slice(&hash.to_le_bytes()),
            None => self.advise = self.advise.with(Advise::LOST_PINO),
        }
    }

    /// The words of a device: small numbers in the old encoding, others behind it.
    pub(crate) fn device_words(rdev: u32) -> Vec<u8> {
        let (major, minor) = ((rdev >> 8) & 0xfff, (rdev & 0xff) | ((rdev >> 12) & 0xf_ff00));
        let words = if major < 256 && minor < 256 { [(major << 8) | minor, 0] } else { [0, rdev] };
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The device number of a device node, of its block: the first address holds the old encoding, otherwise the second the
    /// new one, which is Linux's `st_rdev`.
    pub(crate) fn device(&self, block: &[u8]) -> u32 {
        if !matches!(self.kind, FileKind::CharDevice | FileKind::BlockDevice) {
            return 0;
        }
        let at = self.addrs_at();
        let word = |at: usize| {
            block.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes))
        };
        match word(at) {
            // Eight bits each: major above minor, as in the new encoding.
            old if old != 0 => old & 0xffff,
            _ => word(at + 4),
        }
    }

    /// True if it has room for a checksum.
    pub(crate) fn has_checksum(&self) -> bool {
        self.extra.is_some_and(|extra| extra.has_checksum())
    }

    /// True if the data stand in the inode.
    pub fn has_inline_data(&self) -> bool {
        self.inline.has(InlineFlags::DATA)
    }

    /// True if the directory entries stand in the inode.
    pub fn has_inline_dentry(&self) -> bool {
        self.inline.has(InlineFlags::DENTRY)
    }

    /// True if a name with a hash may stand in a block of this directory, or in the inode.
    pub(crate) fn may_hold(&self, index: u64, hash: u32) -> bool {
        self.has_inline_dentry() || bucket_beside(index, hash, self.dir_level.into()).1.contains(&index)
    }

    /// The features that it needs to be read as it is meant, but for the one that tells the room of its attributes.
    pub(crate) fn uses(&self) -> Features {
        let born = self.extra.is_some_and(|extra| extra.crtime != Timestamp { seconds: 0, nanos: 0 });
        let seen = [
            (self.extra.is_some(), Features::EXTRA_ATTR),
            (born, Features::INODE_CRTIME),
            (self.extra.is_some_and(|extra| extra.project != 0), Features::PROJECT_QUOTA),
            (self.is_encrypted(), Features::ENCRYPT),
            (self.is_verity(), Features::VERITY),
            (self.is_casefolded(), Features::CASEFOLD),
            (self.compression().is_some(), Features::COMPRESSION),
        ];
        let seen = seen.into_iter().filter(|(is_seen, _)| *is_seen);
        seen.fold(Features::default(), |all, (_, one)| all.with(one))
    }

    /// True if the words of its block are addresses.
    pub(crate) fn has_addrs(&self) -> bool {
        matches!(self.kind, FileKind::File | FileKind::Dir | FileKind::Symlink)
            && !self.has_inline_data()
            && !self.has_inline_dentry()
    }

    /// True if the content (of a directory: the names) is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.advise.has(Advise::ENCRYPT)
    }

    /// Its content is encrypted from now on.
    pub(crate) fn set_encrypted(&mut self) {
        self.advise = self.advise.with(Advise::ENCRYPT);
    }

    /// True if it is encrypted in a directory that is: device nodes, pipes and sockets have nothing but their names.
    pub(crate) fn can_be_encrypted(&self) -> bool {
        matches!(self.kind, FileKind::File | FileKind::Dir | FileKind::Symlink)
    }

    /// True if its blocks must stay where they are.
    pub fn is_pinned(&self) -> bool {
        self.inline.has(InlineFlags::PIN) || self.flags.has(InodeFlags::DEVICE_ALIAS)
    }

    /// True if nothing of it may be changed.
    pub(crate) fn is_immutable(&self) -> bool {
        self.flags.has(InodeFlags::IMMUTABLE)
    }

    /// True if bytes are written behind its end only.
    pub(crate) fn is_added_to(&self) -> bool {
        self.flags.has(InodeFlags::APPEND)
    }

    /// True if bytes may be written from `offset` on.
    pub(crate) fn takes_bytes_at(&self, offset: u64) -> bool {
        !self.is_added_to() || offset >= self.size
    }

    /// True if it may have a name in a directory by their projects.
    pub(crate) fn fits_project_of(&self, dir: &Inode) -> bool {
        let project = |inode: &Inode| inode.extra.map_or(0, |extra| extra.project);
        !dir.flags.has(InodeFlags::PROJECT_INHERIT) || project(self) == project(dir)
    }

    /// True if its blocks are encrypted as a whole: those of a directory or a link are not.
    pub(crate) fn has_encrypted_content(&self) -> bool {
        self.is_encrypted() && self.kind == FileKind::File
    }

    /// True if names that differ only in case are the same.
    pub fn is_casefolded(&self) -> bool {
        self.kind == FileKind::Dir && self.flags.has(InodeFlags::CASEFOLD)
    }

    /// True if it is protected by fs-verity.
    pub fn is_verity(&self) -> bool {
        self.advise.has(Advise::VERITY)
    }

    /// The compression of the content, if it is compressed.
    pub fn compression(&self) -> Option<&ExtraAttr> {
        let extra = self.extra.as_ref()?;
        let marked = self.kind == FileKind::File && self.flags.has(InodeFlags::COMPRESSED);
        (marked && usize::from(extra.bytes) >= EXTRA).then_some(extra)
    }

    /// True if it claims more than so many bytes.
    pub fn is_larger_than(&self, bytes: u64) -> bool {
        self.size > bytes
    }

    /// Marks it as compressed, by an algorithm, in clusters of `1 << log_cluster` blocks.
    pub(crate) fn set_compressed(&mut self, algorithm: u8, log_cluster: u8, compress_flag: u16) {
        debug_assert!(self.extra.is_some(), "compression without extra attributes");
        self.flags = self.flags.with(InodeFlags::COMPRESSED);
        if let Some(extra) = &mut self.extra {
            *extra = ExtraAttr { algorithm, log_cluster, compress_flag, ..*extra };
        }
    }

    /// Permission bits, set-id and sticky ones among them.
    pub(crate) fn perm(&self) -> u32 {
        u32::from(self.mode) & 0o7777
    }

    /// Blocks of a cluster of a compressed file.
    pub fn cluster_blocks(&self) -> Option<u32> {
        self.compression().map(|extra| 1 << extra.log_cluster.min(8))
    }

    /// Counts one block less.
    ///
    /// # Errors
    /// If it has none but itself.
    pub(crate) fn lose_block(&mut self) -> Result<()> {
        let left = self.blocks.checked_sub(1).filter(|left| *left > 0);
        self.blocks = left.ok_or_else(|| {
            corrupt(Place::Inode(self.ino), "its blocks are fewer than are found:", self.blocks, 2_u32)
        })?;
        Ok(())
    }

    /// Counts blocks that compression does not save any more.
    ///
    /// # Errors
    /// If it saved fewer.
    pub(crate) fn lose_saved(&mut self, count: u64) -> Result<()> {
        let place = Place::Inode(self.ino);
        let Some(extra) = self.extra.as_mut().filter(|_| count > 0) else { return Ok(()) };
        let damage = "blocks that compression saved are fewer than are found:";
        let left = extra.saved_blocks.checked_sub(count);
        extra.saved_blocks = left.ok_or_else(|| corrupt(place, damage, extra.saved_blocks, count))?;
        Ok(())
    }

    /// True if the room saved by compression was given back: nobody can write to the file until it is reserved again.
    pub(crate) fn is_released(&self) -> bool {
        self.inline.has(InlineFlags::RELEASED)
    }

    /// Addresses in the inode. Whole clusters only, where the file is compressed.
    pub fn own_addrs(&self) -> u32 {
        let words = self.size_class.inode_words() - self.extra_words() - u32::from(self.xattr_words);
        self.whole_clusters(words)
    }

    /// Addresses in each of its direct nodes.
    pub fn node_addrs(&self) -> u32 {
        self.whole_clusters(self.size_class.node_words())
    }

    fn whole_clusters(&self, words: u32) -> u32 {
        self.cluster_blocks().map_or(words, |blocks| words / blocks * blocks)
    }

    fn extra_words(&self) -> u32 {
        self.extra.map_or(0, |extra| u32::from(extra.bytes) / 4)
    }

    /// The place of the first address in the block.
    pub fn addrs_at(&self) -> usize {
        HEAD + self.extra_words() as usize * 4
    }

    /// The place of inline data, or of an inline directory, in the block.
    pub fn inline_range(&self) -> Range<usize> {
        let words = self.size_class.inode_words() - self.extra_words() - u32::from(self.xattr_words);
        let start = self.addrs_at() + 4;
        start..start + (words as usize - 1) * 4
    }

    /// The place of inline attributes in the block. Room may be left for them though there are none.
    pub fn xattr_range(&self) -> Range<usize> {
        let end = HEAD + self.size_class.inode_words() as usize * 4;
        let words = if self.inline.has(InlineFlags::XATTR) { self.xattr_words } else { 0 };
        end - usize::from(words) * 4..end
    }

    /// Writes the five node numbers.
    pub fn put_nids(nids: [Nid; 5], block: &mut [u8]) {
        let at = block.len().saturating_sub(FOOTER_BYTES as usize + 20);
        let bytes = nids.iter().flat_map(|nid| nid.0.to_le_bytes());
        block.iter_mut().skip(at).zip(bytes).for_each(|(to, from)| *to = from);
    }

    /// The five node numbers: two direct, two indirect, one double indirect.
    pub fn nids(&self, block: &[u8]) -> [Nid; 5] {
        let at = block.len().saturating_sub(FOOTER_BYTES as usize + 20);
        let raw: [U32; 5] = block
            .get(at..)
            .and_then(|rest| <[U32; 5]>::read_from_prefix(rest).ok())
            .map_or([U32::ZERO; 5], |(raw, _)| raw);
        raw.map(|nid| Nid(nid.get()))
    }

    /// The hash that stands behind its name, if there was room for it: of a name in a directory that is encrypted and
    /// ignores case.
    pub(crate) fn hash_behind_name(&self) -> Option<u32> {
        let behind = self.name.get(self.name_len as usize..)?.first_chunk()?;
        Some(u32::from_le_bytes(*behind))
    }

    /// The name it was last known by; empty if its length is out of bounds.
    pub fn last_name(&self) -> &[u8] {
        self.name.get(..self.name_len as usize).unwrap_or_default()
    }

    /// The directory that it had that name in.
    pub(crate) fn last_directory(&self) -> Nid {
        self.parent
    }

    /// True if that name is encrypted.
    pub(crate) fn has_encrypted_name(&self) -> bool {
        self.advise.has(Advise::ENC_NAME)
    }

    /// All flags that `lsattr` may show.
    pub(crate) const SHOWN_FLAGS: u32 =
        InodeFlags::SHOWN | flag::ENCRYPTED | flag::VERITY | flag::NOCOW | flag::INLINE;

    /// The flags as `lsattr` shows them.
    pub fn shown_flags(&self) -> u32 {
        let mark = |set: bool, bit: u32| if set { bit } else { 0 };
        (self.flags.0 & InodeFlags::SHOWN)
            | mark(self.is_encrypted(), flag::ENCRYPTED)
            | mark(self.is_verity(), flag::VERITY)
            | mark(self.inline.has(InlineFlags::PIN), flag::NOCOW)
            | mark(self.has_inline_data() || self.has_inline_dentry(), flag::INLINE)
    }

    /// Flags and project for callers.
    pub(crate) fn shown(&self) -> Flags {
        Flags { bits: self.shown_flags(), project: self.extra.map_or(0, |extra| extra.project) }
    }

    /// Space taken as `stat` shows it, in bytes: all blocks but the inode itself; inline content counts by
    /// its length.
    pub fn allocated(&self) -> u64 {
        let blocks = self.blocks.saturating_sub(1).saturating_mul(self.size_class.bytes_u64());
        let inline = match self.kind {
            FileKind::File => self.has_inline_data(),
            _ => self.has_inline_dentry(),
        };
        if inline { blocks.saturating_add(self.size.div_ceil(512).saturating_mul(512)) } else { blocks }
    }
}

impl ExtraAttr {
    /// As many as there are, all zero.
    fn fresh(features: Features) -> ExtraAttr {
        let flexible = features.has(Features::FLEXIBLE_INLINE_XATTR);
        ExtraAttr {
            bytes: EXTRA_BYTES,
            xattr_words: if flexible { DEFAULT_XATTR_WORDS } else { 0 },
            project: 0,
            checksum: 0,
            crtime: Timestamp::default(),
            saved_blocks: 0,
            algorithm: 0,
            log_cluster: 0,
            compress_flag: 0,
        }
    }

    fn to_raw(self) -> RawExtraAttr {
        RawExtraAttr {
            i_extra_isize: U16::new(self.bytes),
            i_inline_xattr_size: U16::new(self.xattr_words),
            i_projid: U32::new(self.project),
            i_inode_checksum: U32::new(self.checksum),
            i_crtime: U64::new(self.crtime.seconds.cast_unsigned()),
            i_crtime_nsec: U32::new(self.crtime.nanos),
            i_compr_blocks: U64::new(self.saved_blocks),
            i_compress_algorithm: self.algorithm,
            i_log_cluster_size: self.log_cluster,
            i_compress_flag: U16::new(self.compress_flag),
        }
    }

    /// True if the inode has room for its checksum.
    pub fn has_checksum(&self) -> bool {
        self.bytes >= 12
    }

    /// True if the inode has room for its time of birth.
    pub fn has_crtime(&self) -> bool {
        self.bytes >= 24
    }
}

fn extra_attr(place: Place, rest: &[u8]) -> Result<ExtraAttr> {
    let size = rest.first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes));
    // The smallest has room for both sizes; later kernels may have more than is known here.
    if size % 4 != 0 || !(4..=512).contains(&size) {
        return Err(corrupt(place, "bytes of extra attributes are", size, EXTRA as u64));
    }
    let mut bytes = [0; EXTRA];
    let known = usize::from(size).min(EXTRA);
    if let (Some(place), Some(from)) = (bytes.get_mut(..known), rest.get(..known)) {
        place.copy_from_slice(from);
    }
    let raw: RawExtraAttr = zerocopy::transmute!(bytes);
    Ok(ExtraAttr {
        bytes: size,
        xattr_words: raw.i_inline_xattr_size.get(),
        project: raw.i_projid.get(),
        checksum: raw.i_inode_checksum.get(),
        crtime: time(raw.i_crtime, raw.i_crtime_nsec),
        saved_blocks: raw.i_compr_blocks.get(),
        algorithm: raw.i_compress_algorithm,
        log_cluster: raw.i_log_cluster_size,
        compress_flag: raw.i_compress_flag.get(),
    })
}

fn xattr_words(inline: InlineFlags, extra: Option<&ExtraAttr>, features: Features) -> u16 {
    if features.has(Features::FLEXIBLE_INLINE_XATTR) {
        // Inodes without extra attributes come from before the feature was switched on.
        return extra.map_or(0, |extra| extra.xattr_words);
    }
    // Directories inside an inode have always left room for attributes, used or not.
    if inline.has(InlineFlags::XATTR) || inline.has(InlineFlags::DENTRY) { DEFAULT_XATTR_WORDS } else { 0 }
}

fn native(
    ino: Nid,
    kind: FileKind,
    raw: &RawInode,
    extra: Option<ExtraAttr>,
    size_class: BlockSize,
    xattr_words: u16,
) -> Inode {
    Inode {
        ino,
        kind,
        mode: raw.i_mode.get(),
        advise: Advise(raw.i_advise),
        inline: InlineFlags(raw.i_inline),
        uid: raw.i_uid.get(),
        gid: raw.i_gid.get(),
        links: raw.i_links.get(),
        size: raw.i_size.get(),
        blocks: raw.i_blocks.get(),
        atime: time(raw.i_atime, raw.i_atime_nsec),
        ctime: time(raw.i_ctime, raw.i_ctime_nsec),
        mtime: time(raw.i_mtime, raw.i_mtime_nsec),
        generation: raw.i_generation.get(),
        depth: raw.i_current_depth.get(),
        xattr_nid: Nid(raw.i_xattr_nid.get()),
        flags: InodeFlags(raw.i_flags.get()),
        parent: Nid(raw.i_pino.get()),
        name_len: raw.i_namelen.get(),
        name: raw.i_name,
        dir_level: raw.i_dir_level,
        extent: Extent {
            first: raw.i_ext.fofs.get(),
            addr: BlockAddr(raw.i_ext.blk.get()),
            blocks: raw.i_ext.len.get(),
        },
        extra,
        size_class,
        xattr_words,
    }
}

fn time(seconds: U64, nanos: U32) -> Timestamp {
    Timestamp { seconds: seconds.get().cast_signed(), nanos: nanos.get() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory inside its inode leaves room for attributes. Without their flag they begin in the block of their own.
    #[test]
    fn room_for_attributes_is_not_yet_attributes() {
        let attributes = |inline: InlineFlags| {
            let mut block = vec![0; BlockSize::KIB4.width()];
            block[..4].copy_from_slice(&[0xed, 0x41, 0, inline.0]);
            let inode = Inode::from_block(Nid(4), &block, BlockSize::KIB4, Features(0)).unwrap();
            (inode.inline_range().len(), inode.xattr_range().len())
        };
        assert_eq!(attributes(InlineFlags::DENTRY), (3488, 0));
        assert_eq!(attributes(InlineFlags(InlineFlags::DENTRY.0 | InlineFlags::XATTR.0)), (3488, 200));
    }
}
