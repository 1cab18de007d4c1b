//! The log: erase blocks and their pages, the roots that lead to them, and what cleans and guards them.

use pumice_flashlog::{Patrol, Roots, Rounds};
use pumice_vfs::Result;

use crate::blocks::Blocks;
use crate::checkpoint_record::Limits;
use crate::codec::size;
use crate::leveler::Leveler;
use crate::moving::Cleaner;
use crate::pages::Pages;
use crate::params::Params;
use crate::placing::Placer;
use crate::superblock::Superblock;

/// The log.
pub(crate) struct Log<'c> {
    pub(crate) params: Params,
    pub(crate) pages: Pages<'c>,
    pub(crate) blocks: Blocks,
    pub(crate) roots: Roots,
    pub(crate) recorded: Recorded,
    pub(crate) reach: Reach,
    pub(crate) status: Status,
    pub(crate) placer: Placer,
    pub(crate) cleaner: Cleaner,
    pub(crate) leveler: Leveler,
    pub(crate) patrol: Patrol,
}

/// The anchor and the newest checkpoint, as far as they are asked for.
pub(crate) struct Recorded {
    pub(crate) superblock: Superblock,
    pub(crate) limits: Limits,
    /// The newest checkpoint on the chip says that nothing follows it.
    pub(crate) clean: bool,
    pub(crate) checkpoints: u64,
}

/// The work of a recovery.
pub(crate) struct Reach {
    /// Most blocks in the window: recovery takes a look at each.
    pub(crate) window_max: usize,
    /// Chip reads that recovery would need for the writes of fsync since the last checkpoint.
    pub(crate) reads: u32,
    /// The limit of these, kept by a checkpoint in time.
    pub(crate) limit: u32,
}

/// Whether the volume may be changed.
pub(crate) struct Status {
    pub(crate) life: Life,
    pub(crate) read_only: bool,
}

/// Whether the chip can still be written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Life {
    Lasting,
    /// Too few good blocks are left.
    Over,
    /// Likewise, and no checkpoint has what was changed since the last one.
    CutShort,
}

/// Device time that recovery may take to look at the blocks of the window, in nanoseconds.
const WINDOW_NS: u64 = 6_000_000;
/// Device time that recovery may take to read the writes of fsync, in nanoseconds.
const RECOVERY_NS: u64 = 10_000_000;

impl Reach {
    fn of(pages: &Pages<'_>) -> Reach {
        let medium = &pages.flash.medium;
        let limit = RECOVERY_NS.checked_div(medium.page_read_ns()).unwrap_or(600).clamp(32, 2048);
        Reach {
            window_max: size(WINDOW_NS.checked_div(medium.peek_ns()).unwrap_or(240)).clamp(64, 1024),
            reads: 0,
            limit: u32::try_from(limit).unwrap_or(600),
        }
    }
}

impl<'c> Log<'c> {
    /// A log with nothing in it.
    pub(crate) fn new(
        pages: Pages<'c>,
        params: Params,
        superblock: Superblock,
        roots: Roots,
    ) -> Result<Log<'c>> {
        let policies = superblock.policies;
        Ok(Log {
            params,
            blocks: Blocks::new(params, policies.victim(&params)?),
            leveler: Leveler::new(policies.swap(superblock.endurance)?),
            roots,
            recorded: Recorded { superblock, limits: Limits::of(&params), clean: false, checkpoints: 0 },
            reach: Reach::of(&pages),
            status: Status { life: Life::Lasting, read_only: false },
            placer: Placer::new(&policies, &params),
            cleaner: Cleaner::default(),
            patrol: Patrol::resume(Rounds::default()),
            pages,
        })
    }
}
