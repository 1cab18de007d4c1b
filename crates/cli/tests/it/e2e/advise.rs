//! `system.advise`, which Linux's kernel lets anybody change on a mount.

use std::{
    fs::{self, File},
    os::unix::{fs::chown, process::CommandExt},
    process::Command,
};

use super::mounting::{Bench, run};

/// The owner of the file, and somebody else.
const OWNER: u32 = 54_321;
const STRANGER: u32 = 54_322;

#[test]
fn only_its_owner_and_root_say_how_often_a_file_changes() {
    let Some(mut bench) = Bench::of_f2fs("64M") else { return };
    bench.mount();
    let file = bench.inside("file");
    File::create(&file).unwrap();
    chown(&file, Some(OWNER), Some(OWNER)).unwrap();
    let setfattr = |uid: u32, words: &[&str]| {
        let done = Command::new("setfattr").args(words).arg(&file).uid(uid).gid(uid).output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        said.rsplit(": ").next().unwrap_or_default().trim().to_owned()
    };
    let value = || {
        run(Command::new("getfattr")
            .args(["--absolute-names", "-e", "hex", "-n", "system.advise"])
            .arg(&file))
    };
    let set = |uid, value| setfattr(uid, &["-n", "system.advise", "-v", value]);
    assert_eq!(set(STRANGER, "0x01"), "Operation not permitted");
    assert_eq!(set(OWNER, "0x01"), "");
    assert!(value().contains("system.advise=0x01"), "{}", value());
    assert_eq!(set(OWNER, "0x02"), "Invalid argument");
    assert_eq!(setfattr(STRANGER, &["-x", "system.advise"]), "Operation not permitted");
    assert_eq!(setfattr(OWNER, &["-x", "system.advise"]), "Invalid argument");
    assert_eq!(set(0, "0x20"), "");
    let listed = run(Command::new("getfattr").args(["--absolute-names", "-d", "-m", "-"]).arg(&file));
    assert_eq!(listed, "");
    bench.unmount();
    bench.mount();
    assert!(value().contains("system.advise=0x20"), "{}", value());
    fs::remove_file(&file).unwrap();
    bench.unmount();
    bench.check();
}
