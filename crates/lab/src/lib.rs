//! The laboratory of flash policies: traces, workloads, and the papers' experiments on the simulator of `cleaning`.
//!
//! One run, with all that is known of it afterwards:
//!
//! ```
//! use pumice_lab::run::{Access, Amount, Setup, simulate};
//! use pumice_media::ChipSpec;
//!
//! let access = Access::Pattern("locality:90/10".parse()?);
//! let chip = ChipSpec::named("intel-s2plus-24m")?;
//! let mut setup = Setup::cat(access, "cat".parse()?, "m6".parse()?, "even".parse()?, chip);
//! setup.store.reserve = 1;
//! setup.write = Some(Amount::Turnovers(2.0));
//! let record = simulate(&setup, &())?;
//! println!("{} erases, write amplification {:.3}", record.erasures, record.waf);
//! # assert!(record.erasures > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`run::sweep`] makes many runs on all cores, [`experiment`] has the papers', [`report`] draws them.

pub mod claim;
mod disk;
mod error;
pub mod experiment;
pub mod files;
pub mod measured;
mod medium;
pub mod module;
pub mod nftl;
pub mod on_chip;
pub mod on_disk;
pub mod on_server;
pub mod on_stack;
pub mod report;
pub mod requests;
pub mod run;
mod sources;
pub mod trace;
pub mod workload;

pub use error::LabError;
pub use medium::Medium;
pub use sources::Sources;
