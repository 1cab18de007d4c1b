//! `pumice seal`: seals files with fs-verity.

use std::{ffi::OsString, os::unix::ffi::OsStrExt};

use pumice_f2fs::verity::{HashAlgorithm, SALT_MAX, Seal};
use pumice_vfs::{Attr, Errno, FileKind, FileSystem, FsError};

use crate::{
    context::Context,
    document,
    f2fs::args,
    failure::{Failure, Outcome},
    image::{Access, with_volume, with_writable_f2fs},
    options::Writer,
    output, path,
    verbs::F2fsImage,
};

/// Seal files of F2FS with fs-verity
///
/// The content of a sealed file never changes again, and what is read of it is verified. Prints the digest of each file,
/// as `fsverity measure` does.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: F2fsImage,
    /// Files to seal
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,
    /// Hash of the Merkle tree: sha256 or sha512
    #[arg(long, value_name = "HASH", default_value = "sha256", value_parser = args::hash)]
    hash: HashAlgorithm,
    /// Bytes of a block of the Merkle tree, from 1k to the volume's block size; Linux below 6.3 wants its page size
    #[arg(long, value_name = "SIZE", default_value = "4k", value_parser = args::tree_block)]
    block_size: u32,
    /// Salt of the hashes, up to 32 bytes in hexadecimal
    #[arg(long, value_name = "HEX", value_parser = salt)]
    salt: Option<Salt>,
    #[command(flatten)]
    writer: Writer,
}

/// Bytes in front of everything that is hashed.
#[derive(Clone, Debug)]
struct Salt(Vec<u8>);

fn salt(text: &str) -> Result<Salt, String> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| {
        let text = std::str::from_utf8(pair).ok().filter(|text| !text.starts_with('+'))?;
        u8::from_str_radix(text, 16).ok()
    };
    let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
    let bytes = bytes.filter(|bytes| rest.is_empty() && bytes.len() <= SALT_MAX);
    bytes
        .map(Salt)
        .ok_or_else(|| format!("invalid salt `{text}` (want up to {SALT_MAX} bytes in hexadecimal)"))
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let salt = self.salt.as_ref().map(|salt| salt.0.clone()).unwrap_or_default();
        let seal = Seal::new(self.hash, self.block_size, salt);
        if self.writer.dry_run {
            let each = |fs: &dyn FileSystem| self.each(fs, &seal, |file| digest(fs, file, &seal));
            return with_volume(&self.image.image, Access::Read, context, |fs| each(fs));
        }
        with_writable_f2fs(&self.image.image, context, |fs| {
            self.each(fs, &seal, |file| Ok(fs.seal(file.ino, &seal)?))
        })
    }

    /// Seals each file by `work`, and tells its digest.
    fn each(
        &self,
        fs: &dyn FileSystem,
        seal: &Seal,
        work: impl Fn(&Attr) -> Result<Vec<u8>, FsError>,
    ) -> Outcome {
        for shown in &self.paths {
            let file = path::find_target(fs, shown)?;
            let digest = work(&file).map_err(|error| Failure::inside(shown.as_bytes(), &error))?;
            let (hash, digest) = (seal.algorithm().name(), document::hex(&digest));
            output::lines([format!("{hash}:{digest} {}", shown.display())])?;
        }
        Ok(())
    }
}

/// The digest that a file would have.
fn digest(fs: &dyn FileSystem, file: &Attr, seal: &Seal) -> Result<Vec<u8>, FsError> {
    if file.kind != FileKind::File {
        return Err(Errno::Invalid.into());
    }
    let sealed = seal.of(file.size, |at, piece| match fs.read(file.ino, at, piece)? {
        got if got == piece.len() => Ok(()),
        _ => Err(FsError::from(Errno::Io)),
    })?;
    Ok(sealed.digest)
}
