//! The verbs that write, on volumes of F2FS that are there already.

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
};

use crate::{
    common::World,
    f2fs::{can_mount, mounted},
};

/// A new volume, empty, in `card`.
fn card() -> World {
    let world = World::new();
    world.say("mkfs -t f2fs --size 64M card").good();
    world
}

/// Neither our check nor that of f2fs-tools finds anything.
#[track_caller]
fn sound(world: &World) {
    world.say("fsck -n card").good();
    let output = Command::new("fsck.f2fs").arg("--dry-run").arg(world.path("card")).output();
    let output = output.expect("f2fs-tools are installed");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !said.contains("[Fail]") && !said.contains("ASSERT"), "{said}");
}

fn planted(world: &World) {
    let tree = world.path("tree");
    fs::create_dir_all(tree.join("deep/er")).unwrap();
    for number in 0..400 {
        fs::write(tree.join(format!("deep/file-{number}")), vec![7; number * 31]).unwrap();
    }
    fs::write(tree.join("deep/er/big.mp3"), vec![0x5a; 9_000_000]).unwrap();
    std::os::unix::fs::symlink("deep/er", tree.join("link")).unwrap();
    fs::hard_link(tree.join("deep/file-9"), tree.join("again")).unwrap();
}

#[test]
fn every_verb_leaves_a_sound_volume() {
    let world = card();
    planted(&world);
    for line in [
        "put card tree /",
        "mkdir -p card /a/b/c",
        "mv card /tree/deep/er /a/b/c",
        "ln card /tree/again /a/third",
        "ln -s card nowhere /a/link",
        "rm card /tree/deep/file-7",
        "mv --exchange card /tree/deep/file-8 /a/b",
    ] {
        world.say(line).good();
        sound(&world);
    }
    world.say("mv --exchange card /tree/deep/file-8 /a/b").good();
    world.say("mv card /a/b/c/er /tree/deep").good();
    world.say("get card /tree back").good();
    fs::remove_file(world.path("tree/deep/file-7")).unwrap();
    let same =
        Command::new("diff").arg("-r").args([world.path("tree"), world.path("back")]).output().unwrap();
    assert!(same.status.success(), "{}", String::from_utf8_lossy(&same.stdout));
    world.say("rm -r card /tree /a").good();
    sound(&world);
    assert_eq!(world.say("ls card /").good(), "");
}

#[test]
fn a_command_that_only_says_changes_nothing() {
    let world = card();
    planted(&world);
    world.say("mkdir card /dir").good();
    let before = fs::read(world.path("card")).unwrap();
    for line in ["put -n card tree /", "mkdir -n card /x", "mv -n card /dir /y", "rm -r --dry-run card /dir"]
    {
        let line = line.replace(" -n ", " --dry-run ");
        assert!(world.say(&line).good().starts_with("would "), "{line}");
    }
    assert!(before == fs::read(world.path("card")).unwrap());
}

#[test]
fn a_volume_in_use_is_refused() {
    let world = card();
    let file = File::options().read(true).write(true).open(world.path("card")).unwrap();
    file.lock().unwrap();
    // A process that serves no mount is waited for.
    let _fuse = File::open("/dev/fuse");
    world.say("mkdir card /dir").bad(1, &["card", "in use"]);
}

/// A volume of Linux, in `card`.
fn golden(name: &str) -> World {
    let world = World::new();
    let image = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../f2fs/tests/images/{name}.img.zst"));
    let mut zstd = Command::new("zstd");
    zstd.args(["-dq", "--long=27", "--sparse", "-o"]).arg(world.path("card")).arg(image);
    assert!(zstd.status().unwrap().success(), "zstd is installed");
    world
}

/// Files are put into a directory that Linux compresses in; old ones are replaced, moved and removed.
#[test]
fn compressed_files_are_written() {
    let world = golden("compress");
    fs::create_dir(world.path("tree")).unwrap();
    for number in 0..30 {
        fs::write(world.path(&format!("tree/file-{number}")), vec![7; number * 3001]).unwrap();
    }
    for line in [
        "rm -r card /zstd-2",
        "put card tree /lz4-2",
        "put --force card tree/file-29 /lz4-2/text",
        "mv card /lz4-2/overwritten /moved",
    ] {
        world.say(line).good();
        sound(&world);
    }
    for path in ["/lz4-2/text", "/lz4-2/tree/file-9", "/moved"] {
        let stat = world.say(&format!("stat card {path}")).good();
        assert!(stat.contains("compressed"), "{path}: {stat}");
    }
    world.say("get card /lz4-2/tree back").good();
    let (tree, back) = (world.path("tree"), world.path("back"));
    let same = Command::new("diff").arg("-r").args([tree, back]).output().unwrap();
    assert!(same.status.success(), "{}", String::from_utf8_lossy(&same.stdout));
}

#[test]
fn what_is_not_written_is_refused_by_name() {
    let world = golden("zoned");
    let before = fs::read(world.path("card")).unwrap();
    world.say("mkdir card /dir").bad(1, &["cannot be written to", "blkzoned"]);
    fs::create_dir(world.path("mnt")).unwrap();
    world.say("mount -o rw card mnt").bad(1, &["cannot be written to", "blkzoned"]);
    world.say("mount --dry-run -o ro card mnt").good();
    assert!(before == fs::read(world.path("card")).unwrap());
}

/// The verbs write with the key: names and contents are there with it, and nowhere without.
#[test]
fn encrypted_files_are_written_with_their_key() {
    let world = golden("encrypt");
    fs::write(world.path("key"), (0..64).collect::<Vec<u8>>()).unwrap();
    fs::write(world.path("other"), [7; 64]).unwrap();
    fs::write(world.path("wrapped"), [7; 100]).unwrap();
    fs::write(world.path("secret"), "what nobody may read\n".repeat(3000)).unwrap();
    let before = fs::read(world.path("card")).unwrap();
    world.say("--key-file wrapped mkdir card /dir").bad(1, &["wrapped", "hardware"]);
    world.say("--key-file other put card secret /adiantum").bad(1, &["secret", "key not available"]);
    assert!(before == fs::read(world.path("card")).unwrap(), "nothing was written");
    world.say("--key-file key put card secret /adiantum").good();
    world.say("--key-file key mkdir card /aes-pad32/made").good();
    world.say("--key-file key put card secret /aes-pad32/made/also").good();
    world.say("--key-file key ln -s card target /aes-pad32/made/link").good();
    world.say("--key-file key mv card /aes-pad32/made /adiantum/made").bad(1, &["cross-device"]);
    world.say("--key-file key get card /aes-pad32/made/also back").good();
    assert!(fs::read(world.path("back")).unwrap() == fs::read(world.path("secret")).unwrap());
    assert!(!world.say("ls -R card").good().contains("secret"));
    assert!(world.say("--key-file key ls -R card").good().contains("secret"));
    world.say("fsck -n card").good();
    let bytes = fs::read(world.path("card")).unwrap();
    assert!(!bytes.windows(20).any(|window| window == b"what nobody may read"));
}

/// On a mount with the key any program writes; without it a file cannot even be opened, nor a sealed one to be written.
#[test]
fn a_mount_writes_encrypted_files_and_guards_others() {
    if !can_mount() {
        return;
    }
    let world = golden("encrypt");
    fs::write(world.path("key"), (0..64).collect::<Vec<u8>>()).unwrap();
    let dir = world.path("dir");
    mounted(&world, "--key-file key mount --daemon card dir", || {
        fs::write(dir.join("adiantum/new"), "words".repeat(9000)).unwrap();
        let mut file = File::options().append(true).open(dir.join("adiantum/size-4097")).unwrap();
        file.write_all(b"more").unwrap();
        file.sync_all().unwrap();
        fs::create_dir(dir.join("aes128/sub")).unwrap();
        fs::rename(dir.join("aes128/size-17"), dir.join("aes128/sub/moved")).unwrap();
        let refused = fs::rename(dir.join("aes128/sub/moved"), dir.join("adiantum/moved")).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(18), "EXDEV");
        std::os::unix::fs::symlink("target", dir.join("aes128/sub/link")).unwrap();
    });
    world.say("fsck -n card").good();
    mounted(&world, "--key-file key mount --daemon card dir", || {
        assert_eq!(fs::read_to_string(dir.join("adiantum/new")).unwrap(), "words".repeat(9000));
        assert!(fs::read(dir.join("adiantum/size-4097")).unwrap().ends_with(b"more"));
        assert_eq!(fs::read(dir.join("aes128/sub/moved")).unwrap().len(), 17);
        assert_eq!(fs::read_link(dir.join("aes128/sub/link")).unwrap(), Path::new("target"));
    });
    mounted(&world, "mount --daemon card dir", || {
        let entries = fs::read_dir(dir.join("adiantum")).unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<_> = entries.filter(|path| path.symlink_metadata().unwrap().is_file()).collect();
        assert!(files.len() > 5);
        for file in files {
            assert_eq!(File::open(file).unwrap_err().raw_os_error(), Some(126), "ENOKEY");
        }
        assert!(File::open(dir.join("clear")).is_ok());
    });
    let world = golden("verity");
    let dir = world.path("dir");
    mounted(&world, "mount --daemon card dir", || {
        let sealed =
            fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
        let open = |path| File::options().append(true).open(path).map_err(|error| error.raw_os_error());
        let opened: Vec<_> = sealed.map(open).collect();
        assert!(opened.iter().any(|opened| matches!(opened, Err(Some(1)))), "EPERM: {opened:?}");
    });
}

/// Runs a program of e2fsprogs in a directory; its output, or its exit code.
fn attributes(dir: &Path, line: &str) -> Result<String, i32> {
    let (program, rest) = line.split_once(' ').unwrap();
    let output = Command::new(program).args(rest.split(' ')).current_dir(dir).output().unwrap();
    match output.status.code() {
        Some(0) => Ok(String::from_utf8(output.stdout).unwrap()),
        code => Err(code.unwrap()),
    }
}

#[test]
fn flags_and_projects_of_a_mount_are_set_and_guarded() {
    if !can_mount() {
        return;
    }
    let world = World::new();
    world.say("mkfs -t f2fs --size 64M -O extra_attr,project_quota,quota_ino,compression card").good();
    let dir = world.path("dir");
    let is_root = rustix::process::geteuid().is_root();
    let flag = if is_root { "a" } else { "d" };
    mounted(&world, "mount --daemon card dir", || {
        fs::create_dir(dir.join("project")).unwrap();
        fs::write(dir.join("log"), "line\n").unwrap();
        for line in ["chattr +P -p 7 project", "chattr +c project", "chattr +dA log"] {
            attributes(&dir, line).unwrap();
        }
        attributes(&dir, &format!("chattr +{flag} log")).unwrap();
        assert_eq!(attributes(&dir, "chattr +e log"), Err(1), "extents");
        let mut file = File::options().append(true).open(dir.join("log")).unwrap();
        file.write_all(b"more\n").unwrap();
        if is_root {
            let refused = |done: std::io::Result<()>| assert_eq!(done.unwrap_err().raw_os_error(), Some(1));
            refused(File::options().write(true).open(dir.join("log")).map(drop));
            refused(file.set_len(0));
            refused(fs::remove_file(dir.join("log")));
            refused(fs::rename(dir.join("log"), dir.join("old")));
            refused(fs::hard_link(dir.join("log"), dir.join("link")));
        }
        fs::write(dir.join("project/file"), "words".repeat(9000)).unwrap();
        let refused = fs::rename(dir.join("log"), dir.join("project/log")).unwrap_err().raw_os_error();
        assert_eq!(refused, Some(if is_root { 1 } else { 18 }), "EPERM goes before EXDEV");
    });
    sound(&world);
    let shown = |line: &str| attributes(&dir, line).unwrap();
    for how in ["rw", "ro"] {
        mounted(&world, &format!("mount --daemon -o {how} card dir"), || {
            let project = shown("lsattr -dp project/file");
            assert!(project.trim_start().starts_with("7 ") && project.contains('c'), "{project}");
            let log = shown("lsattr -d log");
            assert!(["d", "A", flag].iter().all(|flag| log.contains(flag)), "{log}");
        });
    }
}

/// Limits that the command sets bind whoever is not root, on mounts that ask for them.
#[test]
fn limits_are_set_and_bind_the_users_of_a_mount() {
    let world = World::new();
    world.say("mkfs -t f2fs --size 64M -O extra_attr,project_quota,quota_ino card").good();
    let shown = |line: &str| world.say(line).good();
    let before = shown("quota card");
    assert!(shown("quota --dry-run card -u 54321 --inodes 0:2").contains(" 2 "));
    assert_eq!(shown("quota card"), before);
    shown("quota card -u 54321 --inodes 0:2 --space 4k:1M");
    shown("quota card -p 7 --inodes 8:9");
    let list: serde_json::Value = serde_json::from_str(&shown("quota --json card -u 54321")).unwrap();
    let quota = &list["quotas"][0];
    assert_eq!((&quota["bytes"]["soft"], &quota["bytes"]["hard"]), (&4096.into(), &(1 << 20).into()));
    assert_eq!((&quota["inodes"]["used"], &quota["inodes"]["hard"]), (&0.into(), &2.into()));
    world.say("quota card -u 54321 --inodes 2").bad(2, &["SOFT:HARD"]);
    let before = shown("quota card");
    assert!(before.contains("grace of users: space 7d, inodes 7d"), "{before}");
    assert!(shown("quota --dry-run card --kind user --grace 90m:36h").contains("space 90m, inodes 36h"));
    assert_eq!(shown("quota card"), before);
    let after = shown("quota card --kind group --grace 90m:36h");
    assert!(after.contains("grace of groups: space 90m, inodes 36h") && !after.contains("users"), "{after}");
    let list: serde_json::Value = serde_json::from_str(&shown("quota --json card")).unwrap();
    let grace = &list["grace"][1];
    assert_eq!((&grace["kind"], &grace["bytes_s"]), (&"group".into(), &5400.into()));
    assert_eq!((&grace["inodes_s"], &list["grace"][0]["bytes_s"]), (&129_600.into(), &604_800.into()));
    for line in [
        "--kind group --grace 7d",
        "--kind group --grace 0:1",
        "--grace 1d:1d",
        "--kind user",
        "-u 1 --grace 1d:1d",
    ] {
        world.say(&format!("quota card {line}")).bad(2, &[]);
    }
    world.say("quota card --inodes 0:2").bad(2, &[]);
    sound(&world);
    if !can_mount() || !rustix::process::geteuid().is_root() {
        return;
    }
    let dir = world.path("dir");
    let user = ["--reuid", "54321", "--regid", "54321", "--clear-groups", "touch"];
    let make = |name| Command::new("setpriv").args(user).arg(name).current_dir(&dir).output().unwrap();
    mounted(&world, "mount --daemon -o allow_other,usrquota,prjquota card dir", || {
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(make("one").status.success() && make("two").status.success());
        let refused = make("three");
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && said.contains("quota"), "{said}");
        fs::write(dir.join("three"), "").unwrap();
        fs::create_dir(dir.join("project")).unwrap();
        let chattr = Command::new("chattr").args(["-p", "7", "+P", "project"]).current_dir(&dir).status();
        assert!(chattr.unwrap().success());
        let space =
            Command::new("stat").args(["-fc", "%c %d", "project"]).current_dir(&dir).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&space.stdout), "8 7\n");
    });
    sound(&world);
    mounted(&world, "mount --daemon -o allow_other card dir", || assert!(make("more").status.success()));
    sound(&world);
}

#[test]
fn encrypted_files_without_their_key_are_removed_and_not_changed() {
    let world = golden("encrypt");
    world.say("mkdir card /dir").good();
    world.say("mkdir card /adiantum/dir").bad(1, &["/adiantum/dir", "key"]);
    world.say("mv card /adiantum /dir/moved").good();
    let listed = world.say("ls card /dir/moved").good();
    let name = listed.lines().next().unwrap();
    world.say(&format!("mv card /dir/moved/{name} /name")).bad(1, &["key"]);
    world.say("rm -r card /dir/moved").good();
    world.say("fsck -n card").good();
}

#[test]
fn a_volume_is_tuned() {
    let world = golden("basic");
    world.say("tune card").bad(2, &["--label"]);
    world.say("tune -U one card").bad(2, &["random"]);
    world.say("tune -O nothing card").bad(2, &["unknown feature"]);
    world.say("tune -O quota card").bad(1, &["cannot be switched on"]);
    world.say("tune -e longer-than card").bad(1, &["longer-than"]);
    world.say("tune -E !nothing card").bad(1, &["not listed"]);
    world.say("tune -l x none").bad(1, &["none"]);
    let before = fs::read(world.path("card")).unwrap();
    let change = "-l photos -U 5d0b7a10-2f64-4c0e-9b1f-6c8f3a0c9d21 -e !apk,raw -E sqlite -O verity,casefold";
    let told = world.say(&format!("tune {change} --dry-run card")).good();
    assert!(told.contains("would set label: photos\n"), "{told}");
    assert!(fs::read(world.path("card")).unwrap() == before, "a dry run changes nothing");
    let told = world.say(&format!("tune {change} card")).good();
    assert!(told.contains("cold_extensions: !apk,raw\n"), "{told}");
    let info = world.say("info card").good();
    for line in ["label: photos\n", "uuid: 5d0b7a10-2f64-4c0e-9b1f-6c8f3a0c9d21\n", "casefold", "verity"] {
        assert!(info.contains(line), "{info}");
    }
    world.say("fsck -n card").good();
}

#[test]
fn a_volume_is_resized() {
    let world = golden("basic");
    let bytes = || fs::metadata(world.path("card")).unwrap().len();
    let (own, wanted) = (bytes(), world.say("tree card").good());
    world.say("resize card").bad(2, &["SIZE"]);
    world.say("resize card large").bad(2, &["invalid size"]);
    world.say("resize card 0").bad(2, &["too small"]);
    world.say("resize none 1G").bad(1, &["none"]);
    world.say("resize card 1M").bad(1, &["as small as"]);
    world.say("resize card 17T").bad(1, &["card"]);
    assert_eq!(bytes(), own, "what is refused leaves the file as it was");
    fs::copy(world.path("card"), world.path("cut")).unwrap();
    fs::File::options().write(true).open(world.path("cut")).unwrap().set_len(3_000_000).unwrap();
    for dry in ["--dry-run", ""] {
        world.say(&format!("resize cut 300M {dry}")).bad(1, &["cut short"]);
    }
    assert_eq!(fs::metadata(world.path("cut")).unwrap().len(), 3_000_000);
    let told = world.say("resize card 300M --dry-run").good();
    assert!(told.contains(&format!("would set bytes: {own} -> 314572800\n")), "{told}");
    assert_eq!(bytes(), own, "a dry run changes nothing");
    world.say("resize card 300M").good();
    assert_eq!(bytes(), 300 << 20);
    world.say("fsck -n card").good();
    let told = world.say(&format!("resize card {own}")).good();
    assert!(told.contains(&format!("bytes: 314572800 -> {own}\n")), "{told}");
    assert_eq!(bytes(), own);
    world.say("fsck -n card").good();
    assert_eq!(world.say("tree card").good(), wanted);
}

#[test]
fn files_are_written_anew_and_sections_emptied() {
    let world = golden("fragmented");
    world.say("clean card --all --to-free 3").bad(2, &["--to-free"]);
    world.say("clean card --to-free many").bad(2, &["many"]);
    world.say("clean none").bad(1, &["none: no such file or directory"]);
    world.say("defrag none").bad(1, &["none: no such file or directory"]);
    world.say("defrag card /nothing").bad(1, &["/nothing"]);
    let (before, wanted) = (fs::read(world.path("card")).unwrap(), world.say("tree card").good());
    let scattered = world.say("defrag card --dry-run").good();
    assert!(scattered.lines().count() > 0, "{scattered}");
    assert!(world.say("clean card --dry-run").good().contains("sections are free"));
    assert!(fs::read(world.path("card")).unwrap() == before, "a dry run changes nothing");
    let told = world.say("clean card --all").good();
    assert!(told.starts_with("free_sections: "), "{told}");
    let told = world.say("defrag card").good();
    assert!(told.contains(" -> 1 extents\n"), "{told}");
    let left = world.say("defrag card --dry-run").good();
    assert!(left.lines().count() < scattered.lines().count(), "{left}");
    world.say("fsck -n card").good();
    assert_eq!(world.say("tree card").good(), wanted);
}

/// A dry run says so, too.
#[test]
fn a_volume_that_is_not_written_is_not_cleaned() {
    let world = golden("zoned");
    for verb in ["defrag", "clean"] {
        for dry in ["--dry-run", ""] {
            world
                .say(&format!("{verb} card {dry}"))
                .bad(1, &["feature blkzoned, which is read but not written"]);
        }
    }
}

#[test]
fn files_are_sealed_and_keep_their_content() {
    let world = golden("verity");
    let wanted = world.say("seal --dry-run --salt 00ff card /without").good();
    assert_eq!(world.say("seal --salt 00ff card /without").good(), wanted);
    assert!(wanted.starts_with("sha256:") && wanted.ends_with(" /without\n"), "{wanted}");
    world.say("seal card /without").bad(1, &["/without"]);
    world.say("seal card --salt 0 /holes").bad(2, &["invalid salt"]);
    world.say("mv card /without /moved").good();
    world.say("rm card /moved").good();
    world.say("fsck -n card").good();
}

#[test]
fn nothing_is_written_without_recovery() {
    let world = card();
    planted(&world);
    world.say("put card tree /").good();
    let before = fs::read(world.path("card")).unwrap();
    for line in [
        "mkdir card /new",
        "put card tree/again /new",
        "rm card /tree/link",
        "mv card /tree/link /x",
        "ln card /tree/again /x",
    ] {
        world
            .say(&format!("--no-recovery {line}"))
            .bad(1, &["with --no-recovery an F2FS volume is only read"]);
    }
    assert!(fs::read(world.path("card")).unwrap() == before, "the volume is another");
    world.say("--no-recovery put --dry-run card tree/again /new").good();
}

/// A loop device, which goes when dropped.
struct Loop(String);

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

/// Bytes that a file takes on the host.
fn taken(world: &World, file: &str) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(&fs::metadata(world.path(file)).unwrap()) * 512
}

/// What is deleted is given back to the host at the next checkpoint, by an image file as by a device, unless the mount
/// says no; fstrim gives back the rest, and says how much. A mount that only reads gives nothing.
#[test]
fn what_is_deleted_is_given_back() {
    if can_mount() && rustix::process::geteuid().is_root() {
        given_back(false);
        given_back(true);
    }
}

fn given_back(is_device: bool) {
    const MIB: u64 = 1 << 20;
    let world = World::new();
    let dir = world.path("dir");
    let trim = || Command::new("fstrim").args(["-v", "dir"]).current_dir(world.path(".")).output().unwrap();
    let fill_and_empty = || {
        fs::write(dir.join("file"), vec![7; 20 << 20]).unwrap();
        File::open(dir.join("file")).unwrap().sync_all().unwrap();
        fs::remove_file(dir.join("file")).unwrap();
    };
    world.say("mkfs -t f2fs --force --size 128M card").good();
    let device = is_device.then(|| {
        let made =
            Command::new("losetup").args(["--find", "--show", "card"]).current_dir(world.path(".")).output();
        let made = made.ok().filter(|made| made.status.success());
        made.map(|made| Loop(String::from_utf8(made.stdout).unwrap().trim().to_owned()))
    });
    if let Some(None) = device {
        eprintln!("SKIPPED: no loop device can be made, so discards of devices were not tested");
        return;
    }
    let device = device.flatten();
    let card = device.as_ref().map_or("card", |device| &device.0);
    let fresh = taken(&world, "card");
    mounted(&world, &format!("mount --daemon {card} dir"), fill_and_empty);
    // umount(8) does not wait for the process behind the mount; whoever opens the card does.
    world.say(&format!("ls {card}")).good();
    assert!(taken(&world, "card") < fresh + 6 * MIB, "{card}: {}", taken(&world, "card"));
    mounted(&world, &format!("mount --daemon -o nodiscard {card} dir"), || {
        fill_and_empty();
        assert!(taken(&world, "card") > fresh + 18 * MIB, "{card}: {}", taken(&world, "card"));
        let said = trim();
        assert!(said.status.success(), "{said:?}");
        let said = String::from_utf8(said.stdout).unwrap();
        let bytes = said.split_once('(').unwrap().1.split(' ').next().unwrap().parse::<u64>().unwrap();
        assert!((60 * MIB..128 * MIB).contains(&bytes), "{said}");
        assert!(taken(&world, "card") < fresh + 6 * MIB, "{card}: {}", taken(&world, "card"));
    });
    mounted(&world, &format!("mount --daemon -o ro {card} dir"), || {
        let said = trim();
        let text = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(!said.status.success() && text.contains("Read-only"), "{said:?}");
    });
    drop(device);
    sound(&world);
}
