//! Repairs of quota files: made anew if they make no sense, with the limits that are left, and corrected by the true use.

use pumice_vfs::Timestamp;

use super::{
    bench::{Bench, word_at},
    draft::Draft,
    super_blocks, tree,
};
use crate::{
    check::{Code, Cure, Object, Report},
    error::Result,
    layout::{Nid, QUOTA_MAGICS},
    quota::{Lost, LostLimits, QuotaKind},
    volume::read_super_block,
    writable::WritableF2fs,
};

/// A quota file is one without a name that begins like one. Where there is none, its kind is not counted any more, and
/// its limits are lost.
pub(super) fn find(bench: &Bench, report: &Report) -> Result<Vec<LostLimits>> {
    let mut lost = Vec::new();
    let of = |code| {
        let found = report.findings.iter().filter(move |finding| finding.code == code);
        found.filter_map(|finding| match finding.object {
            Object::Inode(ino) => Some(ino),
            _ => None,
        })
    };
    for wrong in of(Code::QuotaInode) {
        let sb = read_super_block(&bench.draft)?;
        let Some(kind) = sb.quota_inodes().iter().position(|ino| *ino == wrong) else { continue };
        let is_one = |ino: &Nid| first_word(bench, *ino) == QUOTA_MAGICS.get(kind).copied();
        let found = of(Code::InodeUnnamed).find(is_one).unwrap_or(Nid::NULL);
        super_blocks::write(&bench.draft, &sb.with_quota_inode(kind, found))?;
        let kinds = QuotaKind::ALL.get(kind).filter(|_| found.is_null());
        lost.extend(kinds.map(|kind| LostLimits { kind: *kind, lost: Lost::All }));
    }
    Ok(lost)
}

fn first_word(bench: &Bench, ino: Nid) -> Option<u32> {
    let (inode, block) = bench.inode(ino)?;
    let first = bench.draft.read(tree::block_of(bench, &inode, &block, 0)?).ok()?;
    word_at(&first, 0)
}

/// Mends all findings about quota. A file that is made anew is filled when it is looked at again. Tells the limits that
/// were lost.
pub(super) fn mend(draft: &Draft, report: &Report, now: Timestamp) -> Result<Vec<LostLimits>> {
    let of = |code| report.findings.iter().filter(move |finding| finding.code == code);
    let files = read_super_block(draft)?.quota_inodes();
    let kinds = of(Code::QuotaFile).filter_map(|finding| match finding.object {
        Object::Inode(ino) => QuotaKind::ALL.into_iter().zip(files).find(|(_, file)| *file == ino),
        _ => None,
    });
    let kinds: Vec<QuotaKind> = kinds.map(|(kind, _)| kind).collect();
    if kinds.is_empty() && of(Code::QuotaUsage).next().is_none() {
        return Ok(Vec::new());
    }
    let mut lost = Vec::new();
    let (fs, _) = WritableF2fs::mount_mended(Box::new(draft.clone()), now, None)?;
    for kind in kinds {
        lost.extend(fs.remake_quota(kind)?.into_iter().map(|lost| LostLimits { kind, lost }));
    }
    for finding in of(Code::QuotaUsage) {
        if let (Object::Quota { kind, id }, Cure::Usage(inodes, bytes)) = (finding.object, finding.cure) {
            fs.correct_quota(kind, id, (inodes, bytes))?;
        }
    }
    fs.unmount()?;
    Ok(lost)
}
