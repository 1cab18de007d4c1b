//! Encrypted files and directories, written with their keys.

use std::fmt::Write;

use pumice_f2fs::{
    Error, F2fs, InPlace, Logging, MountOptions, WritableF2fs, WritableOptions, crypt::Keyring,
    layout::Advise,
};
use pumice_vfs::{
    Errno, FileKind, FileSystem, Ino, NewNode, RenameMode, SetAttr, SpaceMode,
    conformance::{Op, TestClock, checks, run_random_of},
};

use xtask::{Machine, f2fs};

use super::{
    crash::{mount_by, options, short_workloads, ticking},
    disk::{SharedDisk, save},
    linux::golden,
    locked::GIVE,
    policy::{POLICIES, Policy, key, set_policy},
    power::Live,
    subject::{Shape, make_card, node, ours, sound, theirs, volume},
    tree::{Tree, tree},
};
use crate::common::{
    manifest::{differences, parse},
    walk,
};

const PLAIN: Shape = Shape { features: &["encrypt"], ..Shape::PLAIN };

/// Around the ends of blocks, and of the nodes.
const SIZES: [usize; 8] = [0, 1, 3000, 4096, 4097, 100_000, 924 * 4096, 3_800_001];

/// Words that are looked for on the medium.
const WORDS: &[u8] = b"words that nobody may find";

fn content(size: usize) -> Vec<u8> {
    WORDS.iter().copied().cycle().take(size).collect()
}

fn reader(live: &Live, keys: Keyring) -> F2fs {
    let options = MountOptions { cache_bytes: 1 << 20, keys, recover: None };
    F2fs::mount(vec![Box::new(live.clone())], options).unwrap()
}

/// A volume with an encrypted directory for each policy.
fn with_policies() -> Live {
    with_policies_of(&|_| true)
}

fn with_policies_of(wanted: &dyn Fn(&Policy) -> bool) -> Live {
    let live = Live::new(volume(192 << 20, &PLAIN, &TestClock::new()));
    let fs = mount_by(&live, options()).unwrap();
    for policy in POLICIES.iter().filter(|policy| wanted(policy)) {
        fs.create(Ino::ROOT, policy.name.as_bytes(), &node(FileKind::Dir)).unwrap();
    }
    fs.create(Ino::ROOT, b"plain", &node(FileKind::Dir)).unwrap();
    fs.unmount().unwrap();
    for policy in POLICIES.iter().filter(|policy| wanted(policy)) {
        set_policy(&live, policy.name.as_bytes(), policy);
    }
    live
}

fn resize(fs: &dyn FileSystem, ino: Ino, size: u64) {
    fs.set_attr(ino, &SetAttr { size: Some(size), ..SetAttr::default() }).unwrap();
}

fn link(target: &[u8]) -> NewNode<'_> {
    NewNode { target, ..node(FileKind::Symlink) }
}

/// Everything that there can be in a directory.
pub(crate) fn fill(fs: &dyn FileSystem, dir: Ino, salt: usize) {
    for size in SIZES {
        let name = format!("a name that nobody may find {size}");
        let file = fs.create(dir, name.as_bytes(), &node(FileKind::File)).unwrap().ino;
        fs.write(file, 0, &content(size)).unwrap();
    }
    let new = |dir: Ino, name: &str| fs.create(dir, name.as_bytes(), &node(FileKind::File)).unwrap().ino;
    let cut = new(dir, "cut");
    fs.write(cut, 0, &content(20_000)).unwrap();
    resize(fs, cut, 5001);
    resize(fs, cut, 12_000);
    fs.write(cut, 11_000 + salt as u64, &content(50)).unwrap();
    let holes = new(dir, "holes");
    fs.write(holes, 7_000_000, &content(100)).unwrap();
    fs.write(holes, 30_000, &content(40_000)).unwrap();
    fs.allocate(holes, SpaceMode::PunchHole, 33_000, 20_000).unwrap();
    fs.allocate(holes, SpaceMode::Zero { keep_size: false }, 60_001, 9_000).unwrap();
    let below = fs.create(dir, b"below", &node(FileKind::Dir)).unwrap().ino;
    for number in 0..300 {
        let file = new(below, &format!("name number {number}"));
        fs.write(file, 0, format!("{number}\n").as_bytes()).unwrap();
    }
    for number in (0..300).step_by(3) {
        fs.unlink(below, format!("name number {number}").as_bytes()).unwrap();
    }
    for length in [1, 15, 16, 17, 255, 300, 4000, 4093] {
        let target = vec![b'a' + u8::try_from(salt % 26).unwrap(); length];
        fs.create(below, format!("link {length}").as_bytes(), &link(&target)).unwrap();
    }
    fs.create(below, &[b'n'; 255], &node(FileKind::Fifo)).unwrap();
    fs.link(cut, below, b"hard").unwrap();
    fs.rename(below, b"name number 1", dir, b"moved", RenameMode::Replace).unwrap();
    fs.rename(dir, b"holes", below, b"name number 2", RenameMode::Exchange).unwrap();
}

/// True if the bytes stand somewhere.
fn contains(bytes: &[u8], sought: &[u8]) -> bool {
    let first = sought[0];
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == first) {
        if rest[at..].starts_with(sought) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}

/// What is written with the key is read with it, by others, too, and nobody finds a word of it on the medium.
#[test]
fn everything_is_written_with_the_key() {
    let live = with_policies();
    let fs = mount_by(&live, options()).unwrap();
    for (salt, policy) in POLICIES.iter().enumerate() {
        fill(&fs, fs.lookup(Ino::ROOT, policy.name.as_bytes()).unwrap().ino, salt);
    }
    let wanted = tree(&fs);
    fs.unmount().unwrap();
    sound(&live);
    assert!(tree(&reader(&live, key())) == wanted, "the reader");
    let fs = mount_by(&live, options()).unwrap();
    assert!(tree(&fs) == wanted, "the writer");
    let mut bytes = Vec::new();
    live.image().each_page(|_, page| bytes.extend_from_slice(page));
    for words in [WORDS, b"that nobody may find", b"name number", b"below"] {
        assert!(!contains(&bytes, words), "{}", words.escape_ascii());
    }
    let without = reader(&live, Keyring::default());
    for policy in &POLICIES {
        let dir = without.lookup(Ino::ROOT, policy.name.as_bytes()).unwrap().ino;
        let is_other = |name: &[u8]| !contains(name, b"nobody");
        without.readdir(dir, 0, &mut |entry| is_other(entry.name)).unwrap();
        assert_eq!(without.lookup(dir, b"cut").unwrap_err().errno(), Errno::NoEntry);
    }
}

/// Of two files with the same content no block is the same, and neither is the block of a file written twice at another
/// place: nonces and places count.
#[test]
fn nonces_and_places_count() {
    let live = with_policies();
    let fs = mount_by(&live, options()).unwrap();
    for policy in &POLICIES {
        let dir = fs.lookup(Ino::ROOT, policy.name.as_bytes()).unwrap().ino;
        for name in [b"one", b"two"] {
            let file = fs.create(dir, name, &node(FileKind::File)).unwrap().ino;
            fs.write(file, 0, &vec![7; 3 * 4096]).unwrap();
        }
    }
    fs.unmount().unwrap();
    let (fs, image) = (reader(&live, key()), live.image().bytes_now());
    let mut blocks = std::collections::BTreeSet::new();
    for policy in &POLICIES {
        let dir = fs.lookup(Ino::ROOT, policy.name.as_bytes()).unwrap().ino;
        for name in [b"one", b"two"] {
            let (inode, node) = fs.inode(fs.lookup(dir, name).unwrap().ino).unwrap();
            for at in 0..3 {
                let word = &node.block[inode.addrs_at() + 4 * at..][..4];
                let addr = u32::from_le_bytes(word.try_into().unwrap()) as usize;
                assert!(blocks.insert(image[addr * 4096..][..4096].to_vec()), "{} {at}", policy.name);
            }
        }
    }
}

fn errno<T: std::fmt::Debug>(done: pumice_vfs::Result<T>) -> Errno {
    done.unwrap_err().errno()
}

/// Inodes that can be encrypted stay with their policy; they may leave for a directory without any.
#[test]
fn policies_are_not_mixed() {
    let live = with_policies();
    let fs = mount_by(&live, options()).unwrap();
    let dir = |name: &str| fs.lookup(Ino::ROOT, name.as_bytes()).unwrap().ino;
    let (aes, other, plain) = (dir("aes-pad4"), dir("adiantum"), dir("plain"));
    for (dir, kinds) in [
        (aes, [FileKind::File, FileKind::Dir, FileKind::Fifo]),
        (plain, [FileKind::File, FileKind::Dir, FileKind::Fifo]),
    ] {
        for kind in kinds {
            fs.create(dir, format!("{kind:?}").as_bytes(), &node(kind)).unwrap();
        }
    }
    let (replace, exchange) = (RenameMode::Replace, RenameMode::Exchange);
    for from in [aes, plain] {
        for name in [&b"File"[..], b"Dir"] {
            assert_eq!(errno(fs.rename(from, name, other, b"x", replace)), Errno::CrossDevice);
        }
        let file = fs.lookup(from, b"File").unwrap().ino;
        assert_eq!(errno(fs.link(file, other, b"x")), Errno::CrossDevice);
        fs.rename(from, b"Fifo", other, format!("{from:?}").as_bytes(), replace).unwrap();
    }
    assert_eq!(errno(fs.rename(aes, b"File", plain, b"File", exchange)), Errno::CrossDevice);
    assert_eq!(errno(fs.rename(plain, b"File", aes, b"File", exchange)), Errno::CrossDevice);
    // Out of it, though not back.
    let file = fs.lookup(aes, b"File").unwrap().ino;
    fs.write(file, 0, &content(9000)).unwrap();
    fs.rename(aes, b"File", plain, b"out", replace).unwrap();
    fs.rename(aes, b"Dir", plain, b"Dir out", replace).unwrap();
    fs.link(file, plain, b"again").unwrap();
    fs.rename(plain, b"out", aes, b"back", replace).unwrap();
    fs.unmount().unwrap();
    sound(&live);
    let fs = reader(&live, key());
    let (inode, _) = fs.inode(fs.lookup(aes, b"back").unwrap().ino).unwrap();
    assert!(inode.is_encrypted() && inode.advise.has(Advise::ENC_NAME));
    let mut found = vec![0; 9000];
    fs.read(fs.lookup(plain, b"again").unwrap().ino, 0, &mut found).unwrap();
    assert!(found == content(9000));
    let (inode, _) = fs.inode(fs.lookup(plain, b"Dir out").unwrap().ino).unwrap();
    assert!(inode.is_encrypted() && !inode.advise.has(Advise::ENC_NAME));
    assert_eq!(inode.last_name(), b"Dir out");
}

/// The form of links and names has a longest one, as in Linux.
#[test]
fn longest_names_and_targets() {
    let live = with_policies();
    let fs = mount_by(&live, options()).unwrap();
    for policy in &POLICIES {
        let dir = fs.lookup(Ino::ROOT, policy.name.as_bytes()).unwrap().ino;
        fs.create(dir, b"longest", &link(&[b't'; 4093])).unwrap();
        assert_eq!(errno(fs.create(dir, b"too long", &link(&[b't'; 4094]))), Errno::NameTooLong);
        for length in 250..=255 {
            fs.create(dir, &vec![b'n'; length], &node(FileKind::File)).unwrap();
        }
        assert_eq!(errno(fs.create(dir, &[b'n'; 256], &node(FileKind::File))), Errno::NameTooLong);
    }
    fs.unmount().unwrap();
    sound(&live);
    let fs = reader(&live, key());
    for policy in &POLICIES {
        let dir = fs.lookup(Ino::ROOT, policy.name.as_bytes()).unwrap().ino;
        assert_eq!(fs.readlink(fs.lookup(dir, b"longest").unwrap().ino).unwrap(), [b't'; 4093]);
        (250..=255).for_each(|length| assert!(fs.lookup(dir, &vec![b'n'; length]).is_ok()));
    }
}

/// A nonce that cannot be had makes nothing.
#[test]
fn without_random_bytes_nothing_is_made() {
    let live = with_policies();
    let mut how = options();
    how.keys.as_mut().unwrap().nonces = std::sync::Arc::new(|| Err(std::io::ErrorKind::Other.into()));
    let fs = mount_by(&live, how).unwrap();
    let dir = fs.lookup(Ino::ROOT, b"aes-pad4").unwrap().ino;
    let before = tree(&fs);
    assert_eq!(errno(fs.create(dir, b"file", &node(FileKind::File))), Errno::Io);
    fs.create(dir, b"fifo", &node(FileKind::Fifo)).unwrap();
    fs.unlink(dir, b"fifo").unwrap();
    assert!(tree(&fs) == before);
    fs.unmount().unwrap();
    sound(&live);
}

/// Linux's own encrypted files are changed, and others are as they were.
#[test]
fn files_of_linux_are_changed_with_their_key() {
    let disk = golden("encrypt", 4096);
    let open = || WritableF2fs::mount(Box::new(disk.clone()), options()).unwrap();
    let fs = open();
    let mut wanted = tree(&fs);
    for dir in ["aes-pad4", "aes-pad32", "adiantum", "adiantum-direct", "aes128", "old-aes"] {
        let ino = fs.lookup(Ino::ROOT, dir.as_bytes()).unwrap().ino;
        let file = fs.lookup(ino, b"size-100000").unwrap().ino;
        fs.write(file, 50_000, &content(100)).unwrap();
        fs.write(file, 100_000, &content(10)).unwrap();
        let made = fs.create(ino, b"made", &node(FileKind::File)).unwrap().ino;
        fs.write(made, 0, &content(10_000)).unwrap();
        fs.rename(ino, b"size-17", ino, b"size-16", RenameMode::Replace).unwrap();
        for path in ["", "/size-100000", "/made", "/size-16"] {
            let path = format!("./{dir}{path}");
            let ino = pumice_vfs::path::find(&fs, path.trim_start_matches('.').as_bytes()).unwrap().ino;
            wanted.insert(path, super::tree::record(&fs, ino));
        }
        wanted.remove(&format!("./{dir}/size-17"));
    }
    assert!(tree(&fs) == wanted);
    fs.unmount().unwrap();
    ours(&disk);
    theirs(&disk);
    assert!(tree(&open()) == wanted);
}

/// A shape whose root is encrypted.
fn encrypted(name: &str) -> Shape {
    let policy = POLICIES.iter().find(|policy| policy.name == name);
    Shape { policy: Some(policy.unwrap()), ..PLAIN }
}

/// The same as without a key, but for links that are a little too long.
#[test]
fn keeps_the_promises_of_the_trait() {
    let shape = encrypted("aes-pad32");
    let mut count = 0;
    for check in checks().into_iter().filter(|check| !check.name.starts_with("targets of")) {
        let clock = TestClock::new();
        check.run(make_card(96 << 20, &shape, &clock), &clock).unwrap();
        count += 1;
    }
    assert_eq!(count, checks().len() - 1);
}

#[test]
fn random_sequences_agree_with_the_model() {
    let fits = |op: &Op| !matches!(op, Op::Create { node, .. } if node.target_len == 4095);
    let cases = u32::try_from(pumice_knobs::F2FS_CALLS.count().unwrap_or(1)).unwrap();
    let seed = pumice_knobs::F2FS_CALLS.first_seed(1);
    for name in ["aes-pad4", "adiantum-direct", "aes-hctr2", "inode-32"] {
        let shape = encrypted(name);
        let fresh = |clock: &_| make_card(96 << 20, &shape, clock);
        let report = run_random_of(&fresh, cases, 2000, seed, &fits)
            .unwrap_or_else(|what| panic!("PUMICE_SEED={seed}, {name}: {what}"));
        assert!(report.refused * 20 < report.ops, "{report:?}");
    }
}

/// A power cut leaves what was promised, in place, too: a cipher that makes one of a whole block is not written over.
#[test]
fn a_power_cut_leaves_what_was_promised() {
    for (name, in_place) in [
        ("aes-pad4", InPlace::Never),
        ("aes-pad4", InPlace::Always),
        ("adiantum", InPlace::Always),
        ("aes128", InPlace::Fsync),
    ] {
        short_workloads(&encrypted(name), || WritableOptions { in_place, clock: ticking(), ..options() });
    }
}

/// The cleaner moves encrypted blocks as they are, with the key and without.
#[test]
fn encrypted_blocks_are_moved_by_the_cleaner() {
    for (name, keyed) in [("aes-pad4", true), ("aes-pad32", false)] {
        let live = Live::new(volume(128 << 20, &encrypted(name), &TestClock::new()));
        let how = || WritableOptions { logging: Logging::Normal, ..options() };
        let fs = mount_by(&live, how()).unwrap();
        let mut count = 0_usize;
        while fs.space().unwrap().free_bytes * 6 > fs.space().unwrap().total_bytes {
            let file = fs.create(Ino::ROOT, count.to_string().as_bytes(), &node(FileKind::File)).unwrap().ino;
            fs.write(file, 0, &content(70_000 + count)).unwrap();
            count += 1;
        }
        // Logs go through all free segments.
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..12_000 {
            let ino = fs.lookup(Ino::ROOT, random.usize(..count).to_string().as_bytes()).unwrap().ino;
            fs.write(ino, random.u64(..17) * 4096, &content(4096)).unwrap();
        }
        let wanted = tree(&fs);
        fs.unmount().unwrap();
        live.log().events.clear();
        let fs =
            mount_by(&live, if keyed { how() } else { WritableOptions { keys: None, ..how() } }).unwrap();
        let (before, mut steps) = (live.count(), 0);
        while fs.maintain().unwrap() {
            steps += 1;
            if keyed && steps % 3 == 0 && steps < 60 {
                // What waits to be moved is read, and changed, meanwhile.
                let name = random.usize(..count).to_string();
                let (ino, at) = (fs.lookup(Ino::ROOT, name.as_bytes()).unwrap().ino, random.u64(..69_000));
                let mut found = vec![0; 100];
                fs.read(ino, at, &mut found).unwrap();
                fs.write(ino, at, &found).unwrap();
            }
        }
        assert!(steps > 10 && live.count() > before + 3, "{name}: {steps} steps");
        fs.unmount().unwrap();
        sound(&live);
        assert!(same_content(&tree(&reader(&live, key())), &wanted), "{name}");
    }
}

fn same_content(found: &Tree, wanted: &Tree) -> bool {
    found.len() == wanted.len()
        && found
            .iter()
            .zip(wanted)
            .all(|(found, wanted)| found.0 == wanted.0 && found.1.pieces == wanted.1.pieces)
}

/// In a directory that ignores case and is encrypted a name is found in any case. A fsync brings it back by the hash
/// behind it, or makes a checkpoint where there is no room for that.
#[test]
fn names_that_are_encrypted_and_folded() {
    let shape = Shape { features: &["encrypt", "casefold"], folds: true, ..encrypted("aes-pad4") };
    let live = Live::new(volume(64 << 20, &shape, &TestClock::new()));
    let fs = mount_by(&live, options()).unwrap();
    let lengths: Vec<usize> = vec![1, 100, 240, 250, 252, 255];
    for length in &lengths {
        let file = fs.create(Ino::ROOT, &vec![b'a'; *length], &node(FileKind::File)).unwrap().ino;
        fs.write(file, 0, &content(*length)).unwrap();
        fs.fsync(file, false).unwrap();
        assert_eq!(fs.lookup(Ino::ROOT, &vec![b'A'; *length]).unwrap().ino, file);
        assert_eq!(errno(fs.create(Ino::ROOT, &vec![b'A'; *length], &node(FileKind::File))), Errno::Exists);
    }
    drop(fs);
    ours(&live);
    let fs = mount_by(&live, options()).unwrap();
    for length in &lengths {
        let file = fs.lookup(Ino::ROOT, &vec![b'A'; *length]).unwrap().ino;
        let mut found = vec![0; *length];
        fs.read(file, 0, &mut found).unwrap();
        assert!(found == content(*length));
    }
    fs.unmount().unwrap();
    sound(&live);
}

/// In a directory that ignores case a name may come again in another one before the next checkpoint.
#[test]
fn a_name_that_comes_again_in_another_case() {
    for shape in [
        Shape { features: &["casefold"], folds: true, ..Shape::default() },
        Shape { features: &["encrypt", "casefold"], folds: true, ..encrypted("aes-pad4") },
    ] {
        let live = Live::new(volume(64 << 20, &shape, &TestClock::new()));
        let fs = mount_by(&live, options()).unwrap();
        fs.create(Ino::ROOT, b"name", &node(FileKind::File)).unwrap();
        fs.sync().unwrap();
        fs.unlink(Ino::ROOT, b"name").unwrap();
        let file = fs.create(Ino::ROOT, b"NAME", &node(FileKind::File)).unwrap().ino;
        fs.fsync(file, false).unwrap();
        let wanted = tree(&fs);
        drop(fs);
        let fs = mount_by(&live, options()).unwrap();
        assert!(tree(&fs).keys().eq(wanted.keys()), "{:?}", tree(&fs).keys());
        fs.unmount().unwrap();
        sound(&live);
    }
}

/// A key of another volume opens nothing, and does no harm.
#[test]
fn another_key_is_no_key() {
    let live = with_policies();
    let mut how = options();
    how.keys.as_mut().unwrap().keyring = Keyring::default();
    how.keys.as_mut().unwrap().keyring.add(&[9; 64]).unwrap();
    let fs = mount_by(&live, how).unwrap();
    let dir = fs.lookup(Ino::ROOT, b"aes-pad4").unwrap().ino;
    assert_eq!(errno(fs.create(dir, b"new", &node(FileKind::File))), Errno::NoKey);
    fs.unmount().unwrap();
    sound(&live);
}

/// Compressed and encrypted: the pieces of clusters are encrypted by their places.
#[test]
fn clusters_are_encrypted() {
    let features = &["encrypt", "extra_attr", "inode_checksum", "quota_ino", "compression"];
    for name in ["aes-pad4", "adiantum", "inode-64"] {
        super::compressed::keep_what_was_written(&Shape { features, ..encrypted(name) }, 300);
    }
}

/// A sealed file that is encrypted.
#[test]
fn an_encrypted_file_is_sealed() {
    let shape =
        Shape { features: &["encrypt", "verity", "extra_attr", "inode_checksum"], ..encrypted("aes-pad4") };
    let live = Live::new(volume(64 << 20, &shape, &TestClock::new()));
    let fs = mount_by(&live, options()).unwrap();
    let file = fs.create(Ino::ROOT, b"file", &node(FileKind::File)).unwrap().ino;
    fs.write(file, 0, &content(1_000_000)).unwrap();
    let seal = pumice_f2fs::verity::Seal::new(pumice_f2fs::verity::HashAlgorithm::Sha256, 4096, Vec::new());
    fs.seal(file, &seal).unwrap();
    fs.unmount().unwrap();
    sound(&live);
    let fs = mount_by(&live, options()).unwrap();
    let mut found = vec![0; 1_000_000];
    fs.read(file, 0, &mut found).unwrap();
    assert!(found == content(1_000_000));
    drop(fs);
    let fs = mount_by(&live, WritableOptions { keys: None, ..options() }).unwrap();
    let locked =
        |error: Result<Vec<u8>, Error>| matches!(error, Err(Error::NoKey(_) | Error::Errno(Errno::Exists)));
    assert!(locked(fs.seal(file, &seal)));
}

/// Linux reads what was written here with the key, changes it, moves it, and we read that.
#[test]
fn linux_takes_what_was_encrypted_here() {
    let Some(machine) = Machine::for_test() else { return };
    // Debian's kernel has no HCTR2, and encrypts whole blocks only.
    let is_known = |policy: &Policy| !["aes-hctr2", "unit-512"].contains(&policy.name);
    let live = with_policies_of(&is_known);
    let fs = mount_by(&live, options()).unwrap();
    let dirs = POLICIES.iter().filter(|policy| is_known(policy)).map(|policy| policy.name);
    for (salt, dir) in dirs.clone().enumerate() {
        fill(&fs, fs.lookup(Ino::ROOT, dir.as_bytes()).unwrap().ino, salt);
    }
    fs.unmount().unwrap();
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = place.path().join("card");
    save(&live, &path);
    let sb = reader(&live, key()).volume().super_block().clone();
    let (start, end, step) = (sb.main_start().0, sb.main_end(), sb.raw().segs_per_sec.get() * 512);
    let mut script =
        format!("mount -t f2fs -o noatime /dev/vda /mnt\n{GIVE}guest-manifest /mnt >/host/before\n");
    for dir in dirs {
        writeln!(script, "cd /mnt/{dir}\n{CHANGE}").unwrap();
    }
    writeln!(script, "cd /\nsync\nguest-control clean /mnt {start} {end} {step} >/host/cleaned\nsync")
        .unwrap();
    script += "guest-manifest /mnt >/host/after\numount /mnt\ndmesg | grep F2FS-fs >/host/dmesg\n";
    let run = f2fs::run_in_kernel(&machine, std::slice::from_ref(&path), &script).unwrap();
    let same = |found: &F2fs, wanted: &str| {
        let lines = differences(&walk::records(found), &parse(&run.file(wanted).unwrap()));
        assert!(lines.is_empty(), "{wanted}: {:#?}", &lines[..lines.len().min(20)]);
    };
    same(&reader(&live, key()), "before");
    let disk = SharedDisk::of(4096, std::fs::read(&path).unwrap());
    let options = MountOptions { cache_bytes: 1 << 20, keys: key(), recover: None };
    same(&F2fs::mount(vec![Box::new(disk.clone())], options).unwrap(), "after");
    ours(&disk);
    let told = run.file("dmesg").unwrap();
    let is_usual = |line: &&str| line.contains("Mounted with") || line.contains("Found nat_bits");
    let warnings: Vec<&str> = told.lines().filter(|line| !is_usual(line)).collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
}

/// Changes of Linux in a directory.
const CHANGE: &str = "
echo more >>cut
truncate -s 3000 'a name that nobody may find 4097'
dd if=/bin/sh of='a name that nobody may find 100000' bs=1000 seek=77 count=33 conv=notrunc 2>/dev/null
mkdir linux
echo new >linux/file
mv moved linux/
ln cut linux/hard
rm 'a name that nobody may find 1'
rm -r below/link*
";
