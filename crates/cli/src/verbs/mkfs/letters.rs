//! Options that scripts give to mkfs.f2fs, and that have no place among our own; and its command line in our words.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use pumice_f2fs::Features;

use crate::failure::{Failure, Outcome};

/// The options of mkfs.f2fs without another place here.
#[derive(clap::Args, Debug)]
#[command(
    next_help_heading = "F2FS options of mkfs.f2fs (-t is the type here; called mkfs.f2fs, it is 0 or 1 as --discard)"
)]
#[group(skip)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct Args {
    /// Say nothing
    #[arg(short, long)]
    pub(super) quiet: bool,
    /// Discard all of a disk first: 1 or 0 [default: 1]
    #[arg(long, value_name = "1|0", value_parser = ["1", "0"])]
    discard: Option<String>,
    /// Defaults of Android: -f -R 0:0, and but for -O ro encrypt,verity,quota,project_quota,extra_attr
    #[arg(short = 'g', value_name = "android", value_parser = ["android"])]
    defaults: Option<String>,
    /// Room for as many nodes as a fifth of the blocks, at least; needs a size
    #[arg(short = 'i', conflicts_with = "nodes")]
    many_nodes: bool,
    /// Same as --sparse --size BYTES
    #[arg(short = 'S', value_name = "BYTES", value_parser = crate::size::parse_some, conflicts_with_all = ["size", "free"])]
    sparse_bytes: Option<u64>,
    /// Bytes of a sector of the disk: 512 to 4096, as the super block says [default: 512]
    #[arg(short = 'w', long, value_name = "SIZE", value_parser = sector)]
    pub(super) sector_size: Option<u32>,
    /// Same as --seed 0
    #[arg(short = 'r', conflicts_with = "seed")]
    seed_of_zero: bool,
    /// Where logs begin: 0 or 1; without effect, Linux looks at it no more
    #[arg(short = 'a', value_name = "0|1", value_parser = ["0", "1"])]
    heap: Option<String>,
    /// Without effect: what mkfs.f2fs tells
    #[arg(short = 'd', value_name = "LEVEL")]
    debug_level: Option<i32>,
    /// Without effect: hints how long blocks will live
    #[arg(short = 'H')]
    write_hints: bool,
    /// Refused: further devices
    #[arg(short = 'c', value_name = "DEVICES")]
    devices: Vec<String>,
    /// Refused: zoned devices
    #[arg(short = 'm')]
    is_zoned: bool,
}

fn sector(text: &str) -> Result<u32, String> {
    let bytes = u32::try_from(crate::size::parse(text)?).ok();
    bytes
        .filter(|bytes| bytes.is_power_of_two() && (512..=4096).contains(bytes))
        .ok_or_else(|| format!("invalid sector size `{text}` (want 512, 1k, 2k or 4k)"))
}

/// A volume has so many blocks for each node that `-i` makes room for.
const BLOCKS_OF_NODE: u64 = 5;
/// Features of Android's data volumes.
const ANDROID: [Features; 5] =
    [Features::ENCRYPT, Features::VERITY, Features::QUOTA_INO, Features::PROJECT_QUOTA, Features::EXTRA_ATTR];

impl Args {
    /// The first of these options that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let options = [
            (self.quiet, "--quiet"),
            (self.discard.is_some(), "--discard"),
            (self.is_android(), "-g"),
            (self.many_nodes, "-i"),
            (self.sparse_bytes.is_some(), "-S"),
            (self.sector_size.is_some(), "--sector-size"),
            (self.seed_of_zero, "-r"),
            (self.heap.is_some(), "-a"),
            (self.debug_level.is_some(), "-d"),
            (self.write_hints, "-H"),
            (!self.devices.is_empty(), "-c"),
            (self.is_zoned, "-m"),
        ];
        options.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
    }

    /// Refuses what cannot be made.
    pub(super) fn check(&self) -> Outcome {
        let refused = [
            (!self.devices.is_empty(), "-c: a volume on several devices cannot be made"),
            (self.is_zoned, "-m: a volume on zoned devices cannot be made"),
        ];
        match refused.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, why)) => Err(Failure::new(why)),
            None => Ok(()),
        }
    }

    /// True for the defaults of Android: old contents go, and the root is root's.
    pub(super) fn is_android(&self) -> bool {
        self.defaults.is_some()
    }

    /// Features besides those that were `asked` for.
    pub(super) fn features(&self, asked: Features) -> Features {
        if !self.is_android() || asked.has(Features::RO) {
            return asked;
        }
        ANDROID.into_iter().fold(asked, Features::with)
    }

    /// Bytes of the volume, as a sparse image: whole blocks.
    pub(super) fn sparse_bytes(&self) -> Option<u64> {
        self.sparse_bytes
    }

    /// Nodes that a volume of so many blocks is to have room for; of one without a size they cannot be told.
    pub(super) fn nodes(&self, blocks: Option<u64>) -> Outcome<Option<u64>> {
        match (self.many_nodes, blocks) {
            (false, _) => Ok(None),
            (true, Some(blocks)) => Ok(Some(blocks / BLOCKS_OF_NODE)),
            (true, None) => {
                Err(Failure::usage("-i needs --size and a number of bytes; or say how many, with --nodes"))
            }
        }
    }

    /// True if a disk is to be discarded first.
    pub(super) fn discards(&self) -> bool {
        self.discard.as_deref() != Some("0")
    }
}

/// Letters of mkfs.f2fs with a value.
const VALUED: &[u8] = b"aCcdEeglOoRSsTtUwbz";
/// Bytes of a sector where nothing else is said.
const SECTOR: u64 = 512;

/// The arguments of mkfs.f2fs, in our words.
pub(crate) fn from_tool(rest: &[OsString]) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["-t".into(), "f2fs".into()];
    let (mut bare, mut sector_bytes, mut rest) = (Vec::new(), SECTOR, rest.iter());
    while let Some(word) = rest.next() {
        let is_bare = !word.as_bytes().starts_with(b"-") || word.len() == 1;
        if is_bare || word.as_bytes().starts_with(b"--") {
            bare.extend(is_bare.then_some(words.len()));
            words.push(word.clone());
            continue;
        }
        let mut letters = word.as_bytes().iter();
        letters.next();
        while let Some(letter) = letters.next() {
            if !VALUED.contains(letter) {
                words.push(OsStr::from_bytes(&[b'-', *letter]).to_owned());
                continue;
            }
            let joined = std::mem::take(&mut letters).as_slice();
            let value = if joined.is_empty() {
                rest.next().cloned()
            } else {
                Some(OsStr::from_bytes(joined).to_owned())
            };
            // Another that makes no sense is refused behind this.
            if *letter == b'w'
                && let Some(Ok(bytes)) = value.as_deref().and_then(OsStr::to_str).map(sector)
            {
                sector_bytes = bytes.into();
            }
            words.extend(option(*letter, value.clone()));
        }
    }
    // A number behind the image is that of its sectors.
    if let [_, last] = *bare
        && let Some(word) = words.get_mut(last)
        && let Some(sectors) = word.to_str().and_then(|word| word.parse::<u64>().ok())
    {
        *word = format!("--size={}", sectors.saturating_mul(sector_bytes)).into();
    }
    words
}

/// An option of mkfs.f2fs in our words, which may be none.
fn option(letter: u8, value: Option<OsString>) -> Vec<OsString> {
    let name = OsStr::from_bytes(&[b'-', letter]).to_owned();
    let Some(value) = value else { return vec![name] };
    match (letter, value.to_str()) {
        (b't', Some(text)) => vec![format!("--discard={text}").into()],
        // The clock, and the share that is best.
        (b'T', Some("-1")) | (b'o', Some("0")) => Vec::new(),
        (b'e' | b'E', Some(text)) => {
            let names: Vec<&str> = text.split([',', ' ']).filter(|name| !name.is_empty()).collect();
            vec![name, names.join(",").into()]
        }
        _ => vec![name, value],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_mkfs_f2fs_are_ours() {
        for (theirs, ours) in [
            ("image", "image"),
            ("-fq -l card image 131072", "-f -q -l card image --size=67108864"),
            ("-w 4096 image 16384", "-w 4096 image --size=67108864"),
            ("-w4k image 16384", "-w 4k image --size=67108864"),
            ("-t 0 -T -1 -o 0 -o5 image", "--discard=0 -o 5 image"),
            ("-gandroid -O encrypt,quota image", "-g android -O encrypt,quota image"),
            ("--from tree image", "--from tree image"),
            ("-qt", "-q -t"),
        ] {
            let words: Vec<OsString> = theirs.split(' ').map(OsString::from).collect();
            let found = from_tool(&words).join(OsStr::new(" "));
            assert_eq!(found.to_str(), Some(format!("-t f2fs {ours}").as_str()));
        }
        let spaced = from_tool(&["-e".into(), "mp3, gif".into()]);
        assert_eq!(spaced.last().and_then(|word| word.to_str()), Some("mp3,gif"));
    }
}
