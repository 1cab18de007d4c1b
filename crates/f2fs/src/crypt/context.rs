//! The encryption context of an inode.

use std::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{CryptError, NONCE_BYTES};

/// The index of the extended attribute that holds the context.
pub const XATTR_INDEX: u8 = 9;
/// The name of that attribute.
pub const XATTR_NAME: &[u8] = b"c";

/// Version 1, in which the master key has a name that its user chose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct RawContextV1 {
    /// 1.
    pub version: u8,
    /// [`Mode`] of files' data.
    pub contents_mode: u8,
    /// [`Mode`] of names and links.
    pub names_mode: u8,
    /// Padding (bits 0 and 1) and [`KeyPath`].
    pub flags: u8,
    /// The master key's name.
    pub descriptor: [u8; 8],
    /// The nonce, which makes this inode's key its own.
    pub nonce: [u8; NONCE_BYTES],
}
const _: () = assert!(size_of::<RawContextV1>() == 28);

/// Version 2, in which the name of the master key follows from the key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct RawContextV2 {
    /// 2.
    pub version: u8,
    /// [`Mode`] of files' data.
    pub contents_mode: u8,
    /// [`Mode`] of names and links.
    pub names_mode: u8,
    /// Padding (bits 0 and 1) and [`KeyPath`].
    pub flags: u8,
    /// Power of two of the bytes encrypted together; 0 is a block.
    pub log2_data_unit_size: u8,
    /// Zero.
    pub reserved: [u8; 3],
    /// The master key's name.
    pub identifier: [u8; 16],
    /// The nonce, which makes this inode's key its own.
    pub nonce: [u8; NONCE_BYTES],
}
const _: () = assert!(size_of::<RawContextV2>() == 40);

/// A cipher, by its number in contexts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// AES-256-XTS, for contents.
    Aes256Xts,
    /// AES-256-CBC with ciphertext stealing, for names.
    Aes256Cts,
    /// AES-128-CBC with encrypted initialisation vectors (ESSIV), for contents.
    Aes128CbcEssiv,
    /// AES-128-CBC with ciphertext stealing, for names.
    Aes128Cts,
    /// Adiantum, for both.
    Adiantum,
    /// AES-256-HCTR2, for names.
    Aes256Hctr2,
}

impl Mode {
    fn from_raw(number: u8) -> Option<Mode> {
        match number {
            1 => Some(Mode::Aes256Xts),
            4 => Some(Mode::Aes256Cts),
            5 => Some(Mode::Aes128CbcEssiv),
            6 => Some(Mode::Aes128Cts),
            9 => Some(Mode::Adiantum),
            10 => Some(Mode::Aes256Hctr2),
            _ => None,
        }
    }

    /// Its number in contexts.
    pub fn number(self) -> u8 {
        match self {
            Mode::Aes256Xts => 1,
            Mode::Aes256Cts => 4,
            Mode::Aes128CbcEssiv => 5,
            Mode::Aes128Cts => 6,
            Mode::Adiantum => 9,
            Mode::Aes256Hctr2 => 10,
        }
    }

    /// Bytes of its key.
    pub fn key_bytes(self) -> usize {
        match self {
            Mode::Aes256Xts => 64,
            Mode::Aes256Cts | Mode::Adiantum | Mode::Aes256Hctr2 => 32,
            Mode::Aes128CbcEssiv | Mode::Aes128Cts => 16,
        }
    }
}

/// The name of a master key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KeyName {
    /// A name of version 1: chosen, by custom the first bytes of the key's twofold SHA-512.
    Descriptor([u8; 8]),
    /// A name of version 2: derived from the key.
    Identifier([u8; 16]),
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: &[u8] = match self {
            KeyName::Descriptor(bytes) => bytes,
            KeyName::Identifier(bytes) => bytes,
        };
        bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The way from the master key to the key and the initialisation vectors of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyPath {
    /// A key for each file.
    PerFile,
    /// One key for each cipher; the nonce goes into the initialisation vector.
    Direct,
    /// One key for each cipher; the inode number goes into the high half of a 64-bit block number.
    InodeBlock64,
    /// One key for each cipher; the hashed inode number is added to a 32-bit block number.
    InodeBlock32,
}

/// A context that makes sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Context {
    /// The master key.
    pub key: KeyName,
    /// The cipher of contents.
    pub contents: Mode,
    /// The cipher of names and links.
    pub names: Mode,
    /// Names are padded to a multiple of this: 4, 8, 16 or 32 bytes.
    pub padding: usize,
    /// The way to the key.
    pub path: KeyPath,
    /// Power of two of the bytes encrypted together, if that is not the block.
    pub data_unit_bits: Option<u8>,
    /// The nonce, which makes this inode's key its own.
    pub nonce: [u8; NONCE_BYTES],
}

impl Context {
    /// The context in the value of the extended attribute.
    pub fn parse(value: &[u8]) -> Result<Context, CryptError> {
        let version = value.first().copied().unwrap_or_default();
        let context = match version {
            1 => RawContextV1::ref_from_bytes(value).ok().map(Context::from_v1),
            2 => RawContextV2::ref_from_bytes(value).ok().map(Context::from_v2),
            _ => None,
        };
        context.unwrap_or(Err(CryptError::Context { bytes: value.len(), version }))
    }

    /// The value of the attribute of a new inode in a directory with the value `of_directory`: its policy, and a nonce of
    /// its own.
    pub fn inherited(of_directory: &[u8], nonce: [u8; NONCE_BYTES]) -> Result<Vec<u8>, CryptError> {
        let Context { nonce: other, .. } = Context::parse(of_directory)?;
        // Both versions end with the nonce.
        let policy = of_directory.strip_suffix(&other);
        debug_assert!(policy.is_some(), "a context that does not end with its nonce");
        Ok([policy.unwrap_or_default(), &nonce].concat())
    }

    /// True if the two differ in nothing but the nonce: inodes of one policy may share a directory.
    pub fn has_policy_of(&self, other: &Context) -> bool {
        Context { nonce: other.nonce, ..*self } == *other
    }

    /// True if the key derives from the volume's UUID.
    pub(crate) fn needs_uuid(&self) -> bool {
        matches!(self.path, KeyPath::InodeBlock64 | KeyPath::InodeBlock32)
    }

    fn from_v1(raw: &RawContextV1) -> Result<Context, CryptError> {
        let path = key_path(raw.flags)?;
        if !matches!(path, KeyPath::PerFile | KeyPath::Direct) {
            return Err(CryptError::Unsupported { what: "flags", value: raw.flags });
        }
        Context {
            key: KeyName::Descriptor(raw.descriptor),
            contents: mode("contents cipher", raw.contents_mode)?,
            names: mode("names cipher", raw.names_mode)?,
            padding: padding(raw.flags),
            path,
            data_unit_bits: None,
            nonce: raw.nonce,
        }
        .checked()
    }

    fn from_v2(raw: &RawContextV2) -> Result<Context, CryptError> {
        let unit = raw.log2_data_unit_size;
        if unit != 0 && !(9..=16).contains(&unit) {
            return Err(CryptError::Unsupported { what: "data unit of two to the power of", value: unit });
        }
        if let Some(&value) = raw.reserved.iter().find(|&&byte| byte != 0) {
            return Err(CryptError::Unsupported { what: "reserved byte", value });
        }
        Context {
            key: KeyName::Identifier(raw.identifier),
            contents: mode("contents cipher", raw.contents_mode)?,
            names: mode("names cipher", raw.names_mode)?,
            padding: padding(raw.flags),
            path: key_path(raw.flags)?,
            data_unit_bits: (unit != 0).then_some(unit),
            nonce: raw.nonce,
        }
        .checked()
    }

    /// Ciphers that go together, and with the way to the key.
    fn checked(self) -> Result<Context, CryptError> {
        if !matches!(self.contents, Mode::Aes256Xts | Mode::Aes128CbcEssiv | Mode::Adiantum) {
            let value = self.contents.number();
            return Err(CryptError::Unsupported { what: "contents cipher", value });
        }
        let pair = matches!(
            (self.contents, self.names),
            (Mode::Aes256Xts, Mode::Aes256Cts)
                | (Mode::Aes128CbcEssiv, Mode::Aes128Cts)
                | (Mode::Adiantum, Mode::Adiantum)
        );
        // Version 1 is older than HCTR2.
        let is_newer = matches!(self.key, KeyName::Identifier(_))
            && (self.contents, self.names) == (Mode::Aes256Xts, Mode::Aes256Hctr2);
        if !pair && !is_newer {
            return Err(CryptError::Unsupported { what: "names cipher", value: self.names.number() });
        }
        // Only Adiantum's initialisation vector has room for the nonce.
        if self.path == KeyPath::Direct && self.contents != Mode::Adiantum {
            let value = self.contents.number();
            return Err(CryptError::Unsupported { what: "a direct key for cipher", value });
        }
        Ok(self)
    }
}

fn mode(what: &'static str, number: u8) -> Result<Mode, CryptError> {
    Mode::from_raw(number).ok_or(CryptError::Unsupported { what, value: number })
}

fn padding(flags: u8) -> usize {
    4 << (flags & 3)
}

fn key_path(flags: u8) -> Result<KeyPath, CryptError> {
    match flags & !3 {
        0 => Ok(KeyPath::PerFile),
        4 => Ok(KeyPath::Direct),
        8 => Ok(KeyPath::InodeBlock64),
        16 => Ok(KeyPath::InodeBlock32),
        _ => Err(CryptError::Unsupported { what: "flags", value: flags }),
    }
}
