//! File systems on simulated chips, measured by the chip's own clock.

mod figure;
mod measured;
mod system;
mod task;
mod work;

pub use figure::Figure;
pub use measured::Measured;
pub use system::System;
pub use task::Task;
pub use work::{BlockType, Scenario, Work};
