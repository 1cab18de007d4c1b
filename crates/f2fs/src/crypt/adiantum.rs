//! Adiantum (Crowley and Biggers, "Adiantum: length-preserving encryption for entry-level processors", 2018), with
//! XChaCha12 and AES-256: a wide block cipher for any length of at least 16 bytes.
//!
//! All but the last 16 bytes are the bulk. The last 16, plus a hash of the bulk, go through AES and become the nonce
//! of the stream cipher that encrypts the bulk.

use aes::{
    Aes256,
    cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit, KeyIvInit, StreamCipher},
};
use chacha20::XChaCha12;
use poly1305::{Poly1305, universal_hash::UniversalHash};

use super::{derive::first_chunk, iv::IV_BYTES};

/// Bytes that NH hashes with one pass over its key.
const NH_MESSAGE_BYTES: usize = 1024;
/// Words of the key by which one pass of NH lies behind the last.
const NH_STRIDE: usize = 4;
/// Words of NH's key.
const NH_KEY_WORDS: usize = NH_MESSAGE_BYTES / 4 + 3 * NH_STRIDE;

pub(super) struct Adiantum {
    stream_key: [u8; 32],
    block: Aes256,
    tweak_hash: Poly1305,
    bulk_hash: Poly1305,
    nh_key: [u32; NH_KEY_WORDS],
}

impl Adiantum {
    pub(super) fn new(key: &[u8; 32]) -> Adiantum {
        let mut keys = [0; 32 + 16 + 16 + NH_KEY_WORDS * 4];
        xchacha12(key, &[], &mut keys);
        let (block, rest) = keys.split_at(32);
        let (tweak, rest) = rest.split_at(16);
        let (bulk, nh) = rest.split_at(16);
        let mut nh_key = [0; NH_KEY_WORDS];
        for (word, bytes) in nh_key.iter_mut().zip(nh.chunks_exact(4)) {
            *word = u32::from_le_bytes(first_chunk(bytes));
        }
        Adiantum {
            stream_key: *key,
            block: Aes256::new(&Array(first_chunk(block))),
            tweak_hash: poly1305(tweak),
            bulk_hash: poly1305(bulk),
            nh_key,
        }
    }

    /// Encrypts in place; fewer than 16 bytes stay as they are.
    pub(super) fn encrypt(&self, tweak: &[u8; IV_BYTES], bytes: &mut [u8]) {
        let Some((bulk, last)) = bytes.split_last_chunk_mut::<16>() else { return };
        let middle = u128::from_le_bytes(*last).wrapping_add(self.hash(tweak, bulk));
        let mut block = Array(middle.to_le_bytes());
        self.block.encrypt_block(&mut block);
        xchacha12(&self.stream_key, &block, bulk);
        *last = u128::from_le_bytes(block.into()).wrapping_sub(self.hash(tweak, bulk)).to_le_bytes();
    }

    /// Decrypts in place; fewer than 16 bytes stay as they are.
    pub(super) fn decrypt(&self, tweak: &[u8; IV_BYTES], bytes: &mut [u8]) {
        let Some((bulk, last)) = bytes.split_last_chunk_mut::<16>() else { return };
        let middle = u128::from_le_bytes(*last).wrapping_add(self.hash(tweak, bulk));
        let mut block = Array(middle.to_le_bytes());
        xchacha12(&self.stream_key, &block, bulk);
        self.block.decrypt_block(&mut block);
        *last = u128::from_le_bytes(block.into()).wrapping_sub(self.hash(tweak, bulk)).to_le_bytes();
    }

    /// The sum of the hashes of tweak and length, and of the bulk.
    fn hash(&self, tweak: &[u8; IV_BYTES], bulk: &[u8]) -> u128 {
        let mut outer = self.tweak_hash.clone();
        let bits = u128::try_from(bulk.len()).unwrap_or_default() * 8;
        outer.update_padded(&bits.to_le_bytes());
        outer.update_padded(tweak);
        let mut inner = self.bulk_hash.clone();
        for message in bulk.chunks(NH_MESSAGE_BYTES) {
            inner.update_padded(&self.nh(message));
        }
        value(outer).wrapping_add(value(inner))
    }

    /// NH: four 64-bit sums of products of message words, each with the key shifted by one stride.
    fn nh(&self, message: &[u8]) -> [u8; 32] {
        let mut sums = [0u64; 4];
        for (unit, bytes) in message.chunks(16).enumerate() {
            let padded: [u8; 16] = first_chunk(bytes);
            let words: [u32; 4] = std::array::from_fn(|at| {
                u32::from_le_bytes(first_chunk(padded.get(at * 4..).unwrap_or_default()))
            });
            for (pass, sum) in sums.iter_mut().enumerate() {
                let start = (unit + pass) * NH_STRIDE;
                let key: [u32; 4] =
                    self.nh_key.get(start..).and_then(<[u32]>::first_chunk).copied().unwrap_or_default();
                let [a, b, c, d] = std::array::from_fn(|at| {
                    u64::from(
                        words.get(at).copied().unwrap_or(0).wrapping_add(key.get(at).copied().unwrap_or(0)),
                    )
                });
                *sum = sum.wrapping_add(a.wrapping_mul(c)).wrapping_add(b.wrapping_mul(d));
            }
        }
        let mut hash = [0; 32];
        for (to, from) in hash.iter_mut().zip(sums.iter().flat_map(|sum| sum.to_le_bytes())) {
            *to = from;
        }
        hash
    }
}

/// Poly1305 as a bare polynomial: nothing is added at the end.
fn poly1305(key: &[u8]) -> Poly1305 {
    let whole: [u8; 32] = first_chunk(key);
    Poly1305::new(&whole.into())
}

fn value(hash: Poly1305) -> u128 {
    u128::from_le_bytes(hash.finalize().into())
}

/// Encrypts with a nonce of up to 16 bytes, closed by a 1 and zeros.
fn xchacha12(key: &[u8; 32], nonce: &[u8], bytes: &mut [u8]) {
    let mut whole = [0; 24];
    for (to, from) in whole.iter_mut().zip(nonce.iter().copied().chain([1])) {
        *to = from;
    }
    XChaCha12::new(&(*key).into(), &whole.into()).apply_keystream(bytes);
}
