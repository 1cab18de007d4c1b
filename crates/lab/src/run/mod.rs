//! One run of the simulator, and many: setups and outcomes.

mod access;
mod clock;
pub(crate) mod csv;
mod events;
mod life;
mod lifetime;
mod parameters;
mod plan;
mod policy;
mod progress;
mod queue;
mod read_only;
mod record;
mod rules;
mod setup;
mod simulate;
mod sweep;

pub use access::{Access, TraceFile};
pub use life::{Life, Seen};
pub(crate) use parameters::PROGRAM;
pub use parameters::Parameters;
pub use plan::{Planned, plan};
pub use policy::{Policy, module_file};
pub use progress::Progress;
pub use record::{LifetimeRecord, QueueRecord, ReadOnlyRecord, Record, TimeSplit};
pub use setup::{Amount, Room, Setup, Store};
pub use simulate::{simulate, watch};
pub use sweep::sweep;
