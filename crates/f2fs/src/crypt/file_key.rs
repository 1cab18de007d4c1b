//! The key of one inode, and decryption with it.

use super::{
    CryptError, MAX_NAME_BYTES, MIN_NAME_BYTES,
    cipher::Cipher,
    iv::{IV_BYTES, IvRule},
    nokey::link_bytes,
};

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
        let length = block.len();
        let unit = self.data_unit_bits.map_or(length, |bits| 1 << bits);
        if unit == 0 || !length.is_multiple_of(unit) {
            return Err(CryptError::Length(length));
        }
        let per_block = u64::try_from(length / unit).unwrap_or(1);
        for (number, unit) in (index.wrapping_mul(per_block)..).zip(block.chunks_mut(unit)) {
            self.cipher.decrypt(&self.iv.vector(number), unit)?;
        }
        Ok(())
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
        let wrong = CryptError::Length(name.len());
        if name.len() > MAX_NAME_BYTES {
            return Err(wrong);
        }
        let length = name.len().max(MIN_NAME_BYTES).next_multiple_of(self.padding).min(MAX_NAME_BYTES);
        let mut encrypted = name.to_vec();
        encrypted.resize(length, 0);
        self.cipher.encrypt_name(&self.name_vector(), &mut encrypted).ok_or(wrong)?;
        Ok(encrypted)
    }

    /// The target of a symbolic link, from its stored contents.
    pub fn decrypt_link(&self, stored: &[u8]) -> Result<Vec<u8>, CryptError> {
        self.decrypt_name(link_bytes(stored)?)
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
