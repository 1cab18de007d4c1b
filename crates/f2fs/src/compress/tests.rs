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

/// Whatever the compressed bytes are, decoders end and stay within the cluster.
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
