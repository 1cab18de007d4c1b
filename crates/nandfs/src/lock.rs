//! One lock around a volume: a mutex where there are threads, a cell where there are none.

use pumice_vfs::{Errno, Result};

#[cfg(feature = "std")]
type Inner<T> = std::sync::Mutex<T>;
#[cfg(not(feature = "std"))]
type Inner<T> = core::cell::RefCell<T>;

/// The lock.
pub(crate) struct Lock<T>(Inner<T>);

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Lock<T> {
        Lock(Inner::new(value))
    }

    /// Runs `work` alone. A volume left behind by a panic is not touched again.
    #[cfg(feature = "std")]
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        let mut guard = self.0.lock().map_err(|_| Errno::Io)?;
        work(&mut guard)
    }

    /// Runs `work` alone.
    #[cfg(not(feature = "std"))]
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        let mut guard = self.0.try_borrow_mut().map_err(|_| Errno::Busy)?;
        work(&mut guard)
    }

    #[cfg(feature = "std")]
    pub(crate) fn into_inner(self) -> Option<T> {
        self.0.into_inner().ok()
    }

    #[cfg(not(feature = "std"))]
    pub(crate) fn into_inner(self) -> Option<T> {
        Some(self.0.into_inner())
    }
}
