//! The ciphers, each with its key.

use aes::{
    Aes128, Aes256,
    cipher::{
        Array, Block, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt,
        BlockSizeUser, InnerIvInit, KeyInit, consts::U16,
    },
};
use cts::{CbcCs3, Decrypt, Encrypt};
use sha2::{Digest, Sha256};
use xts_mode::Xts128;

use super::{CryptError, Mode, adiantum::Adiantum, derive::first_chunk, hctr2::Hctr2, iv::IV_BYTES};

/// Bytes of a block of AES.
const BLOCK_BYTES: usize = 16;

pub(super) enum Cipher {
    Xts(Box<Xts128<Aes256>>),
    Cts256(Box<Aes256>),
    CbcEssiv { data: Box<Aes128>, vector: Box<Aes256> },
    Cts128(Box<Aes128>),
    Adiantum(Box<Adiantum>),
    Hctr2(Box<Hctr2>),
}

impl Cipher {
    /// `key` has [`Mode::key_bytes`] bytes.
    pub(super) fn new(mode: Mode, key: &[u8]) -> Cipher {
        let upper = key.get(32..).unwrap_or_default();
        match mode {
            Mode::Aes256Xts => Cipher::Xts(Box::new(Xts128::new(aes256(key), aes256(upper)))),
            Mode::Aes256Cts => Cipher::Cts256(Box::new(aes256(key))),
            Mode::Aes128CbcEssiv => {
                let vector = Box::new(aes256(&Sha256::digest(key)));
                Cipher::CbcEssiv { data: Box::new(aes128(key)), vector }
            }
            Mode::Aes128Cts => Cipher::Cts128(Box::new(aes128(key))),
            Mode::Adiantum => Cipher::Adiantum(Box::new(Adiantum::new(&first_chunk(key)))),
            Mode::Aes256Hctr2 => Cipher::Hctr2(Box::new(Hctr2::new(&first_chunk(key)))),
        }
    }

    /// Decrypts in place; at least 16 bytes, for contents a multiple of that.
    pub(super) fn decrypt(&self, iv: &[u8; IV_BYTES], bytes: &mut [u8]) -> Result<(), CryptError> {
        let length = bytes.len();
        let wrong = CryptError::Length(length);
        if length < BLOCK_BYTES {
            return Err(wrong);
        }
        let short = Array(first_chunk::<BLOCK_BYTES>(iv));
        match self {
            Cipher::Xts(xts) => xts.decrypt_sector(bytes, short),
            Cipher::Cts256(aes) => decrypt_cts(&**aes, &short, bytes).ok_or(wrong)?,
            Cipher::Cts128(aes) => decrypt_cts(&**aes, &short, bytes).ok_or(wrong)?,
            Cipher::CbcEssiv { data, vector } => {
                let (blocks, rest) = Array::slice_as_chunks_mut(bytes);
                if !rest.is_empty() {
                    return Err(wrong);
                }
                let mut encrypted = short;
                vector.encrypt_block(&mut encrypted);
                cbc::Decryptor::inner_iv_init((**data).clone(), &encrypted).decrypt_blocks(blocks);
            }
            Cipher::Adiantum(adiantum) => adiantum.decrypt(iv, bytes),
            Cipher::Hctr2(hctr2) => hctr2.decrypt(iv, bytes),
        }
        Ok(())
    }

    /// Encrypts in place; at least 16 bytes, for contents a multiple of that.
    pub(super) fn encrypt(&self, iv: &[u8; IV_BYTES], bytes: &mut [u8]) -> Result<(), CryptError> {
        let length = bytes.len();
        let wrong = CryptError::Length(length);
        if length < BLOCK_BYTES {
            return Err(wrong);
        }
        let short = Array(first_chunk::<BLOCK_BYTES>(iv));
        match self {
            Cipher::Xts(xts) => xts.encrypt_sector(bytes, short),
            Cipher::Cts256(aes) => encrypt_cts(&**aes, &short, bytes).ok_or(wrong)?,
            Cipher::Cts128(aes) => encrypt_cts(&**aes, &short, bytes).ok_or(wrong)?,
            Cipher::CbcEssiv { data, vector } => {
                let (blocks, rest) = Array::slice_as_chunks_mut(bytes);
                if !rest.is_empty() {
                    return Err(wrong);
                }
                let mut encrypted = short;
                vector.encrypt_block(&mut encrypted);
                cbc::Encryptor::inner_iv_init((**data).clone(), &encrypted).encrypt_blocks(blocks);
            }
            Cipher::Adiantum(adiantum) => adiantum.encrypt(iv, bytes),
            Cipher::Hctr2(hctr2) => hctr2.encrypt(iv, bytes),
        }
        Ok(())
    }

    /// True if each 16 bytes are encrypted by themselves: where only some sectors of a block were written, the others
    /// can still be read.
    pub(super) fn bears_tearing(&self) -> bool {
        matches!(self, Cipher::Xts(_))
    }
}

/// CBC with ciphertext stealing; a single block has nothing to steal from and is plain CBC. `None` if it is shorter.
fn decrypt_cts<C>(aes: &C, iv: &Block<C>, bytes: &mut [u8]) -> Option<()>
where
    C: BlockCipherDecrypt + BlockSizeUser<BlockSize = U16> + Clone,
{
    if let Ok(block) = <&mut Block<C>>::try_from(&mut *bytes) {
        cbc::Decryptor::inner_iv_init(aes.clone(), iv).decrypt_block(block);
        return Some(());
    }
    CbcCs3::inner_iv_init(aes.clone(), iv).decrypt(bytes).ok()
}

/// The same the other way.
fn encrypt_cts<C>(aes: &C, iv: &Block<C>, bytes: &mut [u8]) -> Option<()>
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + Clone,
{
    if let Ok(block) = <&mut Block<C>>::try_from(&mut *bytes) {
        cbc::Encryptor::inner_iv_init(aes.clone(), iv).encrypt_block(block);
        return Some(());
    }
    CbcCs3::inner_iv_init(aes.clone(), iv).encrypt(bytes).ok()
}

fn aes256(key: &[u8]) -> Aes256 {
    Aes256::new(&Array(first_chunk(key)))
}

fn aes128(key: &[u8]) -> Aes128 {
    Aes128::new(&Array(first_chunk(key)))
}
