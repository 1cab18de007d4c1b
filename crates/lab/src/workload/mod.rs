//! Generated workloads: which page is written next. A seed gives the same pages on every machine.

mod drift;
mod locality;
mod named;
mod order;
mod pages;
mod pattern;
mod poisson;
mod workstation;
mod zipf;

pub use drift::Drift;
pub use named::Workload;
pub use pages::Pages;
pub use pattern::{Pattern, PatternError};
pub use poisson::Poisson;
