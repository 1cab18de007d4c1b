//! The host loses its power under the released program. `strace` tells its writes and syncs; each possible state of a
//! disk after them is mounted and compared.

mod record;

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use pumice_f2fs::{F2fs, crypt::Keyring};
use pumice_knobs::CLI_HOSTS;
use pumice_media::{HostFile, SimHost};
use pumice_nandfs::{MountOptions, NandFs};
use pumice_vfs::{FileSystem, Ino, Timestamp};

use self::record::{Call, record};
use super::mounting::Bench;

/// The contents of files: names, and the bytes of each.
type Files = BTreeMap<String, Vec<u8>>;

/// Mounts, does the steps of `steps`, and unmounts; behind each step its number goes to `/dev/null`, which the log shows.
const WORK: &str = r#"
"$0" mount image mnt &
until mountpoint -q mnt; do kill -0 $!; sleep 0.1; done
number=0
while read -r step source name; do
    case $step in
        over) dd if="$source" of="mnt/$name" bs=20000 conv=fsync,notrunc status=none ;;
        save) dd if="$source" of=mnt/.new conv=fsync status=none; mv mnt/.new "mnt/$name"; sync mnt ;;
        gone) rm "mnt/$name"; sync mnt ;;
    esac
    number=$((number + 1))
    echo $number >/dev/null
done <steps
umount mnt
wait
"#;

/// Steps for the shell, and the files that must be there behind each.
fn steps(bench: &Bench, rng: &mut fastrand::Rng, count: usize) -> Vec<Files> {
    let (mut files, mut lines, mut after) = (Files::new(), Vec::new(), Vec::new());
    for number in 0..count {
        let name = format!("f{}", rng.u8(0..6));
        let source = format!("source{number}");
        let there = files.get(&name).cloned();
        let step = match there {
            Some(_) if rng.u8(0..8) == 0 => {
                files.remove(&name);
                "gone"
            }
            Some(mut bytes) if rng.bool() => {
                rng.fill(&mut bytes);
                files.insert(name.clone(), bytes);
                "over"
            }
            _ => {
                let mut bytes = vec![0; rng.usize(1..60_000)];
                rng.fill(&mut bytes);
                files.insert(name.clone(), bytes);
                "save"
            }
        };
        fs::write(bench.path(&source), files.get(&name).map_or(&[][..], |bytes| bytes)).unwrap();
        lines.push([step, &source, &name].join(" "));
        after.push(files.clone());
    }
    fs::write(bench.path("steps"), lines.join("\n") + "\n").unwrap();
    after
}

/// All files in the root of a file system.
fn files(fs: &dyn FileSystem) -> pumice_vfs::Result<Files> {
    let mut found = Files::new();
    for name in names(fs)? {
        let attr = fs.lookup(Ino::ROOT, name.as_bytes())?;
        let mut bytes = vec![0; usize::try_from(attr.size).unwrap()];
        let count = fs.read(attr.ino, 0, &mut bytes)?;
        assert_eq!(count, bytes.len());
        found.insert(name, bytes);
    }
    Ok(found)
}

fn names(fs: &dyn FileSystem) -> pumice_vfs::Result<Vec<String>> {
    let mut names = Vec::new();
    fs.readdir(Ino::ROOT, 0, &mut |entry| {
        let name = String::from_utf8(entry.name.to_vec()).unwrap();
        if ![".", "..", "lost+found"].contains(&&*name) {
            names.push(name);
        }
        true
    })?;
    Ok(names)
}

/// The fault of files found while a step led from one state to another; a file written in place may hold some of both.
fn wrong(found: &Files, before: &Files, after: &Files) -> Option<String> {
    let is_mixed = |name: &String, bytes: &[u8]| {
        let sides = before.get(name).zip(after.get(name)).filter(|(old, new)| old.len() == new.len());
        sides.is_some_and(|(old, new)| {
            let both = old.iter().zip(new);
            bytes.len() == old.len()
                && bytes.iter().zip(both).all(|(byte, (old, new))| byte == old || byte == new)
        })
    };
    for name in before.keys().chain(after.keys()).chain(found.keys()) {
        let is = found.get(name);
        let is_right =
            is == before.get(name) || is == after.get(name) || is.is_some_and(|is| is_mixed(name, is));
        if name != ".new" && !is_right {
            return Some(format!(
                "{name}: {:?} bytes, neither what was there nor what was put there",
                is.map(Vec::len)
            ));
        }
    }
    None
}

/// The files on the host, mounted and read.
type Mounted = fn(&SimHost) -> Result<Files, String>;

fn nandfs(host: &SimHost) -> Result<Files, String> {
    let options = MountOptions::new(1 << 20, Box::new(Timestamp::default));
    let chip = host.open().map_err(|error| error.to_string())?;
    let fs = NandFs::mount(chip, options).map_err(|error| error.to_string())?;
    files(&fs).map_err(|error| error.to_string())
}

fn f2fs(host: &SimHost) -> Result<Files, String> {
    let options = pumice_f2fs::MountOptions {
        cache_bytes: 1 << 20,
        keys: Keyring::default(),
        recover: Some(Timestamp::default()),
    };
    let fs = F2fs::mount(vec![Box::new(host.bytes())], options).map_err(|error| error.to_string())?;
    files(&fs).map_err(|error| error.to_string())
}

/// Cuts the host's power within a run of so many steps, at some calls of each, and returns how often.
fn cut(bench: &Bench, mounted: Mounted, seed: u64, count: usize) -> u64 {
    let image = bench.path("image");
    let host = SimHost::new(fs::read(&image).unwrap());
    let mut rng = fastrand::Rng::with_seed(seed);
    let states = steps(bench, &mut rng, count);
    let nothing = Files::new();
    let mut shell = Command::new("sh");
    shell.args(["-ec", WORK, env!("CARGO_BIN_EXE_pumice")]).current_dir(bench.path(""));
    let (mut done, mut cuts) = (0_usize, 0);
    for (number, call) in record(&shell, &bench.path("log")).into_iter().enumerate() {
        let mut is_sync = false;
        match call {
            Call::Write { path, bytes, .. } if path == Path::new("/dev/null") => {
                done = String::from_utf8(bytes).unwrap().trim().parse().unwrap();
            }
            Call::Write { path, at: Some(at), bytes } if path == image => {
                host.write_all_at(&bytes, at).unwrap();
            }
            Call::Discard { path, at, count } if path == image => {
                host.write_all_at(&vec![0; usize::try_from(count).unwrap()], at).unwrap();
            }
            Call::Sync { path } if path == image => {
                host.sync_data().unwrap();
                is_sync = true;
            }
            Call::Write { path, at: None, .. } | Call::Change { path } if path == image => {
                panic!("call {number} cannot be played again");
            }
            _ => continue,
        }
        if rng.u8(0..4) > 0 {
            continue;
        }
        let before = done.checked_sub(1).map_or(&nothing, |done| &states[done]);
        let after = states.get(done).unwrap_or(before);
        let left = if is_sync { host.after_cut_in_sync(rng.u64(..)) } else { host.after_cut(rng.u64(..)) };
        let what = mounted(&left).map_or_else(Some, |found| wrong(&found, before, after));
        assert!(what.is_none(), "PUMICE_SEED={seed}: call {number}, {done} steps done: {}", what.unwrap());
        cuts += 1;
    }
    assert_eq!(done, count, "the steps were not seen");
    assert!(host.bytes() == fs::read(&image).unwrap(), "the record is not what was done");
    cuts
}

/// Runs the campaign on images that are made with these words.
fn campaign(make: &[&str], mounted: Mounted) {
    let (seeds, mut cuts) = (CLI_HOSTS.seeds(0..1), 0);
    for seed in seeds.clone() {
        CLI_HOSTS.begin(seed);
        let Some(bench) = Bench::with(make) else { return };
        cuts += cut(&bench, mounted, seed, 12);
    }
    CLI_HOSTS.ran(seeds, cuts);
}

#[test]
fn a_chip_container_keeps_what_was_promised() {
    campaign(&["mkfs", "--chip", "slc-2k-2g", "--size", "8M"], nandfs);
}

#[test]
fn an_f2fs_image_keeps_what_was_promised() {
    campaign(&["mkfs", "-t", "f2fs", "--size", "56M"], f2fs);
}

/// A file made under no name has its name when it is on the disk, and the name is there, too, when the program ends
/// well.
#[test]
fn files_have_their_names_when_they_are_on_the_disk() {
    let Some(bench) = Bench::with(&["mkfs", "--chip", "slc-2k-2g", "--size", "8M", "--label", "old"]) else {
        return;
    };
    fs::create_dir(bench.path("tree")).unwrap();
    fs::write(bench.path("tree/file"), vec![7; 100_000]).unwrap();
    let ways: [&[&str]; 6] = [
        &["mkfs", "--chip", "slc-2k-2g", "--size", "8M", "--from", "tree", "chip"],
        &["mkfs", "--force", "--chip", "slc-2k-2g", "--size", "8M", "--from", "tree", "image"],
        &["mkfs", "-t", "f2fs", "--size", "56M", "--from", "tree", "card"],
        &["nand", "create", "--chip", "slc-2k-2g", "--size", "8M", "empty"],
        &["nand", "export", "image", "dump"],
        &["tar", "image", "-o", "archive"],
    ];
    for way in ways {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pumice"));
        command.args(way).current_dir(bench.path(""));
        let calls = record(&command, &bench.path("log"));
        let name = way.last().unwrap();
        let named = calls.iter().rposition(|call| matches!(call, Call::Name { to } if to.ends_with(name)));
        let named = named.unwrap_or_else(|| panic!("{way:?}: no name was given"));
        let is_new = |path: &Path| {
            path.starts_with(bench.path(""))
                && path.file_name().is_some_and(|name| {
                    let name = name.to_string_lossy();
                    name.starts_with('#') || name.starts_with(".pumice-")
                })
        };
        let changed = calls.iter().rposition(|call| match call {
            Call::Write { path, .. } | Call::Discard { path, .. } | Call::Change { path } => is_new(path),
            _ => false,
        });
        let synced = calls.iter().rposition(|call| matches!(call, Call::Sync { path } if is_new(path)));
        assert!(
            changed.is_some() && changed < synced && synced < Some(named),
            "{way:?}: {changed:?}, {synced:?}, {named}"
        );
        let place = bench.path("");
        let kept = calls[named..].iter().any(|call| matches!(call, Call::Sync { path } if *path == place));
        assert!(kept, "{way:?}: the directory was not synced");
    }
}
