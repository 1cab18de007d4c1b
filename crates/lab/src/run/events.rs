//! The events of pages, one after the other.

use std::ops::Range;

use super::TraceFile;
use crate::{
    LabError,
    trace::{Access, Compactor, Op, TraceError, TraceReader, open},
};

/// Something that a user does to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Write(u32),
    Trim(u32),
    Read,
    /// The trace is at its end, and begins again if more is asked for.
    End,
}

/// The events of a trace, from its beginning.
pub(super) struct Events {
    trace: TraceFile,
    block: u64,
    reader: TraceReader,
    numbers: Numbers,
    /// The request being taken apart, and its pages still to come.
    access: Option<(Access, Range<u64>)>,
}

/// The numbering of pages.
enum Numbers {
    /// Numbers in order of the first write.
    Compact(Compactor),
    /// Numbers by the address on the one volume.
    Address { volume: Option<u64> },
}

impl Events {
    /// Opens the trace; pages have `block` bytes.
    pub(super) fn open(trace: &TraceFile, block: u64) -> Result<Self, LabError> {
        let reader = open(&trace.path, &trace.reading).map_err(|error| unreadable(trace, error))?;
        let numbers = match trace.compact {
            true => Numbers::Compact(Compactor::default()),
            false => Numbers::Address { volume: None },
        };
        Ok(Self { trace: trace.clone(), block, reader, numbers, access: None })
    }

    fn event(&mut self, access: &Access, page: u64) -> Result<Option<Event>, LabError> {
        if access.op == Op::Read {
            return Ok(Some(Event::Read));
        }
        let number = match &mut self.numbers {
            // Pages that were never written need not be trimmed.
            Numbers::Compact(pages) if access.op == Op::Trim => match pages.known(access.volume, page) {
                Some(number) => Some(number),
                None => return Ok(None),
            },
            Numbers::Compact(pages) => pages.number(access.volume, page),
            Numbers::Address { volume } => {
                let first = *volume.get_or_insert(access.volume);
                if first != access.volume {
                    return Err(self.unplayable(&format!(
                        "holds several volumes ({first} and {}); --compact numbers the pages of all",
                        access.volume
                    )));
                }
                u32::try_from(page).ok().filter(|page| *page < u32::MAX)
            }
        };
        let Some(number) = number else {
            return Err(self.unplayable("has 2^32 pages or more; --compact or a larger --block may help"));
        };
        Ok(Some(if access.op == Op::Write { Event::Write(number) } else { Event::Trim(number) }))
    }

    fn unplayable(&self, why: &str) -> LabError {
        let line = self.reader.lines();
        LabError::Unplayable { path: self.trace.path.clone(), why: format!("line {line}: {why}") }
    }
}

impl Iterator for Events {
    type Item = Result<Event, LabError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let next =
                self.access.as_mut().and_then(|(access, pages)| pages.next().map(|page| (*access, page)));
            let Some((access, page)) = next else {
                match self.reader.next()? {
                    Ok(access) => self.access = Some((access, access.pages(self.block))),
                    Err(error) => return Some(Err(unreadable(&self.trace, error))),
                }
                continue;
            };
            match self.event(&access, page) {
                Ok(None) => {}
                Ok(Some(event)) => return Some(Ok(event)),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// A trace over and over.
pub(super) struct Rounds {
    trace: TraceFile,
    block: u64,
    events: Option<Events>,
    /// The round so far wrote something; one that does not is the last.
    wrote: bool,
}

impl Rounds {
    /// Not yet opened.
    pub(super) fn new(trace: &TraceFile, block: u64) -> Self {
        Self { trace: trace.clone(), block, events: None, wrote: true }
    }

    fn begin(&mut self) -> Result<(), LabError> {
        if !self.wrote {
            let why = "cannot be read again from its beginning; a pipe does not serve".to_owned();
            return Err(LabError::Unplayable { path: self.trace.path.clone(), why });
        }
        self.events = Some(Events::open(&self.trace, self.block)?);
        self.wrote = false;
        Ok(())
    }
}

impl Iterator for Rounds {
    type Item = Result<Event, LabError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(events) = &mut self.events else {
                match self.begin() {
                    Ok(()) => continue,
                    Err(error) => return Some(Err(error)),
                }
            };
            let Some(event) = events.next() else {
                self.events = None;
                return Some(Ok(Event::End));
            };
            self.wrote |= matches!(event, Ok(Event::Write(_)));
            return Some(event);
        }
    }
}

fn unreadable(trace: &TraceFile, error: TraceError) -> LabError {
    LabError::Trace { path: trace.path.clone(), error }
}
