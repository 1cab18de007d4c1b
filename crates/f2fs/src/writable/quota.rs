//! Quota files, read and written as a whole.

use pumice_vfs::Timestamp;

use super::{
    blocks::Blocks,
    content,
    limits::Limits,
    usage::{KINDS, seconds},
};
use crate::{
    error::{Error, Place, Result, corrupt},
    layout::{Inode, Nid},
    quota::{Grace, Lost, Quota, QuotaKind},
    volume::Volume,
    write::quota_file::QuotaFile,
};

/// Has the limits of a kind count from now on, as they stand in its file.
pub(super) fn enforce(blocks: &mut Blocks, kind: QuotaKind) -> Result<()> {
    let (_, quotas) = read(blocks, kind.index(), file_of(blocks, kind)?)?;
    blocks.nodes_mut().usage_mut().limit(kind.index(), Limits::of(&quotas));
    Ok(())
}

/// Counts the use of all owners anew, by the inodes of the last checkpoint; limits stay.
pub(super) fn count_anew(blocks: &mut Blocks, volume: &Volume) -> Result<()> {
    for nid in volume.super_block().root().0..volume.super_block().nid_limit() {
        if let Some((inode, _)) = volume.find_inode(Nid(nid))? {
            blocks.nodes_mut().usage_mut().change(None, Some(&inode));
        }
    }
    for (kind, file) in (0..KINDS).zip(blocks.nodes().usage().files()).filter(|(_, file)| !file.is_null()) {
        let (_, quotas) = read(blocks, kind, file)?;
        for quota in quotas.quotas() {
            let [inodes, bytes] = [quota.inodes.used, quota.bytes.used].map(|used| {
                i64::try_from(used)
                    .map_err(|_| corrupt(Place::Inode(file), "the use of an owner is", used, 0_u32))
            });
            blocks.nodes_mut().usage_mut().correct(kind, quota.id, (-inodes?, -bytes?));
        }
    }
    Ok(())
}

/// Gives an owner other limits. Its use stays; times of grace begin anew.
pub(super) fn set(blocks: &mut Blocks, kind: QuotaKind, mut quota: Quota, now: Timestamp) -> Result<()> {
    let (inode, mut quotas) = read(blocks, kind.index(), file_of(blocks, kind)?)?;
    let (inodes, bytes) = blocks.nodes().usage().pending(kind.index(), quota.id);
    let (old, grace) = (quotas.quota(quota.id), quotas.grace());
    quota.inodes.used = old.inodes.used.saturating_add_signed(inodes);
    quota.bytes.used = old.bytes.used.saturating_add_signed(bytes);
    (quota.inodes.until, quota.bytes.until) = (0, 0);
    quota.inodes.settle(seconds(now), grace.inodes);
    quota.bytes.settle(seconds(now), grace.bytes);
    quotas.set_limits(&quota);
    write(blocks, inode, &quotas)
}

/// Sets the times for which soft limits of a kind may be exceeded. Those that run end when they did.
pub(super) fn set_grace(blocks: &mut Blocks, kind: QuotaKind, grace: Grace) -> Result<()> {
    let (inode, mut quotas) = read(blocks, kind.index(), file_of(blocks, kind)?)?;
    quotas.set_grace(grace);
    write(blocks, inode, &quotas)
}

/// Brings all quota files up to date.
pub(super) fn write_usage(blocks: &mut Blocks) -> Result<()> {
    for (kind, file) in (0..KINDS).zip(blocks.nodes().usage().files()) {
        let (changes, news) = blocks.nodes_mut().usage_mut().take(kind);
        if changes.is_empty() && news.is_empty() {
            continue;
        }
        let (inode, mut quotas) = read(blocks, kind, file)?;
        blocks.nodes_mut().usage_mut().know(kind, quotas.ids().chain(changes.keys().copied()));
        for (id, (inodes, bytes)) in changes {
            quotas.change(id, inodes, bytes);
        }
        for limits in &news {
            quotas.set_limits(limits);
        }
        write(blocks, inode, &quotas)?;
    }
    Ok(())
}

/// Makes a quota file anew, with the limits that the old one still has. Nobody uses anything. Tells what was lost.
pub(super) fn remake(blocks: &mut Blocks, kind: QuotaKind) -> Result<Vec<Lost>> {
    let file = file_of(blocks, kind)?;
    let mut inode = blocks.nodes().inode(file)?;
    let (quotas, lost) = QuotaFile::salvage(kind.index(), &content::scraps(blocks, &inode));
    content::set_size(blocks, &mut inode, 0)?;
    write(blocks, inode, &quotas)?;
    Ok(lost)
}

fn file_of(blocks: &Blocks, kind: QuotaKind) -> Result<Nid> {
    let file = blocks.nodes().usage().files().get(kind.index()).copied().filter(|file| !file.is_null());
    file.ok_or_else(|| Error::Unsupported(format!("it counts nothing of {kind}s")))
}

fn read(blocks: &Blocks, kind: usize, file: Nid) -> Result<(Inode, QuotaFile)> {
    let inode = blocks.nodes().inode(file)?;
    let bytes = content::whole(blocks, &inode)?;
    let broken = || {
        corrupt(Place::Inode(file), "a quota file makes no sense; its bytes are", bytes.len() as u64, 0_u32)
    };
    let quotas = QuotaFile::parse(kind, &bytes).ok_or_else(broken)?;
    Ok((inode, quotas))
}

fn write(blocks: &mut Blocks, mut inode: Inode, quotas: &QuotaFile) -> Result<()> {
    let bytes = quotas.to_bytes();
    content::write(blocks, &mut inode, 0, &bytes)?;
    content::set_size(blocks, &mut inode, bytes.len() as u64)?;
    blocks.nodes_mut().put(&inode)
}
