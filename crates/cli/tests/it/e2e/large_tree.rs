//! A tree like that of an installed system, drawn from a seed. It has directories in directories, many small files and
//! some large ones, text and noise, links of both kinds, names that programs stumble over, owners, modes, times and
//! attributes.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, FileTimes, Permissions},
    io::Write,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, chown, symlink},
    },
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use fastrand::Rng;
use rustix::fs::{XattrFlags, setxattr};

const SEED: u64 = 1;
/// Names there are, besides directories.
const NAMES: usize = 10_000;
/// The depth of directories, and the number of names in one of them at most.
const DEPTH: usize = 8;
const IN_A_DIRECTORY: usize = 120;
/// Bytes from which contents are cut.
const POOL: usize = 8 << 20;

pub(super) fn make(root: &Path) {
    let mut random = Rng::with_seed(SEED);
    let pools = [text(&mut random), noise(&mut random)];
    let mut tree = Growing { random, pools, files: Vec::new(), names: 0 };
    while tree.names < NAMES {
        let top = root.join(format!("top-{}", tree.names));
        tree.directory(&top, DEPTH);
    }
    assert_eq!(tree.names, NAMES);
}

fn noise(random: &mut Rng) -> Vec<u8> {
    let mut bytes = vec![0; POOL];
    random.fill(&mut bytes);
    bytes
}

fn text(random: &mut Rng) -> Vec<u8> {
    let words: Vec<String> =
        (0..500).map(|_| (0..random.usize(1..12)).map(|_| random.lowercase()).collect()).collect();
    let mut bytes = Vec::with_capacity(POOL);
    while bytes.len() < POOL {
        bytes.extend_from_slice(words[random.usize(..words.len())].as_bytes());
        bytes.push(if random.u8(..9) == 0 { b'\n' } else { b' ' });
    }
    bytes
}

struct Growing {
    random: Rng,
    pools: [Vec<u8>; 2],
    files: Vec<PathBuf>,
    names: usize,
}

impl Growing {
    /// A directory, and all in it, `depth` levels below it at most.
    fn directory(&mut self, path: &Path, depth: usize) {
        fs::create_dir_all(path).unwrap();
        for _ in 0..self.random.usize(1..IN_A_DIRECTORY) {
            if self.names == NAMES {
                break;
            }
            self.names += 1;
            let path = path.join(self.name());
            match self.random.u8(..100) {
                0..8 if depth > 0 => self.directory(&path, depth - 1),
                8..12 => self.link(&path),
                12..14 if !self.files.is_empty() => {
                    fs::hard_link(&self.files[self.random.usize(..self.files.len())], path).unwrap();
                }
                _ => self.file(path),
            }
        }
        self.dress(&File::open(path).unwrap(), path, &[0o755, 0o700, 0o1777, 0o2775]);
    }

    fn file(&mut self, path: PathBuf) {
        let most = match self.random.u8(..100) {
            0..5 => 1,
            5..70 => 13,
            70..97 => 17,
            97..99 => 20,
            _ => 22,
        };
        // Even on a logarithmic scale.
        let scale = self.random.u32(..most);
        let bytes = self.random.usize(..1 << scale);
        let pool = &self.pools[usize::from(self.random.u8(..5) == 0)];
        let start = self.random.usize(..POOL - bytes);
        let mut file = File::create(&path).unwrap();
        file.write_all(&pool[start..start + bytes]).unwrap();
        if self.random.u8(..50) == 0 {
            setxattr(&path, "user.origin", &pool[..self.random.usize(..300)], XattrFlags::empty()).unwrap();
        }
        self.dress(&file, &path, &[0o644, 0o644, 0o644, 0o755, 0o600, 0o444, 0o4755, 0]);
        self.files.push(path);
    }

    fn link(&mut self, path: &Path) {
        let near = self.files.last().and_then(|file| file.file_name()).unwrap_or(OsStr::new("nothing"));
        let target = match self.random.u8(..4) {
            0 => PathBuf::from("..").join(near),
            1 => PathBuf::from("/").join("usr".repeat(self.random.usize(1..80))),
            _ => near.into(),
        };
        symlink(target, path).unwrap();
    }

    /// Owner, mode and time of last change.
    fn dress(&mut self, file: &File, path: &Path, modes: &[u32]) {
        let owner = [0, 0, 0, 33, 1000, 65_534, 4_000_000_000][self.random.usize(..7)];
        chown(path, Some(owner), Some(owner)).unwrap();
        let mode = modes[self.random.usize(..modes.len())];
        file.set_permissions(Permissions::from_mode(mode)).unwrap();
        let changed =
            UNIX_EPOCH + Duration::new(self.random.u64(..1 << 31), self.random.u32(..1_000_000_000));
        file.set_times(FileTimes::new().set_modified(changed)).unwrap();
    }

    /// A name of its own.
    fn name(&mut self) -> OsString {
        let number = self.names;
        let word: String = (0..self.random.usize(1..10)).map(|_| self.random.alphanumeric()).collect();
        let name = match self.random.u8(..30) {
            0 => format!("{word} and blanks {number} "),
            1 => format!("-{number} --{word}"),
            2 => format!("{number}\n\t*?[\"'\\{word}"),
            3 => format!("\u{e4}{word}\u{1fab6}{number}"),
            4 => format!(".{word}.{number}"),
            5 => {
                return OsStr::from_bytes(
                    &[word.as_bytes(), &[0xff, 1], number.to_string().as_bytes()].concat(),
                )
                .into();
            }
            6 => format!("{number}{}", "n".repeat(255 - number.to_string().len())),
            _ => format!("{word}-{number}.{}", ["txt", "so.1", "html", "PNG"][self.random.usize(..4)]),
        };
        name.into()
    }
}
