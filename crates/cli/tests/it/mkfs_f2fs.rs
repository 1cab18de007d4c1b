//! F2FS made from directories and archives.

use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, MetadataExt, symlink},
    process::Command,
    time::{Duration, SystemTime},
};

use crate::common::{World, document, finish};

const FIXED: &str = "-U 01234567-89ab-cdef-0123-456789abcdef -T 1600000000";

/// A world with a directory `tree`.
fn world() -> World {
    let world = World::new();
    let tree = world.path("tree");
    fs::create_dir_all(tree.join("below/deeper")).unwrap();
    fs::write(tree.join("small"), "pumice").unwrap();
    fs::write(tree.join("below/large.mp3"), vec![7; 300_000]).unwrap();
    fs::write(tree.join("empty"), "").unwrap();
    fs::hard_link(tree.join("small"), tree.join("below/deeper/again")).unwrap();
    symlink("below/large.mp3", tree.join("link")).unwrap();
    let sparse = File::create(tree.join("sparse")).unwrap();
    for at in 0..30 {
        sparse.write_all_at(b"data", at * 100_000).unwrap();
    }
    sparse.set_len(9_000_000).unwrap();
    world
}

fn json(world: &World, line: &str) -> serde_json::Value {
    serde_json::from_str(&world.say(line).good()).unwrap()
}

fn tar(world: &World, words: &[&str]) {
    let (archive, tree) = (world.path("tree.tar"), world.path("tree"));
    let mut tar = Command::new("tar");
    tar.args(words).args(["--sparse", "--sort=name", "-c", "-f"]).arg(archive).arg("-C").arg(tree).arg(".");
    assert!(tar.status().unwrap().success());
}

#[test]
fn a_directory_and_its_archive_give_the_same_bytes() {
    let world = world();
    tar(&world, &["--format=posix"]);
    world.say(&format!("mkfs -t f2fs --from tree --size auto {FIXED} first")).good();
    world.say(&format!("mkfs -t f2fs --from tree.tar --size auto {FIXED} second")).good();
    assert!(fs::read(world.path("first")).unwrap() == fs::read(world.path("second")).unwrap());
    world.say("fsck -n first").good();
    world.say("get first / back").good();
    let same = Command::new("diff").arg("-r").args([world.path("tree"), world.path("back")]).status();
    assert!(same.unwrap().success());
}

/// Access control lists as words, newlines in values, `=` and `%` in names: from GNU tar's archive, from the tree, from
/// an archive of what was made, the same volume.
#[test]
fn attributes_of_any_bytes_come_from_archives() {
    let world = world();
    let path = |name: &str| world.path("tree").join(name);
    let run = |words: &[&str], file: &str| {
        let (program, words) = words.split_first().unwrap();
        let status = Command::new(program).args(words).arg(path(file)).status();
        assert!(status.unwrap().success(), "{program} {words:?} {file}");
    };
    run(&["setfacl", "-m", "u:1000:rw,g:daemon:r"], "small");
    run(&["setfacl", "-d", "-m", "u:root:rwx"], "below");
    run(&["setfacl", "-d", "-m", "u::rwx"], "below/deeper");
    run(&["setfattr", "-n", "user.lines", "-v", "one\n17 two=three\n"], "below/large.mp3");
    run(&["setfattr", "-n", "user.a=b%3D", "-v", "x"], "empty");
    world.say(&format!("mkfs -t f2fs --from tree --size auto {FIXED} wanted")).good();
    let wanted = fs::read(world.path("wanted")).unwrap();
    for form in [&["--acls", "--xattrs"][..], &["--acls", "--xattrs", "--xattrs-include=user.*"]] {
        tar(&world, &[&["--format=posix"], form].concat());
        world.say(&format!("mkfs --force -t f2fs --from tree.tar --size auto {FIXED} made")).good();
        assert!(fs::read(world.path("made")).unwrap() == wanted, "{form:?}");
    }
    world.say("tar wanted -o again.tar").good();
    world.say(&format!("mkfs --force -t f2fs --from again.tar --size auto {FIXED} made")).good();
    assert!(fs::read(world.path("made")).unwrap() == wanted);
    let listed = Command::new("tar").arg("-tf").arg(world.path("again.tar")).output().unwrap();
    assert!(listed.status.success(), "{listed:?}");
}

#[test]
fn every_form_of_a_sparse_file_in_an_archive_is_read() {
    let world = world();
    for form in [
        &["--format=gnu"][..],
        &["--format=posix", "--sparse-version=0.0"],
        &["--format=posix", "--sparse-version=0.1"],
        &["--format=posix", "--sparse-version=1.0"],
    ] {
        tar(&world, form);
        world.say("mkfs -t f2fs --from tree.tar --free 1M --force image").good();
        world.say("fsck -n image").good();
        let stat = document(&world.say("stat --json image /sparse").good(), "stat");
        assert!(stat.to_string().contains("9000000"), "{stat}");
        world.say("get image /sparse back").good();
        assert!(
            fs::read(world.path("back")).unwrap() == fs::read(world.path("tree/sparse")).unwrap(),
            "{form:?}"
        );
        fs::remove_file(world.path("back")).unwrap();
    }
}

#[test]
fn times_before_1970_come_from_an_archive() {
    let world = world();
    let old = SystemTime::UNIX_EPOCH - Duration::from_secs(157_766_400);
    File::options().write(true).open(world.path("tree/small")).unwrap().set_modified(old).unwrap();
    for form in ["--format=gnu", "--format=posix"] {
        tar(&world, &[form]);
        world.say("mkfs -t f2fs --from tree.tar --free 1M --force image").good();
        world.say("get image /small back").good();
        assert_eq!(fs::metadata(world.path("back")).unwrap().mtime(), -157_766_400, "{form}");
        fs::remove_file(world.path("back")).unwrap();
    }
}

#[test]
fn owners_and_devices_come_from_the_command_line() {
    let world = world();
    let lines = "/set uid=5\n./dev type=dir mode=755\n./dev/console type=char mode=600 device=linux,5,1\n./small mode=4711\n";
    fs::write(world.path("lines"), lines).unwrap();
    world.say("mkfs -t f2fs --from tree --owner 3:4 --manifest lines --size 64M image").good();
    world.say("fsck -n image").good();
    let ls = world.say("ls -l image /dev").good();
    assert!(ls.contains("console") && ls.contains("5, 1"), "{ls}");
    let stat = world.say("stat image /small").good();
    assert!(stat.contains("4711"), "{stat}");
}

#[test]
fn what_is_there_is_kept() {
    let world = world();
    fs::write(world.path("letter"), "dear all").unwrap();
    world.say("mkfs -t f2fs --size 64M letter").bad(1, &["letter", "--force"]);
    assert_eq!(fs::read(world.path("letter")).unwrap(), b"dear all");
    world.say("mkfs -t f2fs image").bad(2, &["image: no such file", "--size"]);
    world.say("mkfs -t f2fs --size 20M image").bad(1, &["image", "too few"]);
    world.say("mkfs -t f2fs --from tree --size 64M -O inode_checksum image").bad(1, &["extra_attr"]);
    world.say("mkfs -t f2fs --from nowhere --size 64M image").bad(1, &["nowhere"]);
    let said = world.say("mkfs -t f2fs --size 64M --dry-run image").good();
    assert!(said.contains("64.0 MiB, 1 directory, 0 other files"), "{said}");
    assert!(!world.path("image").exists());
    let run = world.say("mkfs -t f2fs -O nonsense --size 64M image");
    assert_eq!(run.code, 2, "{run:?}");
}

/// The raw image of a sparse one. Unwritten parts of a flash chip are noise.
fn unpacked(packed: &[u8]) -> Vec<u8> {
    let word = |at: usize| u32::from_le_bytes(*packed[at..].first_chunk().unwrap());
    assert_eq!((word(0), word(4), word(8)), (0xed26_ff3a, 1, 0x000c_001c));
    let (block, blocks, chunks) = (word(12) as usize, word(16) as usize, word(20));
    let (mut raw, mut at) = (Vec::new(), 28);
    for _ in 0..chunks {
        let (kind, count, all) = (word(at), word(at + 4) as usize, word(at + 8) as usize);
        let data = &packed[at + 12..at + all];
        match kind {
            0xcac1 => raw.extend_from_slice(data),
            0xcac2 => raw.extend(data.repeat(count * block / 4)),
            _ => {
                assert_eq!(kind, 0xcac3);
                raw.resize(raw.len() + count * block, 0x5a);
            }
        }
        assert_eq!(raw.len() % block, 0);
        at += all;
    }
    assert_eq!((at, raw.len()), (packed.len(), blocks * block));
    raw
}

#[test]
fn a_sparse_image_holds_the_volume_whatever_the_flash_held() {
    for block in ["4k", "16k"] {
        let world = world();
        let options = format!("mkfs -t f2fs -b {block} --from tree --free 200M");
        world.say(&format!("{options} --sparse packed")).good();
        let packed = fs::read(world.path("packed")).unwrap();
        assert!(packed.len() < 8 << 20, "{}", packed.len());
        fs::write(world.path("image"), unpacked(&packed)).unwrap();
        world.say("fsck -n image").good();
        world.say("get image / back").good();
        let same = Command::new("diff").arg("-r").args([world.path("tree"), world.path("back")]).status();
        assert!(same.unwrap().success());
        world.say("ls packed").bad(1, &["packed", "an Android sparse image"]);
        world.say("mkfs -t f2fs --size 64M --sparse packed").bad(1, &["packed: exists already"]);
        assert_eq!(fs::read(world.path("packed")).unwrap(), packed);
        assert_eq!(fs::read_dir(world.path(".")).unwrap().count(), 4);
    }
}

#[test]
fn scripts_for_mkfs_f2fs_are_understood() {
    let world = World::new();
    symlink(env!("CARGO_BIN_EXE_pumice"), world.path("mkfs.f2fs")).unwrap();
    let call = |words: &str| {
        let mut command = Command::new(world.path("mkfs.f2fs"));
        finish(command.current_dir(world.path(".")).args(words.split(' ')))
    };
    let blank = |name: &str, mib: u64| File::create(world.path(name)).unwrap().set_len(mib << 20).unwrap();
    blank("card", 100);
    let said = call("-fq -l card -w 4096 -a 1 -d1 -t 0 -T -1 -o 0 -e mp9,mp8 -H -r -i card 16384").good();
    assert_eq!((said.as_str(), fs::metadata(world.path("card")).unwrap().len()), ("", 64 << 20));
    let sb = json(&world, "dump --json card sb");
    assert_eq!((&sb["label"], &sb["sector_bytes"]), (&"card".into(), &4096.into()));
    world.say("fsck -n card").good();
    call("card").bad(1, &["card: exists already"]);
    // A file that is only a hole may be taken.
    blank("phone", 64);
    call("phone").good();
    for (options, wanted) in [
        ("-g android", ["encrypt", "extra_attr", "project_quota", "quota_ino", "verity"].as_slice()),
        ("-gandroid -O ro", &["ro"]),
    ] {
        call(&format!("{options} phone")).good();
        let sb = json(&world, "dump --json phone sb");
        assert_eq!(sb["features"], serde_json::json!(wanted));
        world.say("fsck -n phone").good();
    }
    call("-S 67108864 sparse").good();
    assert_eq!(unpacked(&fs::read(world.path("sparse")).unwrap()).len(), 64 << 20);
    assert!(call("-V").good().contains(env!("CARGO_PKG_VERSION")));
    for (words, named) in [
        ("-c other phone", "-c"),
        ("-m phone", "-m"),
        ("-g ios phone", "-g"),
        ("-w 3000 phone", "3000"),
        ("-t 2 phone", "--discard"),
        ("-a 2 phone", "-a"),
        ("-d x phone", "-d"),
        ("-i -S 0 phone", "-S"),
        ("-Q phone", "-Q"),
        ("phone 0", "--size"),
        ("-l", "-l"),
    ] {
        let run = call(words);
        assert!(run.err.contains(named), "{words}: {run:?}");
        assert_eq!(run.code, 1, "{words}: {run:?}");
    }
    world.say("mkfs -t f2fs -i --size auto new").bad(2, &["-i needs --size"]);
    world.say("mkfs -d 1 --size 64M new").bad(2, &["-d is for F2FS"]);
    assert!(!world.path("new").exists());
}

#[test]
fn files_get_labels_and_owners_by_lists_of_android() {
    let world = world();
    fs::write(
        world.path("contexts"),
        "/system(/.*)? u:object_r:system:s0\n/system/below -d u:object_r:below:s0\n",
    )
    .unwrap();
    fs::write(world.path("owners"), "system/below 7 8 0711\nsystem/other 0 0 0644\nsystem/more 0 0 0644\n")
        .unwrap();
    let command = "mkfs -t f2fs -O ro --size auto --from tree --mount-point system";
    let run = world.say(&format!("{command} --file-contexts contexts --fs-config owners image"));
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.err, "pumice: owners: line 2: `system/other` is not in the tree; 1 more\n");
    for (path, label) in [("/", "system"), ("/below", "below"), ("/below/large.mp3", "system")] {
        let found = world.say(&format!("stat image {path}")).good();
        assert!(
            found.contains(&format!("xattr: security.selinux = u:object_r:{label}:s0\\u{{0}}\n")),
            "{found}"
        );
    }
    assert!(world.say("stat image /below").good().contains("mode: 0711 drwx--x--x, owner 7, group 8"));
    fs::write(world.path("contexts"), "/system( u:object_r:system:s0\n").unwrap();
    world.say(&format!("{command} --file-contexts contexts new")).bad(1, &["contexts: line 1", "/system("]);
    world.say(&format!("{command} --file-contexts missing new")).bad(1, &["missing"]);
    world.say(&format!("{command} new")).bad(2, &["--file-contexts"]);
    assert!(!world.path("new").exists());
}

#[test]
fn a_system_image_is_small_and_only_read() {
    let world = world();
    let same = |image: &str| {
        world.say(&format!("fsck -n {image}")).good();
        world.say(&format!("get {image} / back")).good();
        let same = Command::new("diff").arg("-r").args([world.path("tree"), world.path("back")]).status();
        assert!(same.unwrap().success());
        fs::remove_dir_all(world.path("back")).unwrap();
    };
    let command = "mkfs -t f2fs -O ro --from tree";
    let made = world.say(&format!("{command} --size auto image")).good();
    assert!(made.starts_with("image: F2FS of 18.0 MiB"), "{made}");
    same("image");
    world.say(&format!("{command} --compress-algorithm lz4 --free 1M --sparse packed")).good();
    fs::write(world.path("raw"), unpacked(&fs::read(world.path("packed")).unwrap())).unwrap();
    same("raw");
    world.say(&format!("{command} --size 18M small")).bad(1, &["small", "too few"]);
    world.say("mkfs -t f2fs -O ro,quota --size 64M small").bad(1, &["small", "feature ro", "quota_ino"]);
    let words = "cannot be written to: it has the feature ro";
    world.say("put image tree/small /new").bad(1, &["image", words]);
    fs::create_dir(world.path("mnt")).unwrap();
    world.say("mount -o rw image mnt").bad(1, &["image", words]);
    assert_eq!(fs::metadata(world.path("image")).unwrap().len(), (2 + 9 * 512) * 4096);
}

#[test]
fn files_are_compressed_by_extension_by_any_number_of_threads() {
    let world = world();
    let numbers = (0..40_000).map(|number: u32| number.to_string()).collect::<Vec<_>>().join("\n");
    fs::write(world.path("tree/below/numbers.txt"), &numbers).unwrap();
    fs::write(world.path("tree/numbers.raw"), &numbers).unwrap();
    let command =
        "mkfs -t f2fs --from tree --free 1M --compress-algorithm zstd:5 --compress-extensions txt,.mp3";
    let command = format!("{command} --compress-log-size 3 --compress-chksum --compress-release {FIXED}");
    for threads in [1, 2, 5] {
        world.say(&format!("{command} --threads {threads} --force image{threads}")).good();
    }
    let image = fs::read(world.path("image1")).unwrap();
    assert!(
        image == fs::read(world.path("image2")).unwrap() && image == fs::read(world.path("image5")).unwrap()
    );
    world.say("fsck -n image1").good();
    for (name, is_compressed) in
        [("/below/numbers.txt", true), ("/below/large.mp3", true), ("/numbers.raw", false)]
    {
        let stat = document(&world.say(&format!("stat --json image1 {name}")).good(), "stat");
        assert_eq!(stat.to_string().contains("compressed"), is_compressed, "{stat}");
    }
    world.say("get image1 / back").good();
    let same = Command::new("diff").arg("-r").args([world.path("tree"), world.path("back")]).status();
    assert!(same.unwrap().success());
    for (words, said) in [
        ("--compress-algorithm lz5", "unknown algorithm `lz5`"),
        ("--compress-algorithm lz4:2", "lz4 has levels 3 to 12"),
        ("--compress-algorithm zstd --compress-log-size 9", "9"),
        ("--compress-release", "--compress-algorithm"),
    ] {
        world.say(&format!("mkfs -t f2fs --size 64M {words} image")).bad(2, &[said]);
    }
    world.say("mkfs --size 64M --compress-algorithm lz4 image").bad(2, &["--compress-algorithm is for F2FS"]);
}

#[test]
fn files_are_sealed_and_directories_ignore_case() {
    let world = world();
    fs::create_dir_all(world.path("tree/Games/Saves")).unwrap();
    fs::write(world.path("tree/Games/Saves/One"), "1").unwrap();
    let command = format!("mkfs -t f2fs --from tree --free 1M {FIXED} --force");
    let said = world.say(&format!("{command} --verity /below/*.mp3 --verity small image")).good();
    // A file with several names is told by the first in order.
    let digests: Vec<&str> = said.lines().filter(|line| line.starts_with("sha256:")).collect();
    assert_eq!(digests.len(), 2, "{said}");
    assert!(
        digests[0].ends_with(" /below/deeper/again") && digests[1].ends_with(" /below/large.mp3"),
        "{said}"
    );
    let tool = Command::new("fsverity").arg("digest").arg(world.path("tree/below/large.mp3")).output();
    let tool = String::from_utf8(tool.unwrap().stdout).unwrap();
    let digest = tool.split_whitespace().next().unwrap();
    assert!(digests[1].starts_with(digest), "{digests:?} {digest}");
    world.say("fsck -n image").good();
    let stat = document(&world.say("stat --json image /below/large.mp3").good(), "stat");
    assert!(stat.to_string().contains("verity"), "{stat}");
    let salted = |seed: u32| {
        let more = "--verity small --verity-salt --verity-hash sha512 --verity-block-size 1k";
        world.say(&format!("{command} {more} --seed {seed} image")).good()
    };
    assert!(salted(1).contains("sha512:") && salted(1) == salted(1) && salted(1) != salted(2));
    world.say("fsck -n image").good();
    world.say(&format!("{command} -C utf8 --casefold /Games image")).good();
    world.say("cat image /gAMES").bad(1, &["gAMES"]);
    assert_eq!(world.say("cat image /Games/sAVES/oNE").good(), "1");
    world.say("fsck -n image").good();
    fs::write(world.path("tree/Games/Saves/one"), "2").unwrap();
    for (words, said) in [
        ("-C utf8 --casefold /Games", "Games/Saves/"),
        ("-C utf8 --casefold /nowhere", "--casefold /nowhere"),
        ("--verity none", "--verity none: no file goes by that"),
    ] {
        world.say(&format!("{command} {words} other")).bad(1, &[said]);
    }
    world.say(&format!("{command} --casefold /Games other")).bad(2, &["--encoding"]);
    world.say(&format!("{command} --verity small --verity-block-size 8k other")).bad(1, &["Merkle tree"]);
}

/// Attributes that can be set on the host come back; the host's file system may have no flags, and then nothing is said
/// of them.
#[test]
fn flags_of_the_host_are_kept() {
    let world = world();
    let small = world.path("tree/small");
    let set = Command::new("chattr").args(["+dA"]).arg(&small).status();
    if !set.is_ok_and(|set| set.success()) {
        eprintln!("skipped: the host's file system keeps no flags");
        return;
    }
    world.say("mkfs -t f2fs --from tree --free 1M image").good();
    let stat = document(&world.say("stat --json image /small").good(), "stat").to_string();
    assert!(stat.contains("0x100000c0"), "{stat}");
}
