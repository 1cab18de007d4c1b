use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use super::{adiantum::Adiantum, hctr2::Hctr2, *};

/// The master key of the volume that Linux wrote: 00 01 02 ... 3f.
fn master() -> Vec<u8> {
    (0..64).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// The first half of SHA-256.
fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes)[..16])
}

/// A context of that volume, with the nonce of one of its inodes.
fn linux_context(nonce: &str) -> Context {
    let value = unhex(&format!("02010403000000008699c2c53707405da5aba5ae4d8583c0{nonce}"));
    Context::parse(&value).unwrap()
}

fn linux_key(nonce: &str, purpose: Purpose) -> FileKey {
    let mut keyring = Keyring::default();
    keyring.add(&master()).unwrap();
    keyring.file_key(&linux_context(nonce), &Subject { ino: 5, uuid: [9; 16], purpose }).unwrap()
}

const DIRECTORY: &str = "844d58d2ac77919946990b28a9d9853c";
const LONG: &str = "5a51e1340c333f76a7820ac27ff2aec886f61855a24f2e26f8abcbe024abd3fee183880a65152922b183144bc9143961\
                    a4f165b654468522893dcb0b503cc260514d5e1da3489f0a41741b62059100e10bac90150c680105e1b8009ae7dba812\
                    41a4f3ad4a31bdd3e2cb32db377d788bc0933a7cd86b65fab67e5055c98f193144c7b2f7b47af27e9939e02cc1ab261a\
                    f10269cffbcf7bd4dc9510177342df99b7ef1c595785b6c5563e930f114ef22897eff9a5ad6dc73714e1fb65013274ad\
                    b3a04169ca1722024cf2759b803162eec80d2fc182ef62ee7fef91397f9905f8";

#[test]
fn contents_that_linux_wrote() {
    let key = linux_key("371bd20da7570b206399f4797adfa010", Purpose::Contents);
    let mut contents = include_bytes!("../../tests/encrypted/contents").to_vec();
    for (index, block) in (0..).zip(contents.chunks_mut(4096)) {
        key.decrypt_block(index, block).unwrap();
    }
    let sha256 = hex(&Sha256::digest(&contents[..10000]));
    assert_eq!(sha256, "ccc4addbff5fe9f0324562877302f622fec69c4057acc7dd9c73018a0824ffbf");
    assert_eq!(contents[10000..], [0; 2288], "zero behind the end");
}

#[test]
fn names_that_linux_wrote() {
    let key = linux_key(DIRECTORY, Purpose::Names);
    let long = format!("{}000000", "w".repeat(200));
    for (plain, encrypted) in [
        ("bb", "7abf38ad69d9f4c755cc272d3fe7c6731d77b5b246e82d00eeadc85966f6fb20"),
        (
            "a long name that is more than thirty-two bytes long.txt",
            "d0935dd3aaccbfd61818dee1d4f84cb51d21d591c23c74807badb31fb2c3f1a6d633904024875011e9c3626c7df805fa9b\
             db4faf9f1dae174dda716ec26e538e",
        ),
        (&long, LONG),
    ] {
        let encrypted = unhex(encrypted);
        let found = key.decrypt_name(&encrypted).unwrap();
        assert_eq!(String::from_utf8_lossy(&found), plain);
        assert_eq!(key.encrypt_name(&found).unwrap(), encrypted);
    }
    assert!(matches!(key.decrypt_name(&[0; 15]), Err(CryptError::Length(15))));
    assert_eq!(key.encrypt_name(&[b'x'; 255]).unwrap().len(), 255);
    assert_eq!(key.encrypt_name(&[b'x'; 256]), Err(CryptError::Length(256)));
}

const LINK: &str = "2000ac59ea059f77c3c77d4ec3255cfcecd65303d9a4786363126406d0dcac6848dd0000";

#[test]
fn a_link_that_linux_wrote() {
    let key = linux_key("9def4ce788e4b178df5c0d785f5fbdc0", Purpose::Names);
    assert_eq!(key.decrypt_link(&unhex(LINK)).unwrap(), b"secret-target");
    let shown = NoKeyName::of_link(&unhex(LINK)).unwrap().encode();
    assert_eq!(shown, b"AAAAAAAAAACsWeoFn3fDx31OwyVc_OzWUwPZpHhjYxJkBtDcrGhI3Q");
    for stored in [&b""[..], b"\x20", b"\x20\x00short", b"\x03\x00abc"] {
        assert!(key.decrypt_link(stored).is_err());
        assert!(NoKeyName::of_link(stored).is_err());
    }
}

#[test]
fn no_key_names_are_those_of_linux() {
    let short = unhex("7abf38ad69d9f4c755cc272d3fe7c6731d77b5b246e82d00eeadc85966f6fb20");
    let long = unhex(LONG);
    for (hash, encrypted, wanted) in [
        (2_909_076_945, &short, "0f1krQAAAAB6vzitadn0x1XMJy0_58ZzHXe1skboLQDurchZZvb7IA"),
        (
            3_202_792_663,
            &long,
            "17zmvgAAAABaUeE0DDM_dqeCCsJ_8q7IhvYYVaJPLib4q8vgJKvT_uGDiAplFSkisYMUS8kUOWGk8WW2VEaFIok9ywtQPMJgUU1eH\
             aNInwpBdBtiBZEA4QuskBUMaAEF4bgAmufbqBJBpPOtSjG90-LLMts3fXiLwJM6fNhrZfq2flBVyY8ZMUTHsve0evJ-mTngLMGrJh\
             rxAmnP-7eYOt51XRJZnGnAP40YEm23NoQEcQmTADUx1jXSWkbR",
        ),
    ] {
        let name = NoKeyName::new(hash, encrypted).unwrap();
        assert_eq!(String::from_utf8(name.encode()).unwrap(), wanted);
        let decoded = NoKeyName::decode(wanted.as_bytes()).unwrap();
        assert_eq!((decoded.hash, &decoded), (hash, &name));
        assert!(decoded.matches(encrypted));
        let mut other = encrypted.clone();
        *other.last_mut().unwrap() ^= 1;
        assert!(!decoded.matches(&other));
    }
    for shown in [
        &b""[..],
        b"AAAA",
        b"0f1krQAAAAB6vzitadn0x1XMJy0_58ZzHXe1skboLQDurchZZvb7IB",
        b"name.txt",
        &[b'A'; 201],
    ] {
        assert_eq!(NoKeyName::decode(shown), None, "{}", shown.escape_ascii());
    }
}

/// A key for each way, cipher and purpose; vectors computed by another implementation of the ciphers.
fn key(version: u8, ciphers: [u8; 2], flags: u8, unit: u8, purpose: Purpose) -> Result<FileKey, CryptError> {
    let mut keyring = Keyring::default();
    keyring.add(&master())?;
    let mut value = vec![version, ciphers[0], ciphers[1], flags];
    if version == 1 {
        value.extend(unhex("04334e23057a6e2d"));
    } else {
        value.extend([unit, 0, 0, 0]);
        value.extend(unhex("8699c2c53707405da5aba5ae4d8583c0"));
    }
    value.extend(0x40..0x50);
    let uuid = std::array::from_fn(|at| 0x60 + u8::try_from(at).unwrap());
    keyring.file_key(&Context::parse(&value)?, &Subject { ino: 0x1234, uuid, purpose })
}

#[test]
fn every_way_to_a_key() {
    let plain: Vec<u8> = (0..4096u32).map(|i| u8::try_from((i * 7 + 3) % 256).unwrap()).collect();
    for (version, ciphers, flags, unit, index, encrypted) in [
        (1, [5, 6], 0, 0, 9, "198d9505adbeeadff6bf0ac9262d2eb9"),
        (1, [1, 4], 0, 0, 3, "e9842f48d0602e9198976b656daf053e"),
        (2, [1, 4], 8, 0, 5, "4e4e3df0ec9ee29f699bc8918c6ca854"),
        (2, [1, 4], 16, 0, 5, "baffea7be025d0fe002957d5343fda9f"),
        (2, [1, 4], 0, 9, 5, "17ae648286da3fdb024d82bf9d0dda73"),
    ] {
        let key = key(version, ciphers, flags, unit, Purpose::Contents).unwrap();
        let mut block = encrypt_block(&key, index, &plain);
        assert_eq!(digest(&block), encrypted, "version {version}, flags {flags}, ciphers {ciphers:?}");
        key.decrypt_block(index, &mut block).unwrap();
        assert_eq!(block, plain);
    }
    let name = b"a name of twenty-five....";
    for (version, ciphers, flags, encrypted) in [
        (1, [5, 6], 0, "1536e2c4a97aae62dd55cc6388e0c9f5c85e2f201b429613d8569f1d"),
        (2, [1, 4], 8 | 3, "90f1579871b232b786b32c6968987bfa88e5a226fe0275b9af7abbe3550655d0"),
    ] {
        let key = key(version, ciphers, flags, 0, Purpose::Names).unwrap();
        assert_eq!(hex(&key.encrypt_name(name).unwrap()), encrypted);
        assert_eq!(key.decrypt_name(&unhex(encrypted)).unwrap(), name);
        let hash_key = (version == 2).then(|| unhex("6cc99cdb5417b273d79b89e5645973a1"));
        assert_eq!(key.directory_hash_key().map(|key| key.to_vec()), hash_key);
    }
}

/// Encrypts with the inverse by the same library: the product only ever decrypts contents.
fn encrypt_block(key: &FileKey, index: u64, plain: &[u8]) -> Vec<u8> {
    use aes::cipher::{Array, BlockCipherEncrypt, BlockModeEncrypt, InnerIvInit};
    let mut block = plain.to_vec();
    let unit = key.data_unit_bits.map_or(block.len(), |bits| 1 << bits);
    let first = index * u64::try_from(block.len() / unit).unwrap();
    for (number, bytes) in (first..).zip(block.chunks_mut(unit)) {
        let mut iv = Array(key.iv.vector(number).first_chunk::<16>().copied().unwrap());
        match &key.cipher {
            cipher::Cipher::Xts(xts) => xts.encrypt_sector(bytes, iv),
            cipher::Cipher::CbcEssiv { data, vector } => {
                vector.encrypt_block(&mut iv);
                let (blocks, _) = Array::slice_as_chunks_mut(bytes);
                cbc::Encryptor::inner_iv_init((**data).clone(), &iv).encrypt_blocks(blocks);
            }
            _ => unreachable!("not a cipher of contents"),
        }
    }
    block
}

#[test]
fn direct_keys_use_the_nonce() {
    let key = key(2, [9, 9], 4, 0, Purpose::Contents).unwrap();
    let direct = unhex("9efb31534e244dd4c251dd5d540c714ab1cfcfaf0008a870cc298b52b32b7d39");
    let mut iv = [0; 32];
    iv[0] = 7;
    iv[8..24].copy_from_slice(&(0x40..0x50).collect::<Vec<u8>>());
    let mut block = vec![0x77; 4096];
    Adiantum::new(direct.first_chunk().unwrap()).encrypt(&iv, &mut block);
    key.decrypt_block(7, &mut block).unwrap();
    assert_eq!(block, vec![0x77; 4096]);
}

/// Vectors of Adiantum's authors (XChaCha12, AES-256), numbers 5 of the random ones.
#[test]
fn adiantum_agrees_with_its_authors() {
    let long = include_bytes!("../../tests/encrypted/adiantum").split_at(1536);
    let cases = [
        (
            "a4b58cd51862f2a9d48b287872794387f8a7c8eb6e65e1e9d73b7d05d51b5ca6",
            "2e88cf9ea46609c8aef032451984d8e31bb37b7355257b5d6a201ce0e90c754a",
            unhex("3b8797f4c0ef3049a44394efe4b68365"),
            unhex("5c5e2f197ad30de2ef12be80a7a77cab"),
        ),
        (
            "d5dcfebdb80d6cdbedcd07142b51dd7aa6438992d1fbf5bbf06d636a9a644fed",
            "6ded0466fedae083e41a9df4ed9078db81738bc1602277e1f12473cf0219ce3f",
            unhex("7d224874aa11798742d5af442dbff9c411eedca92feca16e6d97386dc9a37e"),
            unhex("dfcc9d31a17ed8420d448a0b4a2064dd80f23e1cedfa8a7dd7bf422443cf11"),
        ),
        (
            "fac8d7672678d2bc0f11a273689c030d8b9906c46db6416e48b66c7dc47111bc",
            "1863ef36abbe3dae956d274951ee1c985997edcc0601da59c8073a2a75cee871",
            long.0.to_vec(),
            long.1.to_vec(),
        ),
    ];
    for (key, tweak, plain, encrypted) in cases {
        let adiantum = Adiantum::new(unhex(key).first_chunk().unwrap());
        let tweak = *unhex(tweak).first_chunk().unwrap();
        let mut bytes = plain.clone();
        adiantum.encrypt(&tweak, &mut bytes);
        assert_eq!(bytes, encrypted, "{} bytes", plain.len());
        adiantum.decrypt(&tweak, &mut bytes);
        assert_eq!(bytes, plain);
    }
}

#[test]
fn what_is_refused() {
    let refused = |version, ciphers, flags, unit| match key(version, ciphers, flags, unit, Purpose::Names) {
        Err(CryptError::Unsupported { what, value }) => (what, value),
        other => panic!("{:?}", other.map(|_| "a key")),
    };
    assert_eq!(refused(2, [10, 4], 0, 0), ("contents cipher", 10));
    assert_eq!(refused(2, [4, 4], 0, 0), ("contents cipher", 4));
    assert_eq!(refused(1, [1, 10], 0, 0), ("names cipher", 10));
    assert_eq!(refused(2, [1, 6], 0, 0), ("names cipher", 6));
    assert_eq!(refused(2, [1, 4], 0x24, 0), ("flags", 0x24));
    assert_eq!(refused(1, [1, 4], 8, 0), ("flags", 8));
    assert_eq!(refused(2, [1, 4], 4, 0), ("a direct key for cipher", 1));
    assert_eq!(refused(2, [1, 4], 0, 8), ("data unit of two to the power of", 8));
    assert_eq!(Context::parse(b""), Err(CryptError::Context { bytes: 0, version: 0 }));
    assert_eq!(Context::parse(&[2; 39]), Err(CryptError::Context { bytes: 39, version: 2 }));
    let keyring = Keyring::default();
    let context = linux_context(DIRECTORY);
    let subject = Subject { ino: 4, uuid: [0; 16], purpose: Purpose::Names };
    let Err(error) = keyring.file_key(&context, &subject) else { panic!("no key was given") };
    assert_eq!(
        error.to_string(),
        "no key 8699c2c53707405da5aba5ae4d8583c0 was given; give it with --key-file"
    );
    assert_eq!(Keyring::default().add(&[1; 15]), Err(CryptError::KeyLength(15)));
}

/// Key, tweak, plain and encrypted bytes, of its authors' own: 17, 31 and 48 bytes.
#[test]
fn hctr2_agrees_with_its_authors() {
    let vectors = [
        (
            "2b143f8870332623bccf2d501c8f26900c1420fedbfcf9356e257ca0f75df786",
            "cec1a711da682a4ab96a7e3878102bf389be285e538da293a98c856fce879d43",
            "b30baf7b11028c8b9e7f13334222ba55c5",
            "d89b244aaf24f6f92da0d6407bf8590330",
        ),
        (
            "362b5797f85dcd995f1a5a441d920f27cc16d72b856399d3ba96a1dbd26068da",
            "ef5869b12c5e9a4724c1b169e112938f433d6d00db5ed8d9129afed9ff2daac4",
            "5ea8681985981223260accdb0a04b9df4db3487bb0e3c819435a4606942df2",
            "dbfdc803d0ecc1febd6437b88243624e7e54a3e224a727e8a4d5b36cb226b4",
        ),
        (
            "0365036e4de6e84e8bbe22194831eed9a09121be6289de78d9b036a33cce43d5",
            "a9c34be70ffc6dbf5627211cfcd604105f43e23035296c1090f1bf61ed0f8a91",
            "07aa0226b498115e3341215151632c7200ab32a71cc83c9c250e8b9adf85ed2df4f2bc55ca926d22fd223b424c0b74ec",
            "7bb1436dd8726cf6676a00c4f1f0f5a4fc6091ab460b15fcd7c12815a1fcf7688ecc276200645672a617d73f67801058",
        ),
    ];
    for (key, tweak, plain, encrypted) in vectors {
        let hctr2 = Hctr2::new(unhex(key).first_chunk().unwrap());
        let tweak = *unhex(tweak).first_chunk().unwrap();
        let mut bytes = unhex(plain);
        hctr2.encrypt(&tweak, &mut bytes);
        assert_eq!(bytes, unhex(encrypted));
        hctr2.decrypt(&tweak, &mut bytes);
        assert_eq!(bytes, unhex(plain));
    }
}
