//! The reach of fsync's promises since the checkpoint: a page counts if a commit of its inode stands on it or behind.

use hashbrown::HashMap;

use crate::names::NameRecord;
use crate::tag::{ChunkKind, Desc, Tag};

/// The inode that a chunk belongs to.
fn owner(desc: &Desc) -> Option<u32> {
    match desc.kind {
        ChunkKind::Data | ChunkKind::Packed | ChunkKind::Rest => Some(desc.id),
        ChunkKind::Node => Some(desc.index),
        _ => None,
    }
}

/// Sequence numbers of commits.
pub(crate) struct Commits {
    /// The last of each inode.
    pub(crate) last: HashMap<u32, u64>,
    /// The last one of names, which promises all that come before it.
    pub(crate) names: Option<u64>,
}

impl Commits {
    /// The commits of counted pages, each with the record of names that it may have.
    pub(crate) fn of<'a>(pages: impl Iterator<Item = (&'a Tag, Option<&'a NameRecord>)> + Clone) -> Commits {
        let mut last: HashMap<u32, u64> = HashMap::new();
        let mut commit = |ino: u32, seq: u64| {
            let known = last.entry(ino).or_default();
            *known = seq.max(*known);
        };
        for (tag, _) in pages.clone().filter(|(tag, _)| tag.commit.is_some()) {
            if let Some(ino) = tag.descs.first().and_then(owner) {
                commit(ino, tag.seq);
            }
        }
        let records = pages.filter_map(|(tag, names)| Some((tag, names?)));
        let names = records.clone().filter(|(tag, _)| tag.commit.is_some()).map(|(tag, _)| tag.seq).max();
        if let Some(names) = names {
            let promised = records.filter(|(tag, _)| tag.seq <= names);
            for link in promised.flat_map(|(_, record)| &record.links).filter(|link| link.whole) {
                commit(link.ino, names);
            }
        }
        Commits { last, names }
    }
}
