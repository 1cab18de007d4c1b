//! Hamming and BCH: known codes, every wrong bit, and more wrong bits than a code corrects.

use fastrand::Rng;
use pumice_ecc::{Bch, CodeError, Hamming, Order, Step, Strength};

const CODES: [Hamming; 3] = [
    Hamming { step: Step::Bytes256, order: Order::Linux },
    Hamming { step: Step::Bytes256, order: Order::SmartMedia },
    Hamming { step: Step::Bytes512, order: Order::Linux },
];

fn random(rng: &mut Rng, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|_| rng.u8(..)).collect()
}

/// The parities written out bit by bit, as the SmartMedia description lists them.
fn slow_hamming(data: &[u8]) -> [u8; 3] {
    let odd = |wanted: &dyn Fn(usize, usize) -> bool| {
        let ones =
            (0..8 * data.len()).filter(|bit| data[bit / 8] >> (bit % 8) & 1 == 1 && wanted(bit / 8, bit % 8));
        u8::from(ones.count() % 2 == 0)
    };
    let row = |n: usize| odd(&|byte, _| byte >> (n / 2) & 1 == n % 2);
    let column = |n: usize| odd(&|_, bit| bit >> (n / 2) & 1 == n % 2);
    let rows = |first: usize| (0..8_usize).fold(0, |sum, n| sum | row(first + n) << n);
    let low = if data.len() == 512 { row(17) << 1 | row(16) } else { 3 };
    [rows(0), rows(8), (0..6).fold(low, |sum, n| sum | column(n) << (n + 2))]
}

#[test]
fn hamming_codes_are_the_parities() {
    let mut rng = Rng::with_seed(1);
    for code in CODES {
        let bytes = code.step.bytes();
        assert_eq!(code.code(&vec![0xff; bytes]), Ok([0xff; 3]));
        for _ in 0..20 {
            let data = random(&mut rng, bytes);
            let [a, b, c] = slow_hamming(&data);
            let expected = if code.order == Order::Linux { [b, a, c] } else { [a, b, c] };
            assert_eq!(code.code(&data), Ok(expected));
        }
    }
}

#[test]
fn hamming_corrects_each_bit_and_tells_two() {
    let mut rng = Rng::with_seed(2);
    for code in CODES {
        let data = random(&mut rng, code.step.bytes());
        let stored = code.code(&data).unwrap();
        let used = if code.step == Step::Bytes256 { 22 } else { 24 };
        let flip = |data: &mut [u8], stored: &mut [u8; 3], bit: usize| match bit.checked_sub(8 * data.len()) {
            None => data[bit / 8] ^= 1 << (bit % 8),
            // 256 bytes leave the two lowest bits of the last byte unused.
            Some(place) => {
                let place = if used == 22 && place >= 6 { place + 2 } else { place };
                stored[2 - place / 8] ^= 0x80 >> (place % 8);
            }
        };
        for bit in 0..8 * data.len() + used {
            let (mut damaged, mut with) = (data.clone(), stored);
            flip(&mut damaged, &mut with, bit);
            assert_eq!(code.correct(&mut damaged, with), Ok(1));
            assert_eq!(damaged, data);
            let other = (bit + rng.usize(1..8 * data.len() + used)) % (8 * data.len() + used);
            let (mut twice, mut with) = (data.clone(), stored);
            flip(&mut twice, &mut with, bit);
            flip(&mut twice, &mut with, other);
            let result = code.correct(&mut twice, with);
            assert_eq!(result, Err(CodeError::Uncorrectable), "bits {bit} and {other}");
        }
    }
}

/// The codes of ones, of counting bytes, and of squares.
type Codes = (&'static [u8], &'static [u8], &'static [u8]);

/// Codes that Linux's BCH library makes (field polynomial 0x201b), before the mask of erased steps.
#[test]
fn bch_codes_are_those_of_linux() {
    let counting: Vec<u8> = (0..512_u32).map(|n| n.to_le_bytes()[0]).collect();
    let squares: Vec<u8> = (0..512_u32).map(|n| ((n * n) >> 3).to_le_bytes()[0]).collect();
    let known: [(Strength, Codes); 2] = [
        (
            Strength::Four,
            (
                &[0xd7, 0xec, 0x33, 0xc6, 0x69, 0x53, 0x80],
                &[0xec, 0xd0, 0xe0, 0xa7, 0x51, 0xc4, 0x90],
                &[0xe8, 0xbd, 0x70, 0x35, 0x52, 0xd4, 0x00],
            ),
        ),
        (
            Strength::Eight,
            (
                &[0x10, 0xae, 0xd1, 0xf6, 0x12, 0x6c, 0x65, 0x3d, 0x68, 0x86, 0x1a, 0xdb, 0x4a],
                &[0xa9, 0xbc, 0xeb, 0xb1, 0xe1, 0x4d, 0x24, 0x2b, 0xbe, 0x41, 0x46, 0xb3, 0xd4],
                &[0x3f, 0xc5, 0xcf, 0x6d, 0x5e, 0x9d, 0xfa, 0xfa, 0xf0, 0xa0, 0x6d, 0xd1, 0x5e],
            ),
        ),
    ];
    for (strength, (ones, of_counting, of_squares)) in known {
        let bch = Bch::new(strength);
        let mut code = vec![0; strength.code_bytes()];
        bch.encode(&[0xff; 512], &mut code).unwrap();
        assert!(code.iter().all(|byte| *byte == 0xff));
        for (data, expected) in [(&counting, of_counting), (&squares, of_squares)] {
            bch.encode(data, &mut code).unwrap();
            let unmasked: Vec<u8> = code.iter().zip(ones).map(|(a, b)| a ^ b ^ 0xff).collect();
            assert_eq!(unmasked, expected);
        }
    }
}

#[test]
fn bch_corrects_its_strength_and_tells_more() {
    let mut rng = Rng::with_seed(3);
    for (strength, most) in [(Strength::Four, 4), (Strength::Eight, 8)] {
        let bch = Bch::new(strength);
        let (mut told, mut rounds) = (0, 0);
        for wrong in (0..=most).chain([most + 1]).cycle().take(400) {
            let data = if rng.bool() { random(&mut rng, 512) } else { vec![0xff; 512] };
            let mut code = vec![0; strength.code_bytes()];
            bch.encode(&data, &mut code).unwrap();
            let (mut damaged, mut with) = (data.clone(), code.clone());
            let bits = 4096 + 13 * most;
            let mut places = std::collections::BTreeSet::new();
            while places.len() < wrong {
                places.insert(rng.usize(0..bits));
            }
            for bit in &places {
                match bit.checked_sub(4096) {
                    None => damaged[bit / 8] ^= 0x80 >> (bit % 8),
                    Some(place) => with[place / 8] ^= 0x80 >> (place % 8),
                }
            }
            let before = (damaged.clone(), with.clone());
            match bch.correct(&mut damaged, &mut with) {
                Ok(count) if wrong <= most => {
                    assert_eq!((count as usize, &damaged, &with), (wrong, &data, &code));
                }
                Err(CodeError::Uncorrectable) if wrong > most => {
                    assert_eq!((damaged, with), before, "nothing is changed");
                    told += 1;
                }
                result => assert!(wrong > most, "{wrong} wrong bits: {result:?}"),
            }
            rounds += usize::from(wrong > most);
        }
        // One word in t! of those with t + 1 wrong bits lies near another code word.
        assert!(told * 10 >= rounds * 9, "{told} of {rounds}");
    }
}

#[test]
fn lengths_are_checked() {
    let hamming = CODES[0];
    assert_eq!(hamming.code(&[0; 255]), Err(CodeError::Length { found: 255, expected: 256 }));
    let bch = Bch::new(Strength::Four);
    assert_eq!(bch.encode(&[0; 511], &mut [0; 7]), Err(CodeError::Length { found: 511, expected: 512 }));
    assert_eq!(bch.correct(&mut [0; 512], &mut [0; 8]), Err(CodeError::Length { found: 8, expected: 7 }));
}
