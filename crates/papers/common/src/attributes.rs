//! The attributes that every paper's inode has.

use pumice_vfs::{Attr, FileKind, Ino, NewNode, SetAttr, Timestamp};

/// Attributes of an inode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attributes {
    /// The kind.
    pub kind: FileKind,
    /// The permissions.
    pub perm: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The device.
    pub rdev: u32,
    /// The length.
    pub size: u64,
    /// Access, modification, change, birth.
    pub times: [Timestamp; 4],
}

impl Attributes {
    /// The root directory's, when a file system is made.
    pub fn root((uid, gid): (u32, u32), created: Timestamp) -> Attributes {
        Attributes { uid, gid, times: [created; 4], ..Attributes::blank(FileKind::Dir) }
    }

    /// Stand-ins for lost ones.
    pub fn blank(kind: FileKind) -> Attributes {
        Attributes { kind, perm: 0o755, uid: 0, gid: 0, rdev: 0, size: 0, times: [Timestamp::default(); 4] }
    }

    /// A new inode's; a link is as long as its target.
    pub fn new(node: &NewNode<'_>, now: Timestamp) -> Attributes {
        Attributes {
            kind: node.kind,
            perm: node.perm & 0o7777,
            uid: node.uid,
            gid: node.gid,
            rdev: node.rdev,
            size: node.target.len() as u64,
            times: [now; 4],
        }
    }

    /// Changes all but the length.
    pub fn change(&mut self, change: &SetAttr, now: Timestamp) {
        self.perm = change.perm.map_or(self.perm, |perm| perm & 0o7777);
        self.uid = change.uid.unwrap_or(self.uid);
        self.gid = change.gid.unwrap_or(self.gid);
        let [atime, mtime, ctime, _] = &mut self.times;
        *atime = change.atime.unwrap_or(*atime);
        *mtime = change.mtime.unwrap_or(*mtime);
        *ctime = change.ctime.unwrap_or(now);
    }

    /// Notes a change of content.
    pub fn touch(&mut self, now: Timestamp) {
        (self.times[1], self.times[2]) = (now, now);
    }

    /// The attributes as callers of the file system see them.
    pub fn attr(&self, ino: u32, nlink: u32, allocated: u64, generation: u32) -> Attr {
        let [atime, mtime, ctime, btime] = self.times;
        Attr {
            ino: Ino(u64::from(ino)),
            kind: self.kind,
            perm: self.perm,
            nlink,
            uid: self.uid,
            gid: self.gid,
            rdev: self.rdev,
            size: self.size,
            allocated,
            atime,
            mtime,
            ctime,
            btime,
            generation,
        }
    }
}
