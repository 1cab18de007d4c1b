//! HCTR2 (Crowley, Huckleberry and Biggers, "Length-preserving encryption with HCTR2", 2021) with AES-256: a wide block
//! cipher for any length of at least 16 bytes.
//!
//! The first 16 bytes, plus a hash of the rest, go through AES. The result decides the key stream for the rest, and the
//! hash of that closes the first 16 bytes again.

use aes::{
    Aes256,
    cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit},
};
use polyval::{Polyval, universal_hash::UniversalHash};

use super::iv::IV_BYTES;

/// Bytes of a block of AES.
const BLOCK: usize = 16;

pub(super) struct Hctr2 {
    block: Aes256,
    hash: Polyval,
    /// L in the paper.
    mask: u128,
}

impl Hctr2 {
    pub(super) fn new(key: &[u8; 32]) -> Hctr2 {
        let block = Aes256::new(&Array(*key));
        let hash_key = encrypt(&block, 0);
        let hash = Polyval::new(&hash_key.to_le_bytes().into());
        let mask = encrypt(&block, 1);
        Hctr2 { block, hash, mask }
    }

    /// Encrypts in place; fewer than 16 bytes stay as they are.
    pub(super) fn encrypt(&self, tweak: &[u8; IV_BYTES], bytes: &mut [u8]) {
        let Some((first, rest)) = bytes.split_first_chunk_mut::<BLOCK>() else { return };
        let middle = u128::from_le_bytes(*first) ^ self.hash(tweak, rest);
        let out = encrypt(&self.block, middle);
        self.stream(middle ^ out ^ self.mask, rest);
        *first = (out ^ self.hash(tweak, rest)).to_le_bytes();
    }

    /// Decrypts in place; fewer than 16 bytes stay as they are.
    pub(super) fn decrypt(&self, tweak: &[u8; IV_BYTES], bytes: &mut [u8]) {
        let Some((first, rest)) = bytes.split_first_chunk_mut::<BLOCK>() else { return };
        let out = u128::from_le_bytes(*first) ^ self.hash(tweak, rest);
        let mut block = Array(out.to_le_bytes());
        self.block.decrypt_block(&mut block);
        let middle = u128::from_le_bytes(block.into());
        self.stream(middle ^ out ^ self.mask, rest);
        *first = (middle ^ self.hash(tweak, rest)).to_le_bytes();
    }

    /// Encrypts with XCTR: the counter begins at 1 and is added to the nonce without carry.
    fn stream(&self, nonce: u128, bytes: &mut [u8]) {
        for (counter, chunk) in (1..).zip(bytes.chunks_mut(BLOCK)) {
            let key = encrypt(&self.block, nonce ^ counter).to_le_bytes();
            chunk.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        }
    }

    /// The hash of the tweak's length and whether the message fills its last block, the tweak, and the message.
    fn hash(&self, tweak: &[u8; IV_BYTES], message: &[u8]) -> u128 {
        let is_whole = message.len().is_multiple_of(BLOCK);
        let head = 2 * 8 * (IV_BYTES as u128) + if is_whole { 2 } else { 3 };
        let mut hash = self.hash.clone();
        hash.update(&[head.to_le_bytes().into()]);
        hash.update_padded(tweak);
        let (whole, last) = message.split_at(message.len() / BLOCK * BLOCK);
        hash.update_padded(whole);
        if !is_whole {
            let mut closed = last.to_vec();
            closed.push(1);
            hash.update_padded(&closed);
        }
        u128::from_le_bytes(hash.finalize().into())
    }
}

fn encrypt(aes: &Aes256, number: u128) -> u128 {
    let mut block = Array(number.to_le_bytes());
    aes.encrypt_block(&mut block);
    u128::from_le_bytes(block.into())
}
