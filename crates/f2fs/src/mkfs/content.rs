//! The content of files, and the reasons why it could not be had.

use std::ops::Range;

use super::{FormatError, tree::Content};

/// The reason why content could not be written: the source, or everything else.
pub(super) enum Failed {
    Source(std::io::Error),
    Format(FormatError),
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Failed {
        Failed::Source(error)
    }
}

impl<E: Into<FormatError>> From<E> for Failed {
    fn from(error: E) -> Failed {
        Failed::Format(error.into())
    }
}

/// The places of a file's data: all of it, or those that its source names, in whole blocks.
pub(super) struct Ranges {
    size: u64,
    block: u64,
    at: u64,
}

impl Ranges {
    pub(super) fn new(size: u64, block: u64) -> Ranges {
        Ranges { size, block, at: 0 }
    }

    /// The next range, of a sparse file as `content` says; it begins at a block, and ends at one or at the end of the file.
    pub(super) fn next(
        &mut self,
        content: Option<&mut (dyn Content + '_)>,
    ) -> std::io::Result<Option<Range<u64>>> {
        if self.at >= self.size {
            return Ok(None);
        }
        let (start, end) = match content {
            None => (self.at, self.size),
            Some(content) => match content.next_data(self.at)? {
                Some((start, end)) => (start.max(self.at) / self.block * self.block, end),
                None => return Ok(None),
            },
        };
        let (start, end) = (start.max(self.at), end.next_multiple_of(self.block).min(self.size));
        self.at = end.next_multiple_of(self.block);
        Ok((start < end).then_some(start..end))
    }
}
