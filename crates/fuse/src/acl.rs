//! POSIX access control lists. The kernel enforces them. They are stored as extended attributes in Linux's own encoding
//! and kept in step with the permission bits. A new list changes the bits, new bits change the list, and a new inode
//! inherits the default list of its directory.

use fuser::Request;
use pumice_vfs::{Attr, Errno, FileKind, FileSystem, Ino, NewNode, Result, SetAttr, XattrMode};

/// Attribute of the access list, which the kernel enforces.
pub(crate) const ACCESS: &[u8] = b"system.posix_acl_access";
/// Attribute of a directory's default list, which new inodes in it inherit.
pub(crate) const DEFAULT: &[u8] = b"system.posix_acl_default";

const VERSION: [u8; 4] = [2, 0, 0, 0];
/// Bytes of an entry: tag (u16), permissions (u16), user or group (u32), little-endian.
const ENTRY: usize = 8;

const USER_OBJ: u16 = 0x01;
const GROUP_OBJ: u16 = 0x04;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;

const SET_GID: u32 = 0o2000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    tag: u16,
    perm: u16,
    id: u32,
}

/// A list with exactly one entry each for the owner, the group and others, and at most one mask.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Acl(Vec<Entry>);

impl Acl {
    fn decode(value: &[u8]) -> Option<Acl> {
        let body = value.strip_prefix(&VERSION)?;
        let (entries, []) = body.as_chunks::<ENTRY>() else { return None };
        let entry = |&[t0, t1, p0, p1, i0, i1, i2, i3]: &[u8; ENTRY]| Entry {
            tag: u16::from_le_bytes([t0, t1]),
            perm: u16::from_le_bytes([p0, p1]),
            id: u32::from_le_bytes([i0, i1, i2, i3]),
        };
        let acl = Acl(entries.iter().map(entry).collect());
        let count = |tag| acl.0.iter().filter(|entry| entry.tag == tag).count();
        let whole = [USER_OBJ, GROUP_OBJ, OTHER].into_iter().all(|tag| count(tag) == 1);
        let sane = acl.0.iter().all(|entry| entry.perm <= 7);
        (whole && sane && count(MASK) <= 1).then_some(acl)
    }

    fn encode(&self) -> Vec<u8> {
        let mut value = VERSION.to_vec();
        for entry in &self.0 {
            value.extend(entry.tag.to_le_bytes());
            value.extend(entry.perm.to_le_bytes());
            value.extend(entry.id.to_le_bytes());
        }
        value
    }

    /// True if permission bits can express the list.
    fn is_minimal(&self) -> bool {
        self.0.iter().all(|entry| [USER_OBJ, GROUP_OBJ, OTHER].contains(&entry.tag))
    }

    /// The tag of the entry that the group's permission bits stand for.
    fn group_class(&self) -> u16 {
        if self.0.iter().any(|entry| entry.tag == MASK) { MASK } else { GROUP_OBJ }
    }

    /// The shift of the entry with `tag` in the permission bits, if it shows there.
    fn shift(&self, tag: u16) -> Option<u32> {
        match tag {
            USER_OBJ => Some(6),
            OTHER => Some(0),
            tag if tag == self.group_class() => Some(3),
            _ => None,
        }
    }

    /// The permission bits (`0o777`) that the list implies.
    fn perm(&self) -> u32 {
        let shown = |entry: &Entry| self.shift(entry.tag).map_or(0, |shift| u32::from(entry.perm) << shift);
        self.0.iter().map(shown).sum()
    }

    /// The list after `chmod` to `perm`.
    fn with_perm(&self, perm: u32) -> Acl {
        self.map(|entry, bits| Entry { perm: bits, ..entry }, perm)
    }

    /// The list that an inode made with `mode` inherits from this default list.
    fn inherited(&self, mode: u32) -> Acl {
        self.map(|entry, bits| Entry { perm: entry.perm & bits, ..entry }, mode)
    }

    /// Changes the entries that show in the permission bits, each with its three bits of `perm`.
    fn map(&self, change: impl Fn(Entry, u16) -> Entry, perm: u32) -> Acl {
        let changed = |&entry: &Entry| match self.shift(entry.tag) {
            Some(shift) => change(entry, u16::try_from(perm >> shift & 7).unwrap_or_default()),
            None => entry,
        };
        Acl(self.0.iter().map(changed).collect())
    }
}

/// True for the two attributes that hold lists.
pub(crate) fn is_acl(name: &[u8]) -> bool {
    name == ACCESS || name == DEFAULT
}

/// Reads an inode's list.
fn stored<F: FileSystem + ?Sized>(fs: &F, ino: Ino, name: &[u8]) -> Result<Option<Acl>> {
    match fs.xattr(ino, name) {
        Ok(value) => Acl::decode(&value).map(Some).ok_or(Errno::Io.into()),
        Err(error) if matches!(error.errno(), Errno::NoData | Errno::NotSupported) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes an inode; the umask has not been applied to `perm` yet.
pub(crate) fn create<F: FileSystem + ?Sized>(
    fs: &F,
    dir: Ino,
    name: &[u8],
    node: &NewNode<'_>,
    umask: u32,
) -> Result<Attr> {
    if node.kind == FileKind::Symlink {
        return fs.create(dir, name, node);
    }
    let Some(default) = stored(fs, dir, DEFAULT)? else {
        return fs.create(dir, name, &NewNode { perm: node.perm & !umask, ..*node });
    };
    let access = default.inherited(node.perm);
    let perm = node.perm & !0o777 | access.perm();
    if access.is_minimal() && node.kind != FileKind::Dir {
        return fs.create(dir, name, &NewNode { perm, ..*node });
    }
    // Until the lists are there, the owner alone gets in: a power cut in between opens nothing.
    let made = fs.create(dir, name, &NewNode { perm: perm & !0o077, ..*node })?;
    finish(fs, made.ino, &access, (node.kind == FileKind::Dir).then_some(&default), perm).inspect_err(|_| {
        // The first failure is the answer; an inode without its lists must not stay.
        let _ = if node.kind == FileKind::Dir { fs.rmdir(dir, name) } else { fs.unlink(dir, name) };
    })
}

/// Gives a new inode its lists, and then its permission bits.
fn finish<F: FileSystem + ?Sized>(
    fs: &F,
    ino: Ino,
    access: &Acl,
    default: Option<&Acl>,
    perm: u32,
) -> Result<Attr> {
    if let Some(default) = default {
        fs.set_xattr(ino, DEFAULT, &default.encode(), XattrMode::Either)?;
    }
    if !access.is_minimal() {
        fs.set_xattr(ino, ACCESS, &access.encode(), XattrMode::Either)?;
    }
    fs.set_attr(ino, &SetAttr { perm: Some(perm), ..SetAttr::default() })
}

/// `setxattr` of a list; the permission bits follow an access list.
pub(crate) fn set<F: FileSystem + ?Sized>(
    fs: &F,
    request: &Request,
    ino: Ino,
    name: &[u8],
    value: &[u8],
) -> Result<()> {
    let acl = Acl::decode(value).ok_or(Errno::Invalid)?;
    if name == DEFAULT {
        return fs.set_xattr(ino, name, value, XattrMode::Either);
    }
    if acl.is_minimal() {
        remove(fs, ino, ACCESS)?;
    } else {
        fs.set_xattr(ino, ACCESS, value, XattrMode::Either)?;
    }
    let attr = fs.attr(ino)?;
    // The kernel does not say which further groups the caller is in, so those do not count.
    let keeps_set_gid = request.uid() == 0 || request.gid() == attr.gid;
    let high = attr.perm & !0o777 & if keeps_set_gid { !0 } else { !SET_GID };
    fs.set_attr(ino, &SetAttr { perm: Some(high | acl.perm()), ..SetAttr::default() }).map(drop)
}

/// `removexattr` of a list; a missing list is not an error.
pub(crate) fn remove<F: FileSystem + ?Sized>(fs: &F, ino: Ino, name: &[u8]) -> Result<()> {
    match fs.remove_xattr(ino, name) {
        Err(error) if error.errno() == Errno::NoData => Ok(()),
        answer => answer,
    }
}

/// Follows a `chmod`: an access list gets the new bits.
pub(crate) fn follow<F: FileSystem + ?Sized>(fs: &F, ino: Ino, perm: u32) -> Result<()> {
    let Some(acl) = stored(fs, ino, ACCESS)? else { return Ok(()) };
    let after = acl.with_perm(perm);
    if after == acl { Ok(()) } else { fs.set_xattr(ino, ACCESS, &after.encode(), XattrMode::Replace) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const USER: u16 = 0x02;

    fn acl(entries: &[(u16, u16)]) -> Acl {
        Acl(entries.iter().map(|&(tag, perm)| Entry { tag, perm, id: u32::from(tag) * 100 }).collect())
    }

    fn extended() -> Acl {
        acl(&[(USER_OBJ, 7), (USER, 6), (GROUP_OBJ, 5), (MASK, 6), (OTHER, 1)])
    }

    #[test]
    fn a_list_comes_back_from_its_bytes() {
        assert_eq!(Acl::decode(&extended().encode()), Some(extended()));
        assert_eq!(extended().encode().len(), 4 + 5 * ENTRY);
    }

    #[test]
    fn broken_lists_are_refused() {
        let whole = extended().encode();
        for cut in 0..whole.len() {
            assert_eq!(Acl::decode(&whole[..cut]), None, "{cut} bytes");
        }
        let twice = acl(&[(USER_OBJ, 7), (USER_OBJ, 7), (GROUP_OBJ, 5), (OTHER, 1)]);
        let high = acl(&[(USER_OBJ, 8), (GROUP_OBJ, 5), (OTHER, 1)]);
        for broken in [twice, high] {
            assert_eq!(Acl::decode(&broken.encode()), None, "{broken:?}");
        }
    }

    #[test]
    fn the_mask_shows_as_the_group() {
        assert_eq!(extended().perm(), 0o761);
        assert_eq!(acl(&[(USER_OBJ, 7), (GROUP_OBJ, 5), (OTHER, 1)]).perm(), 0o751);
        let after = acl(&[(USER_OBJ, 4), (USER, 6), (GROUP_OBJ, 5), (MASK, 2), (OTHER, 0)]);
        assert_eq!(extended().with_perm(0o420), after);
    }

    #[test]
    fn the_mode_limits_what_is_inherited() {
        let got = extended().inherited(0o640);
        assert_eq!(got, acl(&[(USER_OBJ, 6), (USER, 6), (GROUP_OBJ, 5), (MASK, 4), (OTHER, 0)]));
        assert_eq!(got.perm(), 0o640);
    }
}
