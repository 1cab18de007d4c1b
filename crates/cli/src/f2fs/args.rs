//! Words of the command line about F2FS that several verbs understand.

use std::thread;

use pumice_f2fs::{Features, verity::HashAlgorithm};

/// Threads at least and at most: beyond these the device is the limit.
const THREADS: (usize, usize) = (2, 8);

/// A feature by its name.
pub(crate) fn feature(text: &str) -> Result<Features, String> {
    // f2fs-tools have another word for the option than for the feature.
    let name = if text == "quota" { "quota_ino" } else { text };
    Features::by_name(name).ok_or_else(|| format!("unknown feature `{text}`"))
}

/// A hash of Merkle trees by its name.
pub(crate) fn hash(text: &str) -> Result<HashAlgorithm, String> {
    let known = [HashAlgorithm::Sha256, HashAlgorithm::Sha512].into_iter().find(|hash| hash.name() == text);
    known.ok_or_else(|| format!("unknown hash `{text}` (want sha256 or sha512)"))
}

/// Bytes of a block of a Merkle tree.
pub(crate) fn tree_block(text: &str) -> Result<u32, String> {
    let bytes = u32::try_from(crate::size::parse(text)?).ok();
    bytes
        .filter(|bytes| bytes.is_power_of_two() && (1024..=16384).contains(bytes))
        .ok_or_else(|| format!("invalid block size `{text}` (want 1k, 2k, 4k, 8k or 16k)"))
}

/// The number of threads that look through a volume.
pub(crate) fn threads() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get).clamp(THREADS.0, THREADS.1)
}
