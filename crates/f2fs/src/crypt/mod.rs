//! fscrypt: encryption contexts, the keys that follow from master keys, contents, names and symbolic links.
//!
//! An encrypted inode has an extended attribute of index [`XATTR_INDEX`] and name [`XATTR_NAME`], its context: which
//! master key, which ciphers, which way to the key of the file. [`Keyring::file_key`] goes that way; the [`FileKey`]
//! decrypts and encrypts. Without the key a name is shown as [`NoKeyName`].

#[cfg(feature = "ciphers")]
mod adiantum;
#[cfg(feature = "ciphers")]
mod cipher;
mod context;
#[cfg(feature = "ciphers")]
mod derive;
#[cfg(feature = "ciphers")]
mod file_key;
#[cfg(feature = "ciphers")]
mod hctr2;
#[cfg(feature = "ciphers")]
mod iv;
#[cfg(not(feature = "ciphers"))]
mod keyless;
#[cfg(feature = "ciphers")]
mod keyring;
mod nokey;
mod subject;

pub use context::{Context, KeyName, KeyPath, Mode, RawContextV1, RawContextV2, XATTR_INDEX, XATTR_NAME};
#[cfg(feature = "ciphers")]
pub use file_key::FileKey;
#[cfg(not(feature = "ciphers"))]
pub use keyless::{FileKey, Keyring};
#[cfg(feature = "ciphers")]
pub use keyring::Keyring;
pub use nokey::NoKeyName;
pub use subject::{Purpose, Subject};

/// Bytes of the nonce that makes a file's key its own.
pub const NONCE_BYTES: usize = 16;
/// The shortest encrypted name; shorter plain names are padded to it.
pub const MIN_NAME_BYTES: usize = 16;
/// The longest name, plain or encrypted.
pub const MAX_NAME_BYTES: usize = 255;

/// The reason why an encrypted object cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CryptError {
    /// The context is neither of the two forms that Linux writes.
    #[error(
        "encryption context of {bytes} bytes and version {version} is not one of version 1 (28 bytes) or 2 (40)"
    )]
    Context {
        /// Its length.
        bytes: usize,
        /// Its first byte.
        version: u8,
    },
    /// The context asks for an unknown or impossible combination.
    #[error("encryption context has {what} {value}, which is not supported")]
    Unsupported {
        /// The field.
        what: &'static str,
        /// The value found.
        value: u8,
    },
    /// The master key was not given.
    #[error("no key {0} was given; give it with --key-file")]
    NoKey(KeyName),
    /// A master key of a length that none has.
    #[error("a master key has {0} bytes, want 16 to 64{hint}", hint = wrapped(*.0))]
    KeyLength(usize),
    /// The master key is shorter than the cipher wants.
    #[error("master key of {has} bytes is too short for a cipher that wants {wants}")]
    KeyTooShort {
        /// Bytes given.
        has: usize,
        /// Bytes that the cipher wants.
        wants: usize,
    },
    /// The ciphers were left out of this build.
    #[error("this build has no ciphers: it was made without the feature `ciphers`")]
    NotBuilt,
    /// The bytes to be decrypted are too few or too many, or not whole blocks.
    #[error("{0} encrypted bytes are no whole name, link or block")]
    Length(usize),
}

/// A hint for a key that is longer than any raw one.
fn wrapped(bytes: usize) -> &'static str {
    if bytes > 64 { "; a key wrapped by hardware is of use to that hardware only" } else { "" }
}

#[cfg(test)]
#[cfg(feature = "ciphers")]
mod tests;
