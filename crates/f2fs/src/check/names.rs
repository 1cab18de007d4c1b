//! Names and links: every inode has as many names as it counts, every directory one, and all hang from the root.

use std::{collections::HashMap, sync::atomic::Ordering};

use pumice_vfs::FileKind;

use super::{
    codes::Code,
    facts::{DOTS, Facts, Inodes},
    findings::{Cure, Findings, Object},
    links::Counts,
};
use crate::{
    layout::{Nid, file_type},
    volume::Volume,
};

/// Names, once all directories were read.
pub(super) struct Names<'a> {
    pub(super) volume: &'a Volume,
    pub(super) inodes: &'a Inodes<'a>,
    /// Inodes that have no name any more and still are there.
    pub(super) orphans: &'a HashMap<Nid, u32>,
}

impl Names<'_> {
    /// Compares counted with stored numbers.
    pub(super) fn check(&self, findings: &mut Findings) {
        for facts in self.inodes.open().iter().filter(|facts| facts.is_directory()) {
            let Some(counts) = self.inodes.counts(facts.ino) else { continue };
            if self.orphans.contains_key(&facts.ino) {
                check_orphan(facts.ino, counts, findings);
            } else {
                self.check_directory(facts, counts, findings);
            }
        }
        for (ino, counts) in self.inodes.other_than_directories() {
            if self.orphans.contains_key(&ino) {
                check_orphan(ino, counts, findings);
            } else if !self.is_hidden(ino) {
                check_file(ino, counts, findings);
            }
        }
        self.check_below_root(findings);
    }

    /// Quota files have no names.
    fn is_hidden(&self, ino: Nid) -> bool {
        self.volume.super_block().quota_inodes().contains(&ino)
    }

    fn check_directory(&self, facts: &Facts, counts: Counts, findings: &mut Findings) {
        let links = facts.tally.subdirectories.load(Ordering::Relaxed) + 2;
        if counts.links != links {
            let right = Cure::Number(links.into());
            findings.add_with(Code::InodeLinks, Object::Inode(facts.ino), right, || {
                format!("the directory counts {} links, and has {links}", counts.links)
            });
        }
        let dots = facts.tally.dots.load(Ordering::Relaxed);
        let [dot, dot_dot] = DOTS;
        if dots != dot + dot_dot && !facts.is_without_dots() {
            findings.add(Code::Dots, Object::Inode(facts.ino), || {
                let (one, two) = (dots % dot_dot, dots / dot_dot);
                format!("the directory has {one} entries \".\" and {two} entries \"..\", want 1 of each")
            });
        }
        if facts.ino == self.volume.super_block().root() {
            return;
        }
        if counts.names == 0 {
            unnamed(facts.ino, findings);
        } else if counts.names > 1 {
            findings.add(Code::DirectoryParent, Object::Inode(facts.ino), || {
                format!("the directory has {} names, want 1", counts.names)
            });
        } else if let Some((_, parent)) = self.above(facts)
            && parent.ino != facts.parent
        {
            let right = Cure::Number(parent.ino.0.into());
            findings.add_with(Code::DirectoryParent, Object::Inode(facts.ino), right, || {
                format!("it is named in directory {}, and has {} as its parent", parent.ino, facts.parent)
            });
        }
    }

    /// The directory that names a directory, and its place.
    fn above(&self, facts: &Facts) -> Option<(usize, &Facts)> {
        let place = facts.tally.parent.load(Ordering::Relaxed).checked_sub(1)? as usize;
        self.inodes.open().get(place).map(|above| (place, above))
    }

    /// Directories that are only named by each other hang from nothing.
    fn check_below_root(&self, findings: &mut Findings) {
        let root = self.volume.super_block().root();
        if self.inodes.file_type(root) != Some(file_type(FileKind::Dir)) {
            findings.add(Code::Inode, Object::Inode(root), || "the root directory is not there".to_owned());
        }
        // For each inode the walk that came by first; a walk that comes back to itself is a circle.
        let mut walks = vec![0usize; self.inodes.open().len()];
        for (walk, start) in (1..).zip(self.inodes.open()).filter(|(_, facts)| facts.is_directory()) {
            let (mut place, mut here) = (walk - 1, start);
            while let Some(seen) = walks.get_mut(place).filter(|seen| **seen == 0 && here.ino != root) {
                *seen = walk;
                let Some(above) = self.above(here) else { break };
                (place, here) = above;
                if walks.get(place) == Some(&walk) && !self.orphans.contains_key(&start.ino) {
                    findings.add(Code::DirectoryParent, Object::Inode(start.ino), || {
                        "the way up from it leads in a circle".to_owned()
                    });
                }
            }
        }
    }
}

fn check_file(ino: Nid, counts: Counts, findings: &mut Findings) {
    let Counts { links, names } = counts;
    if names == 0 {
        unnamed(ino, findings);
    } else if links != names {
        findings.add_with(Code::InodeLinks, Object::Inode(ino), Cure::Number(names.into()), || {
            format!("it counts {links} links, and has {names} names")
        });
    }
}

fn check_orphan(ino: Nid, counts: Counts, findings: &mut Findings) {
    let Counts { links, names } = counts;
    if names > 0 {
        findings.add(Code::OrphanNamed, Object::Inode(ino), || {
            format!("it is on the list of orphans, and has {names} names")
        });
    } else if links > 0 {
        findings.add_with(Code::InodeLinks, Object::Inode(ino), Cure::Number(0), || {
            format!("it is an orphan, and counts {links} links")
        });
    }
}

fn unnamed(ino: Nid, findings: &mut Findings) {
    findings.add(Code::InodeUnnamed, Object::Inode(ino), || "no directory names it".to_owned());
}
