//! The errors of files that hold chips.

use std::path::{Path, PathBuf};
use std::{format, io, string::String};

use crate::{NandError, SpecError};

/// The reason why a container, dump or device cannot be used. Each message is one line that names the file.
#[derive(thiserror::Error, Debug)]
#[non_exhaustive]
pub enum MediaError {
    /// The operating system refused.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// The action, as a verb.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
    /// Someone else has it open, or the kernel has it mounted.
    #[error("{} is in use{}", path.display(), by(*holder))]
    Busy {
        /// The file or device.
        path: PathBuf,
        /// The process, if that is known.
        holder: Option<u32>,
    },
    /// The file to create is there already.
    #[error("{} exists already; force its replacement to lose its contents", .0.display())]
    Exists(PathBuf),
    /// The file is something else.
    #[error("{} is not a chip container (magic {found:#018x} at byte 0, want {want:#018x})", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The first eight bytes, read little-endian.
        found: u64,
        /// The right number.
        want: u64,
    },
    /// The container was made by another version of the format.
    #[error("{} is a chip container of version {found}, this program reads version {want}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version that can be read.
        want: u32,
    },
    /// The file is shorter or longer than its chip.
    #[error("{} has {bytes} bytes, want {want}: it was cut off or is not whole", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
        /// The length its chip needs.
        want: u64,
    },
    /// A structure of the container is damaged.
    #[error("{}: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault and its place.
        why: String,
    },
    /// The raw dump belongs to a chip of another shape.
    #[error("the dump has {bytes} bytes, want {want}: {pages} pages of {page_bytes}+{spare_bytes} bytes")]
    DumpLength {
        /// Bytes of the dump.
        bytes: u64,
        /// Bytes of a dump of this chip.
        want: u64,
        /// Pages of the chip.
        pages: u64,
        /// Data bytes of a page.
        page_bytes: u32,
        /// Spare bytes of a page.
        spare_bytes: u32,
    },
    /// Reading or writing a dump failed.
    #[error("cannot {what} the dump: {source}")]
    Dump {
        /// The action, as a verb.
        what: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// The device is no NAND flash that can be used.
    #[error("{} cannot be used as a NAND chip: {why}", path.display())]
    Unsuitable {
        /// The device.
        path: PathBuf,
        /// The missing part.
        why: String,
    },
    /// The chip's description is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The chip failed.
    #[error(transparent)]
    Nand(#[from] NandError),
}

fn by(holder: Option<u32>) -> String {
    holder.map_or_else(String::new, |process| format!(" by process {process}"))
}

impl MediaError {
    /// A closure for `map_err`: `what` is a verb such as "open".
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> MediaError {
        let path = path.to_path_buf();
        move |source| MediaError::Io { what, path, source }
    }

    pub(crate) fn damaged(path: &Path, why: impl core::fmt::Display) -> MediaError {
        MediaError::Damaged { path: path.to_path_buf(), why: format!("{why}") }
    }
}

/// The errno of a failed call; EIO where there is none.
pub(crate) fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

/// The same as the NAND trait carries it.
pub(crate) fn device_error(error: &io::Error) -> NandError {
    NandError::Device(errno(error))
}
