//! Reads everything and compares it: the findings of `fsck -n`. Nothing is written.

use std::collections::BTreeMap;

use pumice_common::{Inodes, Names, Volume as _};
use pumice_media::{AnyChip, Nand};
use pumice_vfs::{CheckReport, Errno, FileKind, Finding, Result, Timestamp};

use crate::inode::{self, Inode, inode_owner};
use crate::layout::Addr;
use crate::spare::{Kind, Owner};
use crate::volume::Volume;

/// Findings that are listed; a damaged volume may have more.
const FINDINGS_MAX: usize = 1000;

/// The facts about an inode.
struct Known {
    inode: Inode,
    /// Names that lead to it, and directories below it.
    names: u32,
    dirs: u32,
    /// The directory that has its name last.
    parent: u32,
}

struct Walk<'c> {
    volume: Volume<'c>,
    report: CheckReport,
    /// One bit for each block of the log that something points to.
    seen: Vec<u64>,
    live: u32,
    inodes: BTreeMap<u32, Known>,
}

/// Reads everything and compares all structures with each other; writes nothing.
///
/// Memory: a bit for each block of the chip, and a record for each inode.
///
/// # Errors
/// Faults that keep the volume from being mounted, and a chip that fails; damage that the walk meets is a finding.
pub fn check(nand: impl Nand + Send) -> Result<CheckReport> {
    const CACHE_BYTES: usize = 1 << 20;
    let volume = Volume::mount(AnyChip::lend(nand), Box::new(Timestamp::default), true, CACHE_BYTES)?;
    let blocks = volume.layout().log_blocks() as usize * volume.layout().slots() as usize;
    let report = CheckReport { recovered: volume.recovered(), ..CheckReport::default() };
    let mut walk =
        Walk { volume, report, seen: vec![0; blocks.div_ceil(64)], live: 0, inodes: BTreeMap::new() };
    walk.run()?;
    Ok(walk.report)
}

impl Walk<'_> {
    fn run(&mut self) -> Result<()> {
        let maps = self.volume.index().maps();
        for (owner, at) in &maps {
            self.meet(*owner, *at)?;
        }
        for (owner, _) in maps.iter().filter(|(owner, _)| owner.kind == Kind::Map) {
            let inos = self.volume.index().inodes_of_map(owner.offset);
            for ino in self.try_to("inode-map", inos)?.unwrap_or_default() {
                self.inode(ino)?;
            }
        }
        let dirs = self.inodes.iter().filter(|(_, known)| known.inode.kind == FileKind::Dir);
        for dir in dirs.map(|(ino, _)| *ino).collect::<Vec<_>>() {
            self.directory(dir)?;
        }
        self.links();
        self.counts();
        Ok(())
    }

    fn find(&mut self, code: &'static str, detail: String) {
        if self.report.findings.len() < FINDINGS_MAX {
            self.report.findings.push(Finding { code, detail });
        }
    }

    /// Damage is a finding; that the power is gone is an error.
    fn try_to<T>(&mut self, code: &'static str, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.errno() == Errno::Io || error.errno() == Errno::Stale => {
                self.find(code, error.to_string());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Something points to a block: nothing else may. Reads and proves it.
    fn meet(&mut self, owner: Owner, at: Addr) -> Result<bool> {
        if at == Addr::PENDING {
            self.live += 1;
            return Ok(true);
        }
        if !self.volume.layout().is_in_log(at) {
            self.find("address", format!("{owner:?} is said to be at block {}, outside the log", at.0));
            return Ok(false);
        }
        let (word, bit) = (at.0 as usize / 64, at.0 % 64);
        let is_new = self.seen.get(word).is_some_and(|seen| seen >> bit & 1 == 0);
        if !is_new {
            self.find("shared-block", format!("block {} has two owners, one is {owner:?}", at.0));
            return Ok(false);
        }
        if let Some(seen) = self.seen.get_mut(word) {
            *seen |= 1 << bit;
        }
        self.live += 1;
        let read = self.volume.index().log().flash().read(at, owner);
        Ok(self.try_to("block", read)?.is_some())
    }

    fn inode(&mut self, ino: u32) -> Result<()> {
        let at = self.volume.index().address(inode_owner(ino))?;
        if !self.meet(inode_owner(ino), at)? {
            return Ok(());
        }
        let inode = self.volume.inode(ino);
        let Some(inode) = self.try_to("inode", inode)? else { return Ok(()) };
        self.report.inodes += 1;
        match inode.kind {
            FileKind::Dir => self.report.directories += 1,
            _ => self.report.data_bytes += inode.size,
        }
        let before = self.live;
        self.children(inode_owner(ino), &inode)?;
        let blocks = self.live - before;
        if blocks != inode.blocks {
            self.find("inode-blocks", format!("inode {ino} has {blocks} blocks, says {}", inode.blocks));
        }
        self.inodes.insert(ino, Known { inode, names: 0, dirs: 0, parent: 0 });
        Ok(())
    }

    fn children(&mut self, owner: Owner, inode: &Inode) -> Result<()> {
        for child in inode::children(owner, inode.content()) {
            let at = self.volume.index().address(child);
            let Some(at) = self.try_to("address", at)? else { return Ok(()) };
            if at != Addr::NONE && self.meet(child, at)? && child.kind != inode.content() {
                self.children(child, inode)?;
            }
        }
        Ok(())
    }

    fn directory(&mut self, dir: u32) -> Result<()> {
        let mut entries = Vec::new();
        let read = self.volume.readdir(dir, 0, &mut |entry| {
            entries.push((entry.name.to_vec(), u32::try_from(entry.ino.0).unwrap_or(u32::MAX), entry.kind));
            true
        });
        self.try_to("directory", read)?;
        for (name, ino, kind) in entries {
            let name = name.escape_ascii();
            match self.inodes.get_mut(&ino) {
                Some(known) if known.inode.kind == kind => {
                    known.names += 1;
                    known.parent = dir;
                }
                Some(known) => {
                    let detail =
                        format!("{name} in directory {dir}: {kind:?}, inode {ino} is {:?}", known.inode.kind);
                    self.find("entry-kind", detail);
                    continue;
                }
                None => {
                    self.find("entry", format!("{name} in directory {dir}: there is no inode {ino}"));
                    continue;
                }
            }
            if let Some(known) = self.inodes.get_mut(&dir).filter(|_| kind == FileKind::Dir) {
                known.dirs += 1;
            }
        }
        Ok(())
    }

    fn links(&mut self) {
        let mut wrong = Vec::new();
        for (ino, known) in &self.inodes {
            let is_dir = known.inode.kind == FileKind::Dir;
            let names = known.names + u32::from(*ino == 1);
            let want = if is_dir { 2 + known.dirs } else { names };
            let nlink = known.inode.nlink;
            if names == 0 || (is_dir && names > 1) {
                wrong.push(("names", format!("inode {ino} has {names} names")));
            } else if nlink != want {
                wrong.push(("link-count", format!("inode {ino} has {nlink} links, want {want}")));
            }
            let above = if *ino == 1 { 1 } else { known.parent };
            if is_dir && names == 1 && known.inode.parent != above {
                wrong.push(("parent", format!("directory {ino} says {}, is in {above}", known.inode.parent)));
            }
        }
        if !self.inodes.contains_key(&1) {
            wrong.push(("root", "there is no root directory".into()));
        }
        for (code, detail) in wrong {
            self.find(code, detail);
        }
    }

    fn counts(&mut self) {
        let census = self.volume.index().census().clone();
        let inodes = u32::try_from(self.report.inodes).unwrap_or(u32::MAX);
        if census.live != self.live {
            self.find("valid-blocks", format!("the checkpoint says {}, found {}", census.live, self.live));
        }
        if census.inodes != inodes {
            self.find("used-inodes", format!("the checkpoint says {}, found {inodes}", census.inodes));
        }
    }
}
