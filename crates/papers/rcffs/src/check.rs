//! Reads everything and compares it: the findings of `fsck -n`. Nothing is written.

use std::collections::BTreeMap;

use pumice_common::{Inodes, Names, ROOT, Volume as _};
use pumice_media::{AnyChip, Nand};
use pumice_vfs::{CheckReport, Errno, FileKind, Finding, Result, Timestamp};

use crate::inode::Inode;
use crate::layout::CHUNK_BYTES;
use crate::mutree::Key;
use crate::volume::Volume;

/// Findings that are listed; a damaged volume may have more.
const FINDINGS_MAX: usize = 1000;

/// The tree's items of an inode.
#[derive(Default)]
struct Seen {
    inode: Option<Inode>,
    chunks: u32,
    /// The first byte behind the last chunk.
    end: u64,
    /// Names that lead to it, and directories in it.
    names: u32,
    directories: u32,
}

struct Check<'c> {
    volume: Volume<'c>,
    report: CheckReport,
    seen: BTreeMap<u32, Seen>,
}

/// Reads everything and compares all structures with each other; writes nothing.
///
/// Memory: as much as a mount, and a hundred bytes or so for each inode.
///
/// # Errors
/// Faults that keep the volume from being mounted, and a chip that fails; damage that the walk meets is a finding.
pub fn check(nand: impl Nand + Send) -> Result<CheckReport> {
    const CACHE_BYTES: usize = 1 << 20;
    let volume = Volume::mount(AnyChip::lend(nand), Box::new(Timestamp::default), true, CACHE_BYTES)?;
    let report = CheckReport { recovered: volume.recovered(), ..CheckReport::default() };
    let mut check = Check { volume, report, seen: BTreeMap::new() };
    check.read_all();
    check.read_names()?;
    check.compare();
    check.report.findings.truncate(FINDINGS_MAX);
    Ok(check.report)
}

impl Check<'_> {
    fn find(&mut self, code: &'static str, detail: String) {
        if self.report.findings.len() <= FINDINGS_MAX {
            self.report.findings.push(Finding { code, detail });
        }
    }

    /// Every chunk that the tree leads to.
    fn read_all(&mut self) {
        let (mut at, mut live) = (Key(0), 0);
        loop {
            match self.volume.next_on_flash(at) {
                Ok(Some((key, place))) => {
                    live += u64::from(place.bytes);
                    self.read_chunk(key);
                    at = key.next();
                }
                Ok(None) => break,
                Err(error) => return self.find("tree", error.to_string()),
            }
        }
        let state = *self.volume.state();
        if state.live != live {
            self.find("live-bytes", format!("{live} bytes are live, the root says {}", state.live));
        }
    }

    fn read_chunk(&mut self, key: Key) {
        let (ino, number) = (key.ino(), key.number());
        self.seen.entry(ino).or_default().chunks += u32::from(!key.is_metadata());
        let bytes = match self.volume.chunk(key) {
            Ok(bytes) => bytes.unwrap_or_default(),
            Err(error) => {
                let code = if key.is_metadata() { "metadata" } else { "data" };
                return self.find(code, format!("inode {ino}, chunk {number}: {error}"));
            }
        };
        let seen = self.seen.entry(ino).or_default();
        if !key.is_metadata() {
            seen.end = number * CHUNK_BYTES as u64 + bytes.len() as u64;
        } else if key == Key::inode(ino) && ino > 0 {
            seen.inode = Inode::decode(&bytes);
        }
    }

    /// All names, from the root.
    fn read_names(&mut self) -> Result<()> {
        let mut pending = vec![ROOT];
        let mut met = std::collections::BTreeSet::from([ROOT]);
        while let Some(dir) = pending.pop() {
            let mut found = Vec::new();
            let done = self.volume.readdir(dir, 0, &mut |entry| {
                found.push((entry.ino, entry.kind));
                true
            });
            match done {
                Ok(()) => {}
                Err(error) if error.errno() == Errno::Io => self.find("directory", error.to_string()),
                Err(error) => return Err(error),
            }
            for (ino, kind) in found {
                let ino = Volume::number(ino)?;
                let is_dir = kind == FileKind::Dir;
                self.seen.entry(dir).or_default().directories += u32::from(is_dir);
                let seen = self.seen.entry(ino).or_default();
                seen.names += 1;
                let really = seen.inode.map(|inode| inode.kind);
                if really != Some(kind) {
                    self.find(
                        "entry",
                        format!("directory {dir} says {kind:?} of inode {ino}, which is {really:?}"),
                    );
                } else if is_dir && met.insert(ino) {
                    pending.push(ino);
                }
            }
        }
        Ok(())
    }

    fn compare(&mut self) {
        let mut inodes = 0;
        for (ino, seen) in core::mem::take(&mut self.seen).into_iter().filter(|(ino, _)| *ino > 0) {
            let Some(inode) = seen.inode else {
                self.find("inode", format!("inode {ino} is missing but has chunks"));
                continue;
            };
            inodes += 1;
            self.report.inodes += 1;
            let is_dir = inode.kind == FileKind::Dir;
            let links = if is_dir { 2 + seen.directories } else { seen.names };
            let has_name = seen.names > 0 || ino == ROOT || inode.nlink == 0;
            if is_dir {
                self.report.directories += 1;
            } else {
                self.report.data_bytes += inode.size;
            }
            if !has_name || (inode.nlink != links && inode.nlink > 0) {
                self.find("link-count", format!("inode {ino} has {links} links, says {}", inode.nlink));
            }
            if inode.chunks != seen.chunks {
                self.find("chunks", format!("inode {ino} has {} chunks, says {}", seen.chunks, inode.chunks));
            }
            if seen.end > inode.size {
                self.find("size", format!("inode {ino} has {} bytes, says {}", seen.end, inode.size));
            }
        }
        let said = self.volume.state().inodes;
        if inodes != said {
            self.find("inodes", format!("{inodes} inodes are there, the root says {said}"));
        }
    }
}
