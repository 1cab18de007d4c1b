//! Policies of a user's own: WebAssembly modules that are asked what the traits of `cleaning` are asked.
//!
//! A module is a file of WebAssembly, binary or as text. It exports some of these functions:
//!
//! | function | answer |
//! |---|---|
//! | `cost(segment) -> f64` | a victim policy's price of cleaning a segment; the cheapest is cleaned, of equals the one unchanged longest, and none at an infinite price |
//! | `classes() -> i32` | a placement's number of heads, asked once: from 1 to 16 |
//! | `user_write(now, page, class, age) -> i32` | the head of a user's page; class and age are those of the copy it replaces, -1 and 0 if there is none |
//! | `cleaner_copy(now, page, segment) -> i32` | the head of a survivor of this segment |
//! | `trimmed(now, page, class, age)` | none: a page is not needed any more |
//! | `sealed(now, class)` | none: a segment was written to the end |
//! | `reclaimed(now, segment)` | none: a segment was cleaned |
//! | `begin(segments, pages, logical, seed: i64)` | none: the first call, with the segments of the store, the pages of a segment, the logical pages and the seed |
//!
//! A victim policy needs `cost`, a placement `classes`, `user_write` and `cleaner_copy`; the others are optional. A module
//! that is both has one state. All parameters but the seed are `i32`. `segment` stands for seven of them, the fields of
//! [`SegmentView`](pumice_cleaning::SegmentView): valid, capacity, created, written, invalidated, erases, class. `now`
//! and ages are in user writes. A segment with nothing to reclaim is not asked about.
//!
//! A module gets no imports: no clock, no files, no randomness but the seed. So a run is the same wherever it is made.
//! Each call has [`FUEL`] instructions and the module 64 MiB of memory. A module that fails is not asked again, and its run
//! ends with an error that names the function.

mod error;
mod instance;
mod placement;
mod victim;

use std::sync::Arc;

use pumice_cleaning::{Params, Placement, Selector};
use sha2::{Digest, Sha256};

pub use error::ModuleError;
pub use instance::Instance;

/// Instructions of a call at most, some tens of milliseconds.
pub const FUEL: u64 = 10_000_000;

/// A module as it was read.
#[derive(Clone, Debug)]
pub struct Module {
    bytes: Arc<[u8]>,
    sha256: String,
}

impl Module {
    /// A module from the bytes of its file.
    pub fn new(bytes: &[u8]) -> Module {
        let sha256 =
            Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        Module { bytes: bytes.into(), sha256 }
    }

    /// The SHA-256 of its file, in hexadecimal.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// A copy of it that runs, with a state of its own, for a store of this size.
    ///
    /// # Errors
    /// If it is no module, wants more than there is, or fails at once.
    pub fn start(&self, params: &Params, seed: u64) -> Result<Instance, ModuleError> {
        Instance::new(&self.bytes, params, seed)
    }
}

/// The victim policy of a module, for the segments 0 to `segments - 1` of `pages` pages.
///
/// # Errors
/// If it has none.
pub fn victim(module: &Instance, params: &Params) -> Result<impl Selector + Send + use<>, ModuleError> {
    victim::OwnVictim::new(module.clone(), params)
}

/// The placement of a module.
///
/// # Errors
/// If it has none.
pub fn placement(module: &Instance) -> Result<impl Placement + Send + use<>, ModuleError> {
    placement::OwnPlacement::new(module.clone())
}
