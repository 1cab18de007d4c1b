//! File systems on simulated chips, measured by the chip's own clock.

mod figure;
mod files;
mod measured;
mod population;
mod postmark;
mod share;
mod system;
mod task;
mod work;

pub use figure::Figure;
pub use measured::Measured;
pub use share::{BlockType, Scenario};
pub use system::System;
pub use task::Task;
pub use work::{ScanEquation, Work};
