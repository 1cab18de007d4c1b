//! The use of users, groups and projects: its change since the quota files were written.

use std::collections::{BTreeMap, BTreeSet};

use crate::layout::{BlockSize, Features, Inode, Nid, SuperBlock};

/// Users, groups and projects.
pub(super) const KINDS: usize = 3;

/// Inodes and bytes, more or less than before.
pub(super) type Change = (i64, i64);

/// The changes, by kind and id. Nothing is kept where there are no quota files.
pub(super) struct Usage {
    hidden: [Nid; KINDS],
    block: BlockSize,
    changes: [BTreeMap<u32, Change>; KINDS],
    /// Ids that are known to stand in the quota files.
    known: [BTreeSet<u32>; KINDS],
    /// The changes of the call under way.
    done: Option<Vec<(Option<Inode>, Option<Inode>)>>,
}

impl Usage {
    pub(super) fn new(sb: &SuperBlock) -> Usage {
        let counts = sb.features().has(Features::QUOTA_INO);
        let hidden = if counts { sb.quota_inodes() } else { [Nid::NULL; KINDS] };
        Usage {
            hidden,
            block: sb.block(),
            changes: [const { BTreeMap::new() }; KINDS],
            known: Default::default(),
            done: None,
        }
    }

    /// The quota files, or 0.
    pub(super) fn files(&self) -> [Nid; KINDS] {
        self.hidden
    }

    /// A call begins, which may be taken back.
    pub(super) fn begin(&mut self) {
        self.done = Some(Vec::new());
    }

    /// Keeps the changes of the call.
    pub(super) fn keep(&mut self) {
        self.done = None;
    }

    /// Undoes the changes of the call.
    pub(super) fn take_back(&mut self) {
        debug_assert!(self.done.is_some(), "nothing was begun");
        for (old, new) in self.done.take().unwrap_or_default().into_iter().rev() {
            self.change(new.as_ref(), old.as_ref());
        }
    }

    /// An inode was made, changed or taken away.
    pub(super) fn change(&mut self, old: Option<&Inode>, new: Option<&Inode>) {
        if self.hidden == [Nid::NULL; KINDS] {
            return;
        }
        if let Some(done) = &mut self.done {
            done.push((old.cloned(), new.cloned()));
        }
        for (inode, sign) in [(old, -1), (new, 1)] {
            let Some(inode) = inode.filter(|inode| !self.hidden.contains(&inode.ino)) else { continue };
            // The inode's own block is not counted.
            let bytes = inode.blocks.saturating_sub(1).saturating_mul(self.block.bytes_u64());
            let project = inode.extra.map_or(0, |extra| extra.project);
            let owners = [inode.uid, inode.gid, project];
            for ((file, changes), id) in self.hidden.iter().zip(&mut self.changes).zip(owners) {
                if !file.is_null() {
                    let change = changes.entry(id).or_default();
                    change.0 += sign;
                    change.1 += sign * i64::try_from(bytes).unwrap_or(i64::MAX);
                }
            }
        }
    }

    /// Blocks and nodes that quota files may take more when the changes are written to them: one for an id that may be new, and one for
    /// the file.
    pub(super) fn growth(&self) -> u64 {
        let of_kind = |(changes, known): (&BTreeMap<u32, Change>, &BTreeSet<u32>)| {
            let is_new =
                |(id, (inodes, bytes)): &(&u32, &Change)| (*inodes > 0 || *bytes > 0) && !known.contains(id);
            let new = changes.iter().filter(is_new).count() as u64;
            new + u64::from(new > 0)
        };
        self.changes.iter().zip(&self.known).map(of_kind).sum()
    }

    /// Ids that stand in a quota file from now on.
    pub(super) fn know(&mut self, kind: usize, ids: impl Iterator<Item = u32>) {
        debug_assert!(kind < self.known.len(), "no quota of kind {kind}");
        if let Some(known) = self.known.get_mut(kind) {
            known.extend(ids);
        }
    }

    /// Counts inodes and bytes that a quota file has wrong.
    pub(super) fn correct(&mut self, kind: usize, id: u32, change: Change) {
        debug_assert!(kind < self.changes.len(), "no quota of kind {kind}");
        if let Some(changes) = self.changes.get_mut(kind) {
            let known = changes.entry(id).or_default();
            (known.0, known.1) = (known.0 + change.0, known.1.saturating_add(change.1));
        }
    }

    /// Takes the changes of a kind, which are in its quota file from now on.
    pub(super) fn take(&mut self, kind: usize) -> BTreeMap<u32, Change> {
        debug_assert!(kind < self.changes.len(), "no quota of kind {kind}");
        let changes = self.changes.get_mut(kind).map(std::mem::take).unwrap_or_default();
        changes.into_iter().filter(|(_, change)| *change != (0, 0)).collect()
    }
}
