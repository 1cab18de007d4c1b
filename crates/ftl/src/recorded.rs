//! What a start finds first: the disk's identity, and the record of its newest checkpoint, with the segments that may
//! have been written since.

use pumice_flashlog::Roots;

use crate::identity::Identity;
use crate::listed::Listed;
use crate::opened::Opened;
use crate::record::Record;

/// The roots, and what they say.
pub(crate) struct Recorded {
    pub(crate) identity: Identity,
    pub(crate) roots: Roots,
    /// The record of the newest checkpoint.
    pub(crate) record: Record,
    /// Segments opened since the last checkpoint.
    pub(crate) opened: Opened,
    /// Those with news, as summaries list them.
    pub(crate) listed: Listed,
}

impl Recorded {
    /// Roots without a checkpoint.
    pub(crate) fn new(identity: Identity, roots: Roots) -> Recorded {
        let (opened, listed) = (Opened::default(), Listed::default());
        Recorded { identity, roots, record: Record::default(), opened, listed }
    }
}
