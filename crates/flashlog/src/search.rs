//! Finding the newest root of an erase block (ScaleFFS, 4.5, searches its checkpoint region in the same two phases).

use crate::Result;
use crate::medium::Medium;

/// The newest root in a block.
pub(crate) struct Newest<T> {
    pub(crate) root: T,
    pub(crate) seq: u64,
    /// The page that holds it.
    pub(crate) index: u32,
    /// Pages of the block that were programmed.
    used: u32,
}

impl<T> Newest<T> {
    /// True if nothing was programmed behind it.
    pub(crate) fn is_last(&self) -> bool {
        self.index + 1 == self.used
    }
}

/// The number of programmed pages of a block, by halves: pages are programmed in order. Pages that share cells with
/// earlier ones are passed over.
pub(crate) fn programmed(medium: &mut Medium<'_>, block: u32) -> Result<u32> {
    let (mut low, mut high) = (0, medium.shape().pages());
    while low < high {
        let middle = u32::midpoint(low, high);
        match medium.next_programmed(block, middle)? {
            None => high = middle,
            Some((found, _)) => low = found + 1,
        }
    }
    Ok(low)
}

/// Pages at the end of a block that may prove nothing and have a root before them, each with those passed over. A cut
/// leaves one or two. No start reads all the noise that a cut left of an erase.
const UNPROVED_MOST: u32 = 4;

/// The newest root of a block of which `used` pages were programmed: it proves itself, is of this kind, and is accepted by
/// `read`.
pub(crate) fn newest<T>(
    medium: &mut Medium<'_>,
    block: u32,
    used: u32,
    kind: u8,
    read: impl Fn(&[u8]) -> Option<T>,
) -> Result<Option<Newest<T>>> {
    let most = UNPROVED_MOST * medium.shape().reach();
    for index in (used.saturating_sub(most)..used).rev() {
        let Some(page) = medium.read_proved(medium.shape().page(block, index))? else { continue };
        if page.tag.kind == kind
            && let Some(root) = read(&page.payload)
        {
            return Ok(Some(Newest { root, seq: page.tag.seq, index, used }));
        }
    }
    Ok(None)
}
