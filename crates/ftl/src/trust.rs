//! The range of a replay, and the pages that it counts as sure.

/// The range of the replay.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    /// Pages with this sequence number or a higher one.
    pub(crate) since: u64,
    /// A segment that counts as free.
    pub(crate) without: Option<u32>,
    pub(crate) trust: Trust,
}

/// The pages that count as any other, though a power cut may have stopped their programs so that they fade.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sure {
    /// None of them; summaries do until those are noted that may fade.
    Nothing,
    /// A page that is written twice, without its copy.
    Alone,
    /// The newest page, too; otherwise its blocks are kept in memory.
    Newest,
    /// Those that the checkpoint names, too.
    Named,
}

/// The trust in the newest page.
#[derive(Clone, Copy)]
pub(crate) struct Trust {
    /// If it cannot be read, and its tag names its blocks, it counts as lost; otherwise as torn.
    pub(crate) doubting: bool,
    pub(crate) sure: Sure,
}

impl Trust {
    /// The trust for serving a disk.
    pub(crate) const SERVE: Trust = Trust { doubting: true, sure: Sure::Nothing };
    /// The trust for a look at it.
    pub(crate) const LOOK: Trust = Trust { doubting: true, sure: Sure::Named };
    /// The trust for serving it, with an unreadable page given up.
    pub(crate) const GIVE_UP: Trust = Trust { doubting: false, sure: Sure::Nothing };

    /// The same trust, with so much sure at the least.
    pub(crate) fn with(self, sure: Sure) -> Trust {
        Trust { sure: self.sure.max(sure), ..self }
    }

    /// True if the newest page counts as any other.
    pub(crate) fn is_newest_sure(self) -> bool {
        self.sure >= Sure::Newest
    }
}
