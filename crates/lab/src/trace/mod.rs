//! Block traces: the requests to a disk, read line by line in bounded memory.
//!
//! One file for each format; [`Format::TABLE`] names them all.

mod access;
mod alibaba;
mod blkparse;
mod cloudphysics;
mod compact;
mod disksim;
mod error;
mod fields;
mod fio;
mod fiu;
mod format;
mod hash;
mod midas;
mod msr;
mod pattern;
mod reader;
mod source;
mod spc;
mod table;
mod tencent;
mod wiscsee;
mod zst;

pub use access::{Access, Op};
pub use compact::Compactor;
pub use error::{Problem, TraceError};
pub use format::Format;
pub(crate) use hash::sha256;
pub use pattern::Pattern;
pub use reader::TraceReader;
pub(crate) use source::text;
pub use source::{Reading, open};
