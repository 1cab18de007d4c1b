//! A volume under repair, mounted: names for inodes that lost theirs.

use pumice_media::BlockDevice;
use pumice_vfs::{Errno, FileKind, NewNode, Timestamp};

use super::{NAMES, WritableF2fs, mount, options::WritableOptions, quota};
use crate::{
    error::{Error, Result},
    layout::Nid,
    nodes::Nodes as StoredNodes,
    quota::{Lost, QuotaKind},
    recovery::BrokenPromise,
};

impl WritableF2fs {
    /// Mounts a volume whatever its features, and rolls `promised` forward, which another checkpoint of it has. Tells
    /// the promises that were not kept.
    pub(crate) fn mount_mended(
        device: Box<dyn BlockDevice + Send>,
        now: Timestamp,
        promised: Option<&StoredNodes>,
    ) -> Result<(WritableF2fs, Vec<BrokenPromise>)> {
        let options = WritableOptions { discard: false, ..WritableOptions::new(Box::new(move || now)) };
        let (opened, broken) = mount::open_mended(device, &options, now, promised)?;
        let fs = WritableF2fs::of(opened, options, now);
        fs.evict_orphans()?;
        Ok((fs, broken))
    }

    /// Gives an inode a name, whatever names it counts.
    pub(crate) fn adopt(&self, dir: Nid, name: &[u8], ino: Nid) -> Result<()> {
        self.change(NAMES, |commit, now| commit.tree_mut().adopt(dir, name, ino, now))
    }

    /// True if an inode has the name that it remembers.
    pub(crate) fn has_last_name(&self, ino: Nid) -> Result<bool> {
        self.look(|commit| commit.tree().has_last_name(ino))
    }

    /// Makes a quota file anew, with the limits that the old one still has. Tells what was lost.
    pub(crate) fn remake_quota(&self, kind: QuotaKind) -> Result<Vec<Lost>> {
        self.change(NAMES, |commit, _| quota::remake(commit.tree_mut().blocks_mut(), kind))
    }

    /// Has a quota file count more inodes and bytes, or fewer.
    pub(crate) fn correct_quota(&self, kind: usize, id: u32, change: (i64, i64)) -> Result<()> {
        self.change(NAMES, |commit, _| {
            let nodes = commit.tree_mut().blocks_mut().nodes_mut();
            nodes.usage_mut().correct(kind, id, change);
            nodes.touch();
            Ok(())
        })
    }

    /// A directory in the root; it is made if it is not there.
    pub(crate) fn make_directory(&self, name: &[u8]) -> Result<Nid> {
        let root = self.look(|commit| Ok(commit.tree().root()))?;
        match self.look(|commit| commit.tree().lookup(root, name)) {
            Ok(found) => Ok(found),
            Err(Error::Errno(Errno::NoEntry)) => {
                let node = NewNode { kind: FileKind::Dir, perm: 0o700, uid: 0, gid: 0, rdev: 0, target: &[] };
                self.change(NAMES, |commit, now| commit.tree_mut().create(root, name, &node, now))
            }
            Err(error) => Err(error),
        }
    }
}
