//! The key of one inode, and the ways to decrypt and encrypt with it.

use super::{
    CryptError, MAX_NAME_BYTES, MIN_NAME_BYTES,
    cipher::Cipher,
    iv::{IV_BYTES, IvRule},
    nokey::link_bytes,
};

/// Bytes of the length in front of an encrypted target, and of a NUL behind it.
const LINK_EXTRA_BYTES: usize = 3;

/// The key of one inode.
pub struct FileKey {
    pub(super) cipher: Cipher,
    pub(super) iv: IvRule,
    /// Names are padded to a multiple of this.
    pub(super) padding: usize,
    /// Power of two of the bytes encrypted together, if that is not the block.
    pub(super) data_unit_bits: Option<u8>,
    pub(super) directory_hash: Option<[u8; 16]>,
}

impl FileKey {
    /// Decrypts block `index` of a file in place. A hole is not encrypted: it must not come here.
    pub fn decrypt_block(&self, index: u64, block: &mut [u8]) -> Result<(), CryptError> {
        for (number, unit) in self.units(index, block)? {
            self.cipher.decrypt(&self.iv.vector(number), unit)?;
        }
        Ok(())
    }

    /// Encrypts block `index` of a file in place.
    pub fn encrypt_block(&self, index: u64, block: &mut [u8]) -> Result<(), CryptError> {
        for (number, unit) in self.units(index, block)? {
            self.cipher.encrypt(&self.iv.vector(number), unit)?;
        }
        Ok(())
    }

    /// True if a block of which only some sectors were written loses nothing but these. With other ciphers such a block
    /// cannot be read at all.
    pub fn bears_tearing(&self) -> bool {
        self.cipher.bears_tearing()
    }

    /// The pieces of block `index` that are encrypted together, with their numbers in the file.
    fn units<'a>(
        &self,
        index: u64,
        block: &'a mut [u8],
    ) -> Result<impl Iterator<Item = (u64, &'a mut [u8])>, CryptError> {
        let length = block.len();
        let unit = self.data_unit_bits.map_or(length, |bits| 1 << bits);
        if unit == 0 || !length.is_multiple_of(unit) {
            return Err(CryptError::Length(length));
        }
        let per_block = (length / unit) as u64;
        Ok((index.wrapping_mul(per_block)..).zip(block.chunks_mut(unit)))
    }

    /// The plain name of an encrypted one. `.` and `..` are never encrypted and must not come here.
    pub fn decrypt_name(&self, name: &[u8]) -> Result<Vec<u8>, CryptError> {
        if name.len() < MIN_NAME_BYTES {
            return Err(CryptError::Length(name.len()));
        }
        let mut plain = name.to_vec();
        self.cipher.decrypt(&self.name_vector(), &mut plain)?;
        let end = plain.iter().position(|&byte| byte == 0).unwrap_or(plain.len());
        plain.truncate(end);
        Ok(plain)
    }

    /// The encrypted form of a plain name, as it stands in the directory.
    pub fn encrypt_name(&self, name: &[u8]) -> Result<Vec<u8>, CryptError> {
        self.encrypt_padded(name, MAX_NAME_BYTES)
    }

    /// The target of a symbolic link, from its stored contents.
    pub fn decrypt_link(&self, stored: &[u8]) -> Result<Vec<u8>, CryptError> {
        self.decrypt_name(link_bytes(stored)?)
    }

    /// The stored contents of a symbolic link, which fit into a block of `block_bytes` bytes with the NUL that Linux
    /// counts.
    pub fn encrypt_link(&self, target: &[u8], block_bytes: usize) -> Result<Vec<u8>, CryptError> {
        let most = block_bytes.saturating_sub(LINK_EXTRA_BYTES);
        let encrypted = self.encrypt_padded(target, most)?;
        let length = u16::try_from(encrypted.len()).map_err(|_| CryptError::Length(target.len()))?;
        Ok([&length.to_le_bytes(), encrypted.as_slice()].concat())
    }

    /// Encrypts a name or a target of `most` bytes at most, with zeros behind it.
    fn encrypt_padded(&self, plain: &[u8], most: usize) -> Result<Vec<u8>, CryptError> {
        if plain.len() > most {
            return Err(CryptError::Length(plain.len()));
        }
        let length = plain.len().max(MIN_NAME_BYTES).next_multiple_of(self.padding).min(most);
        let mut encrypted = plain.to_vec();
        encrypted.resize(length, 0);
        self.cipher.encrypt(&self.name_vector(), &mut encrypted)?;
        Ok(encrypted)
    }

    /// The key of the names' hash in a directory that is case-insensitive too, for [`crate::hash::keyed_name_hash`].
    /// Contexts of version 1 have none.
    pub fn directory_hash_key(&self) -> Option<&[u8; 16]> {
        self.directory_hash.as_ref()
    }

    fn name_vector(&self) -> [u8; IV_BYTES] {
        self.iv.vector(0)
    }
}
