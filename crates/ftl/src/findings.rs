//! The findings of a check.

use alloc::{string::String, vec::Vec};

/// Something that a check found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The thing at fault: `anchors`, `records`, `identity`, `checkpoint`, `heads`, `table`, `segment`, `bad-block`,
    /// `summary`, `trims`, `page`, `missing`, `lost` or `possibly-lost`.
    pub code: &'static str,
    /// The exact fault and its place.
    pub detail: String,
}

/// A list of findings.
pub(crate) type Findings = pumice_flashlog::Findings<()>;

/// The list as callers see it.
pub(crate) fn told(found: Findings) -> Vec<Finding> {
    found.into_list(|code, detail, ()| Finding { code, detail })
}
