//! Nodes: inodes and the index nodes of large files (SPEC, "Nodes").
//!
//! An inode of class 1 points straight at its blocks but for the last entry, which is an index node. One of class 2
//! points at index nodes but for the last entry, which is one level higher; and so on (CFFS, 2.1).

use alloc::{vec, vec::Vec};

use pumice_vfs::{FileKind, Timestamp, check_name};

use crate::addr::Addr;
use crate::codec::{Put, Reader, len16, trimmed};
use crate::error::Damage;
use crate::pack::{self, Compression};
use crate::params::Params;
use crate::promise::PROMISE_BYTES;
use crate::{pointers, xattr_list};

const TAG_INODE: u8 = 1;
const TAG_INDEX: u8 = 2;
/// Added to the tags on a volume with compression: nodes tell of it where no anchor does.
const TAG_PACKS: u8 = 2;
const BODY_INLINE: u8 = 0;
const BODY_MAPPED: u8 = 1;
const BODY_PACKED: u8 = 2;

/// Extended attributes up to this many bytes live in the inode.
pub(crate) const XATTR_INLINE: usize = 192;
/// The highest index nodes, and the highest class: four levels of the smallest nodes lead to 2^32 blocks.
pub(crate) const HEIGHT_MAX: u8 = 4;
/// Bytes of an inode, with the kind of its body, and of an index node, besides what differs in length.
const INODE_HEAD: usize = 96;
const INDEX_HEAD: usize = 6;
/// Bytes beside an inline body, its length among them, that are never given to it.
const FIXED: usize = INODE_HEAD + 6;

/// Prints of births are up to this; 0 is none.
pub(crate) const BORN_MAX: u8 = 31;
/// Bits of a kind, in the byte that it shares with a print.
const KIND_BITS: u8 = 3;

/// The birth of an inode that is made when the next page has this sequence number.
fn birth(seq: u64) -> u32 {
    u32::try_from(seq & u64::from(u32::MAX)).unwrap_or(0)
}

/// The content of an inode.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Body {
    /// The content itself: a small file, a link's target, a small directory's entries.
    Inline(Vec<u8>),
    /// Pointers.
    Mapped(Map),
}

/// The top of a block map.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Map {
    /// 1 upwards.
    pub(crate) class: u8,
    /// Blocks, in class 1.
    pub(crate) direct: Vec<Addr>,
    /// Index nodes by node id, 0 for none: one in class 1, up to `fanout` in others.
    pub(crate) children: Vec<u32>,
}

impl Map {
    pub(crate) fn new() -> Map {
        Map { class: 1, direct: Vec::new(), children: Vec::new() }
    }
}

/// An inode.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Inode {
    pub(crate) kind: FileKind,
    pub(crate) perm: u16,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) nlink: u32,
    pub(crate) rdev: u32,
    /// The time of its birth: the low bits of the sequence number that the next page had then. Leftovers of an earlier
    /// inode with the same number are older.
    pub(crate) generation: u32,
    /// Bytes of a file or a link's target; entries of a directory.
    pub(crate) size: u64,
    /// Blocks mapped or reserved.
    pub(crate) blocks: u32,
    /// A directory this inode was last given a name in, and the name: for rescue and roll-forward.
    pub(crate) parent: u32,
    pub(crate) name: Vec<u8>,
    pub(crate) atime: Timestamp,
    pub(crate) mtime: Timestamp,
    pub(crate) ctime: Timestamp,
    pub(crate) btime: Timestamp,
    /// Hidden inode that holds the extended attributes, 0 if they are inline.
    pub(crate) xattr_ino: u32,
    pub(crate) xattr: Vec<u8>,
    pub(crate) body: Body,
}

/// An index node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Index {
    /// The inode it belongs to.
    pub(crate) owner: u32,
    pub(crate) body: IndexBody,
}

/// The pointers of an index node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum IndexBody {
    /// Height 1: blocks.
    Blocks(Vec<Addr>),
    /// Height 2 and more: index nodes one level lower.
    Nodes { height: u8, children: Vec<u32> },
}

/// Either.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Node {
    Inode(alloc::boxed::Box<Inode>),
    Index(Index),
}

impl Inode {
    /// A directory with nothing in it.
    pub(crate) fn directory(parent: u32, perm: u16, nlink: u32, now: Timestamp) -> Inode {
        Inode {
            kind: FileKind::Dir,
            perm,
            uid: 0,
            gid: 0,
            nlink,
            rdev: 0,
            generation: 0,
            size: 0,
            blocks: 0,
            parent,
            name: Vec::new(),
            atime: now,
            mtime: now,
            ctime: now,
            btime: now,
            xattr_ino: 0,
            xattr: Vec::new(),
            body: Body::Inline(Vec::new()),
        }
    }

    /// The same of another user and group.
    pub(crate) fn owned_by(self, (uid, gid): (u32, u32)) -> Inode {
        Inode { uid, gid, ..self }
    }

    /// The same, born with the page of this sequence number next.
    pub(crate) fn born_at(self, seq: u64) -> Inode {
        Inode { generation: birth(seq), ..self }
    }

    /// True if a page of this sequence number may belong to it, not to an earlier inode of its number.
    pub(crate) fn is_born_by(&self, seq: u64) -> bool {
        // No page that is left on a chip is half a turn of the low bits older than another.
        birth(seq).wrapping_sub(self.generation) < 1 << 31
    }

    /// A print of its birth for the entries that name it: 1 to [`BORN_MAX`].
    pub(crate) fn born(&self) -> u8 {
        u8::try_from(self.generation % u32::from(BORN_MAX)).unwrap_or(0) + 1
    }

    /// Bytes that an inline body may have; a longer name or more attributes never drive it out, and beside the node there
    /// is room for a promise.
    pub(crate) fn inline_room(params: &Params) -> usize {
        params.node as usize - FIXED - 255 - XATTR_INLINE - PROMISE_BYTES
    }

    fn encode(&self, params: &Params, usual: Compression, out: &mut Vec<u8>) {
        out.put_u8(tag(TAG_INODE, params));
        out.put_u8(kind_number(self.kind));
        out.put_u16(self.perm);
        for value in [self.uid, self.gid, self.nlink, self.rdev, self.generation, self.blocks, self.parent] {
            out.put_u32(value);
        }
        out.put_u64(self.size);
        for time in [self.atime, self.mtime, self.ctime, self.btime] {
            out.put_i64(time.seconds);
            out.put_u32(time.nanos);
        }
        out.put_u32(self.xattr_ino);
        out.put_u8(u8::try_from(self.name.len()).unwrap_or(u8::MAX));
        out.put(&self.name);
        out.put_u16(len16(self.xattr.len()));
        out.put(&self.xattr);
        match &self.body {
            Body::Inline(bytes) => {
                let packed = pack::pack(self.compression(params, usual), bytes);
                out.put_u8(if packed.is_some() { BODY_PACKED } else { BODY_INLINE });
                let bytes = packed.as_ref().unwrap_or(bytes);
                out.put_u16(len16(bytes.len()));
                out.put(bytes);
            }
            Body::Mapped(map) => {
                out.put_u8(BODY_MAPPED);
                out.put_u8(map.class);
                pointers::encode(&map.direct, params, out);
                put_children(&map.children, out);
            }
        }
    }

    /// The compression of its content, if it holds that itself.
    fn compression(&self, params: &Params, usual: Compression) -> Compression {
        match params.packs && self.kind != FileKind::Dir {
            true => xattr_list::compression(&self.xattr).unwrap_or(usual),
            false => Compression::None,
        }
    }

    fn decode(reader: &mut Reader<'_>, params: &Params) -> Option<Inode> {
        let kind = kind_from(reader.u8()?)?;
        let perm = reader.u16()?;
        let mut numbers = [0u32; 7];
        for number in &mut numbers {
            *number = reader.u32()?;
        }
        let [uid, gid, nlink, rdev, generation, blocks, parent] = numbers;
        let size = reader.u64()?;
        let mut times = [Timestamp::default(); 4];
        for time in &mut times {
            *time = Timestamp { seconds: reader.i64()?, nanos: reader.u32()? };
        }
        let [atime, mtime, ctime, btime] = times;
        let xattr_ino = reader.u32()?;
        let name_len = usize::from(reader.u8()?);
        let name = reader.bytes(name_len)?.to_vec();
        let xattr_len = usize::from(reader.u16()?);
        let xattr = reader.bytes(xattr_len)?.to_vec();
        let body = Self::decode_body(reader, params)?;
        let sound = perm <= 0o7777
            && times.iter().all(|time| time.nanos < 1_000_000_000)
            && size <= u64::from(u32::MAX) * u64::from(params.block)
            && u64::from(blocks) <= params.charge_most()
            && xattr.len() <= XATTR_INLINE
            && (name.is_empty() || check_name(&name).is_ok());
        sound.then_some(Inode {
            kind,
            perm,
            uid,
            gid,
            nlink,
            rdev,
            generation,
            size,
            blocks,
            parent,
            name,
            atime,
            mtime,
            ctime,
            btime,
            xattr_ino,
            xattr,
            body,
        })
    }

    fn decode_body(reader: &mut Reader<'_>, params: &Params) -> Option<Body> {
        let fanout = params.fanout() as usize;
        match reader.u8()? {
            BODY_INLINE => {
                let len = usize::from(reader.u16()?);
                let bytes = reader.bytes(len).filter(|bytes| bytes.len() <= Self::inline_room(params))?;
                Some(Body::Inline(bytes.to_vec()))
            }
            BODY_PACKED if params.packs => {
                let len = usize::from(reader.u16()?);
                let content = pack::unpack(reader.bytes(len)?, Self::inline_room(params), Damage::Inline);
                content.ok().map(Body::Inline)
            }
            BODY_MAPPED => {
                let class = reader.u8()?;
                let direct = pointers::decode(reader, params, fanout - 1)?;
                let children = take_children(reader, if class == 1 { 1 } else { fanout })?;
                let sound = (1..=HEIGHT_MAX).contains(&class) && (class == 1 || direct.is_empty());
                sound.then_some(Body::Mapped(Map { class, direct, children }))
            }
            _ => None,
        }
    }
}

impl Index {
    pub(crate) fn new(owner: u32, height: u8) -> Index {
        let body = match height {
            1 => IndexBody::Blocks(Vec::new()),
            _ => IndexBody::Nodes { height, children: Vec::new() },
        };
        Index { owner, body }
    }

    pub(crate) fn height(&self) -> u8 {
        match &self.body {
            IndexBody::Blocks(_) => 1,
            IndexBody::Nodes { height, .. } => *height,
        }
    }

    /// True if it has no children.
    pub(crate) fn is_empty(&self) -> bool {
        match &self.body {
            IndexBody::Blocks(blocks) => blocks.iter().all(|addr| *addr == Addr::NONE),
            IndexBody::Nodes { children, .. } => children.iter().all(|nid| *nid == 0),
        }
    }

    fn encode(&self, params: &Params, out: &mut Vec<u8>) {
        out.put_u8(tag(TAG_INDEX, params));
        out.put_u8(self.height());
        out.put_u32(self.owner);
        match &self.body {
            IndexBody::Blocks(blocks) => pointers::encode(blocks, params, out),
            IndexBody::Nodes { children, .. } => put_children(children, out),
        }
    }

    fn decode(reader: &mut Reader<'_>, params: &Params) -> Option<Index> {
        let fanout = params.fanout() as usize;
        let height = reader.u8()?;
        let owner = reader.u32()?;
        let body = match height {
            1 => IndexBody::Blocks(pointers::decode(reader, params, fanout)?),
            2..=HEIGHT_MAX => IndexBody::Nodes { height, children: take_children(reader, fanout)? },
            _ => return None,
        };
        Some(Index { owner, body })
    }
}

impl Node {
    /// The inode that the node belongs to, for node `nid`.
    pub(crate) fn owner(&self, nid: u32) -> u32 {
        match self {
            Node::Inode(_) => nid,
            Node::Index(index) => index.owner,
        }
    }

    /// The bytes of the node, at most `params.node`; a file in it is compressed by its own choice, or else as usual.
    pub(crate) fn encode(&self, params: &Params, usual: Compression) -> Vec<u8> {
        let mut out = Vec::with_capacity(params.node as usize / 2);
        match self {
            Node::Inode(inode) => inode.encode(params, usual, &mut out),
            Node::Index(index) => index.encode(params, &mut out),
        }
        out
    }

    /// The node of these bytes; `None` if anything is out of range.
    pub(crate) fn decode(bytes: &[u8], params: &Params) -> Option<Node> {
        let mut reader = Reader(bytes);
        match reader.u8()?.checked_sub(tag(0, params))? {
            TAG_INODE => {
                Inode::decode(&mut reader, params).map(|inode| Node::Inode(alloc::boxed::Box::new(inode)))
            }
            TAG_INDEX => Index::decode(&mut reader, params).map(Node::Index),
            _ => None,
        }
    }

    /// Its bytes once its blocks were written: as many as now or, with compression, the most that they can be.
    pub(crate) fn bound(&self, params: &Params) -> usize {
        let list = |blocks: &[Addr]| match params.packs {
            true => pointers::most_addr_bytes(blocks.len()),
            false => pointers::bytes(blocks, params),
        };
        match self {
            Node::Inode(inode) => {
                let body = match &inode.body {
                    Body::Inline(bytes) => 2 + bytes.len(),
                    Body::Mapped(map) => 1 + list(&map.direct) + children_bytes(&map.children),
                };
                INODE_HEAD + inode.name.len() + inode.xattr.len() + body
            }
            Node::Index(Index { body: IndexBody::Blocks(blocks), .. }) => INDEX_HEAD + list(blocks),
            Node::Index(Index { body: IndexBody::Nodes { children, .. }, .. }) => {
                INDEX_HEAD + children_bytes(children)
            }
        }
    }

    /// True if the bytes are a node of a volume with compression.
    pub(crate) fn tells_packing(bytes: &[u8]) -> bool {
        bytes.first().is_some_and(|tag| *tag > TAG_PACKS)
    }

    /// Memory it takes, roughly, in bytes.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Node::Inode(inode) => {
                let body = match &inode.body {
                    Body::Inline(bytes) => bytes.capacity(),
                    Body::Mapped(map) => map.direct.capacity() * 8 + map.children.capacity() * 4,
                };
                size_of::<Inode>() + inode.name.capacity() + inode.xattr.capacity() + body
            }
            Node::Index(index) => {
                64 + match &index.body {
                    IndexBody::Blocks(blocks) => blocks.capacity() * 8,
                    IndexBody::Nodes { children, .. } => children.capacity() * 4,
                }
            }
        }
    }
}

fn tag(tag: u8, params: &Params) -> u8 {
    tag + if params.packs { TAG_PACKS } else { 0 }
}

fn children_bytes(children: &[u32]) -> usize {
    2 + 4 * trimmed(children, &0).len()
}

fn put_children(children: &[u32], out: &mut Vec<u8>) {
    let children = trimmed(children, &0);
    out.put_u16(len16(children.len()));
    for nid in children {
        out.put_u32(*nid);
    }
}

fn take_children(reader: &mut Reader<'_>, limit: usize) -> Option<Vec<u32>> {
    let count = usize::from(reader.u16()?);
    if count > limit {
        return None;
    }
    let mut children = vec![0; count];
    for child in &mut children {
        *child = reader.u32()?;
    }
    Some(children)
}

/// The number of a kind in inodes and directory entries.
pub(crate) fn kind_number(kind: FileKind) -> u8 {
    match kind {
        FileKind::File => 1,
        FileKind::Dir => 2,
        FileKind::Symlink => 3,
        FileKind::Fifo => 4,
        FileKind::Socket => 5,
        FileKind::CharDevice => 6,
        FileKind::BlockDevice => 7,
    }
}

/// Kind of an inode and print of its birth, in the byte that names have for both.
pub(crate) fn kind_and_born(kind: FileKind, born: u8) -> u8 {
    kind_number(kind) | born << KIND_BITS
}

/// The inverse of [`kind_and_born`].
pub(crate) fn kind_and_born_from(byte: u8) -> Option<(FileKind, u8)> {
    Some((kind_from(byte & ((1 << KIND_BITS) - 1))?, byte >> KIND_BITS))
}

/// The inverse of [`kind_number`].
pub(crate) fn kind_from(number: u8) -> Option<FileKind> {
    use FileKind::{BlockDevice, CharDevice, Dir, Fifo, File, Socket, Symlink};
    let kinds = [File, Dir, Symlink, Fifo, Socket, CharDevice, BlockDevice];
    kinds.into_iter().find(|kind| kind_number(*kind) == number)
}
