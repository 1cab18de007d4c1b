//! F2FS on disks in memory, measured by its writes to them: work inside an SSD is left out, as in the F2FS paper's
//! sections 3.2.3 to 3.2.5.

mod mount;
mod mounted;
mod task;
mod watched;
mod work;

pub use mount::Mount;
pub(crate) use mounted::Mounted;
pub use task::Task;
pub use work::Work;
