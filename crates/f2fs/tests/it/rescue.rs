//! Rescue: volumes of which checkpoints, tables and super blocks are gone, compared with Linux's own view of them.

mod aged;
mod deleted;
mod rebuild;

use std::{collections::BTreeMap, sync::Arc};

use pumice_f2fs::{
    crypt::Keyring,
    layout::{NodeFooter, SuperBlock},
    read_super_block,
    rescue::{Rescue, RescueOptions},
};

use pumice_vfs::{Attr, FileSystem, Ino};

use crate::common::{
    image::Golden,
    manifest::{self, Record, differences},
    medium::Medium,
    walk,
};

/// The parts that may be gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Checkpoints,
    Nat,
    Sit,
    Ssa,
    SuperBlocks,
}

const PARTS: [Part; 5] = [Part::Checkpoints, Part::Nat, Part::Sit, Part::Ssa, Part::SuperBlocks];

impl Part {
    /// Its first byte, and its bytes.
    fn place(self, sb: &SuperBlock) -> (u64, usize) {
        let raw = sb.raw();
        if self == Part::SuperBlocks {
            return (0, 2 * sb.block().width());
        }
        let (start, segments) = match self {
            Part::Checkpoints => (raw.cp_blkaddr, raw.segment_count_ckpt),
            Part::Nat => (raw.nat_blkaddr, raw.segment_count_nat),
            Part::Sit => (raw.sit_blkaddr, raw.segment_count_sit),
            Part::Ssa | Part::SuperBlocks => (raw.ssa_blkaddr, raw.segment_count_ssa),
        };
        let blocks = segments.get() as usize * 512;
        (u64::from(start.get()) * sb.block().bytes_u64(), blocks * sb.block().width())
    }
}

/// The volume without these parts.
pub(crate) fn without(bytes: &Arc<Vec<u8>>, parts: &[Part]) -> Medium {
    let sb = read_super_block(bytes).unwrap();
    parts.iter().fold(Medium::new(bytes.clone()), |medium, part| {
        let (at, length) = part.place(&sb);
        medium.with(at, vec![0; length])
    })
}

fn options(keys: Keyring) -> RescueOptions {
    RescueOptions { cache_bytes: 8 << 20, keys, recover: None, uuid: [0; 16] }
}

/// A volume without these parts, and what comes of it. Only its user knows the UUID then.
fn rescued(bytes: &Arc<Vec<u8>>, parts: &[Part], keys: Keyring) -> Rescue {
    let uuid = read_super_block(bytes).unwrap().uuid();
    let options = RescueOptions { uuid, ..options(keys) };
    Rescue::open(vec![Box::new(without(bytes, parts))], options).unwrap()
}

fn key() -> Keyring {
    let mut keys = Keyring::default();
    keys.add(&(0..64).collect::<Vec<u8>>()).unwrap();
    keys
}

/// The volumes, with the manifest of each, and whether that was made with the key.
const VOLUMES: [(&str, &str, bool); 10] = [
    ("basic", "manifest.jsonl", false),
    ("features", "manifest.jsonl", false),
    ("xattrs", "manifest.jsonl", false),
    ("fragmented", "manifest.jsonl", false),
    ("compress", "manifest.jsonl", false),
    ("quota", "manifest.jsonl", false),
    ("casefold", "manifest.jsonl", false),
    ("verity", "manifest.jsonl", false),
    ("full", "manifest.jsonl", false),
    ("encrypt", "with-key.manifest", true),
];

/// The differences. Whether times of birth are shown is a feature of the super block.
fn told(wanted: &BTreeMap<String, Record>, rescue: &Rescue) -> Vec<String> {
    let (mut found, mut wanted) = (walk::records(rescue.volume()), wanted.clone());
    if !rescue.found().has_super_block {
        let records = found.values_mut().chain(wanted.values_mut());
        records.for_each(|record| drop(record.0.remove("btime")));
    }
    differences(&found, &wanted)
}

/// Each part alone, and all together.
pub(crate) fn each_loss() -> impl Iterator<Item = &'static [Part]> {
    PARTS.iter().map(std::slice::from_ref).chain([&PARTS[..]])
}

#[test]
fn whatever_is_gone_every_file_is_there() {
    let mut wrong = Vec::new();
    for (name, kind, has_key) in VOLUMES {
        let golden = Golden::own(name);
        let wanted = manifest::parse(&golden.text(kind).unwrap());
        let bytes = Arc::new(golden.bytes());
        for parts in each_loss() {
            let rescue = rescued(&bytes, parts, if has_key { key() } else { Keyring::default() });
            let lines = told(&wanted, &rescue);
            wrong.extend(lines.iter().take(5).map(|line| format!("{name} without {parts:?}: {line}")));
            let found = rescue.found();
            if found.guessed + found.missing + found.unread > 0 {
                wrong.push(format!("{name} without {parts:?}: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn at(fs: &dyn FileSystem, path: &str) -> Option<Attr> {
    let mut here = fs.attr(Ino::ROOT).unwrap();
    for name in path.split('/') {
        here = fs.lookup(here.ino, name.as_bytes()).ok()?;
    }
    Some(here)
}

/// Names that fsync promised are in no directory yet: without the checkpoint they are guesses.
#[test]
fn promised_names_are_guesses_without_a_checkpoint() {
    let golden = Golden::own("crash-fsync");
    let wanted = manifest::parse(&golden.text("manifest.jsonl").unwrap());
    let rescue = rescued(&Arc::new(golden.bytes()), &PARTS, Keyring::default());
    let (mut named, mut guessed) = (0, 0);
    for (path, record) in wanted.iter().filter(|(path, _)| *path != ".") {
        let places = ["tree", "guessed"].map(|place| at(rescue.files(), &format!("{place}/{path}")));
        let size = |attr: &Attr| record.0["type"] != "file" || record.0["size"] == attr.size;
        match places.each_ref().map(Option::as_ref) {
            [Some(attr), None] if size(attr) => named += 1,
            [None, Some(attr)] if size(attr) => guessed += 1,
            found => panic!("{path}: {found:?}, want {record:?}"),
        }
    }
    assert!(named > 0 && guessed > 0, "{named} {guessed}");
}

/// A directory that is gone leaves its files: under the names that they remember, in the place of the directory.
#[test]
fn files_of_a_lost_directory_are_guesses() {
    let golden = Golden::own("basic");
    let bytes = Arc::new(golden.bytes());
    let whole = rescued(&bytes, &[], Keyring::default());
    let dir = whole.volume().nid(at(whole.files(), "tree/tree").unwrap().ino).unwrap();
    // Older copies of its node, too.
    let is_it = |block: &[u8]| NodeFooter::of(block).is_some_and(|footer| footer.nid == dir);
    let blocks = (0..).step_by(4096).zip(bytes.chunks_exact(4096));
    let own = blocks.filter(|(_, block)| is_it(block));
    let medium = own.fold(without(&bytes, &[]), |medium, (at, _)| medium.with(at, vec![0; 4096]));
    let rescue = Rescue::open(vec![Box::new(medium)], options(Keyring::default())).unwrap();
    assert!(at(rescue.files(), "tree/tree").is_none());
    let guess = at(rescue.files(), "guessed/tree/size-3400").unwrap();
    let mut content = vec![0; 4000];
    assert_eq!(rescue.files().read(guess.ino, 0, &mut content).unwrap(), 3400);
    assert!(rescue.found().guessed > 300 && rescue.found().missing > 0, "{:?}", rescue.found());
}
