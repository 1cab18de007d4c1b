//! The laboratory of flash policies: traces, workloads, and the papers' experiments on the simulator of `cleaning`.

mod error;
pub mod experiment;
pub mod report;
pub mod run;
pub mod trace;
pub mod workload;

pub use error::LabError;
