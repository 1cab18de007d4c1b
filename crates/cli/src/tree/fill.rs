//! The content of a file, from an image to the host. The kernel copies it if it stands in the image as it is; otherwise
//! it goes through a buffer. Unreadable parts are passed over.

use std::{
    fs::File,
    io::{self, Seek as _, SeekFrom},
    os::unix::fs::FileExt,
};

use pumice_vfs::{Attr, Errno, FsError, Ino, Seek, Stored};

use super::{CHUNK, allowance::Allowance};
use crate::{image::Shared, interrupt::Interrupt, progress::Progress};

/// Bytes that the kernel copies at a time.
const SENT_AT_A_TIME: usize = 8 << 20;
/// Bytes that are tried at a time where a larger piece cannot be read.
const SMALL: usize = 4096;
/// Pieces of a file that may be bad before the rest is given up.
const BAD_MAX: u32 = 1 << 16;

/// Fills one file after the other.
pub(crate) struct Filler<'a> {
    fs: &'a Shared,
    /// The devices of the file system, as far as its bytes can be copied from there.
    devices: &'a [File],
    allowance: &'a Allowance,
    progress: &'a Progress,
    interrupt: &'a Interrupt,
    buffer: Vec<u8>,
}

/// The result for a file's content.
#[derive(Default)]
pub(crate) struct Filled {
    /// Bytes that were read.
    good: u64,
    /// Bytes that could not be read; the copy has a hole there, or ends.
    bad: u64,
    pieces: u32,
    /// The end of the copy so far.
    end: u64,
    /// The place of the first of them, and the cause.
    first: Option<(u64, FsError)>,
}

impl Filled {
    /// The missing parts, in words, if there are any.
    pub(crate) fn missing(&self) -> Option<String> {
        let (at, error) = self.first.as_ref()?;
        Some(if self.good == 0 {
            format!("{error}; left out")
        } else {
            format!(
                "{} bytes cannot be read and are zeros in the copy, first at byte {at}: {error}",
                self.bad
            )
        })
    }

    /// True if something should be there, and nothing could be read of it.
    pub(crate) fn is_lost(&self) -> bool {
        self.first.is_some() && self.good == 0
    }

    fn add_good(&mut self, at: u64, bytes: u64) {
        self.good += bytes;
        self.end = at + bytes;
    }

    fn add_bad(&mut self, at: u64, end: u64, error: FsError) {
        self.bad += end.saturating_sub(at);
        self.pieces += 1;
        self.first.get_or_insert((at, error));
    }
}

impl<'a> Filler<'a> {
    pub(crate) fn new(
        fs: &'a Shared,
        devices: &'a [File],
        allowance: &'a Allowance,
        progress: &'a Progress,
        interrupt: &'a Interrupt,
    ) -> Filler<'a> {
        Filler { fs, devices, allowance, progress, interrupt, buffer: vec![0; CHUNK] }
    }

    /// Writes the content of an inode into `file`, which is new. Holes stay holes. An error is the host's.
    pub(crate) fn fill(&mut self, attr: &Attr, file: &File) -> io::Result<Filled> {
        let mut filled = Filled::default();
        let (mut at, mut ends_badly) = (0, false);
        while at < attr.size {
            self.interrupt.check_io()?;
            match self.piece(attr, file, at, &mut filled)? {
                Ok(end) => (at, ends_badly) = (end, false),
                Err(error) => {
                    let is_final = matches!(error.errno(), Errno::NoKey | Errno::FileTooBig);
                    let is_hopeless = is_final || filled.pieces >= BAD_MAX;
                    let behind = self.fs.behind_damage(attr.ino, at).max(at + 1).min(attr.size);
                    let end = if is_hopeless { attr.size } else { behind };
                    filled.add_bad(at, end, error);
                    (at, ends_badly) = (end, true);
                }
            }
        }
        // The true length of a file with a damaged end is unknown.
        if !filled.is_lost() && !ends_badly && filled.end < attr.size {
            file.set_len(attr.size)?;
        }
        Ok(filled)
    }

    /// Copies the piece that begins at `at`; returns its end.
    fn piece(
        &mut self,
        attr: &Attr,
        file: &File,
        at: u64,
        filled: &mut Filled,
    ) -> io::Result<Result<u64, FsError>> {
        let stored = match self.fs.stored(attr.ino, at) {
            Ok(stored) => stored,
            Err(error) => return Ok(Err(error)),
        };
        if let Some(stored) = stored {
            if let Err(error) = self.allowance.take(stored.length) {
                return Ok(Err(error));
            }
            let sent = self.send(stored, file, at);
            self.allowance.give_back(stored.length.saturating_sub(sent));
            if sent > 0 {
                filled.add_good(at, sent);
                return Ok(Ok(at + sent));
            }
        }
        // Bytes that the kernel would not copy are read; if that fails, too, its error is told.
        let (start, end) = match self.next_data(attr, at) {
            Ok(range) => range,
            Err(error) => return Ok(Err(error)),
        };
        self.progress.advance(start - at);
        if start > at { Ok(Ok(start)) } else { self.copy(attr.ino, file, (start, end), filled) }
    }

    /// Has the kernel copy; returns how many bytes it did.
    fn send(&self, stored: Stored, file: &File, at: u64) -> u64 {
        let (mut from, end) = (stored.offset, stored.offset.saturating_add(stored.length));
        let Some(device) = self.devices.get(stored.device) else { return 0 };
        let mut out = file;
        if at > 0 && out.seek(SeekFrom::Start(at)).is_err() {
            return 0;
        }
        while from < end && self.interrupt.check_io().is_ok() {
            let count = usize::try_from(end - from).map_or(SENT_AT_A_TIME, |left| left.min(SENT_AT_A_TIME));
            match rustix::fs::sendfile(file, device, Some(&mut from), count) {
                Ok(sent) if sent > 0 => self.progress.advance(sent as u64),
                _ => break,
            }
        }
        from - stored.offset
    }

    /// Copies the beginning of a range through the buffer; returns how far.
    fn copy(
        &mut self,
        ino: Ino,
        file: &File,
        (at, end): (u64, u64),
        filled: &mut Filled,
    ) -> io::Result<Result<u64, FsError>> {
        let want = usize::try_from(end - at).map_or(CHUNK, |left| left.min(CHUNK));
        let mut read = self.fs.read(ino, at, self.buffer.get_mut(..want).unwrap_or_default());
        if read.is_err() && want > SMALL {
            // A small piece of it may be good; its end is where a block ends.
            let small = SMALL - usize::try_from(at % SMALL as u64).unwrap_or(0);
            read = self.fs.read(ino, at, self.buffer.get_mut(..small).unwrap_or_default());
        }
        let got = match read {
            Ok(got) => got,
            Err(error) => return Ok(Err(error)),
        };
        if let Err(error) = self.allowance.take(got as u64) {
            return Ok(Err(error));
        }
        file.write_all_at(self.buffer.get(..got).unwrap_or_default(), at)?;
        filled.add_good(at, got as u64);
        self.progress.advance(got as u64);
        Ok(Ok(if got == 0 { end } else { at + got as u64 }))
    }

    /// The next range that is not a hole; where there is none, the end of the file twice.
    fn next_data(&self, attr: &Attr, from: u64) -> Result<(u64, u64), FsError> {
        let start = match self.fs.seek(attr.ino, from, Seek::Data) {
            Ok(start) => start.clamp(from, attr.size),
            Err(error) if error.errno() == Errno::NoAddress => attr.size,
            Err(error) => return Err(error),
        };
        if start > from {
            return Ok((start, start));
        }
        let end = self.fs.seek(attr.ino, start, Seek::Hole)?;
        Ok((start, end.clamp(start + 1, attr.size)))
    }
}
