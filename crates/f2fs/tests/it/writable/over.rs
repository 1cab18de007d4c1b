//! Files with blocks written in place: after a power cut each byte is as it was promised, or as a later call left it.

use std::ops::Range;

use pumice_vfs::Ino;

use super::tree::{Record, Tree};

/// Bytes of files that calls changed.
#[derive(Default)]
pub(crate) struct Touches(Vec<Touch>);

struct Touch {
    /// Events that there were before the call.
    begin: usize,
    ino: Ino,
    range: Range<usize>,
    byte: u8,
}

impl Touches {
    /// A call, begun behind `begin` events, has made the bytes of a range the same.
    pub(crate) fn note(&mut self, begin: usize, ino: Ino, range: Range<u64>, byte: u8) {
        let whole = |at: u64| usize::try_from(at).unwrap();
        self.0.push(Touch { begin, ino, range: whole(range.start)..whole(range.end), byte });
    }

    /// True if a tree is the wanted one, but for bytes as calls left them that were begun behind `since` events of the
    /// inode, and before `count` of them.
    pub(crate) fn allow(
        &self,
        found: &Tree,
        wanted: &Tree,
        since: &dyn Fn(Ino) -> usize,
        count: usize,
    ) -> bool {
        found.keys().eq(wanted.keys())
            && found.values().zip(wanted.values()).all(|(found, wanted)| {
                let has_same_words = found.ino == wanted.ino && found.words == wanted.words;
                has_same_words
                    && (found.pieces == wanted.pieces || self.explain(found, wanted, since(found.ino)..count))
            })
    }

    fn explain(&self, found: &Record, wanted: &Record, calls: Range<usize>) -> bool {
        let (found_bytes, mut bytes) = (found.bytes(), wanted.bytes());
        for touch in self.0.iter().filter(|touch| touch.ino == found.ino && calls.contains(&touch.begin)) {
            let range = touch.range.start.min(bytes.len())..touch.range.end.min(bytes.len());
            let places = bytes[range.clone()].iter_mut().zip(&found_bytes[range]);
            places.filter(|(_, found)| **found == touch.byte).for_each(|(place, found)| *place = *found);
        }
        bytes == found_bytes
    }
}
