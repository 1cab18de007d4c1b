//! The log of the disk: the chip and its segments, the heads, and what a start finds of them.

use pumice_cleaning::Params;
use pumice_flashlog::{Patrol, Roots, Rounds};

use crate::aftermath::Aftermath;
use crate::flash::Flash;
use crate::head::Heads;
use crate::identity::Identity;
use crate::moving::Cleaner;
use crate::policy::Policies;
use crate::recorded::Recorded;
use crate::segments::Segments;
use crate::shape::Shape;
use crate::status::Status;
use crate::waiting::Waiting;

/// The log.
pub(crate) struct Log<'c> {
    pub(crate) flash: Flash<'c>,
    pub(crate) shape: Shape,
    pub(crate) segments: Segments,
    pub(crate) policies: Policies,
    pub(crate) waiting: Waiting,
    pub(crate) heads: Heads,
    /// The write clock.
    pub(crate) clock: u32,
    pub(crate) recorded: Recorded,
    pub(crate) status: Status,
    pub(crate) aftermath: Aftermath,
    pub(crate) patrol: Patrol,
    pub(crate) cleaner: Cleaner,
}

impl<'c> Log<'c> {
    /// A log with nothing in it.
    pub(crate) fn new(flash: Flash<'c>, shape: Shape, identity: Identity, roots: Roots) -> Log<'c> {
        let seed = identity.uuid.iter().fold(0, |seed: u64, byte| seed.rotate_left(8) ^ u64::from(*byte));
        let params = Params::new(shape.blocks, shape.capacity(), identity.logical_blocks)
            .with(|it| it.endurance = identity.endurance);
        Log {
            flash,
            shape,
            segments: Segments::new(shape.blocks),
            policies: Policies::new(identity.policies, &params, seed),
            waiting: Waiting::default(),
            heads: Heads::new(),
            clock: 0,
            recorded: Recorded::new(identity, roots),
            status: Status::new(),
            aftermath: Aftermath::default(),
            patrol: Patrol::resume(Rounds::default()),
            cleaner: Cleaner::default(),
        }
    }
}
