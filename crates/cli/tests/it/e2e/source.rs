//! Trees to be copied, the same on every machine: a large one, and a small one of odd things.

use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use rustix::fs::{CWD, FileType, Mode, XattrFlags, makedev, mknodat, setxattr};

use super::{large_tree, mounting::run};

/// The files to copy: some names in a directory.
pub(crate) struct Source {
    pub(crate) root: PathBuf,
    pub(crate) names: Vec<PathBuf>,
}

impl Source {
    /// As many files as a system has, made in `place`.
    pub(crate) fn large(place: &Path) -> Source {
        let name = PathBuf::from("large");
        large_tree::make(&place.join(&name));
        Source { root: place.into(), names: vec![name] }
    }

    /// A directory made in `place`.
    pub(crate) fn made(place: &Path) -> Source {
        let name = PathBuf::from("made");
        make(&place.join(&name));
        Source { root: place.into(), names: vec![name] }
    }

    /// `cp -a` of everything into `target`.
    pub(crate) fn copy_to(&self, target: &Path) {
        run(Command::new("cp").arg("-a").args(&self.names).arg(target).current_dir(&self.root));
    }

    /// `diff -r --no-dereference` of everything; special files are left to [`super::walk`].
    #[track_caller]
    pub(crate) fn diff(&self, copy: &Path) {
        for name in &self.names {
            let mut diff = Command::new("diff");
            diff.args(["-r", "--no-dereference", "--exclude=special"]);
            run(diff.arg(self.root.join(name)).arg(copy.join(name)));
        }
    }
}

fn make(dir: &Path) {
    fs::create_dir_all(dir.join("special")).unwrap();
    let plain = dir.join("plain");
    fs::write(&plain, "content\n").unwrap();
    fs::hard_link(&plain, dir.join("hard link")).unwrap();
    fs::hard_link(&plain, dir.join("special/hard link from elsewhere")).unwrap();
    symlink("nowhere", dir.join("dangling")).unwrap();
    symlink("t".repeat(4000), dir.join("long target")).unwrap();
    symlink("plain", dir.join("owned link")).unwrap();
    std::os::unix::fs::lchown(dir.join("owned link"), Some(12), Some(34)).unwrap();
    fs::write(dir.join("n".repeat(255)), "").unwrap();
    fs::write(dir.join("new\nline \u{1fab6}"), "").unwrap();
    fs::write(dir.join("set-id"), "").unwrap();
    chown(dir.join("set-id"), Some(65_534), Some(4_000_000_000)).unwrap();
    fs::set_permissions(dir.join("set-id"), fs::Permissions::from_mode(0o6711)).unwrap();
    sparse(&dir.join("sparse"));
    attributes(&dir.join("attributes"));
    special(&dir.join("special"));
    for depth in 1..60 {
        fs::create_dir_all(dir.join("deep/".repeat(depth))).unwrap();
    }
    fs::set_permissions(dir.join("deep"), fs::Permissions::from_mode(0o1777)).unwrap();
    for (name, seconds) in [("old", -86_400), ("young", 5_000_000_000)] {
        fs::write(dir.join(name), name).unwrap();
        touch(&dir.join(name), seconds);
    }
}

fn touch(path: &Path, seconds: i64) {
    run(Command::new("touch").arg("-d").arg(format!("@{seconds}.123456789")).arg(path));
}

fn sparse(path: &Path) {
    let file = File::create(path).unwrap();
    file.write_all_at(b"begin", 0).unwrap();
    file.write_all_at(b"middle", 10 << 20).unwrap();
    file.set_len(64 << 20).unwrap();
}

fn attributes(path: &Path) {
    fs::write(path, "").unwrap();
    let value = [7; 2000];
    for (name, value) in
        [("user.short", &value[..3]), ("user.empty", &[]), ("user.long", &value), ("trusted.root", b"x")]
    {
        setxattr(path, name, value, XattrFlags::empty()).unwrap();
    }
}

fn special(dir: &Path) {
    mknodat(CWD, dir.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    mknodat(CWD, dir.join("null"), FileType::CharacterDevice, Mode::RUSR, makedev(1, 3)).unwrap();
    mknodat(CWD, dir.join("disk"), FileType::BlockDevice, Mode::RUSR, makedev(250, 70_000)).unwrap();
    mknodat(CWD, dir.join("socket"), FileType::Socket, Mode::RUSR, 0).unwrap();
}
