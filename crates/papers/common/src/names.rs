//! Names: what a call checks, in one order, before the volume changes anything.

use pumice_vfs::{DirEntry, Errno, FileKind, NewNode, RenameMode, Result, check_name};

use crate::{
    error::damaged,
    inodes::{Inodes, ROOT},
};

/// The depth of directories; only a damaged volume has deeper ones.
const DEPTH_MAX: u32 = 1 << 20;
/// The longest target of a symbolic link.
const TARGET_MAX: usize = 4095;

/// A name that was found.
pub trait Found: Clone {
    /// The inode's number.
    fn ino(&self) -> u32;

    /// The inode's kind.
    fn kind(&self) -> FileKind;

    /// True of a directory.
    fn is_dir(&self) -> bool {
        self.kind() == FileKind::Dir
    }
}

/// A name in a directory: the directory's number, and the name or where it was found.
pub type In<T> = (u32, T);

fn check_target(target: &[u8]) -> Result<()> {
    match target.len() {
        0 => Err(Errno::Invalid.into()),
        length if length > TARGET_MAX => Err(Errno::NameTooLong.into()),
        _ if target.contains(&0) => Err(Errno::Invalid.into()),
        _ => Ok(()),
    }
}

/// A volume's names.
pub trait Names: Inodes {
    /// A directory, as far as names need it.
    type Dir;
    /// A name that was found.
    type Found: Found;

    /// Bytes that a name may have.
    const NAME_MAX: usize = 255;

    /// A directory; [`Errno::NotDir`] if the inode is another.
    fn dir(&mut self, ino: u32) -> Result<Self::Dir>;

    /// The directory above one; `None` if it has no name any more.
    fn above(&self, ino: u32, dir: &Self::Dir) -> Option<u32>;

    /// Looks a name up; [`Errno::NotDir`] if that is no directory.
    fn find(&mut self, dir: u32, name: &[u8]) -> Result<Option<Self::Found>>;

    /// True if a directory has no names.
    fn is_empty(&mut self, dir: u32) -> Result<bool>;

    /// Makes an inode with a name that is free.
    fn make(&mut self, dir: In<Self::Dir>, name: &[u8], node: &NewNode<'_>) -> Result<(u32, Self::Inode)>;

    /// Adds a name that is free to an inode.
    fn add(&mut self, ino: In<Self::Inode>, dir: u32, name: &[u8]) -> Result<Self::Inode>;

    /// Takes a name away, and with the last one the inode.
    fn remove(&mut self, dir: u32, found: &Self::Found) -> Result<()>;

    /// Moves a name over another, which may be replaced, or to one that is free.
    fn relocate(&mut self, from: In<&Self::Found>, to: In<(&[u8], Option<&Self::Found>)>) -> Result<()>;

    /// Lets two inodes change their names.
    fn exchange(&mut self, from: In<&Self::Found>, to: In<&Self::Found>) -> Result<()>;

    /// Lists a directory, from behind a cookie on.
    fn readdir(&mut self, dir: u32, cookie: u64, each: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()>;

    /// Checks a name that is to be given.
    fn check_new(name: &[u8]) -> Result<()> {
        check_name(name)?;
        if name.len() > Self::NAME_MAX { Err(Errno::NameTooLong.into()) } else { Ok(()) }
    }

    /// A directory in which names can be made, and the one above it.
    fn living_dir(&mut self, ino: u32) -> Result<(Self::Dir, u32)> {
        let dir = self.dir(ino)?;
        let above = self.above(ino, &dir).ok_or(Errno::NoEntry)?;
        Ok((dir, above))
    }

    /// A name that must be there.
    fn must_find(&mut self, dir: u32, name: &[u8]) -> Result<Self::Found> {
        self.find(dir, name)?.ok_or_else(|| Errno::NoEntry.into())
    }

    /// The inode behind a name.
    fn lookup(&mut self, dir: u32, name: &[u8]) -> Result<(u32, Self::Inode)> {
        let of = self.dir(dir)?;
        let ino = match name {
            b"." => dir,
            b".." => self.above(dir, &of).ok_or(Errno::NoEntry)?,
            _ if name.len() > 255 => return Err(Errno::NameTooLong.into()),
            _ => self.must_find(dir, name)?.ino(),
        };
        Ok((ino, self.inode(ino)?))
    }

    /// The directory above one.
    fn parent(&mut self, dir: u32) -> Result<u32> {
        Ok(self.living_dir(dir)?.1)
    }

    /// Makes an inode.
    fn create(&mut self, dir: u32, name: &[u8], node: &NewNode<'_>) -> Result<(u32, Self::Inode)> {
        Self::check_new(name)?;
        let (of, _) = self.living_dir(dir)?;
        if self.find(dir, name)?.is_some() {
            return Err(Errno::Exists.into());
        }
        if node.kind == FileKind::Symlink {
            check_target(node.target)?;
        }
        self.writable()?;
        self.make((dir, of), name, node)
    }

    /// Gives an inode one name more.
    fn link(&mut self, ino: u32, dir: u32, name: &[u8]) -> Result<Self::Inode> {
        Self::check_new(name)?;
        self.living_dir(dir)?;
        let inode = self.inode(ino)?;
        let attr = self.shown(ino, &inode);
        if attr.kind == FileKind::Dir {
            return Err(Errno::Perm.into());
        }
        if attr.nlink == 0 {
            return Err(Errno::NoEntry.into());
        }
        if self.find(dir, name)?.is_some() {
            return Err(Errno::Exists.into());
        }
        self.add((ino, inode), dir, name)
    }

    /// Takes a name from an inode that is no directory.
    fn unlink(&mut self, dir: u32, name: &[u8]) -> Result<()> {
        check_name(name)?;
        let found = self.must_find(dir, name)?;
        if found.is_dir() { Err(Errno::IsDir.into()) } else { self.remove(dir, &found) }
    }

    /// Removes an empty directory.
    fn rmdir(&mut self, dir: u32, name: &[u8]) -> Result<()> {
        check_name(name)?;
        let found = self.must_find(dir, name)?;
        if !found.is_dir() {
            return Err(Errno::NotDir.into());
        }
        self.must_be_empty(found.ino())?;
        self.remove(dir, &found)
    }

    /// Refuses a directory with names.
    fn must_be_empty(&mut self, dir: u32) -> Result<()> {
        if self.is_empty(dir)? { Ok(()) } else { Err(Errno::NotEmpty.into()) }
    }

    /// Moves a name.
    fn rename(
        &mut self,
        (dir, name): In<&[u8]>,
        (to_dir, to_name): In<&[u8]>,
        mode: RenameMode,
    ) -> Result<()> {
        check_name(name)?;
        Self::check_new(to_name)?;
        self.living_dir(dir)?;
        self.living_dir(to_dir)?;
        let from = self.must_find(dir, name)?;
        let to = self.find(to_dir, to_name)?;
        self.must_not_be_within(to_dir, &from)?;
        match (mode, to) {
            (RenameMode::Whiteout { .. }, _) => Err(Errno::Invalid.into()),
            (RenameMode::NoReplace, Some(_)) => Err(Errno::Exists.into()),
            (RenameMode::Exchange, None) => Err(Errno::NoEntry.into()),
            (_, Some(to)) if to.ino() == from.ino() => Ok(()),
            (RenameMode::Exchange, Some(to)) => {
                self.must_not_be_within(dir, &to)?;
                self.exchange((dir, &from), (to_dir, &to))
            }
            (_, to) => {
                if let Some(to) = &to {
                    self.may_replace(&from, to)?;
                }
                self.relocate((dir, &from), (to_dir, (to_name, to.as_ref())))
            }
        }
    }

    /// Refuses to put one over the other if that is of another kind, or has names.
    fn may_replace(&mut self, from: &Self::Found, to: &Self::Found) -> Result<()> {
        match (from.is_dir(), to.is_dir()) {
            (true, false) => Err(Errno::NotDir.into()),
            (false, true) => Err(Errno::IsDir.into()),
            (true, true) => self.must_be_empty(to.ino()),
            (false, false) => Ok(()),
        }
    }

    /// Refuses a directory `dir` that is `top`, or below it.
    fn must_not_be_within(&mut self, dir: u32, top: &Self::Found) -> Result<()> {
        let mut at = dir;
        for _ in 0..DEPTH_MAX {
            if at == top.ino() {
                return Err(Errno::Invalid.into());
            }
            if at == ROOT {
                return Ok(());
            }
            at = self.parent(at)?;
        }
        Err(damaged(format_args!("directory {dir} lies within itself")))
    }
}
