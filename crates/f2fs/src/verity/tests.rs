use std::fmt::Write as _;

use zerocopy::IntoBytes as _;

use super::*;

/// The bytes that the tool `fsverity digest` printed the digests below of.
fn contents(bytes: u64) -> Vec<u8> {
    (0..bytes).map(|i| u8::try_from((i * i / 7 + i) % 251).unwrap()).collect()
}

struct Subject {
    raw: RawDescriptor,
    data: Vec<u8>,
    tree: Vec<u8>,
    reads: usize,
}

impl Source for Subject {
    type Error = VerityError;
    fn read_tree(&mut self, offset: u64, block: &mut [u8]) -> Result<(), VerityError> {
        let offset = usize::try_from(offset).unwrap();
        block.copy_from_slice(&self.tree[offset..offset + block.len()]);
        self.reads += 1;
        Ok(())
    }
}

impl Subject {
    /// Builds the tree, level by level.
    fn new(bytes: u64, hash_algorithm: u8, log_blocksize: u8, salt: &[u8]) -> Subject {
        let mut raw: RawDescriptor = zerocopy::FromZeros::new_zeroed();
        raw.version = 1;
        raw.hash_algorithm = hash_algorithm;
        raw.log_blocksize = log_blocksize;
        raw.salt_size = u8::try_from(salt.len()).unwrap();
        raw.salt[..salt.len()].copy_from_slice(salt);
        raw.data_size.set(bytes);
        let hasher = Descriptor::parse(raw.as_bytes(), bytes).unwrap();
        let size = 1 << log_blocksize;
        let mut level = padded(contents(bytes), size);
        let data = level.clone();
        let mut tree = Vec::new();
        while level.len() > size {
            level = padded(level.chunks(size).flat_map(|block| hasher.hash(block)).collect(), size);
            tree.splice(..0, level.iter().copied());
        }
        if bytes > 0 {
            let root = hasher.hash(&level);
            raw.root_hash[..root.len()].copy_from_slice(&root);
        }
        Subject { raw, data, tree, reads: 0 }
    }

    fn descriptor(&self) -> Descriptor {
        Descriptor::parse(self.raw.as_bytes(), self.raw.data_size.get()).unwrap()
    }

    fn verify_all(&mut self, verifier: &mut Verifier) -> Result<(), VerityError> {
        let data = self.data.clone();
        let size = usize::try_from(self.descriptor().block_bytes).unwrap();
        (0..).zip(data.chunks(size)).try_for_each(|(index, block)| verifier.verify(index, block, self))
    }
}

fn padded(mut bytes: Vec<u8>, size: usize) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(size), 0);
    bytes
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

#[test]
fn digests_agree_with_fsverity() {
    for (sealed, digest) in [
        (
            Subject::new(300_000, 1, 12, &[]),
            "c496f1dce38186b549b8e42bda38affc787f06d75144f9073fd337762a07081b",
        ),
        (Subject::new(1000, 1, 12, &[]), "d92d4a7b5194fa0d4fce35f784984f516f32f97f2bdd5dd9a28baede034981d9"),
        (Subject::new(0, 1, 12, &[]), "3d248ca542a24fc62d1c43b916eae5016878e2533c88238480b26128a1f1af95"),
        (
            Subject::new(300_000, 2, 12, &[1, 2, 3, 4, 5]),
            "db7713cc4aa011cfccf5415a43f42c3d239a134e8322a60332859ad0c3a759dbf200b429204a4cb1c6bb01fe2c3eea34c5fb333b1e2f9ccc4d397bd4f980b305",
        ),
        (
            Subject::new(300_000, 1, 10, &[0xaa, 0xbb]),
            "a0a2649ee56dd12ab47876fc90a0a46e6a8484ad3a0c6df756839e6cef0cf107",
        ),
    ] {
        assert_eq!(hex(&sealed.descriptor().file_digest()), digest);
    }
}

#[test]
fn sealed_files_verify_and_trust_is_kept() {
    for mut sealed in
        [Subject::new(300_000, 1, 12, &[]), Subject::new(300_000, 2, 10, &[7]), Subject::new(5, 1, 12, &[])]
    {
        let mut verifier = Verifier::new(sealed.descriptor(), 1000);
        assert_eq!(verifier.tree_bytes(), u64::try_from(sealed.tree.len()).unwrap());
        sealed.verify_all(&mut verifier).unwrap();
        sealed.verify_all(&mut verifier).unwrap();
        let blocks = sealed.tree.len() / usize::try_from(sealed.descriptor().block_bytes).unwrap();
        assert_eq!(sealed.reads, blocks, "each block of the tree is read once");
        sealed.reads = 0;
        Verifier::new(sealed.descriptor(), 1000).verify_tree(&mut sealed).unwrap();
        assert_eq!(sealed.reads, blocks, "each block of the tree is read once");
    }
}

#[test]
fn a_small_cache_suffices() {
    let mut sealed = Subject::new(300_000, 2, 10, &[]);
    let mut verifier = Verifier::new(sealed.descriptor(), 0);
    sealed.verify_all(&mut verifier).unwrap();
}

#[test]
fn each_wrong_bit_is_found() {
    let mut sealed = Subject::new(300_000, 1, 12, &[]);
    sealed.data[4096 * 9 + 17] ^= 4;
    let mut verifier = Verifier::new(sealed.descriptor(), 10);
    assert_eq!(sealed.verify_all(&mut verifier), Err(VerityError::Mismatch { level: 0, block: 9 }));
    let mut sealed = Subject::new(3_000_000, 1, 12, &[]);
    let last = sealed.tree.len() - 1;
    sealed.tree[last] ^= 1;
    let mut verifier = Verifier::new(sealed.descriptor(), 10);
    assert_eq!(sealed.verify_all(&mut verifier), Err(VerityError::Mismatch { level: 1, block: 5 }));
    assert_eq!(verifier.verify_tree(&mut sealed), Err(VerityError::Mismatch { level: 1, block: 5 }));
    sealed.raw.root_hash[0] ^= 1;
    let mut verifier = Verifier::new(sealed.descriptor(), 10);
    assert_eq!(sealed.verify_all(&mut verifier), Err(VerityError::Mismatch { level: 2, block: 0 }));
    assert_eq!(
        verifier.verify(733, &[0; 4096], &mut sealed),
        Err(VerityError::NoBlock { block: 733, bytes: 4096 })
    );
}

type Change = fn(&mut RawDescriptor);

#[test]
fn descriptors_are_checked() {
    let sealed = Subject::new(5, 1, 12, &[]);
    let changes: [(Change, &str); 7] = [
        (|raw| raw.version = 2, "version"),
        (|raw| raw.hash_algorithm = 3, "hash algorithm"),
        (|raw| raw.log_blocksize = 64, "block size of two to the power of"),
        (|raw| raw.salt_size = 33, "salt size"),
        (|raw| raw.data_size.set(6), "data size"),
        (|raw| raw.sig_size.set(1), "signature size"),
        (|raw| raw.reserved[9] = 1, "reserved bytes that are not"),
    ];
    for (change, wanted) in changes {
        let mut raw = sealed.raw;
        change(&mut raw);
        let found = Descriptor::parse(raw.as_bytes(), 5);
        assert!(
            matches!(found, Err(VerityError::Descriptor { what, .. }) if what == wanted),
            "{wanted}: {found:?}"
        );
    }
}

#[test]
fn places_are_checked() {
    let value = |version: u32, size: u32, pos: u64| {
        RawLocation { version: version.into(), size: size.into(), pos: pos.into() }.as_bytes().to_vec()
    };
    let right = Location { position: 69632, size: 256 };
    assert_eq!(Location::parse(&value(1, 256, 69632), 5), Ok(right));
    assert_eq!(
        Location::parse(&value(2, 256, 69632), 5),
        Err(VerityError::Location { bytes: 16, version: 2 })
    );
    assert_eq!(Location::parse(b"abc", 5), Err(VerityError::Location { bytes: 3, version: 0 }));
    for (size, position) in
        [(0, 69632), (20000, 69632), (256, 65535), (256, u64::MAX), (256, i64::MAX as u64)]
    {
        let place = VerityError::Place { position, size };
        assert_eq!(Location::parse(&value(1, size, position), 5), Err(place));
    }
    assert_eq!(metadata_start(65537), Some(131_072));
    assert_eq!(metadata_start(u64::MAX), None);
}

/// Seals made here are those of others: the tree made level by level above, and the digests of `fsverity`.
#[test]
fn sealed_here_is_sealed_there() {
    for bytes in [0, 1, 1000, 1024, 4096, 4097, 32 * 1024, 32 * 1024 + 1, 128 * 4096, 128 * 4096 + 1, 700_001]
    {
        for (algorithm, number, log, salt) in [
            (HashAlgorithm::Sha256, 1, 12, &[][..]),
            (HashAlgorithm::Sha512, 2, 10, &[7; 32]),
            (HashAlgorithm::Sha256, 1, 10, &[0xaa, 0xbb]),
        ] {
            let wanted = Subject::new(bytes, number, log, salt);
            let seal = Seal::new(algorithm, 1 << log, salt.to_vec());
            let mut hashes = Vec::new();
            // In parts, as a file is read.
            contents(bytes).chunks(64 << 10).for_each(|part| seal.hash(part, &mut hashes));
            let sealed = seal.finish(bytes, hashes);
            let (tree, descriptor) = sealed.metadata.split_at(wanted.tree.len());
            assert!(tree == wanted.tree && descriptor == wanted.raw.as_bytes(), "{bytes} {algorithm:?}");
            assert_eq!(sealed.digest, wanted.descriptor().file_digest());
            let location = seal.location(bytes).unwrap();
            assert!(Location::parse(location.as_bytes(), bytes).is_ok());
            assert_eq!(location.pos.get(), metadata_start(bytes).unwrap() + tree.len() as u64);
        }
    }
}

#[test]
fn holes_are_sealed_as_zeros() {
    let seal = Seal::new(HashAlgorithm::Sha256, 4096, vec![1]);
    let (mut whole, mut parts) = (Vec::new(), Vec::new());
    let data = [vec![0; 3 * 4096], vec![9; 4096], vec![0; 5000]].concat();
    seal.hash(&data, &mut whole);
    seal.hash_hole(3 * 4096, &mut parts);
    seal.hash(&data[3 * 4096..4 * 4096], &mut parts);
    seal.hash_hole(data.len() as u64, &mut parts);
    assert_eq!(whole, parts);
}
