//! Moving names.

use super::state::State;
use crate::{Errno, Ino, NewNode, RenameMode, Result, Timestamp, check_name};

/// A name that is there, and its inode.
#[derive(Clone, Copy)]
struct Place<'a> {
    dir: Ino,
    name: &'a [u8],
    ino: Ino,
}

impl State {
    pub(super) fn rename(
        &mut self,
        (dir, name): (Ino, &[u8]),
        (to_dir, to_name): (Ino, &[u8]),
        mode: RenameMode,
        now: Timestamp,
    ) -> Result<()> {
        self.writable()?;
        check_name(name)?;
        check_name(to_name)?;
        let source = Place { dir, name, ino: self.entry(dir, name)? };
        let target = self.linked_dir(to_dir)?.get(to_name);
        let target = target.map(|ino| Place { dir: to_dir, name: to_name, ino });
        match (mode, target) {
            (RenameMode::NoReplace, Some(_)) => return Err(Errno::Exists.into()),
            (RenameMode::Exchange, None) => return Err(Errno::NoEntry.into()),
            (_, Some(target)) if target.ino == source.ino => return Ok(()),
            _ => {}
        }
        if self.is_within(to_dir, source.ino)? {
            return Err(Errno::Invalid.into());
        }
        match target {
            Some(target) if mode == RenameMode::Exchange => self.exchange(source, target, now)?,
            Some(target) => {
                self.check_replace(source, target)?;
                self.remove_entry(dir, name, now)?;
                self.unlink_dotdot(to_dir, to_name)?;
                self.arrive(source, to_dir, to_name, now)?;
                self.drop_name(target.ino, now)?;
            }
            None => {
                self.remove_entry(dir, name, now)?;
                self.arrive(source, to_dir, to_name, now)?;
            }
        }
        match mode {
            RenameMode::Whiteout { uid, gid } => {
                self.create(dir, name, &NewNode::whiteout(uid, gid), now).map(drop)
            }
            _ => Ok(()),
        }
    }

    fn exchange(&mut self, one: Place<'_>, two: Place<'_>, now: Timestamp) -> Result<()> {
        if self.is_within(one.dir, two.ino)? {
            return Err(Errno::Invalid.into());
        }
        self.unlink_dotdot(one.dir, one.name)?;
        self.unlink_dotdot(two.dir, two.name)?;
        self.arrive(one, two.dir, two.name, now)?;
        self.arrive(two, one.dir, one.name, now)
    }

    /// Checks that the source may take the place of the target.
    fn check_replace(&self, source: Place<'_>, target: Place<'_>) -> Result<()> {
        let victim = self.node(target.ino)?;
        match (self.node(source.ino)?.is_dir(), victim.is_dir()) {
            (true, false) => Err(Errno::NotDir.into()),
            (false, true) => Err(Errno::IsDir.into()),
            (true, true) if !victim.dir()?.is_empty() => Err(Errno::NotEmpty.into()),
            _ => Ok(()),
        }
    }

    fn arrive(&mut self, source: Place<'_>, dir: Ino, name: &[u8], now: Timestamp) -> Result<()> {
        self.add_entry(dir, name, source.ino, now)?;
        self.node_mut(source.ino)?.meta.ctime = now;
        Ok(())
    }
}
