//! The hash of a name in a directory: it says in which bucket of each level a name is looked for.

use siphasher::sip::SipHasher24;

/// The number that TEA adds to its sum in each round: the golden ratio.
const DELTA: u32 = 0x9E37_79B9;

/// Bytes of a name taken in one pass.
const CHUNK: usize = 16;

/// The hash of a name as it stands in the directory: plain, case-folded in a case-insensitive directory, or
/// encrypted. `.` and `..` have the hash 0.
pub fn name_hash(name: &[u8]) -> u32 {
    if matches!(name, b"." | b"..") {
        return 0;
    }
    let mut state = [0x6745_2301, 0xEFCD_AB89];
    let mut rest = name;
    loop {
        state = tea(state, words(rest));
        match rest.get(CHUNK..) {
            Some(next) if !next.is_empty() => rest = next,
            _ => return state[0],
        }
    }
}

/// The hash of a name in a directory that is encrypted and case-insensitive: keyed, so that it tells nothing about the
/// folded name. [`crate::crypt`] derives `key` for the directory.
pub fn keyed_name_hash(key: &[u8; 16], folded: &[u8]) -> u32 {
    // The directory stores the low half.
    let [low @ .., _, _, _, _] = SipHasher24::new_with_key(key).hash(folded).to_le_bytes();
    u32::from_le_bytes(low)
}

/// Four big-endian words of up to 16 bytes. Missing bytes are filled with the number of bytes that were left.
fn words(rest: &[u8]) -> [u32; 4] {
    let pad = u32::from(u8::try_from(rest.len() & 0xFF).unwrap_or(0)) * 0x0101_0101;
    let mut words = [pad; 4];
    let head = rest.get(..CHUNK).unwrap_or(rest);
    for (word, bytes) in words.iter_mut().zip(head.chunks(4)) {
        *word = bytes.iter().fold(pad, |word, &byte| (word << 8).wrapping_add(u32::from(byte)));
    }
    words
}

/// Sixteen rounds of the Tiny Encryption Algorithm over the state, with the words as key, added to the state.
fn tea([first, second]: [u32; 2], [a, b, c, d]: [u32; 4]) -> [u32; 2] {
    let (mut left, mut right, mut sum) = (first, second, 0u32);
    for _ in 0..16 {
        sum = sum.wrapping_add(DELTA);
        left = left.wrapping_add(mix(right, sum, a, b));
        right = right.wrapping_add(mix(left, sum, c, d));
    }
    [first.wrapping_add(left), second.wrapping_add(right)]
}

fn mix(word: u32, sum: u32, low: u32, high: u32) -> u32 {
    (word << 4).wrapping_add(low) ^ word.wrapping_add(sum) ^ (word >> 5).wrapping_add(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_have_no_hash() {
        assert_eq!((name_hash(b"."), name_hash(b"..")), (0, 0));
        assert_ne!(name_hash(b"..."), 0);
    }

    /// Names with the hashes that Linux gave them.
    #[test]
    fn agrees_with_linux() {
        for (name, hash) in [
            (&b"size-0"[..], 1_854_755_702),
            (b"size-3488", 298_023_956),
            (b"size-100000", 2_195_003_982),
            (b"falloc-keep", 3_043_372_786),
            (b"hole-only", 2_229_355_473),
            (b"bad\xffutf8", 1_795_732_960),
            (b"j?\x97\xaf\xec\xde;+k\xf5\xae\xabB\x84:\x85E<h\xb6^6=/\"\xb7P\x8a\xf1|vk", 363_640_673),
        ] {
            assert_eq!(name_hash(name), hash, "{}", name.escape_ascii());
        }
    }

    /// SipHash-2-4 of its authors' paper, appendix A: key 00..0f, message 00..0e; the low half.
    #[test]
    fn the_keyed_hash_is_siphash() {
        let key = *b"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f";
        let message: Vec<u8> = (0..15).collect();
        assert_eq!(keyed_name_hash(&key, &message), 0x49be_45e5);
    }
}
