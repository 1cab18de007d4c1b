//! The content of a file, from an image to the host: copied by the kernel where it stands in the image as it is,
//! through a buffer where it does not.

use std::{
    fs::File,
    io::{self, Seek as _, SeekFrom},
    os::unix::fs::FileExt,
    path::Path,
};

use pumice_vfs::{Errno, Seek, Stored};

use super::{CHUNK, walk::Place};
use crate::{
    failure::{Failure, Outcome},
    image::Shared,
    progress::Progress,
};

/// Bytes that the kernel copies at a time.
const SENT_AT_A_TIME: usize = 8 << 20;

/// Fills one file after the other.
pub(crate) struct Filler<'a> {
    fs: &'a Shared,
    /// What the file system is kept on, as far as its bytes can be copied from there.
    devices: &'a [File],
    progress: &'a Progress,
    buffer: Vec<u8>,
}

impl<'a> Filler<'a> {
    pub(crate) fn new(fs: &'a Shared, devices: &'a [File], progress: &'a Progress) -> Filler<'a> {
        Filler { fs, devices, progress, buffer: vec![0; CHUNK] }
    }

    /// Writes the content of `place` into `file`, which is new and stands at `target`. Holes stay holes.
    pub(crate) fn fill(&mut self, place: &Place, file: &File, target: &Path) -> Outcome {
        let inside = |error| Failure::inside(&place.path, &error);
        let size = place.attr.size;
        let mut at = 0;
        while at < size {
            if let Some(stored) = self.fs.stored(place.attr.ino, at).map_err(inside)? {
                let sent = self.send(stored, file, at);
                at += sent;
                if sent == stored.length {
                    continue;
                }
            }
            // What the kernel would not copy is read, and if that fails, too, it is told why.
            let Some((start, end)) = self.next_data(place, at)? else { break };
            self.progress.advance(start - at);
            at = if start > at { start } else { self.copy(place, file, target, (start, end))? };
        }
        self.progress.advance(size.saturating_sub(at));
        if at < size {
            file.set_len(size).map_err(|error| Failure::host(target, &error))?;
        }
        Ok(())
    }

    /// Has the kernel copy; returns how many bytes it did.
    fn send(&self, stored: Stored, file: &File, at: u64) -> u64 {
        let (mut from, end) = (stored.offset, stored.offset.saturating_add(stored.length));
        let Some(device) = self.devices.get(stored.device) else { return 0 };
        let mut out = file;
        if out.seek(SeekFrom::Start(at)).is_err() {
            return 0;
        }
        while from < end {
            let count = usize::try_from(end - from).map_or(SENT_AT_A_TIME, |left| left.min(SENT_AT_A_TIME));
            match rustix::fs::sendfile(file, device, Some(&mut from), count) {
                Ok(sent) if sent > 0 => self.progress.advance(sent as u64),
                _ => break,
            }
        }
        from - stored.offset
    }

    /// Copies a range through the buffer; returns its end.
    fn copy(&mut self, place: &Place, file: &File, target: &Path, (mut at, end): (u64, u64)) -> Outcome<u64> {
        let failed = |error: &io::Error| Failure::host(target, error);
        while at < end {
            let want = usize::try_from(end - at).map_or(CHUNK, |left| left.min(CHUNK));
            let chunk = self.buffer.get_mut(..want).unwrap_or_default();
            let got = self
                .fs
                .read(place.attr.ino, at, chunk)
                .map_err(|error| Failure::inside(&place.path, &error))?;
            let data = chunk.get(..got).unwrap_or_default();
            file.write_all_at(data, at).map_err(|error| failed(&error))?;
            if got == 0 {
                return Ok(end);
            }
            at += got as u64;
            self.progress.advance(got as u64);
        }
        Ok(at)
    }

    /// The next range that is not a hole.
    fn next_data(&self, place: &Place, from: u64) -> Outcome<Option<(u64, u64)>> {
        let inside = |error| Failure::inside(&place.path, &error);
        let start = match self.fs.seek(place.attr.ino, from, Seek::Data) {
            Ok(start) => start.max(from),
            Err(error) if error.errno() == Errno::NoAddress => return Ok(None),
            Err(error) => return Err(inside(error)),
        };
        let end = self.fs.seek(place.attr.ino, start, Seek::Hole).map_err(inside)?;
        Ok((start < end).then_some((start, end)))
    }
}
