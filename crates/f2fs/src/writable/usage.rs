//! The use of users, groups and projects: its change since the quota files were written.

use std::collections::{BTreeMap, BTreeSet};

use pumice_vfs::Timestamp;

use super::limits::{Change, Limits};
use crate::{
    layout::{BlockSize, Features, Inode, Nid, SuperBlock},
    quota::{Quota, QuotaKind},
};

/// Users, groups and projects.
pub(super) const KINDS: usize = 3;

/// The changes, by kind and id. Nothing is kept where there are no quota files.
pub(super) struct Usage {
    hidden: [Nid; KINDS],
    block: BlockSize,
    changes: [BTreeMap<u32, Change>; KINDS],
    /// Ids that are known to stand in the quota files.
    known: [BTreeSet<u32>; KINDS],
    /// The limits, by kind, if they are enforced.
    limits: [Option<Limits>; KINDS],
    /// Owners with limits, by kind and id, whose use changed since their times of grace were looked at.
    unsettled: BTreeSet<(usize, u32)>,
    /// The changes of the call under way, by kind and id.
    done: Option<BTreeMap<(usize, u32), Change>>,
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
            limits: Default::default(),
            unsettled: BTreeSet::new(),
            done: None,
        }
    }

    /// The quota files, or 0.
    pub(super) fn files(&self) -> [Nid; KINDS] {
        self.hidden
    }

    /// A call begins, which may be taken back.
    pub(super) fn begin(&mut self) {
        self.done = Some(BTreeMap::new());
    }

    /// Keeps the changes of the call.
    pub(super) fn keep(&mut self) {
        self.done = None;
    }

    /// Undoes the changes of the call.
    pub(super) fn take_back(&mut self) {
        debug_assert!(self.done.is_some(), "nothing was begun");
        for ((kind, id), (inodes, bytes)) in self.done.take().unwrap_or_default() {
            self.correct(kind, id, (-inodes, bytes.saturating_neg()));
        }
    }

    /// An inode was made, changed or taken away.
    pub(super) fn change(&mut self, old: Option<&Inode>, new: Option<&Inode>) {
        let (old, new) =
            (old.and_then(|inode| self.counted(inode)), new.and_then(|inode| self.counted(inode)));
        if old == new {
            return;
        }
        for (counted, sign) in [(old, -1), (new, 1)] {
            let Some((owners, bytes)) = counted else { continue };
            for (kind, id) in owners.into_iter().enumerate() {
                self.correct(kind, id, (sign, sign * bytes));
            }
        }
    }

    /// The owners of an inode, and its bytes; `None` if it is not counted.
    fn counted(&self, inode: &Inode) -> Option<([u32; KINDS], i64)> {
        let is_counted = self.hidden != [Nid::NULL; KINDS] && !self.hidden.contains(&inode.ino);
        // The inode's own block is not counted.
        let bytes = inode.blocks.saturating_sub(1).saturating_mul(self.block.bytes_u64());
        let project = inode.extra.map_or(0, |extra| extra.project);
        is_counted.then(|| ([inode.uid, inode.gid, project], i64::try_from(bytes).unwrap_or(i64::MAX)))
    }

    /// Counts inodes and bytes that a quota file has not, or has no more.
    pub(super) fn correct(&mut self, kind: usize, id: u32, change: Change) {
        debug_assert!(kind < KINDS, "no quota of kind {kind}");
        let (Some(changes), Some(limits)) = (self.changes.get_mut(kind), self.limits.get_mut(kind)) else {
            return;
        };
        if self.hidden.get(kind).is_none_or(|file| file.is_null()) {
            return;
        }
        add(changes.entry(id).or_default(), change);
        if let Some(done) = &mut self.done {
            add(done.entry((kind, id)).or_default(), change);
        }
        if limits.as_mut().is_some_and(|limits| limits.change(id, change)) {
            self.unsettled.insert((kind, id));
        }
    }

    /// The change of an owner's use since its quota file was written.
    pub(super) fn pending(&self, kind: usize, id: u32) -> Change {
        self.changes.get(kind).and_then(|changes| changes.get(&id)).copied().unwrap_or_default()
    }

    /// Enforces the limits of a kind, as they stand in its quota file.
    pub(super) fn limit(&mut self, kind: usize, mut limits: Limits) {
        debug_assert!(kind < KINDS, "no quota of kind {kind}");
        for (id, change) in self.changes.get(kind).into_iter().flatten() {
            limits.change(*id, *change);
        }
        if let Some(known) = self.limits.get_mut(kind) {
            *known = Some(limits);
        }
    }

    /// What an owner has and may have, if it has limits that are enforced.
    pub(super) fn quota(&self, kind: QuotaKind, id: u32) -> Option<Quota> {
        self.limits.get(kind.index())?.as_ref()?.quota(id)
    }

    /// True if the limits of a kind are enforced.
    pub(super) fn enforces(&self, kind: usize) -> bool {
        self.limits.get(kind).is_some_and(Option::is_some)
    }

    /// Begins and ends times of grace behind a call. False if it got what a limit forbids that binds the caller: it is
    /// to be taken back.
    pub(super) fn settle(&mut self, is_bound: bool, now: Timestamp) -> bool {
        let now = seconds(now);
        let is_allowed = |((kind, id), change): (&(usize, u32), &Change)| {
            let limits = self.limits.get(*kind).and_then(Option::as_ref);
            limits.is_none_or(|limits| limits.allow(*id, *change, now))
        };
        if is_bound && !self.done.iter().flatten().all(is_allowed) {
            return false;
        }
        for (kind, id) in std::mem::take(&mut self.unsettled) {
            self.limits.get_mut(kind).into_iter().flatten().for_each(|limits| limits.settle(id, now));
        }
        true
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

    /// Takes the changes of a kind, and the quotas with other times of grace, which are in its quota file from now on.
    pub(super) fn take(&mut self, kind: usize) -> (BTreeMap<u32, Change>, Vec<Quota>) {
        debug_assert!(kind < KINDS, "no quota of kind {kind}");
        let changes = self.changes.get_mut(kind).map(std::mem::take).unwrap_or_default();
        let changes = changes.into_iter().filter(|(_, change)| *change != (0, 0)).collect();
        let limits = self.limits.get_mut(kind).and_then(Option::as_mut);
        (changes, limits.map(Limits::take_news).unwrap_or_default())
    }
}

fn add(to: &mut Change, change: Change) {
    (to.0, to.1) = (to.0.saturating_add(change.0), to.1.saturating_add(change.1));
}

/// Seconds since 1970, as quota files have them.
pub(super) fn seconds(now: Timestamp) -> u64 {
    u64::try_from(now.seconds).unwrap_or_default()
}
