//! Links: the names of each inode, their directories, and nodes that nobody refers to.

use alloc::{format, vec::Vec};

use hashbrown::HashSet;
use pumice_vfs::FileKind;

use super::Check;
use super::known::{Known, What};
use crate::nodes::{ORPHANS, ROOT};

impl Check<'_, '_> {
    pub(super) fn links(&mut self) {
        for nid in [ROOT, ORPHANS] {
            match self.known.get(&nid).map(|known| known.what) {
                Some(What::Inode(FileKind::Dir) | What::Damaged) => {}
                what => self.found.add("root", format!("node {nid} must be a directory, found {what:?}")),
            }
        }
        let nodes: Vec<(u32, Known)> = self.known.iter().map(|(nid, known)| (*nid, *known)).collect();
        for (nid, known) in nodes {
            match known.what {
                What::Damaged => {}
                What::Index { owner, .. } => self.index_links(nid, owner, &known),
                What::Inode(_) if known.refs > 0 => self.hidden_links(nid, &known),
                What::Inode(kind) => {
                    self.report.inodes += u64::from(nid != ORPHANS);
                    if kind == FileKind::Dir {
                        self.directory_links(nid, &known);
                    } else {
                        self.file_links(nid, &known);
                    }
                }
            }
        }
        self.circles();
    }

    fn index_links(&mut self, nid: u32, owner: u32, known: &Known) {
        let told = self.known.get(&owner).is_some_and(|owner| owner.what == What::Damaged);
        if known.refs == 0 && !told {
            self.found.add("node-lost", format!("nothing leads to node {nid} of inode {owner}"));
        }
    }

    /// Checks an inode that holds the attributes of another.
    fn hidden_links(&mut self, ino: u32, known: &Known) {
        let owner = known.attribute_of;
        if known.names > 0 || known.orphan || known.parent != owner || known.nlink != 1 {
            let text = format!(
                "inode {ino} holds the attributes of inode {owner}, but has {} names, {} links, owner {}",
                known.names, known.nlink, known.parent
            );
            self.found.add("xattr-owner", text);
        }
    }

    fn file_links(&mut self, ino: u32, known: &Known) {
        if known.names == 0 && !known.orphan {
            self.found.add("inode-lost", format!("inode {ino} has no name and nothing refers to it"));
            return;
        }
        if known.names > 0 && known.orphan {
            let text = format!("inode {ino} is marked for deletion but has {} names", known.names);
            self.found.add("orphan-named", text);
        }
        if known.nlink != known.names {
            let text = format!("inode {ino} counts {} links, it has {} names", known.nlink, known.names);
            self.found.add("inode-nlink", text);
        }
    }

    fn directory_links(&mut self, dir: u32, known: &Known) {
        let fixed = dir == ROOT || dir == ORPHANS;
        if !fixed && known.names == 0 && !known.orphan {
            self.found.add("inode-lost", format!("directory {dir} has no name and nothing refers to it"));
            return;
        }
        if known.names > 0 && known.orphan {
            self.found.add("orphan-named", format!("directory {dir} is marked for deletion but has a name"));
        }
        let parent = if fixed { dir } else { known.named_in };
        if known.parent != parent && !known.orphan {
            let text =
                format!("directory {dir} has its name in {parent}, but says its parent is {}", known.parent);
            self.found.add("directory-parent", text);
        }
        let links = if known.orphan { 0 } else { 2 + known.subdirs };
        if known.nlink != links {
            let text = format!("directory {dir} counts {} links, wanted {links}", known.nlink);
            self.found.add("directory-nlink", text);
        }
    }

    /// Finds directories that have names, but only within each other.
    fn circles(&mut self) {
        let mut sound: HashSet<u32> = HashSet::new();
        let dirs: Vec<u32> =
            self.known.iter().filter(|(_, known)| known.named_in != 0).map(|(nid, _)| *nid).collect();
        for dir in dirs {
            let mut way = HashSet::new();
            let mut at = dir;
            while at != 0 && !sound.contains(&at) {
                if !way.insert(at) {
                    self.found.add("directory-circle", format!("directory {at} lies below itself"));
                    break;
                }
                at = self.known.get(&at).map_or(0, |known| known.named_in);
            }
            sound.extend(way);
        }
    }
}
