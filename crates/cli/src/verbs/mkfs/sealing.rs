//! Options of `pumice mkfs -t f2fs` that say which files are sealed with fs-verity, and how.

use pumice_f2fs::{
    mkfs::Tree,
    verity::{HashAlgorithm, SALT_MAX, Seal},
};
use pumice_vfs::FileKind;

use crate::{
    f2fs::args,
    failure::{Failure, Outcome},
    verbs::find::glob,
};

/// Bytes of a block of the tree where nothing else is said: those of most kernels' pages.
const BLOCK_BYTES: u32 = 4096;

/// The choice of files to seal, and the method.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub(crate) struct Args {
    /// Seal files with fs-verity, by name, or by path from the root if there is a `/`; `*` and `?` as in a shell
    #[arg(long, value_name = "PATTERN")]
    verity: Vec<String>,
    /// Hash of the Merkle tree: sha256 or sha512 [default: sha256]
    #[arg(long, value_name = "HASH", value_parser = args::hash, requires = "verity")]
    verity_hash: Option<HashAlgorithm>,
    /// Bytes of a block of the Merkle tree, from 1k to the volume's block size; Linux below 6.3 wants its page size [default: 4k]
    #[arg(long, value_name = "SIZE", value_parser = args::tree_block, requires = "verity")]
    verity_block_size: Option<u32>,
    /// Salt the hashes with 32 bytes from the seed, in place of none
    #[arg(long, requires = "verity")]
    verity_salt: bool,
}

impl Args {
    /// True if files are to be sealed.
    pub(super) fn is_given(&self) -> bool {
        !self.verity.is_empty()
    }

    /// The seal asked for.
    pub(super) fn wanted(&self, seed: u64) -> Option<Seal> {
        let salt = if self.verity_salt { salt(seed) } else { Vec::new() };
        let hash = self.verity_hash.unwrap_or(HashAlgorithm::Sha256);
        self.is_given().then(|| Seal::new(hash, self.verity_block_size.unwrap_or(BLOCK_BYTES), salt))
    }

    /// Marks the files that are to be sealed. A pattern that none goes by is an error.
    pub(super) fn mark(&self, tree: &mut Tree) -> Outcome {
        let mut used = vec![false; self.verity.len()];
        tree.each_mut(|path, what| {
            if what.kind != FileKind::File {
                return;
            }
            let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
            for (pattern, used) in self.verity.iter().zip(&mut used) {
                let is_path = pattern.contains('/');
                let pattern = pattern.trim_start_matches('/').as_bytes();
                if glob(pattern, if is_path { path } else { name }) {
                    (what.is_sealed, *used) = (true, true);
                }
            }
        });
        match self.verity.iter().zip(used).find(|(_, used)| !used) {
            Some((pattern, _)) => Err(Failure::new(format!("--verity {pattern}: no file goes by that"))),
            None => Ok(()),
        }
    }
}

/// Bytes that differ with the seed.
fn salt(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()
    };
    next();
    (0..SALT_MAX / 8).flat_map(|_| next()).collect()
}
