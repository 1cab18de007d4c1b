//! Access control lists: kept, inherited, enforced, copied.

use std::{
    fs::{self, File},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::Path,
    process::Command,
};

use super::mounting::{Bench, run};

/// Neither root nor anybody with a file here.
const STRANGER: u32 = 54_321;

fn setfacl(words: &[&str], path: &Path) {
    run(Command::new("setfacl").args(words).arg(path));
}

fn getfacl(path: &Path) -> String {
    let text = run(Command::new("getfacl").args(["-cnp", "--no-effective"]).arg(path));
    text.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn stranger_can_read(path: &Path) -> bool {
    let mut cat = Command::new("cat");
    cat.arg(path).uid(STRANGER).gid(STRANGER).output().unwrap().status.success()
}

#[test]
fn a_list_and_the_permission_bits_keep_step() {
    let Some(mut bench) = Bench::new("16M") else { return };
    bench.mount();
    let file = bench.inside("file");
    File::create(&file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    setfacl(&["-m", "u:54321:rw"], &file);
    let list = "user::rw- user:54321:rw- group::r-- mask::rw- other::---";
    assert_eq!((getfacl(&file).as_str(), mode(&file)), (list, 0o660));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o604)).unwrap();
    assert_eq!(getfacl(&file), "user::rw- user:54321:rw- group::r-- mask::--- other::r--");
    setfacl(&["-b"], &file);
    assert_eq!((getfacl(&file).as_str(), mode(&file)), ("user::rw- group::--- other::r--", 0o604));
}

#[test]
fn a_list_lets_in_whom_it_names() {
    let Some(mut bench) = Bench::new("16M") else { return };
    bench.mount();
    let file = bench.inside("file");
    fs::write(&file, "content").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(!stranger_can_read(&file));
    setfacl(&["-m", "u:54321:r"], &file);
    assert!(stranger_can_read(&file));
    bench.unmount();
    bench.check();
    bench.mount();
    assert!(stranger_can_read(&file), "the list did not survive the unmount");
    setfacl(&["-x", "u:54321"], &file);
    assert!(!stranger_can_read(&file));
}

#[test]
fn what_is_made_in_a_directory_inherits_its_default_list() {
    let Some(mut bench) = Bench::new("16M") else { return };
    bench.mount();
    let dir = bench.inside("dir");
    fs::create_dir(&dir).unwrap();
    setfacl(&["-m", "d:u:54321:rwx"], &dir);
    run(Command::new("sh").arg("-c").arg("umask 077; touch file; mkdir sub; mkfifo pipe").current_dir(&dir));
    let file = "user::rw- user:54321:rwx group::r-x mask::rw- other::r--";
    for name in ["file", "pipe"] {
        assert_eq!((getfacl(&dir.join(name)).as_str(), mode(&dir.join(name))), (file, 0o664), "{name}");
    }
    let sub = "user::rwx user:54321:rwx group::r-x mask::rwx other::r-x \
               default:user::rwx default:user:54321:rwx default:group::r-x default:mask::rwx default:other::r-x";
    assert_eq!((getfacl(&dir.join("sub")).as_str(), mode(&dir.join("sub"))), (sub, 0o775));
    run(Command::new("cp").arg("-a").arg(&dir).arg(bench.inside("copy")));
    for name in ["", "file", "sub"] {
        assert_eq!(getfacl(&dir.join(name)), getfacl(&bench.inside("copy").join(name)), "{name}");
    }
    setfacl(&["-k"], &dir);
    run(Command::new("sh").arg("-c").arg("umask 027; touch plain").current_dir(&dir));
    assert_eq!(mode(&dir.join("plain")), 0o640);
}
