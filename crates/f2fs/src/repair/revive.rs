//! Names whose slots are marked as free, given back to inodes that lack names. A name that is taken away leaves its bytes
//! behind; an inode that counts more names than it has did not lose it by a call.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    bench::Bench,
    names::{Homeless, Lacking, Leaf, entries, every_directory, lacking, leaves},
};
use crate::{
    check::Report,
    error::Result,
    fold::fold_or_bytes,
    hash::name_hash,
    layout::{Dentry, Inode, Nid},
};

/// A name in free slots.
struct Trace {
    leaf: Leaf,
    directory: Nid,
    slots: std::ops::Range<u32>,
    name: Vec<u8>,
}

/// Marks the slots of such names as used. Those that the repair itself took away are made again elsewhere.
pub(super) fn mend(bench: &Bench, report: &Report, homeless: &BTreeSet<Homeless>) -> Result<()> {
    let mut wanted = lacking(bench, report);
    for Homeless { ino, .. } in homeless {
        wanted.remove(ino);
    }
    if wanted.is_empty() {
        return Ok(());
    }
    for (ino, traces) in traces(bench, &wanted) {
        let Some(lacking) = wanted.get(&ino) else { continue };
        for trace in chosen(lacking, &traces) {
            let layout = trace.leaf.layout();
            trace.leaf.edit(bench, |block| {
                trace.slots.clone().for_each(|slot| layout.set_used(block, slot, true));
            })?;
        }
    }
    Ok(())
}

/// The names of such inodes in free slots of all directories.
fn traces(bench: &Bench, wanted: &BTreeMap<Nid, Lacking>) -> BTreeMap<Nid, Vec<Trace>> {
    let mut found: BTreeMap<Nid, Vec<Trace>> = BTreeMap::new();
    for directory in every_directory(bench) {
        let Some((inode, _)) = bench.inode(directory) else { continue };
        for (index, leaf) in leaves(bench, directory) {
            let (Some(bytes), layout) = (leaf.read(bench), leaf.layout()) else { continue };
            let is_free = |slot: &u32| !layout.is_used(&bytes, *slot);
            for slot in (0..layout.slots).filter(is_free) {
                let Some(entry) = layout.entry(&bytes, slot) else { continue };
                let slots = slot..slot + entry.slots();
                if slots.clone().all(|slot| is_free(&slot))
                    && inode.may_hold(index, entry.hash)
                    && wanted
                        .get(&entry.ino)
                        .is_some_and(|lacking| may_have(lacking, &entry, directory, &inode))
                {
                    let name = entry.name.to_vec();
                    found.entry(entry.ino).or_default().push(Trace { leaf, directory, slots, name });
                }
            }
        }
    }
    for traces in found.values_mut() {
        traces.retain(|trace| entries(bench, trace.directory).iter().all(|entry| entry.name != trace.name));
    }
    found
}

/// True if an entry in free slots of a directory is whole, and may be one of an inode.
fn may_have(lacking: &Lacking, entry: &Dentry<'_>, directory: Nid, inode: &Inode) -> bool {
    let is_sound = inode.is_encrypted() || !entry.name.iter().any(|byte| matches!(byte, 0 | b'/'));
    let has_hash = |name: &[u8]| name_hash(name) == entry.hash;
    let is_own = match (inode.is_casefolded(), inode.is_encrypted()) {
        // Without the key nobody knows the hash.
        (true, true) => true,
        (true, false) => fold_or_bytes(entry.name, false).is_ok_and(|name| has_hash(&name)),
        _ => has_hash(entry.name),
    };
    let is_last = |(parent, name): &(Nid, Vec<u8>)| (*parent, &name[..]) == (directory, entry.name);
    let fits = lacking.has_others || lacking.remembered.as_ref().is_some_and(is_last);
    is_sound && is_own && fits && entry.file_type == lacking.file_type
}

/// As many traces as names are lacking: the name that the inode remembers first. If there are still more, nobody knows
/// which of them a call took away.
fn chosen<'a>(lacking: &Lacking, traces: &'a [Trace]) -> Vec<&'a Trace> {
    if traces.len() as u64 <= lacking.names {
        return traces.iter().collect();
    }
    let Some((directory, name)) = &lacking.remembered else { return Vec::new() };
    let own = traces.iter().filter(|trace| trace.directory == *directory && trace.name == *name);
    own.take(1).collect()
}
