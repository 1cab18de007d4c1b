//! Quotas: what users, groups and projects have, and what they may have.

use std::fmt;

/// The owners that are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QuotaKind {
    /// Users.
    User,
    /// Groups.
    Group,
    /// Projects.
    Project,
}

impl QuotaKind {
    /// All, in the order of their files in the super block.
    pub const ALL: [QuotaKind; 3] = [QuotaKind::User, QuotaKind::Group, QuotaKind::Project];

    /// Linux's options of a mount that have limits enforced.
    pub const NAMED: [(&'static str, QuotaKind); 4] = [
        ("quota", QuotaKind::User),
        ("usrquota", QuotaKind::User),
        ("grpquota", QuotaKind::Group),
        ("prjquota", QuotaKind::Project),
    ];

    /// Its place among all.
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for QuotaKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            QuotaKind::User => "user",
            QuotaKind::Group => "group",
            QuotaKind::Project => "project",
        })
    }
}

/// Limits that a broken quota file does not have any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostLimits {
    /// The owners.
    pub kind: QuotaKind,
    /// Those that are lost.
    pub lost: Lost,
}

/// A part of the limits of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lost {
    /// The limits of an owner.
    Owner(u32),
    /// Those of owners from one to another, but of those that were found elsewhere.
    Owners(u32, u32),
    /// The times of grace.
    Grace,
    /// All of them.
    All,
}

impl fmt::Display for LostLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind;
        match self.lost {
            Lost::Owner(id) => write!(f, "limits of {kind} {id}: the quota file does not have them any more"),
            Lost::Owners(first, last) => {
                write!(
                    f,
                    "limits of {kind}s {first} to {last}: those that the rest of the quota file does not have"
                )
            }
            Lost::Grace => write!(f, "times of grace of {kind}s: they are a week again"),
            Lost::All => write!(f, "limits of all {kind}s: the quota file is gone"),
        }
    }
}

/// The seconds for which soft limits may be exceeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grace {
    /// Those on inodes.
    pub inodes: u32,
    /// Those on bytes.
    pub bytes: u32,
}

impl Default for Grace {
    /// A week, as Linux sets it.
    fn default() -> Grace {
        const WEEK_S: u32 = 7 * 24 * 60 * 60;
        Grace { inodes: WEEK_S, bytes: WEEK_S }
    }
}

/// The inodes and the space of one owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Quota {
    /// Its number.
    pub id: u32,
    /// Inodes.
    pub inodes: Share,
    /// Bytes, in blocks besides those of inodes.
    pub bytes: Share,
}

/// The use of something, and its limits; 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Share {
    /// The present use.
    pub used: u64,
    /// The soft limit: it may be exceeded for a time of grace.
    pub soft: u64,
    /// The hard limit: nobody but root exceeds it.
    pub hard: u64,
    /// The second since 1970 from which on the soft limit holds; 0 while it is not exceeded.
    pub until: u64,
}

impl Share {
    pub(crate) fn is_limited(&self) -> bool {
        self.soft > 0 || self.hard > 0
    }

    /// True if there may be so much at this time.
    pub(crate) fn is_allowed(&self, now: u64) -> bool {
        let exceeds = |limit: u64| limit > 0 && self.used > limit;
        let is_late = self.until > 0 && now >= self.until;
        !(exceeds(self.hard) || exceeds(self.soft) && is_late)
    }

    /// Begins a time of grace of so many seconds, or ends it.
    pub(crate) fn settle(&mut self, now: u64, grace: u32) {
        if self.soft == 0 || self.used <= self.soft {
            self.until = 0;
        } else if self.until == 0 {
            self.until = now.saturating_add(grace.into());
        }
    }

    /// The lower limit, if there is one, and the rest up to it.
    pub(crate) fn rest(&self) -> Option<(u64, u64)> {
        let limit = [self.soft, self.hard].into_iter().filter(|limit| *limit > 0).min()?;
        Some((limit, limit.saturating_sub(self.used)))
    }
}
