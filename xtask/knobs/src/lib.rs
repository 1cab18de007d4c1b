//! The knobs of tests: every environment variable `PUMICE_*` that a test reads, and every campaign that is run longer by
//! them, in one table each. The patience of all tests stands beside them.
//!
//! A knob that is set wrongly fails the test that reads any knob, by name; so does a variable that no knob has.
//!
//! ```
//! use pumice_knobs::NANDFS_DAMAGE;
//!
//! let seeds = NANDFS_DAMAGE.seeds(0..150);
//! for seed in seeds.clone() {
//!     // One case; what goes wrong names `PUMICE_SEED={seed}`.
//! }
//! NANDFS_DAMAGE.ran(seeds, 150);
//! ```

mod campaign;
mod campaigns;
mod document;
mod environment;
mod knob;
mod knobs;
mod part;
mod patience;

pub use campaign::{Campaign, Rounds, Tests};
pub use campaigns::*;
pub use knob::{Form, Knob};
pub use knobs::*;
pub use part::Part;
pub use patience::{Patience, STANDSTILL, watched};
