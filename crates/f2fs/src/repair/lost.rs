//! Names made anew, and promises of fsync kept: work for a mount, once the volume is sound enough to have one.

use std::collections::{BTreeMap, BTreeSet};

use pumice_vfs::Timestamp;

use super::{
    bench::Bench,
    draft::Draft,
    names::{Homeless, own_name},
};
use crate::{
    check::{Code, Object, Report},
    error::Result,
    layout::{Checkpoint, Nid},
    nodes::Nodes,
    volume::Volume,
    writable::WritableF2fs,
};

/// Bytes of metadata kept in memory.
const CACHE_BYTES: usize = 1 << 20;

/// The directory for inodes whose names are lost.
const LOST_AND_FOUND: &[u8] = b"lost+found";

/// Gives inodes names, their own if they are known. Inodes without a name and without a link were deleted, and become
/// orphans.
pub(super) fn mend(
    draft: &Draft,
    report: &Report,
    homeless: BTreeSet<Homeless>,
    chained: Option<&Checkpoint>,
    now: Timestamp,
) -> Result<()> {
    let unnamed = unnamed(draft, report)?;
    let own = own_names(draft, &unnamed)?;
    if unnamed.is_empty() && homeless.is_empty() && chained.is_none() {
        return Ok(());
    }
    let promised = chained.and_then(|chained| promised(draft, chained, now));
    let mount = |promised: Option<&Nodes>| WritableF2fs::mount_mended(Box::new(draft.clone()), now, promised);
    // Promises that cannot be kept do not keep others from their names.
    let fs = mount(promised.as_ref()).or_else(|_| mount(None))?;
    let mut named = BTreeSet::new();
    for Homeless { directory, name, ino } in homeless {
        // A name that cannot be made leaves its inode to lost+found.
        if fs.adopt(directory, &name, ino).is_ok() {
            named.insert(ino);
        }
    }
    // A promise may have named others.
    let is_lost = |ino: &&Nid| !named.contains(*ino) && !fs.has_last_name(**ino).unwrap_or(false);
    let left: Vec<Nid> = unnamed.iter().filter(is_lost).copied().collect();
    let is_nameless = |ino: &Nid| own.get(ino).is_none_or(|own| fs.adopt(own.0, &own.1, *ino).is_err());
    let left: Vec<Nid> = left.into_iter().filter(is_nameless).collect();
    if !left.is_empty() {
        let above = fs.make_directory(LOST_AND_FOUND)?;
        for ino in left {
            fs.adopt(above, format!("#{ino}").as_bytes(), ino)?;
        }
    }
    fs.unmount()
}

/// The promises of fsync behind a checkpoint, on the volume as it is mended.
fn promised(draft: &Draft, chained: &Checkpoint, now: Timestamp) -> Option<Nodes> {
    let volume = Volume::open(vec![Box::new(draft.clone())], CACHE_BYTES).ok()?;
    let mut nodes = Nodes::behind(volume, chained.clone());
    nodes.recover_sound(now).ok().filter(|found| found.inodes > 0).map(|_| nodes)
}

/// The directories and names that they had for certain.
fn own_names(draft: &Draft, unnamed: &BTreeSet<Nid>) -> Result<BTreeMap<Nid, (Nid, Vec<u8>)>> {
    if unnamed.is_empty() {
        return Ok(BTreeMap::new());
    }
    let bench = Bench::open(draft)?;
    Ok(unnamed.iter().filter_map(|ino| Some((*ino, own_name(&bench, *ino)?))).collect())
}

/// Inodes without a name.
fn unnamed(draft: &Draft, report: &Report) -> Result<BTreeSet<Nid>> {
    let found = report.findings.iter().filter(|finding| finding.code == Code::InodeUnnamed);
    let inode = |object: Object| match object {
        Object::Inode(ino) => Some(ino),
        _ => None,
    };
    let mut found: BTreeSet<Nid> = found.filter_map(|finding| inode(finding.object)).collect();
    if found.is_empty() {
        return Ok(found);
    }
    let mut bench = Bench::open(draft)?;
    let is_deleted = |ino: &Nid| bench.inode(*ino).is_some_and(|(inode, _)| inode.links == 0);
    let deleted: Vec<Nid> = found.iter().copied().filter(is_deleted).collect();
    found.retain(|ino| !deleted.contains(ino));
    bench.pack.orphans.extend(deleted);
    bench.keep();
    Ok(found)
}
