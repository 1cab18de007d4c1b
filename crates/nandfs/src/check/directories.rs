//! Directories: buckets tile the hashes, every name lies in its bucket and stands for an inode of its kind.

use alloc::{format, string::String, vec, vec::Vec};

use hashbrown::HashSet;
use pumice_vfs::FileKind;

use super::Check;
use super::known::{Place, What};
use super::maps::Tally;
use crate::bucket::{Entry, entries};
use crate::dir::{Bucket, HASH_BITS};
use crate::namespace::orphan_name;
use crate::node::{Body, Inode};
use crate::nodes::{ORPHANS, ROOT};

fn show(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

impl Check<'_, '_> {
    pub(super) fn directory(&mut self, dir: u32, inode: &Inode, tally: Tally) {
        let names = match &inode.body {
            Body::Inline(bytes) => self.bucket(dir, None, bytes),
            Body::Mapped(_) => self.buckets(dir, tally.buckets).filter(|_| tally.whole),
        };
        if let Some(names) = names.filter(|names| *names != inode.size) {
            let text = format!("directory {dir} counts {} names, it has {names}", inode.size);
            self.found.add("directory-size", text);
        }
    }

    /// All buckets of a directory; returns the number of names if all could be read.
    fn buckets(&mut self, dir: u32, blocks: Vec<u32>) -> Option<u64> {
        let mut names = Some(0);
        let mut spans = Vec::new();
        let known: HashSet<u32> = blocks.iter().copied().collect();
        for block in blocks {
            let Some(bucket) = Bucket::in_block(block, |block| known.contains(&block)) else {
                let text = format!("directory {dir} has a block {block}: no bucket goes there");
                self.found.add("bucket-place", text);
                continue;
            };
            spans.push((bucket.start(), bucket.end(), block));
            let mut bytes = vec![0; self.params.block as usize];
            let found = match self.files.read_block(&mut self.log, dir, block, 0, &mut bytes) {
                Ok(()) => self.bucket(dir, Some(bucket), &bytes),
                Err(_) => None,
            };
            names = names.zip(found).map(|(names, found)| names + found);
        }
        self.tiling(dir, spans);
        names
    }

    /// Checks that exactly one of the buckets on the way of a hash exists.
    fn tiling(&mut self, dir: u32, mut spans: Vec<(u64, u64, u32)>) {
        spans.sort_unstable();
        let mut at = 0;
        for (start, end, block) in spans {
            if start < at {
                self.found.add(
                    "bucket-overlap",
                    format!("bucket {block} of directory {dir} lies on the way to another"),
                );
            } else if start > at {
                self.found.add(
                    "bucket-gap",
                    format!("directory {dir} has no bucket for hashes {at:#x} to {start:#x}"),
                );
            }
            at = at.max(end);
        }
        if at < 1 << HASH_BITS {
            self.found.add("bucket-gap", format!("directory {dir} has no bucket for hashes from {at:#x} on"));
        }
    }

    /// The names of one bucket; returns their number if it decodes.
    fn bucket(&mut self, dir: u32, bucket: Option<Bucket>, bytes: &[u8]) -> Option<u64> {
        let mut seen = HashSet::new();
        let mut names = 0;
        for entry in entries(bytes) {
            let Some((_, entry)) = entry else {
                let text = format!("directory {dir}: {bucket:?} is invalid after {names} names");
                self.found.add("bucket-damaged", text);
                return None;
            };
            names += 1;
            let name = entry.name;
            if !seen.insert(name) {
                self.found
                    .add("entry-duplicate", format!("directory {dir} has the name {:?} twice", show(name)));
            }
            if let Some(bucket) = bucket {
                let home = Bucket::of(self.files.name_hash(name), bucket.level);
                if home != bucket {
                    let text =
                        format!("{:?} in directory {dir} is in {bucket:?}, wanted {home:?}", show(name));
                    self.found.add("entry-hash", text);
                }
            }
            self.entry(dir, &entry);
        }
        Some(names)
    }

    /// Checks the meaning of a name.
    fn entry(&mut self, dir: u32, entry: &Entry<'_>) {
        let Entry { ino, kind, born, name } = *entry;
        let text = |what: &str| format!("name {:?} in directory {dir}: {what}", show(name));
        let reserved = ino == ROOT || ino == ORPHANS;
        let Some(known) = self.known.get_mut(&ino).filter(|_| !reserved) else {
            return self
                .found
                .add("entry-inode", text(&format!("inode {ino} does not exist or has no name")));
        };
        match known.what {
            What::Index { .. } => {
                return self.found.add("entry-inode", text(&format!("node {ino} is not an inode")));
            }
            What::Inode(found) if found != kind => {
                self.found
                    .add("entry-kind", text(&format!("inode {ino} is {found:?}, the name says {kind:?}")));
            }
            What::Inode(_) if born != 0 && born != known.born => {
                self.found.add("entry-birth", text(&format!("another inode has the number {ino} now")));
            }
            What::Damaged => {
                self.places.insert(ino, Place::Name { dir, name: name.to_vec() });
            }
            What::Inode(_) => {}
        }
        if dir == ORPHANS {
            known.orphan = true;
            if name != orphan_name(ino).as_bytes() {
                self.found.add("orphan-name", text(&format!("wanted {:?}", orphan_name(ino))));
            }
            return;
        }
        known.names += 1;
        if known.what == What::Inode(FileKind::Dir) {
            if known.named_in != 0 {
                self.found.add(
                    "directory-names",
                    text(&format!("directory {ino} has a name in {} too", known.named_in)),
                );
            }
            known.named_in = dir;
            if let Some(known) = self.known.get_mut(&dir) {
                known.subdirs += 1;
            }
        }
    }
}
