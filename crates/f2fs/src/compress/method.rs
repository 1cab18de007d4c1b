//! The method of compression: the algorithm, and its effort.

/// The algorithm of a file's clusters (`i_compress_algorithm`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// LZO1X.
    Lzo,
    /// LZ4 blocks, also those of its slow compressor (lz4hc).
    Lz4,
    /// Zstandard frames.
    Zstd,
    /// LZO1X with runs of zeros.
    LzoRle,
}

impl Algorithm {
    /// All of them, in the order of their numbers.
    const ALL: [Algorithm; 4] = [Algorithm::Lzo, Algorithm::Lz4, Algorithm::Zstd, Algorithm::LzoRle];

    /// The algorithm of an inode, `None` if Linux knows none of that number.
    pub fn from_raw(number: u8) -> Option<Algorithm> {
        Algorithm::ALL.get(usize::from(number)).copied()
    }

    /// Its number in an inode.
    pub fn to_raw(self) -> u8 {
        self as u8
    }

    /// Its name as in mount options.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Lzo => "lzo",
            Algorithm::Lz4 => "lz4",
            Algorithm::Zstd => "zstd",
            Algorithm::LzoRle => "lzo-rle",
        }
    }

    /// Levels that Linux knows, and the one that it takes where none is given.
    fn levels(self) -> (std::ops::RangeInclusive<u8>, u8) {
        match self {
            Algorithm::Lzo | Algorithm::LzoRle => (0..=0, 0),
            // Below 3 there is the fast compressor, which has no levels.
            Algorithm::Lz4 => (3..=12, 0),
            Algorithm::Zstd => (1..=22, 1),
        }
    }
}

/// An algorithm and its level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Method {
    algorithm: Algorithm,
    level: u8,
}

impl Method {
    /// LZ4 by its fast compressor.
    pub const LZ4: Method = Method { algorithm: Algorithm::Lz4, level: 0 };

    /// As an inode has it: a level of 0 is the usual one. `None` if Linux knows no such algorithm, or level.
    pub fn from_raw(algorithm: u8, level: u8) -> Option<Method> {
        let usual = Method::new(Algorithm::from_raw(algorithm)?);
        let (levels, _) = usual.algorithm.levels();
        match level {
            0 => Some(usual),
            level => levels.contains(&level).then_some(Method { level, ..usual }),
        }
    }

    /// An algorithm at its usual level.
    pub fn new(algorithm: Algorithm) -> Method {
        let (_, level) = algorithm.levels();
        Method { algorithm, level }
    }

    /// As Linux's mount option `compress_algorithm` has it: `lz4`, or with a level, such as `zstd:19`.
    pub fn parse(text: &str) -> Result<Method, String> {
        let (name, level) = text.split_once(':').map_or((text, None), |(name, level)| (name, Some(level)));
        let algorithm = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name);
        let algorithm = algorithm.ok_or_else(|| {
            format!("unknown algorithm `{name}` (want {})", Algorithm::ALL.map(Algorithm::name).join(", "))
        })?;
        let Some(level) = level else { return Ok(Method::new(algorithm)) };
        let (levels, usual) = algorithm.levels();
        if levels == (usual..=usual) {
            return Err(format!("{name} has no levels"));
        }
        let known = level.parse().ok().filter(|level| levels.contains(level));
        let level =
            known.ok_or_else(|| format!("{name} has levels {} to {}", levels.start(), levels.end()))?;
        Ok(Method { algorithm, level })
    }

    /// The algorithm.
    pub fn algorithm(self) -> Algorithm {
        self.algorithm
    }

    /// Its level; 0 where there are none, and of the fast compressor of lz4.
    pub fn level(self) -> u8 {
        self.level
    }
}
