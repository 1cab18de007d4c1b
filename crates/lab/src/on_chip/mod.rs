//! File systems on simulated chips, measured by the chip's own clock.

mod counted;
mod damage;
mod index;
mod large;
mod share;
mod system;
mod task;
mod work;

pub use damage::Damage;
pub use share::{BlockType, Scenario};
pub use system::System;
pub use task::Task;
pub use work::{ScanEquation, Work};
