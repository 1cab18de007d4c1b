//! The master keys that were given, and the way from them to a file's key.

use std::collections::HashMap;

use super::{
    Context, CryptError, FileKey, KeyName, KeyPath, Mode, Purpose, Subject,
    cipher::Cipher,
    derive::{Use, descriptor, expand, identifier, per_file_v1},
    iv::IvRule,
};

/// Bytes that a master key can have.
const MASTER_KEY_BYTES: std::ops::RangeInclusive<usize> = 16..=64;

/// Master keys by their names. Its memory is not wiped.
#[derive(Clone, Default)]
pub struct Keyring {
    keys: HashMap<KeyName, Vec<u8>>,
}

impl Keyring {
    /// Adds a master key of 16 to 64 bytes, under the identifier that contexts of version 2 use and the descriptor that
    /// tools use in version 1.
    pub fn add(&mut self, master: &[u8]) -> Result<(), CryptError> {
        if !MASTER_KEY_BYTES.contains(&master.len()) {
            return Err(CryptError::KeyLength(master.len()));
        }
        self.keys.insert(KeyName::Identifier(identifier(master)), master.to_vec());
        self.keys.insert(KeyName::Descriptor(descriptor(master)), master.to_vec());
        Ok(())
    }

    /// True if no key was given.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The key of an inode. [`CryptError::NoKey`] if its master key was not given.
    pub fn file_key(&self, context: &Context, subject: &Subject) -> Result<FileKey, CryptError> {
        let master = self.keys.get(&context.key).ok_or(CryptError::NoKey(context.key))?;
        let mode = match subject.purpose {
            Purpose::Contents => context.contents,
            Purpose::Names => context.names,
        };
        let mut key = [0; 64];
        let wants = mode.key_bytes();
        let key = key.get_mut(..wants).unwrap_or_default();
        let mut directory_hash = None;
        let iv = match context.key {
            KeyName::Descriptor(_) if master.len() < wants => {
                return Err(CryptError::KeyTooShort { has: master.len(), wants });
            }
            KeyName::Descriptor(_) => derive_v1(master, context, key),
            KeyName::Identifier(_) => {
                let hash = directory_hash.insert([0; 16]);
                expand(master, Use::DirectoryHash, &[&context.nonce], hash);
                derive_v2(master, context, mode, subject, key)
            }
        };
        Ok(FileKey {
            cipher: Cipher::new(mode, key),
            iv,
            padding: context.padding,
            data_unit_bits: context.data_unit_bits,
            directory_hash,
        })
    }
}

fn derive_v1(master: &[u8], context: &Context, key: &mut [u8]) -> IvRule {
    if context.path == KeyPath::Direct {
        for (to, from) in key.iter_mut().zip(master) {
            *to = *from;
        }
        return IvRule::Nonce(context.nonce);
    }
    per_file_v1(master, &context.nonce, key);
    IvRule::Number
}

fn derive_v2(master: &[u8], context: &Context, mode: Mode, subject: &Subject, key: &mut [u8]) -> IvRule {
    let number = [mode.number()];
    match context.path {
        KeyPath::PerFile => {
            expand(master, Use::PerFile, &[&context.nonce], key);
            IvRule::Number
        }
        KeyPath::Direct => {
            expand(master, Use::Direct, &[&number], key);
            IvRule::Nonce(context.nonce)
        }
        KeyPath::InodeBlock64 => {
            expand(master, Use::InodeBlock64, &[&number, &subject.uuid], key);
            IvRule::Inode(subject.ino)
        }
        KeyPath::InodeBlock32 => {
            expand(master, Use::InodeBlock32, &[&number, &subject.uuid], key);
            let mut hash_key = [0; 16];
            expand(master, Use::InodeHash, &[], &mut hash_key);
            IvRule::hashed(&hash_key, subject.ino)
        }
    }
}
