//! What rolling forward changed, kept in memory over a volume that is not written to.

use std::collections::BTreeMap;

use crate::{
    error::Result,
    layout::Nid,
    volume::{Node, Volume},
};

/// Nodes that are not as the NAT has them.
#[derive(Default)]
pub(crate) struct Overlay {
    nodes: BTreeMap<Nid, Node>,
}

impl Overlay {
    /// The node, if it was changed.
    pub(crate) fn node(&self, _volume: &Volume, nid: Nid) -> Result<Option<Node>> {
        Ok(self.nodes.get(&nid).cloned())
    }
}
