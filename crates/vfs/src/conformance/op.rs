//! The operations that random sequences are made of.

use alloc::vec;
use alloc::vec::Vec;

use crate::{FileKind, NewNode, RenameMode, Seek, SetAttr, SpaceMode, XattrMode};

/// The inodes among which an operation picks one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pool {
    /// Directories.
    Dirs,
    /// Regular files.
    Files,
    /// All.
    Any,
}

/// An inode: number `index`, modulo how many there are in the pool, or the root if there are none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pick {
    /// The inodes to pick from.
    pub pool: Pool,
    /// The number of the one picked.
    pub index: u8,
}

/// A name, by number: a few usable ones (0 to [`Name::GOOD`]), then some that [`crate::check_name`] refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name(pub u8);

impl Name {
    /// The last usable name.
    pub const GOOD: u8 = 11;
    /// `.`
    pub const DOT: Name = Name(12);
    /// `..`
    pub const DOT_DOT: Name = Name(13);
    /// The last of all.
    pub const LAST: u8 = 16;

    /// The name itself.
    pub fn bytes(self) -> Vec<u8> {
        match self.0 {
            0..=8 => vec![b'a' + self.0],
            9 => b"\xff\xc0 name\n".to_vec(),
            10 => vec![b'm'; 100],
            11 => vec![b'n'; 255],
            12 => b".".to_vec(),
            13 => b"..".to_vec(),
            14 => vec![b'x'; 256],
            15 => b"x/y".to_vec(),
            _ => Vec::new(),
        }
    }
}

/// The name of an extended attribute, by number; from 6 in a namespace that there is not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct XattrName(pub u8);

impl XattrName {
    /// The name itself.
    pub fn bytes(self) -> Vec<u8> {
        match self.0 {
            0 => b"user.a".to_vec(),
            1 => b"user.b".to_vec(),
            2 => [&b"user."[..], &[b'l'; 250]].concat(),
            3 => b"trusted.c".to_vec(),
            4 => b"security.d".to_vec(),
            5 => b"user.\xfe".to_vec(),
            _ => b"other.e".to_vec(),
        }
    }
}

/// An inode to be made. A target is made up from its length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the fields of NewNode")]
pub struct Node {
    pub kind: FileKind,
    pub perm: u32,
    pub uid: u32,
    pub gid: u32,
    pub rdev: u32,
    pub target_len: u16,
}

impl Node {
    /// Hands the inode over in the form in which `create` takes it.
    pub fn with<T>(&self, make: impl FnOnce(&NewNode<'_>) -> T) -> T {
        let target = vec![b't'; usize::from(self.target_len)];
        let target: &[u8] = if self.kind == FileKind::Symlink { &target } else { b"" };
        let Node { kind, perm, uid, gid, rdev, .. } = *self;
        make(&NewNode { kind, perm, uid, gid, rdev, target })
    }
}

/// One operation: a call of [`crate::FileSystem`] with its arguments, or a remount. Offsets and lengths are in
/// bytes; data and values are made up from `seed`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the arguments of the calls, under their names there")]
pub enum Op {
    Space,
    Attr { node: Pick },
    SetAttr { node: Pick, change: SetAttr },
    Lookup { dir: Pick, name: Name },
    Parent { dir: Pick },
    Readlink { node: Pick },
    Create { dir: Pick, name: Name, node: Node },
    Link { node: Pick, dir: Pick, name: Name },
    Unlink { dir: Pick, name: Name },
    Rmdir { dir: Pick, name: Name },
    Rename { dir: Pick, name: Name, to_dir: Pick, to_name: Name, mode: RenameMode },
    Hold { node: Pick },
    Release { index: u8 },
    Read { file: Pick, offset: u64, len: u32 },
    Write { file: Pick, offset: u64, len: u32, seed: u8 },
    Allocate { file: Pick, mode: SpaceMode, offset: u64, length: u64 },
    Seek { file: Pick, offset: u64, what: Seek },
    Fsync { node: Pick, data_only: bool },
    Sync,
    Readdir { dir: Pick, at_once: u8 },
    StreamOpen { dir: Pick },
    StreamStep { count: u8 },
    Xattr { node: Pick, name: XattrName },
    SetXattr { node: Pick, name: XattrName, len: u32, seed: u8, mode: XattrMode },
    ListXattr { node: Pick },
    RemoveXattr { node: Pick, name: XattrName },
    Maintain,
    Remount,
}

impl Op {
    /// Whether a full file system may refuse it. It may not refuse calls that free space or only read.
    pub(super) fn may_need_space(&self) -> bool {
        matches!(
            self,
            Op::SetAttr { .. }
                | Op::Create { .. }
                | Op::Link { .. }
                | Op::Rename { .. }
                | Op::Write { .. }
                | Op::Allocate { .. }
                | Op::SetXattr { .. }
        )
    }

    /// Whether it changes names, and so attributes of inodes that it does not mention.
    pub(super) fn changes_names(&self) -> bool {
        matches!(
            self,
            Op::Create { .. }
                | Op::Link { .. }
                | Op::Unlink { .. }
                | Op::Rmdir { .. }
                | Op::Rename { .. }
                | Op::Release { .. }
                | Op::Remount
        )
    }
}

/// Bytes made up from a seed: for some seeds all equal, for some repetitive, for some without any order.
pub(super) fn made_up(seed: u8, len: u32) -> Vec<u8> {
    let len = usize::try_from(len).unwrap_or(0);
    match seed % 4 {
        0 => vec![seed; len],
        1 => (0..=u8::MAX).map(|byte| byte % 24 + seed % 60).cycle().take(len).collect(),
        _ => {
            let mut state = u64::from(seed) + 1;
            let mut bytes = Vec::with_capacity(len + 8);
            while bytes.len() < len {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                bytes.extend_from_slice(&(state ^ (state >> 29)).to_le_bytes());
            }
            bytes.truncate(len);
            bytes
        }
    }
}
