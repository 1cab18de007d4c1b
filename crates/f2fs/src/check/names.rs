//! Names and links: every inode has as many names as it counts, every directory one, and all hang from the root.

use std::{collections::HashMap, sync::atomic::Ordering};

use super::{
    codes::Code,
    facts::{DOTS, Facts, Inodes},
    findings::{Findings, Object},
    worker::Name,
};
use crate::{
    layout::{Nid, file_type},
    volume::Volume,
};

/// What names say of an inode.
#[derive(Clone, Copy, Default)]
struct Named {
    names: u32,
    subdirectories: u32,
    /// Of a directory: the one that names it.
    parent: Option<u32>,
}

/// Names, once all directories were read.
pub(super) struct Names<'a> {
    volume: &'a Volume,
    inodes: &'a Inodes,
    named: Vec<Named>,
}

impl<'a> Names<'a> {
    /// Takes in all names, and checks each against its inode.
    pub(super) fn new(
        volume: &'a Volume,
        inodes: &'a Inodes,
        mut list: Vec<Name>,
        findings: &mut Findings,
    ) -> Names<'a> {
        let mut names = Names { volume, inodes, named: vec![Named::default(); inodes.all().len()] };
        for name in &list {
            names.take(name, findings);
        }
        list.sort_unstable_by_key(|name| (name.directory, name.digest, name.block, name.slot));
        for pair in list.windows(2) {
            if let [first, second] = pair
                && (first.directory, first.digest) == (second.directory, second.digest)
            {
                findings.add(Code::DentryTwice, entry(second), || {
                    format!("slot {} of block {} has the same name", first.slot, first.block)
                });
            }
        }
        names
    }

    fn take(&mut self, name: &Name, findings: &mut Findings) {
        let Some(place) = self.inodes.place(name.ino) else {
            findings.add(Code::DentryInode, entry(name), || {
                format!("it names inode {}, which does not exist", name.ino)
            });
            return;
        };
        let Some(facts) = self.inodes.all().get(place) else { return };
        let wanted = file_type(facts.kind);
        if name.file_type != wanted {
            findings.add(Code::DentryType, entry(name), || {
                format!("its type is {}, and inode {} has type {wanted}", name.file_type, name.ino)
            });
        }
        let above = self.inodes.place(name.directory);
        if let Some(named) = self.named.get_mut(place) {
            named.names += 1;
            named.parent = above.and_then(|above| u32::try_from(above).ok());
        }
        if facts.is_directory()
            && let Some(named) = above.and_then(|above| self.named.get_mut(above))
        {
            named.subdirectories += 1;
        }
    }

    /// Compares counted with stored numbers. `orphans` are inodes that have no name any more and still are there.
    pub(super) fn check(&self, orphans: &HashMap<Nid, u32>, findings: &mut Findings) {
        for (facts, named) in self.inodes.all().iter().zip(&self.named) {
            check_counts(facts, findings);
            if orphans.contains_key(&facts.ino) {
                check_orphan(facts, *named, findings);
            } else if facts.is_directory() {
                self.check_directory(facts, *named, findings);
            } else if !self.is_hidden(facts.ino) {
                check_file(facts, *named, findings);
            }
        }
        self.check_below_root(orphans, findings);
    }

    /// Quota files have no names.
    fn is_hidden(&self, ino: Nid) -> bool {
        self.volume.super_block().quota_inodes().contains(&ino)
    }

    fn check_directory(&self, facts: &Facts, named: Named, findings: &mut Findings) {
        let links = named.subdirectories + 2;
        if facts.links != links {
            findings.add(Code::InodeLinks, Object::Inode(facts.ino), || {
                format!("the directory counts {} links, and has {links}", facts.links)
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
        if named.names == 0 {
            unnamed(facts, findings);
        } else if named.names > 1 {
            findings.add(Code::DirectoryParent, Object::Inode(facts.ino), || {
                format!("the directory has {} names, want 1", named.names)
            });
        } else if let Some(parent) = self.parent(named)
            && parent.ino != facts.parent
        {
            findings.add(Code::DirectoryParent, Object::Inode(facts.ino), || {
                format!("it is named in directory {}, and has {} as its parent", parent.ino, facts.parent)
            });
        }
    }

    fn parent(&self, named: Named) -> Option<&Facts> {
        self.inodes.all().get(named.parent? as usize)
    }

    /// Directories that are only named by each other hang from nothing.
    fn check_below_root(&self, orphans: &HashMap<Nid, u32>, findings: &mut Findings) {
        let root = self.inodes.place(self.volume.super_block().root());
        if root.is_none() {
            let root = self.volume.super_block().root();
            findings.add(Code::Inode, Object::Inode(root), || "the root directory is not there".to_owned());
        }
        // For each inode the walk that came by first; a walk that comes back to itself is a circle.
        let mut walks = vec![0u32; self.named.len()];
        for (start, facts) in self.inodes.all().iter().enumerate().filter(|(_, facts)| facts.is_directory()) {
            let walk = u32::try_from(start).unwrap_or(u32::MAX).saturating_add(1);
            let mut here = start;
            while let Some(seen) = walks.get_mut(here).filter(|seen| **seen == 0 && Some(here) != root) {
                *seen = walk;
                let above = self.named.get(here).and_then(|named| named.parent);
                let Some(above) = above else { break };
                here = above as usize;
                if walks.get(here) == Some(&walk) && !orphans.contains_key(&facts.ino) {
                    findings.add(Code::DirectoryParent, Object::Inode(facts.ino), || {
                        "the way up from it leads in a circle".to_owned()
                    });
                }
            }
        }
    }
}

/// Blocks, saved blocks, and the extent.
fn check_counts(facts: &Facts, findings: &mut Findings) {
    let blocks = facts.counted_blocks();
    if facts.blocks != blocks {
        findings.add(Code::InodeBlocks, Object::Inode(facts.ino), || {
            format!("it counts {} blocks, and has {blocks}", facts.blocks)
        });
    }
    let saved = facts.tally.saved.load(Ordering::Relaxed);
    if !facts.is_released() && facts.cluster.is_some() && facts.saved != saved {
        findings.add(Code::ClusterSaved, Object::Inode(facts.ino), || {
            format!("it counts {} blocks saved by compression, and has {saved}", facts.saved)
        });
    }
    let in_extent = facts.tally.in_extent.load(Ordering::Relaxed);
    if let Some(extent) = facts.extent.filter(|extent| u64::from(extent.blocks) != in_extent) {
        findings.add(Code::InodeExtent, Object::Inode(facts.ino), || {
            format!(
                "its extent is {} blocks from block {} of the file on at block {}, and {in_extent} of them are there",
                extent.blocks, extent.first, extent.addr
            )
        });
    }
}

fn check_file(facts: &Facts, named: Named, findings: &mut Findings) {
    if named.names == 0 {
        unnamed(facts, findings);
    } else if facts.links != named.names {
        findings.add(Code::InodeLinks, Object::Inode(facts.ino), || {
            format!("it counts {} links, and has {} names", facts.links, named.names)
        });
    }
}

fn check_orphan(facts: &Facts, named: Named, findings: &mut Findings) {
    if named.names > 0 {
        findings.add(Code::OrphanNamed, Object::Inode(facts.ino), || {
            format!("it is on the list of orphans, and has {} names", named.names)
        });
    } else if facts.links > 0 {
        findings.add(Code::InodeLinks, Object::Inode(facts.ino), || {
            format!("it is an orphan, and counts {} links", facts.links)
        });
    }
}

fn unnamed(facts: &Facts, findings: &mut Findings) {
    findings.add(Code::InodeUnnamed, Object::Inode(facts.ino), || "no directory names it".to_owned());
}

fn entry(name: &Name) -> Object {
    Object::Entry { directory: name.directory, block: name.block, slot: name.slot }
}
