//! Blocks of files compressed, each by itself: method, length, and the method's bytes (SPEC, "Compressed blocks").

#[cfg_attr(not(feature = "lz4"), path = "pack/absent.rs")]
mod lz4;
#[cfg_attr(not(feature = "zstd"), path = "pack/absent.rs")]
mod zstd;

use alloc::{format, string::String, vec, vec::Vec};
use core::{fmt, str::FromStr};

use pumice_vfs::{Errno, FsError, Result};

use crate::codec::{Reader, len16};
use crate::error::Damage;

/// Numbers of the methods.
const LZ4: u8 = 1;
const ZSTD: u8 = 2;
/// Bytes before those of the method.
const HEAD: usize = 3;
/// The share of a block that compression must save to be worth it.
const WORTH: usize = 8;
/// Levels of Zstandard, and the usual one.
const LEVELS: core::ops::RangeInclusive<u8> = 1..=19;
const USUAL_LEVEL: u8 = 3;

/// Reads the bytes of a method into a block; returns their number.
type Unpack = fn(&[u8], &mut [u8]) -> Option<usize>;

/// The compression of files' blocks that are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// LZ4: fast.
    Lz4,
    /// Zstandard at this level, 1 to 19: small.
    Zstd(u8),
}

impl Compression {
    /// The two bytes that the anchor has: method and level.
    pub(crate) fn to_raw(self) -> [u8; 2] {
        match self {
            Compression::None => [0, 0],
            Compression::Lz4 => [LZ4, 0],
            Compression::Zstd(level) => [ZSTD, level],
        }
    }

    /// The inverse of [`Compression::to_raw`].
    pub(crate) fn from_raw(raw: [u8; 2]) -> Option<Compression> {
        match raw {
            [0, 0] => Some(Compression::None),
            [LZ4, 0] => Some(Compression::Lz4),
            [ZSTD, level] if LEVELS.contains(&level) => Some(Compression::Zstd(level)),
            _ => None,
        }
    }

    /// Fails if this program was built without the method.
    pub(crate) fn check(self) -> Result<()> {
        let has = match self {
            Compression::None => true,
            Compression::Lz4 => cfg!(feature = "lz4"),
            Compression::Zstd(_) => cfg!(feature = "zstd"),
        };
        if has {
            return Ok(());
        }
        let text = format!("this program was built without compression by {self}");
        Err(FsError::new(Errno::NotSupported, text))
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Compression::None => f.write_str("none"),
            Compression::Lz4 => f.write_str("lz4"),
            Compression::Zstd(level) => write!(f, "zstd:{level}"),
        }
    }
}

impl FromStr for Compression {
    type Err = FsError;

    fn from_str(text: &str) -> Result<Compression> {
        let refuse = |text: String| Err(FsError::new(Errno::NotSupported, text));
        match text.split_once(':') {
            None if text == "none" => Ok(Compression::None),
            None if text == "lz4" => Ok(Compression::Lz4),
            None if text == "zstd" => Ok(Compression::Zstd(USUAL_LEVEL)),
            Some(("zstd", level)) => match level.parse() {
                Ok(level) if LEVELS.contains(&level) => Ok(Compression::Zstd(level)),
                _ => refuse(format!("zstd has levels {} to {}", LEVELS.start(), LEVELS.end())),
            },
            _ => refuse(format!("unknown compression `{text}` (known: none, lz4, zstd, zstd:LEVEL)")),
        }
    }
}

/// A block compressed, if that is worth it.
pub(crate) fn pack(how: Compression, block: &[u8]) -> Option<Vec<u8>> {
    let [method, level] = how.to_raw();
    let [low, high] = len16(block.len()).to_le_bytes();
    let mut out = vec![method, low, high];
    match how {
        Compression::None => None,
        Compression::Lz4 => lz4::pack(block, level, &mut out),
        Compression::Zstd(_) => zstd::pack(block, level, &mut out),
    }?;
    (out.len() <= block.len() - block.len() / WORTH).then_some(out)
}

/// The length of a block stored like this; `None` if it is longer than `most`, or makes no sense.
pub(crate) fn length(packed: &[u8], most: usize) -> Option<usize> {
    let mut reader = Reader(packed);
    let (_, len) = (reader.u8()?, usize::from(reader.u16()?));
    (1..=most).contains(&len).then_some(len)
}

/// The block, of `most` bytes at the most: no more memory is taken, whatever the bytes say. `damage` tells their place.
pub(crate) fn unpack(packed: &[u8], most: usize, damage: Damage) -> Result<Vec<u8>> {
    let mut block = vec![0; length(packed, most).ok_or(damage)?];
    let (method, bytes) =
        packed.split_first_chunk::<HEAD>().map(|([method, ..], bytes)| (*method, bytes)).ok_or(damage)?;
    let (how, unpack): (_, Unpack) = match method {
        LZ4 => (Compression::Lz4, lz4::unpack),
        ZSTD => (Compression::Zstd(USUAL_LEVEL), zstd::unpack),
        _ => return Err(damage.into()),
    };
    how.check()?;
    let used = unpack(bytes, &mut block);
    if used == Some(block.len()) { Ok(block) } else { Err(damage.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAMAGE: Damage = Damage::Packed { page: 9, offset: 7 };

    fn text(len: usize) -> Vec<u8> {
        b"a block of a file, compressed; ".iter().copied().cycle().take(len).collect()
    }

    #[test]
    fn blocks_come_back() {
        for how in [Compression::Lz4, Compression::Zstd(1), Compression::Zstd(19)] {
            for len in [100, 2048, 4095, 4096] {
                let packed = pack(how, &text(len)).unwrap();
                assert!(packed.len() < len / 2 + 60, "{how}: {} of {len}", packed.len());
                assert_eq!(unpack(&packed, 4096, DAMAGE).unwrap(), text(len));
                assert_eq!(length(&packed, 4096), Some(len));
            }
        }
    }

    #[test]
    fn what_does_not_compress_stays_as_it_is() {
        let mut number = 1_u32;
        let mut noise = || {
            number = number.wrapping_mul(0x9E37_79B1).rotate_left(7) ^ 5;
            number.to_le_bytes()[0]
        };
        let noise: Vec<u8> = (0..4096).map(|_| noise()).collect();
        for how in [Compression::None, Compression::Lz4, Compression::Zstd(9)] {
            assert_eq!(pack(how, &noise), None, "{how}");
            assert_eq!(pack(how, b"short"), None, "{how}");
        }
        assert_eq!(pack(Compression::None, &text(4096)), None);
    }

    #[test]
    fn hostile_bytes_take_no_memory_and_give_an_error() {
        for how in [Compression::Lz4, Compression::Zstd(3)] {
            let packed = pack(how, &text(4096)).unwrap();
            assert!(unpack(&packed, 4095, DAMAGE).is_err(), "longer than a block");
            for cut in 0..packed.len() {
                assert!(unpack(&packed[..cut], 4096, DAMAGE).is_err(), "{how}: cut at {cut}");
            }
            for at in 0..packed.len() {
                for bit in 0..8 {
                    let mut damaged = packed.clone();
                    damaged[at] ^= 1 << bit;
                    if let Ok(block) = unpack(&damaged, 4096, DAMAGE) {
                        assert!(block.len() <= 4096);
                    }
                }
            }
        }
        // A frame that says that it holds gigabytes, and one of nothing but repetitions.
        let zeros = ::zstd::bulk::compress(&vec![0; 1 << 24], 19).unwrap();
        let bomb = [&[ZSTD, 0, 16], &zeros[4..]].concat();
        assert!(unpack(&bomb, 4096, DAMAGE).is_err());
        assert!(unpack(&[9, 0, 1, 0], 4096, DAMAGE).is_err(), "no such method");
    }

    #[test]
    fn names_are_those_of_the_options() {
        for (name, how) in [
            ("none", Compression::None),
            ("lz4", Compression::Lz4),
            ("zstd", Compression::Zstd(3)),
            ("zstd:19", Compression::Zstd(19)),
        ] {
            assert_eq!(name.parse(), Ok(how));
            assert_eq!(Compression::from_raw(how.to_raw()), Some(how));
            assert_eq!(format!("{how}").parse(), Ok(how));
        }
        for name in ["", "lz5", "zstd:0", "zstd:20", "lz4:1", "zstd:x"] {
            assert!(name.parse::<Compression>().is_err(), "{name}");
        }
    }
}
