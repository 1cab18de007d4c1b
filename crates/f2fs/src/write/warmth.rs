//! The warmth of a file: its extension tells, by the lists of the super block.

use crate::layout::SuperBlock;

/// The warmth of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Warmth {
    Hot,
    Warm,
    Cold,
}

/// Extensions of files that are written once, and of files that are written again and again.
pub(crate) struct Lists {
    cold: Vec<Vec<u8>>,
    hot: Vec<Vec<u8>>,
}

impl Lists {
    /// Those of a volume.
    pub(crate) fn of(sb: &SuperBlock) -> Lists {
        let raw = sb.raw();
        let name = |entry: &[u8; 8]| entry.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
        let (cold, hot) = (raw.extension_count.get() as usize, usize::from(raw.hot_ext_count));
        let names = || raw.extension_list.iter().map(name);
        Lists { cold: names().take(cold).collect(), hot: names().skip(cold).take(hot).collect() }
    }

    /// The warmth of a file of this name.
    pub(crate) fn warmth(&self, name: &[u8]) -> Warmth {
        warmth(name, self.cold.iter().map(Vec::as_slice), self.hot.iter().map(Vec::as_slice))
    }
}

/// The warmth of a file of this name. The kernel asks the cold list first.
pub(crate) fn warmth<'a>(
    name: &[u8],
    mut cold: impl Iterator<Item = &'a [u8]>,
    mut hot: impl Iterator<Item = &'a [u8]>,
) -> Warmth {
    if cold.any(|extension| ends_in(name, extension)) {
        Warmth::Cold
    } else if hot.any(|extension| ends_in(name, extension)) {
        Warmth::Hot
    } else {
        Warmth::Warm
    }
}

/// True if some dot behind the first letter is followed by the extension, in any case: a temporary ending may follow.
fn ends_in(name: &[u8], extension: &[u8]) -> bool {
    let dots = name.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'.');
    dots.into_iter().any(|(at, _)| {
        let behind = name.get(at + 1..).unwrap_or_default();
        behind.get(..extension.len()).is_some_and(|start| start.eq_ignore_ascii_case(extension))
    })
}
