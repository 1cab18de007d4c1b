//! The file of a host in which a container lies.

use core::fmt;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};

use crate::lock::Locked;

/// The unit of `stat` for the space of a file, in bytes.
const SECTOR: u64 = 512;

/// A file, as the pages of a container need it. After a power cut of the host it holds all synced bytes; each sector of
/// 512 bytes written since may hold any version that it had.
pub trait HostFile: fmt::Debug + Send {
    /// Length in bytes; it does not change.
    fn length(&self) -> io::Result<u64>;

    /// Fills the buffer with the bytes from a place on; an error at the end of the file.
    fn read_exact_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;

    /// Writes the bytes to a place.
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// Makes everything written so far outlive a power cut of the host.
    fn sync_data(&self) -> io::Result<()>;

    /// Bytes that the disk has left for parts of the file never written so far, if it has less than those take.
    fn room(&self) -> io::Result<Option<u64>>;

    /// Tells apart the times between two starts of the host: as long as it stays the same, nothing that was written is lost.
    fn session(&self) -> Session;
}

/// The time between two starts of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Session(pub [u8; 16]);

impl HostFile for Locked {
    fn length(&self) -> io::Result<u64> {
        // A device node has no length but by seeking.
        (&**self).seek(SeekFrom::End(0))
    }

    fn read_exact_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        FileExt::read_exact_at(&**self, bytes, at)
    }

    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        FileExt::write_all_at(&**self, bytes, at)
    }

    fn sync_data(&self) -> io::Result<()> {
        (**self).sync_data()
    }

    fn room(&self) -> io::Result<Option<u64>> {
        let (file, disk) = (self.metadata()?, rustix::fs::fstatvfs(&**self)?);
        let there = file.blocks().saturating_mul(SECTOR);
        let missing = if file.is_file() { file.len().saturating_sub(there) } else { 0 };
        let left = disk.f_bavail.saturating_mul(disk.f_frsize);
        Ok((left < missing).then_some(left))
    }

    /// The host's session; where Linux does not tell, none is like the other.
    fn session(&self) -> Session {
        let told = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let digits = told.trim().replace('-', "");
        Session(u128::from_str_radix(&digits, 16).unwrap_or(0).to_le_bytes())
    }
}
