use super::*;

/// Clusters of four 4 KiB blocks that Linux 6.1 wrote: the same contents by each algorithm.
const CLUSTERS: [(Algorithm, &[u8], &[u8]); 4] = [
    (
        Algorithm::Lzo,
        include_bytes!("../../tests/clusters/lzo.hole"),
        include_bytes!("../../tests/clusters/lzo.mix"),
    ),
    (
        Algorithm::Lz4,
        include_bytes!("../../tests/clusters/lz4.hole"),
        include_bytes!("../../tests/clusters/lz4.mix"),
    ),
    (
        Algorithm::Zstd,
        include_bytes!("../../tests/clusters/zstd.hole"),
        include_bytes!("../../tests/clusters/zstd.mix"),
    ),
    (
        Algorithm::LzoRle,
        include_bytes!("../../tests/clusters/lzo-rle.hole"),
        include_bytes!("../../tests/clusters/lzo-rle.mix"),
    ),
];
const CLUSTER_BYTES: usize = 4 * 4096;

fn unpack(algorithm: Algorithm, stored: &[u8]) -> Result<Vec<u8>, ClusterError> {
    let mut out = vec![0xAA; CLUSTER_BYTES];
    decompress(algorithm, true, stored, &mut out).map(|()| out)
}

/// A header for `bytes`, and they behind it.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let header = RawHeader {
        clen: u32::try_from(bytes.len()).unwrap().into(),
        chksum: crc::checksum(bytes).into(),
        reserved: [U32::ZERO; 4],
    };
    [header.as_bytes(), bytes].concat()
}

#[test]
fn all_algorithms_give_the_same_contents() {
    for (algorithm, hole, mix) in CLUSTERS {
        let hole = unpack(algorithm, hole).unwrap();
        let mix = unpack(algorithm, mix).unwrap();
        assert_eq!(
            (crc::checksum(&hole), crc::checksum(&mix)),
            (34_968_904, 190_950_969),
            "{}",
            algorithm.name()
        );
    }
}

#[test]
fn a_wrong_checksum_is_told_where_there_is_one() {
    for (algorithm, hole, _) in CLUSTERS {
        let mut damaged = hole.to_vec();
        damaged[5] ^= 1;
        assert!(matches!(unpack(algorithm, &damaged), Err(ClusterError::Checksum { .. })));
        let mut out = vec![0; CLUSTER_BYTES];
        assert_eq!(decompress(algorithm, false, &damaged, &mut out), Ok(()));
    }
}

#[test]
fn lengths_are_checked() {
    let (algorithm, hole, _) = CLUSTERS[0];
    assert_eq!(unpack(algorithm, &hole[..20]), Err(ClusterError::NoHeader(20)));
    let cut = &hole[..hole.len() - 1];
    let claimed = u32::try_from(hole.len() - HEADER_BYTES).unwrap();
    assert_eq!(
        unpack(algorithm, cut),
        Err(ClusterError::Length { claimed, stored: cut.len() - HEADER_BYTES })
    );
    assert_eq!(unpack(algorithm, &[0; 40]), Err(ClusterError::Length { claimed: 0, stored: 16 }));
    for (algorithm, hole, _) in CLUSTERS {
        for size in [0, 1, CLUSTER_BYTES - 1, CLUSTER_BYTES + 1] {
            assert!(
                decompress(algorithm, true, hole, &mut vec![0; size]).is_err(),
                "{} {size}",
                algorithm.name()
            );
        }
    }
}

/// Decoders end and stay within the cluster for any compressed bytes.
#[test]
fn damaged_bytes_never_panic() {
    let mut random = fastrand::Rng::with_seed(1);
    for (algorithm, _, mix) in CLUSTERS {
        for _ in 0..3000 {
            let mut bytes = mix[HEADER_BYTES..].to_vec();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            bytes.truncate(random.usize(1..=bytes.len()));
            let _ = unpack(algorithm, &stored(&bytes));
        }
        for _ in 0..3000 {
            let bytes: Vec<u8> = (0..random.usize(1..60)).map(|_| random.u8(..)).collect();
            let _ = unpack(algorithm, &stored(&bytes));
        }
    }
}

/// Hand-made streams, after the format's description.
#[test]
fn lzo_instructions() {
    let unpack = |bytes: &[u8], size: usize| {
        let mut out = vec![0xAA; size];
        decompress(Algorithm::LzoRle, true, &stored(bytes), &mut out).map(|()| out)
    };
    // Four literals, a match of three bytes one back and two literals, the end.
    assert_eq!(unpack(b"\x15abcd\x42\x00ef\x11\x00\x00", 9).unwrap(), b"abcddddef");
    // Version 1: one literal, then a run of (2 << 3 | 1) + 4 zeros and one literal.
    assert_eq!(
        unpack(b"\x11\x01\x12a\x19\xfd\xff\x02z\x11\x00\x00", 23).unwrap(),
        [&b"a"[..], &[0; 21], b"z"].concat()
    );
    // The same bytes behind version 0 are a match before the start.
    assert_eq!(
        unpack(b"\x11\x00\x12a\x19\xfd\xff\x02z\x11\x00\x00", 23),
        Err(ClusterError::Damaged("lzo-rle"))
    );
    // Something behind the end.
    assert_eq!(unpack(b"\x15abcd\x11\x00\x00!", 4), Err(ClusterError::Damaged("lzo-rle")));
    // A length of more bytes than there is memory.
    assert_eq!(
        unpack(&[&b"\x15abcd\x20"[..], &[0; 4000], b"\x01\x00\x00"].concat(), 9000),
        Err(ClusterError::Damaged("lzo-rle"))
    );
}

#[test]
fn numbers_of_algorithms() {
    assert_eq!(Algorithm::from_raw(3), Some(Algorithm::LzoRle));
    assert_eq!(Algorithm::from_raw(4), None);
    for (number, (algorithm, ..)) in (0..).zip(CLUSTERS) {
        assert_eq!(Algorithm::from_raw(number), Some(algorithm));
    }
}

/// Contents of a cluster: repeats near and far, random bytes, zeros, all in pieces of random length.
fn contents(random: &mut fastrand::Rng, bytes: usize) -> Vec<u8> {
    let mut all: Vec<u8> = Vec::new();
    while all.len() < bytes {
        let length = 1 << random.usize(..13);
        let length = random.usize(1..=length);
        match random.u8(..6) {
            0 => all.extend((0..length.min(400)).map(|_| random.u8(..))),
            1 => all.extend((0..length).map(|_| b'a' + random.u8(..3))),
            2 => all.resize(all.len() + length, 0),
            3 => all.resize(all.len() + length, random.u8(..)),
            _ if all.is_empty() => {}
            _ => {
                let from = random.usize(..all.len());
                all.extend((from..from + length).map(|at| all[at % all.len()]).collect::<Vec<u8>>());
            }
        }
    }
    all.truncate(bytes);
    all
}

#[test]
fn what_is_packed_comes_back_by_every_method() {
    let mut random = fastrand::Rng::with_seed(7);
    let methods = ["lzo", "lzo-rle", "lz4", "lz4:3", "lz4:9", "lz4:12", "zstd", "zstd:9", "zstd:22"];
    for text in methods {
        let method = Method::parse(text).unwrap();
        let mut shrunk = 0;
        for checksummed in [false, true] {
            let mut packer = Packer::new(method, checksummed).unwrap();
            for round in 0..20 {
                let width = if round % 8 == 7 { 16384 } else { 4096 };
                let blocks = if round % 20 == 0 { 64 } else { 4 << (round % 3) };
                let cluster = contents(&mut random, blocks * width);
                let mut out = vec![7; 3];
                let Some(count) = packer.pack(&cluster, width, &mut out) else {
                    assert_eq!(out, [7; 3]);
                    continue;
                };
                shrunk += 1;
                assert!(count < blocks && out.len() == 3 + count * width, "{text}");
                let mut back = vec![0xAA; cluster.len()];
                decompress(method.algorithm(), checksummed, &out[3..], &mut back).unwrap();
                assert!(back == cluster, "{text}, round {round}");
            }
        }
        assert!(shrunk > 20, "{text}: {shrunk}");
    }
}

/// A higher level takes no more room on text that repeats, and noise is not packed.
#[test]
fn levels_pack_better_and_noise_stays() {
    let text: Vec<u8> = (0..9000_u32).flat_map(|number| (number * number).to_string().into_bytes()).collect();
    let cluster = &text[..8 * 4096];
    let length = |method: &str| {
        let mut out = Vec::new();
        Packer::new(Method::parse(method).unwrap(), true).unwrap().pack(cluster, 512, &mut out).unwrap()
    };
    assert!(length("lz4:9") <= length("lz4") && length("lz4:12") <= length("lz4:3"));
    assert!(length("zstd:19") < length("zstd:1") && length("zstd:1") < length("lz4:12"));
    let mut noise = vec![0; 4 * 4096];
    fastrand::Rng::with_seed(3).fill(&mut noise);
    for method in ["lzo", "lzo-rle", "lz4", "lz4:12", "zstd:22"] {
        let packed =
            Packer::new(Method::parse(method).unwrap(), true).unwrap().pack(&noise, 4096, &mut Vec::new());
        assert_eq!(packed, None, "{method}");
    }
}

/// A match of Linux's variant with a length and distance that would look like a run of zeros.
#[test]
fn far_matches_are_no_runs_of_zeros() {
    let mut random = fastrand::Rng::with_seed(5);
    for length in 260..266 {
        for distance in [0x803f, 0x80ff, 0xbf3f, 0xbffd, 0xbffe, 0xbfff] {
            let mut cluster: Vec<u8> = (0..16 * 4096).map(|_| random.u8(..)).collect();
            let at = cluster.len() - length - 3;
            cluster.copy_within(at - distance..at - distance + length, at);
            cluster.resize(32 * 4096, 0);
            for method in ["lzo", "lzo-rle"] {
                let method = Method::parse(method).unwrap();
                let (mut out, mut back) = (Vec::new(), vec![1; cluster.len()]);
                Packer::new(method, true).unwrap().pack(&cluster, 4096, &mut out).unwrap();
                decompress(method.algorithm(), true, &out, &mut back).unwrap();
                assert!(back == cluster);
            }
        }
    }
}

#[test]
fn methods_are_those_of_linux() {
    for (text, number, level) in
        [("lzo", 0, 0), ("lz4", 1, 0), ("lz4:9", 1, 9), ("zstd", 2, 1), ("zstd:22", 2, 22)]
    {
        let method = Method::parse(text).unwrap();
        assert_eq!((method.algorithm().to_raw(), method.level()), (number, level));
    }
    for (text, word) in
        [("lz5", "unknown algorithm"), ("lzo:1", "no levels"), ("lz4:2", "3 to 12"), ("zstd:23", "1 to 22")]
    {
        let said = Method::parse(text).unwrap_err();
        assert!(said.contains(word), "{said}");
    }
}
