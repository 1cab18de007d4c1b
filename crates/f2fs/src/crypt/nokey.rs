//! The form of a name that is shown, and found again, without its key: base64url of a structure that identifies the
//! entry.

use sha2::{Digest, Sha256};

use super::{CryptError, MAX_NAME_BYTES, MIN_NAME_BYTES};

/// Bytes of the encrypted name that are shown as they are.
const SHOWN_BYTES: usize = 149;
/// Bytes of the two hashes in front of the name.
const HASH_BYTES: usize = 8;
/// Bytes of the hash of the hidden part.
const DIGEST_BYTES: usize = 32;
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The directory entry in a no-key name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoKeyName {
    /// The hash of the entry, by which its bucket is found.
    pub hash: u32,
    /// The encrypted name, or its first 149 bytes.
    shown: Vec<u8>,
    /// SHA-256 of the rest of a longer name.
    digest: Option<[u8; DIGEST_BYTES]>,
}

/// The encrypted target in the stored contents of a symbolic link, behind its 16-bit length.
pub(super) fn link_bytes(stored: &[u8]) -> Result<&[u8], CryptError> {
    let split = stored.split_first_chunk::<2>();
    let found = split.and_then(|(length, rest)| rest.get(..usize::from(u16::from_le_bytes(*length))));
    found.ok_or(CryptError::Length(stored.len()))
}

impl NoKeyName {
    /// The name of a directory entry, from its hash and its encrypted name.
    pub fn new(hash: u32, encrypted: &[u8]) -> Result<NoKeyName, CryptError> {
        if !(MIN_NAME_BYTES..=MAX_NAME_BYTES).contains(&encrypted.len()) {
            return Err(CryptError::Length(encrypted.len()));
        }
        Ok(NoKeyName::of(hash, encrypted))
    }

    /// The target of a symbolic link, from its stored contents.
    pub fn of_link(stored: &[u8]) -> Result<NoKeyName, CryptError> {
        let encrypted = link_bytes(stored)?;
        if encrypted.len() < MIN_NAME_BYTES {
            return Err(CryptError::Length(encrypted.len()));
        }
        Ok(NoKeyName::of(0, encrypted))
    }

    fn of(hash: u32, encrypted: &[u8]) -> NoKeyName {
        let (shown, rest) = encrypted.split_at_checked(SHOWN_BYTES).unwrap_or((encrypted, &[]));
        let digest = (!rest.is_empty()).then(|| Sha256::digest(rest).into());
        NoKeyName { hash, shown: shown.to_vec(), digest }
    }

    /// Whether an encrypted name is the one meant.
    pub fn matches(&self, encrypted: &[u8]) -> bool {
        NoKeyName::of(self.hash, encrypted) == *self
    }

    /// As Linux shows it.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.hash.to_le_bytes().to_vec();
        bytes.resize(HASH_BYTES, 0);
        bytes.extend(&self.shown);
        bytes.extend(self.digest.iter().flatten());
        base64url(&bytes)
    }

    /// The name behind a shown one; `None` if it is not one.
    pub fn decode(shown: &[u8]) -> Option<NoKeyName> {
        let bytes = from_base64url(shown)?;
        let (hash, rest) = bytes.split_first_chunk::<4>()?;
        let (minor, name) = rest.split_first_chunk::<4>()?;
        let (name, digest) = match name.split_at_checked(SHOWN_BYTES) {
            Some((name, digest)) if !digest.is_empty() => (name, Some(digest.try_into().ok()?)),
            _ => (name, None),
        };
        let whole = name.len() >= MIN_NAME_BYTES && *minor == [0; 4];
        whole.then(|| NoKeyName { hash: u32::from_le_bytes(*hash), shown: name.to_vec(), digest })
    }
}

/// Base64 with the alphabet that is safe in file names, without padding.
fn base64url(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | usize::from(group.get(at).copied().unwrap_or(0)));
        let digits = [bits >> 18, bits >> 12, bits >> 6, bits].map(|bits| DIGITS.get(bits & 63).copied());
        text.extend(digits.into_iter().flatten().take(group.len() + 1));
    }
    text
}

/// The inverse; `None` for other letters, impossible lengths, and bits behind the last byte.
fn from_base64url(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for letter in text {
        let digit = DIGITS.iter().position(|digit| digit == letter)?;
        bits = bits << 6 | u32::try_from(digit).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count).ok()?);
            bits &= (1 << count) - 1;
        }
    }
    (bits == 0 && count < 6).then_some(bytes)
}
