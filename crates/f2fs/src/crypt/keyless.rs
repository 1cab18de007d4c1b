//! Keys in a build without ciphers: none can be given.

use super::{Context, CryptError, Subject};

/// No master keys.
#[derive(Clone, Default)]
pub struct Keyring {
    _none: (),
}

impl Keyring {
    /// Refuses a key: [`CryptError::NotBuilt`].
    pub fn add(&mut self, _master: &[u8]) -> Result<(), CryptError> {
        Err(CryptError::NotBuilt)
    }

    /// True: no key can be given.
    pub fn is_empty(&self) -> bool {
        true
    }

    /// [`CryptError::NotBuilt`].
    pub fn file_key(&self, _context: &Context, _subject: &Subject) -> Result<FileKey, CryptError> {
        Err(CryptError::NotBuilt)
    }
}

/// The key of one inode, of which there is none.
pub enum FileKey {}

impl FileKey {
    /// Never called.
    pub fn decrypt_block(&self, _index: u64, _block: &mut [u8]) -> Result<(), CryptError> {
        match *self {}
    }

    /// Never called.
    pub fn encrypt_block(&self, _index: u64, _block: &mut [u8]) -> Result<(), CryptError> {
        match *self {}
    }

    /// Never called.
    pub fn bears_tearing(&self) -> bool {
        match *self {}
    }

    /// Never called.
    pub fn decrypt_name(&self, _name: &[u8]) -> Result<Vec<u8>, CryptError> {
        match *self {}
    }

    /// Never called.
    pub fn encrypt_name(&self, _name: &[u8]) -> Result<Vec<u8>, CryptError> {
        match *self {}
    }

    /// Never called.
    pub fn decrypt_link(&self, _stored: &[u8]) -> Result<Vec<u8>, CryptError> {
        match *self {}
    }

    /// Never called.
    pub fn encrypt_link(&self, _target: &[u8], _block_bytes: usize) -> Result<Vec<u8>, CryptError> {
        match *self {}
    }

    /// Never called.
    pub fn directory_hash_key(&self) -> Option<&[u8; 16]> {
        match *self {}
    }
}
