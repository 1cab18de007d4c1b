//! Keys from keys: HKDF-SHA512 (version 2) and AES-128-ECB (version 1).

use aes::{
    Aes128,
    cipher::{Array, BlockCipherEncrypt, KeyInit},
};
use hkdf::Hkdf;
use sha2::{Digest, Sha512};

use super::NONCE_BYTES;

/// The use of a derived key: the first byte behind the label, so that no two purposes share a key.
#[derive(Clone, Copy)]
pub(super) enum Use {
    Identifier = 1,
    PerFile = 2,
    Direct = 3,
    InodeBlock64 = 4,
    DirectoryHash = 5,
    InodeBlock32 = 6,
    InodeHash = 7,
}

/// Fills `key` for a purpose; `info` says for which file or cipher.
pub(super) fn expand(master: &[u8], purpose: Use, info: &[&[u8]], key: &mut [u8]) {
    let mut label = b"fscrypt\0".to_vec();
    label.push(purpose as u8);
    label.extend(info.concat());
    // Fails only for more than 255 hashes of output, and no key is near that.
    if Hkdf::<Sha512>::new(None, master).expand(&label, key).is_err() {
        key.fill(0);
    }
}

/// The identifier of a master key in contexts of version 2.
pub(super) fn identifier(master: &[u8]) -> [u8; 16] {
    let mut identifier = [0; 16];
    expand(master, Use::Identifier, &[], &mut identifier);
    identifier
}

/// The name that tools give a master key in contexts of version 1: the first bytes of its twofold SHA-512.
pub(super) fn descriptor(master: &[u8]) -> [u8; 8] {
    let [head @ .., _, _, _, _, _, _, _, _] = first_chunk::<16>(&Sha512::digest(Sha512::digest(master)));
    head
}

/// A file's key in version 1: the master key encrypted with the nonce as key.
pub(super) fn per_file_v1(master: &[u8], nonce: &[u8; NONCE_BYTES], key: &mut [u8]) {
    let cipher = Aes128::new(&Array(*nonce));
    for (to, from) in key.chunks_mut(16).zip(master.chunks(16)) {
        let mut block = Array(first_chunk::<16>(from));
        cipher.encrypt_block(&mut block);
        to.copy_from_slice(block.get(..to.len()).unwrap_or_default());
    }
}

/// The first `N` bytes; zero where there are none.
pub(super) fn first_chunk<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut chunk = [0; N];
    for (to, from) in chunk.iter_mut().zip(bytes) {
        *to = *from;
    }
    chunk
}
