//! Extensions of names that tell how warm a file is: media are written once, databases again and again.

use crate::word::word;
use zerocopy::little_endian::U32;

use super::FormatError;
use crate::{
    layout::RawSuperBlock,
    write::warmth::{Warmth, warmth},
};

/// Cold extensions that every volume has, as f2fs-tools give it: `mp` stands for mp3, mp4, mpeg and the like.
const COLD: [&str; 36] = [
    "mp", "wm", "og", "jp", "avi", "m4v", "m4p", "mkv", "mov", "webm", "wav", "m4a", "3gp", "opus", "flac",
    "gif", "png", "svg", "webp", "jar", "deb", "iso", "gz", "xz", "zst", "pdf", "pyc", "ttc", "ttf", "exe",
    "apk", "cnt", "exo", "odex", "vdex", "so",
];
/// Hot ones.
const HOT: [&str; 4] = ["db", "vmdk", "vdi", "qcow2"];
/// Extensions in a super block, and bytes of one.
const MOST: usize = 64;
const BYTES: usize = 8;

/// The two lists of a volume.
pub(crate) struct Extensions {
    cold: Vec<String>,
    hot: Vec<String>,
}

impl Extensions {
    /// The usual ones and more.
    pub(super) fn new(cold: &[String], hot: &[String]) -> Result<Extensions, FormatError> {
        let usual = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let mut extensions = Extensions { cold: usual(&COLD), hot: usual(&HOT) };
        extensions.change(cold, hot)?;
        Ok(extensions)
    }

    /// Those of a super block.
    pub(crate) fn of(raw: &RawSuperBlock) -> Extensions {
        let name = |bytes: &[u8; BYTES]| {
            let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(name).into_owned()
        };
        let mut all = raw.extension_list.iter().map(name);
        let cold = all.by_ref().take(raw.extension_count.get() as usize).collect();
        Extensions { cold, hot: all.take(raw.hot_ext_count.into()).collect() }
    }

    /// Adds to both lists. A name behind a `!` is taken away.
    pub(crate) fn change(&mut self, cold: &[String], hot: &[String]) -> Result<(), FormatError> {
        for (list, names) in [(&mut self.cold, cold), (&mut self.hot, hot)] {
            for name in names {
                if let Some(name) = name.strip_prefix('!') {
                    let before = list.len();
                    list.retain(|known| known != name);
                    if list.len() == before {
                        return Err(FormatError::Extensions(format!("the extension {name:?} is not listed")));
                    }
                    continue;
                }
                if name.is_empty() || name.len() >= BYTES || !name.is_ascii() {
                    return Err(FormatError::Extensions(format!(
                        "the extension {name:?} cannot be stored (want 1 to {} ASCII letters)",
                        BYTES - 1
                    )));
                }
                if !list.contains(name) {
                    list.push(name.clone());
                }
            }
        }
        let count = self.cold.len() + self.hot.len();
        if count > MOST {
            return Err(FormatError::Extensions(format!(
                "{count} extensions are too many (want at most {MOST})"
            )));
        }
        Ok(())
    }

    /// Writes them into a super block.
    pub(crate) fn fill(&self, raw: &mut RawSuperBlock) {
        raw.extension_list = [[0; BYTES]; MOST];
        let all = self.cold.iter().chain(&self.hot);
        for (place, name) in raw.extension_list.iter_mut().zip(all) {
            place.iter_mut().zip(name.as_bytes()).for_each(|(to, from)| *to = *from);
        }
        raw.extension_count = U32::new(word(self.cold.len()));
        raw.hot_ext_count = u8::try_from(self.hot.len()).unwrap_or(u8::MAX);
    }

    /// The warmth of a file of this name.
    pub(super) fn warmth(&self, name: &[u8]) -> Warmth {
        fn bytes(list: &[String]) -> impl Iterator<Item = &[u8]> {
            list.iter().map(String::as_bytes)
        }
        warmth(name, bytes(&self.cold), bytes(&self.hot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_warm_as_linux_finds_them() {
        let extensions = Extensions::new(&["cat".to_owned()], &[]).unwrap();
        for (name, warmth) in [
            ("song.mp3", Warmth::Cold),
            ("song.MP3.tmp", Warmth::Cold),
            ("a.cat", Warmth::Cold),
            ("mail.db", Warmth::Hot),
            ("notes", Warmth::Warm),
            (".mp3", Warmth::Warm),
            ("x.c", Warmth::Warm),
        ] {
            assert_eq!(extensions.warmth(name.as_bytes()), warmth, "{name}");
        }
    }

    #[test]
    fn what_cannot_be_stored_is_refused() {
        assert!(Extensions::new(&["longer-than".to_owned()], &[]).is_err());
        let many: Vec<String> = (0..40).map(|number| format!("x{number}")).collect();
        assert!(Extensions::new(&many, &[]).is_err());
    }
}
