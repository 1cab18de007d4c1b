//! The bytes that may be copied out of an image: no more than it can hold. Files of a damaged image may share blocks,
//! so that a small one seems to hold more than any disk.

use std::sync::atomic::{AtomicU64, Ordering};

use pumice_vfs::{Errno, FileSystem, FsError};

/// Bytes of content that may still be copied, by several threads.
pub(crate) struct Allowance {
    most: u64,
    left: AtomicU64,
}

impl Allowance {
    /// All that the file system can hold.
    pub(crate) fn of(fs: &dyn FileSystem) -> Allowance {
        let most = fs.content_max();
        Allowance { most, left: AtomicU64::new(most) }
    }

    /// Takes bytes that will be copied; an error if they are more than there can be.
    pub(crate) fn take(&self, bytes: u64) -> Result<(), FsError> {
        let take = |left: u64| left.checked_sub(bytes);
        match self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Ok(()),
            Err(_) => Err(FsError::new(
                Errno::FileTooBig,
                format!(
                    "the files together have more than the {} bytes that the image can hold, so some share blocks; run \
                     `pumice fsck`",
                    self.most
                ),
            )),
        }
    }

    /// Bytes that were taken and not copied.
    pub(crate) fn give_back(&self, bytes: u64) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_can_be_taken_again() {
        let allowance = Allowance { most: 10, left: AtomicU64::new(10) };
        assert!(allowance.take(8).is_ok());
        assert_eq!(allowance.take(3).map_err(|error| error.errno()), Err(Errno::FileTooBig));
        allowance.give_back(1);
        assert!(allowance.take(3).is_ok());
    }
}
