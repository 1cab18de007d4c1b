//! Case folding of names in case-insensitive directories, as Linux does it: the full case folding of each character
//! (C and F of CaseFolding.txt), canonical decomposition, and no default-ignorable characters, by Unicode 12.1.
//!
//! The libraries follow newer versions of Unicode. The mappings of a character never change once it is assigned, so
//! only characters that were not assigned in 12.1 must be kept from them.

mod tables;

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;

use self::tables::{ASSIGNED, IGNORABLE};

/// A name that has no folded form because it is not UTF-8.
///
/// A volume in strict mode refuses such names; otherwise they are compared and hashed byte by byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("name is not valid UTF-8")]
pub struct NotUtf8;

/// The folded form of `name`: two names are the same in a case-insensitive directory if their folded forms are.
pub fn fold(name: &[u8]) -> Result<Vec<u8>, NotUtf8> {
    if name.is_ascii() {
        return Ok(name.to_ascii_lowercase());
    }
    let text = std::str::from_utf8(name).map_err(|_| NotUtf8)?;
    let mut folded = String::with_capacity(text.len());
    // Combining marks are not sorted across a character that is dropped or unknown.
    for part in text.split_inclusive(|letter| !is_plain(letter)) {
        let last = part.chars().next_back().filter(|&letter| !is_plain(letter));
        let known = part.len() - last.map_or(0, char::len_utf8);
        let known = part.get(..known).unwrap_or_default();
        folded.extend(known.chars().default_case_fold().nfd());
        folded.extend(last.filter(|&letter| !contains(&IGNORABLE, letter)));
    }
    Ok(folded.into_bytes())
}

/// The bytes that are hashed and compared: the folded name, or the name itself where it has no folded form and the
/// volume is not strict.
pub fn fold_or_bytes(name: &[u8], strict: bool) -> Result<Vec<u8>, NotUtf8> {
    match fold(name) {
        Err(_) if !strict => Ok(name.to_vec()),
        folded => folded,
    }
}

/// True for characters that Unicode 12.1 knows and that a folded name keeps.
fn is_plain(letter: char) -> bool {
    letter.is_ascii() || (contains(&ASSIGNED, letter) && !contains(&IGNORABLE, letter))
}

/// Whether one of the sorted, inclusive ranges holds the character.
fn contains(ranges: &[(u32, u32)], letter: char) -> bool {
    let code = u32::from(letter);
    let after = ranges.partition_point(|&(first, _)| first <= code);
    after.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|&(_, last)| code <= last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::name_hash;

    fn folded(name: &str) -> String {
        String::from_utf8(fold(name.as_bytes()).unwrap()).unwrap()
    }

    /// Names in a case-insensitive directory of Linux, with the hash of their folded form.
    #[test]
    fn agrees_with_linux() {
        for (name, hash) in [
            ("MixedCase-000000", 4_226_719_780),
            ("ÄÖÜ", 1_514_232_612),
            ("Σίσυφος", 400_446_304),
            ("Ⅷ", 61_071_748),
            ("Straße", 3_605_346_202),
            ("ǅ", 488_918_766),
            ("ﬁn", 2_080_696_338),
            ("Å", 2_708_313_073),
            ("naïve", 3_404_241_465),
            ("ŒUVRE", 1_240_684_419),
            ("İ", 2_273_573_891),
            ("ı", 414_753_987),
        ] {
            assert_eq!(name_hash(&fold(name.as_bytes()).unwrap()), hash, "{name}");
        }
    }

    #[test]
    fn folds_in_full_and_decomposes() {
        assert_eq!(folded("STRASSE"), folded("straße"));
        assert_eq!(folded("\u{212b}"), "a\u{30a}", "the Ångström sign");
        assert_eq!(folded("각"), "\u{1100}\u{1161}\u{11a8}");
        assert_eq!(folded("\u{1fb3}"), "\u{3b1}\u{3b9}", "full, not simple folding");
        assert_eq!(folded("e\u{301}\u{323}"), "e\u{323}\u{301}", "marks are sorted");
    }

    #[test]
    fn ignorable_characters_vanish_but_part_marks() {
        assert_eq!(folded("a\u{200b}B\u{feff}\u{ad}"), "ab");
        assert_eq!(folded("e\u{301}\u{34f}\u{323}"), "e\u{301}\u{323}");
    }

    /// U+10D50 got a lower case in Unicode 16, U+1E030 is of 15: to Linux both are unknown and stay.
    #[test]
    fn characters_after_unicode_12_1_stay_as_they_are() {
        for letter in ["\u{10d50}", "\u{1e030}", "\u{a7c0}", "\u{378}"] {
            assert_eq!(folded(letter), letter);
        }
        assert_eq!(folded("\u{a7c2}"), "\u{a7c3}", "of Unicode 12.0");
    }

    #[test]
    fn bytes_that_are_not_utf_8() {
        assert_eq!(fold(b"bad\xffutf8"), Err(NotUtf8));
        assert_eq!(fold(b"\xed\xa0\x80"), Err(NotUtf8), "a surrogate");
        assert_eq!(fold_or_bytes(b"Bad\xff", false), Ok(b"Bad\xff".to_vec()));
        assert_eq!(fold_or_bytes(b"Bad\xff", true), Err(NotUtf8));
    }
}
