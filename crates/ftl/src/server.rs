//! The server: its parts in memory.

use pumice_flashlog::Roots;

use crate::flash::Flash;
use crate::identity::Identity;
use crate::log::Log;
use crate::map::Map;
use crate::shape::Shape;

/// The flash memory server: the log, and the map of logical blocks to places in it.
pub(crate) struct Server<'c> {
    pub(crate) log: Log<'c>,
    pub(crate) map: Map,
}

impl<'c> Server<'c> {
    /// A server around its parts, with nothing stored.
    pub(crate) fn assemble(
        flash: Flash<'c>,
        shape: Shape,
        identity: Identity,
        roots: Roots,
        cache_bytes: usize,
    ) -> Server<'c> {
        let map = Map::new(&shape, identity.logical_blocks, cache_bytes);
        Server { log: Log::new(flash, shape, identity, roots), map }
    }
}
