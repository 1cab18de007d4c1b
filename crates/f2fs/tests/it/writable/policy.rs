//! Policies of encryption, and directories that have one.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use pumice_f2fs::{
    F2fs, MasterKeys, MountOptions, crc,
    crypt::{Keyring, XATTR_NAME},
    layout::{Advise, Features, Inode, XattrEntry, XattrList, XattrSpace},
};
use pumice_media::{BlockDevice, Lba, ReadAt};
use pumice_vfs::{FileSystem, Ino};

/// A policy, which files below a directory inherit.
pub(crate) struct Policy {
    pub(crate) name: &'static str,
    version: u8,
    contents: u8,
    names: u8,
    flags: u8,
    /// Power of two of the bytes encrypted together; 0 is a block.
    unit: u8,
}

const fn policy(name: &'static str, contents: u8, names: u8, flags: u8) -> Policy {
    Policy { name, version: 2, contents, names, flags, unit: 0 }
}

/// Each cipher, each way to the key, and both versions.
pub(crate) const POLICIES: [Policy; 10] = [
    policy("aes-pad4", 1, 4, 0),
    policy("aes-pad32", 1, 4, 3),
    policy("aes-hctr2", 1, 10, 3),
    policy("adiantum", 9, 9, 2),
    policy("adiantum-direct", 9, 9, 7),
    policy("aes128", 5, 6, 3),
    policy("inode-64", 1, 4, 8 + 3),
    policy("inode-32", 1, 4, 16 + 3),
    Policy { unit: 9, ..policy("unit-512", 1, 4, 3) },
    Policy { version: 1, ..policy("old-aes", 1, 4, 3) },
];

/// Names of the key in contexts of the two versions.
const DESCRIPTOR: [u8; 8] = 0x0433_4e23_057a_6e2d_u64.to_be_bytes();
const IDENTIFIER: [u8; 16] = 0x8699_c2c5_3707_405d_a5ab_a5ae_4d85_83c0_u128.to_be_bytes();

impl Policy {
    fn context(&self, nonce: [u8; 16]) -> Vec<u8> {
        let Policy { version, contents, names, flags, unit, .. } = *self;
        let head = [version, contents, names, flags];
        match version {
            1 => [&head[..], &DESCRIPTOR, &nonce].concat(),
            _ => [&head[..], &[unit, 0, 0, 0], &IDENTIFIER, &nonce].concat(),
        }
    }
}

/// The key of all policies, and of the volume that Linux made.
pub(crate) fn key() -> Keyring {
    let mut keys = Keyring::default();
    keys.add(&(0..64).collect::<Vec<u8>>()).unwrap();
    keys
}

/// The same to write with; nonces are counted.
pub(crate) fn keys() -> MasterKeys {
    let count = AtomicU64::new(1);
    let nonces = Arc::new(move || {
        let mut nonce = [0x5a; 16];
        nonce[..8].copy_from_slice(&count.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        Ok(nonce)
    });
    MasterKeys { keyring: key(), nonces }
}

/// Encrypts what is made in a directory from now on, which is empty: one in the root, by its name, or the root itself.
pub(crate) fn set_policy<D: BlockDevice + ReadAt + Clone + 'static>(disk: &D, dir: &[u8], policy: &Policy) {
    patch(disk, dir, |inode, block| {
        let context = policy.context([u8::try_from(inode.ino.0 % 251).unwrap(); 16]);
        let entry = XattrEntry { space: XattrSpace::Encryption, name: XATTR_NAME, value: &context };
        let (range, list) = (inode.xattr_range(), XattrList::of(&[entry]));
        block[range.start..range.start + list.as_bytes().len()].copy_from_slice(list.as_bytes());
        inode.advise = inode.advise.with(Advise::ENCRYPT);
    });
}

/// Changes the inode of a directory on the medium: one in the root, by its name, or the root itself.
pub(crate) fn patch<D: BlockDevice + ReadAt + Clone + 'static>(
    disk: &D,
    dir: &[u8],
    change: impl FnOnce(&mut Inode, &mut [u8]),
) {
    let options = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover: None };
    let fs = F2fs::mount(vec![Box::new(disk.clone())], options).unwrap();
    let ino = if dir.is_empty() { Ino::ROOT } else { fs.lookup(Ino::ROOT, dir).unwrap().ino };
    let (mut inode, node) = fs.inode(ino).unwrap();
    let mut block = (*node.block).clone();
    change(&mut inode, &mut block);
    inode.write_to(&mut block);
    let sb = fs.volume().super_block();
    if sb.features().has(Features::INODE_CHECKSUM) {
        let seed = crc::inode_seed(&sb.uuid());
        let sum = crc::inode_checksum(seed, inode.ino.0, inode.generation, &block).unwrap();
        inode.extra.as_mut().unwrap().checksum = sum;
        inode.write_to(&mut block);
    }
    disk.clone().write(Lba(u64::from(node.addr.0)), &block).unwrap();
}
