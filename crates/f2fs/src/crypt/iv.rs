//! Initialisation vectors, which make equal blocks at different places encrypt differently.

use siphasher::sip::SipHasher24;

use super::NONCE_BYTES;

/// Bytes of the longest vector; shorter ones are its beginning.
pub(super) const IV_BYTES: usize = 32;

/// The rule that makes a file's vectors from the numbers of its data units.
#[derive(Clone, Copy)]
pub(super) enum IvRule {
    /// The number alone.
    Number,
    /// The number, and behind it the nonce.
    Nonce([u8; NONCE_BYTES]),
    /// The number below, the inode number above.
    Inode(u32),
    /// The number and a hash of the inode number, added in 32 bits.
    HashedInode(u32),
}

impl IvRule {
    /// The hashed inode number of [`IvRule::HashedInode`].
    pub(super) fn hashed(key: &[u8; 16], ino: u32) -> IvRule {
        let [low @ .., _, _, _, _] =
            SipHasher24::new_with_key(key).hash(&u64::from(ino).to_le_bytes()).to_le_bytes();
        IvRule::HashedInode(u32::from_le_bytes(low))
    }

    /// The vector of a data unit; names and links have number 0.
    pub(super) fn vector(self, unit: u64) -> [u8; IV_BYTES] {
        let number = match self {
            IvRule::Number | IvRule::Nonce(_) => unit,
            IvRule::Inode(ino) => unit | u64::from(ino) << 32,
            IvRule::HashedInode(hash) => (unit + u64::from(hash)) & u64::from(u32::MAX),
        };
        let mut vector = [0; IV_BYTES];
        let nonce = if let IvRule::Nonce(nonce) = self { nonce } else { [0; NONCE_BYTES] };
        for (to, from) in vector.iter_mut().zip(number.to_le_bytes().into_iter().chain(nonce)) {
            *to = from;
        }
        vector
    }
}
