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
    recovery::BrokenPromise,
    volume::Volume,
    writable::WritableF2fs,
};

/// Bytes of metadata kept in memory.
const CACHE_BYTES: usize = 1 << 20;

/// The directory for inodes whose names are lost.
const LOST_AND_FOUND: &[u8] = b"lost+found";

/// Gives inodes names, their own if they are known. Inodes without a name and without a link were deleted, and become
/// orphans. Returns the promises that were not kept.
pub(super) fn mend(
    draft: &Draft,
    report: &Report,
    homeless: BTreeSet<Homeless>,
    chained: Option<&Checkpoint>,
    now: Timestamp,
) -> Result<Vec<BrokenPromise>> {
    let unnamed = unnamed(draft, report)?;
    let own = own_names(draft, &unnamed)?;
    if unnamed.is_empty() && homeless.is_empty() && chained.is_none() {
        return Ok(Vec::new());
    }
    let mut broken = Vec::new();
    let promised = chained.and_then(|chained| promised(draft, chained, now, &mut broken));
    let fs = mount(draft, promised, now, &mut broken)?;
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
    fs.unmount()?;
    Ok(broken)
}

/// Inodes with promises of fsync, and all nodes as they were promised.
type Promised = (Vec<Nid>, Nodes);

/// The promises of fsync behind a checkpoint, on the volume as it is mended; `None` if there are none that can be kept.
fn promised(
    draft: &Draft,
    chained: &Checkpoint,
    now: Timestamp,
    broken: &mut Vec<BrokenPromise>,
) -> Option<Promised> {
    let opened = Volume::open(vec![Box::new(draft.clone())], CACHE_BYTES);
    let found = opened.and_then(|volume| {
        let nodes = Nodes::behind(volume, chained.clone());
        Ok((nodes.promised_inodes()?, nodes))
    });
    let found = found.map_err(|error| broken.push(BrokenPromise::of_all(error)));
    let (inos, mut nodes) = found.ok().filter(|(inos, _)| !inos.is_empty())?;
    match nodes.recover_sound(now) {
        Ok((_, left_out)) => {
            broken.extend(left_out);
            Some((inos, nodes))
        }
        Err(error) => {
            broken.extend(inos.into_iter().map(|ino| BrokenPromise::of(ino, &error)));
            None
        }
    }
}

/// Mounts the draft with what was promised. Promises that cannot be kept do not keep others from their names.
fn mount(
    draft: &Draft,
    promised: Option<Promised>,
    now: Timestamp,
    broken: &mut Vec<BrokenPromise>,
) -> Result<WritableF2fs> {
    let mount = |promised: Option<&Nodes>| WritableF2fs::mount_mended(Box::new(draft.clone()), now, promised);
    let Some((inos, nodes)) = promised else { return Ok(mount(None)?.0) };
    match mount(Some(&nodes)) {
        Ok((fs, holes)) => {
            broken.extend(holes);
            Ok(fs)
        }
        Err(error) => {
            broken.extend(inos.into_iter().map(|ino| BrokenPromise::of(ino, &error)));
            Ok(mount(None)?.0)
        }
    }
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
