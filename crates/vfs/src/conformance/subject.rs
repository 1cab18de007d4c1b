//! The parts that the suite needs of an implementation.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::sync::atomic::{AtomicI64, Ordering};

use crate::{Clock, FileSystem, Result, Timestamp};

/// A file system under test.
pub trait Subject {
    /// It, mounted.
    fn fs(&self) -> &dyn FileSystem;

    /// Unmounts it cleanly and mounts it again from its medium.
    fn remount(&mut self) -> Result<()>;

    /// The things that its format cannot keep.
    fn leeway(&self) -> Leeway {
        Leeway::default()
    }
}

/// The differences that are not compared. By default everything is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Leeway {
    /// The format has no time of birth.
    pub no_btime: bool,
    /// No time is compared at all.
    pub no_times: bool,
}

/// A clock that moves only when told to; its copies move together.
#[derive(Clone, Debug, Default)]
pub struct TestClock(Arc<AtomicI64>);

impl TestClock {
    /// A clock at its first moment, in September 2001.
    pub fn new() -> TestClock {
        TestClock::default()
    }

    /// Goes on to the next moment, about a second later.
    pub fn tick(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Goes on by so many moments, or back.
    pub fn pass(&self, ticks: i64) {
        self.0.fetch_add(ticks, Ordering::Relaxed);
    }

    /// Its present moment.
    pub fn now(&self) -> Timestamp {
        let ticks = self.0.load(Ordering::Relaxed);
        let nanos = u32::try_from(ticks.wrapping_mul(7_919_017).rem_euclid(1_000_000_000)).unwrap_or(0);
        Timestamp { seconds: 1_000_000_000 + ticks, nanos }
    }

    /// The clock as file systems take it.
    pub fn clock(&self) -> Clock {
        let clock = self.clone();
        Box::new(move || clock.now())
    }
}

/// The fault, in words for people. `Debug` prints the same words, so that `unwrap` reads well.
#[derive(Clone, PartialEq, Eq)]
pub struct Failure(pub(super) String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Failure {}
