//! The options of a rescue.

use pumice_vfs::Timestamp;

use crate::crypt::Keyring;

/// The options of a rescue.
pub struct RescueOptions {
    /// Bytes for blocks of metadata that were read lately.
    pub cache_bytes: usize,
    /// Master keys of encrypted files.
    pub keys: Keyring,
    /// Roll forward what fsync promised since the checkpoint, as of this time, if the checkpoint is there.
    pub recover: Option<Timestamp>,
    /// The identity of a volume that has lost both super blocks: some keys derive from it.
    pub uuid: [u8; 16],
}
