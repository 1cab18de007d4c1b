//! Reads everything and compares it: the findings of `fsck -n`. Nothing is written.

use pumice_common::{Inodes, Volume as _};
use pumice_media::{AnyChip, Nand};
use pumice_vfs::{CheckReport, Errno, FileKind, Finding, Result, Timestamp};

use crate::index::Index;
use crate::layout::Addr;
use crate::spare::{Kind, Mark};
use crate::volume::Volume;

/// Findings that are listed; a damaged volume may have more.
const FINDINGS_MAX: usize = 1000;

/// Reads everything and compares all structures with each other; writes nothing.
///
/// Memory: as much as a mount.
///
/// # Errors
/// Faults that keep the volume from being mounted, and a chip that fails; damage that the walk meets is a finding.
pub fn check(nand: impl Nand + Send) -> Result<CheckReport> {
    const CACHE_BYTES: usize = 1 << 20;
    let mut volume = Volume::mount(AnyChip::lend(nand), Box::new(Timestamp::default), true, CACHE_BYTES)?;
    let mut report = CheckReport { recovered: volume.recovered(), ..CheckReport::default() };
    report.findings = volume.take_findings();
    for ino in volume.tree().inos() {
        check_inode(&mut volume, ino, &mut report)?;
    }
    report.findings.truncate(FINDINGS_MAX);
    Ok(report)
}

fn check_inode(volume: &mut Volume<'_>, ino: u32, report: &mut CheckReport) -> Result<()> {
    let inode = match volume.inode(ino) {
        Ok(inode) => inode,
        // The scan has told of it.
        Err(error) if error.errno() == Errno::Io => return Ok(()),
        Err(error) => return Err(error),
    };
    report.inodes += 1;
    match inode.kind {
        FileKind::Dir => report.directories += 1,
        _ => report.data_bytes += inode.size,
    }
    let mut pages: Vec<(Mark, Addr)> = Vec::new();
    let mut lost = false;
    let mut index = Index::new(ino, volume.layout(), inode.class, &inode.entries);
    index.walk(volume.store(), &mut |_, mark, at| pages.push((mark, at)), &mut |_| lost = true);
    let mut find = |code: &'static str, detail: String| report.findings.push(Finding { code, detail });
    let count = u32::try_from(pages.len()).unwrap_or(u32::MAX);
    if count != inode.pages && !lost {
        find("inode-pages", format!("inode {ino} has {count} pages, says {}", inode.pages));
    }
    let end = inode.size.div_ceil(volume.layout().page_bytes() as u64);
    for (mark, at) in pages.into_iter().filter(|(mark, _)| mark.kind == Kind::Data) {
        if u64::from(mark.number) >= end {
            find("size", format!("inode {ino} of {} bytes has a chunk {}", inode.size, mark.number));
        }
        if let Err(error) = volume.store().data(at, ino, mark.number) {
            find("data", error.to_string());
        }
    }
    Ok(())
}
