//! The laboratory of flash policies: traces, workloads, and the papers' experiments on the simulator of `cleaning`.

pub mod trace;
