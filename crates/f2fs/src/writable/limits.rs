//! Limits of users, of groups or of projects, with their use as it is now.

use std::collections::BTreeMap;

use crate::{
    quota::{Grace, Quota, Share},
    write::quota_file::QuotaFile,
};

/// Inodes and bytes, more or less than before.
pub(super) type Change = (i64, i64);

/// The limits of one kind.
#[derive(Default)]
pub(super) struct Limits {
    grace: Grace,
    /// All ids that have a limit.
    quotas: BTreeMap<u32, Quota>,
    /// A time of grace began or ended since the quota file was written.
    is_news: bool,
}

impl Limits {
    /// The limits in a quota file.
    pub(super) fn of(file: &QuotaFile) -> Limits {
        let quotas = file.quotas().filter(|quota| shares(quota).iter().any(Share::is_limited));
        let quotas = quotas.map(|quota| (quota.id, quota)).collect();
        Limits { grace: file.grace(), quotas, is_news: false }
    }

    /// An id uses inodes and bytes more, or less. True if it has limits.
    pub(super) fn change(&mut self, id: u32, (inodes, bytes): Change) -> bool {
        let Some(quota) = self.quotas.get_mut(&id) else { return false };
        quota.inodes.used = quota.inodes.used.saturating_add_signed(inodes);
        quota.bytes.used = quota.bytes.used.saturating_add_signed(bytes);
        true
    }

    /// The quota of an id, if it has limits.
    pub(super) fn quota(&self, id: u32) -> Option<Quota> {
        self.quotas.get(&id).copied()
    }

    /// True if an id may have what it has now, after it got so many inodes and bytes more.
    pub(super) fn allow(&self, id: u32, (inodes, bytes): Change, now: u64) -> bool {
        self.quotas.get(&id).is_none_or(|quota| {
            (inodes <= 0 || quota.inodes.is_allowed(now)) && (bytes <= 0 || quota.bytes.is_allowed(now))
        })
    }

    /// Begins the times of grace of an id, or ends them.
    pub(super) fn settle(&mut self, id: u32, now: u64) {
        let Some(quota) = self.quotas.get_mut(&id) else { return };
        let (before, grace) = (shares(quota), self.grace);
        quota.inodes.settle(now, grace.inodes);
        quota.bytes.settle(now, grace.bytes);
        self.is_news |= shares(quota) != before;
    }

    /// The quotas whose times of grace are to be kept, once.
    pub(super) fn take_news(&mut self) -> Vec<Quota> {
        let is_news = std::mem::take(&mut self.is_news);
        if is_news { self.quotas.values().copied().collect() } else { Vec::new() }
    }
}

fn shares(quota: &Quota) -> [Share; 2] {
    [quota.inodes, quota.bytes]
}
