//! Projects: a directory that hands its own down takes nothing of another.

use pumice_f2fs::{F2fs, MountOptions, crypt::Keyring, layout::InodeFlags};
use pumice_vfs::{Errno, FileKind, FileSystem, Ino, RenameMode, conformance::TestClock};

use super::{
    crash::{mount_by, options},
    policy::patch,
    power::Live,
    subject::{Shape, node, volume},
};

const SHAPE: Shape = Shape { features: &["extra_attr", "project_quota"], ..Shape::PLAIN };

/// As in Linux: names and links come only from the same project, and leave for a directory that hands nothing down.
#[test]
fn nothing_moves_between_projects() {
    let live = Live::new(volume(64 << 20, &SHAPE, &TestClock::new()));
    let fs = mount_by(&live, options()).unwrap();
    for name in [&b"one"[..], b"two", b"none"] {
        fs.create(Ino::ROOT, name, &node(FileKind::Dir)).unwrap();
    }
    fs.unmount().unwrap();
    for (name, project) in [(&b"one"[..], 1), (b"two", 2)] {
        patch(&live, name, |inode, _| {
            inode.flags = inode.flags.with(InodeFlags::PROJECT_INHERIT);
            inode.extra.as_mut().unwrap().project = project;
        });
    }
    let fs = mount_by(&live, options()).unwrap();
    let dir = |name: &[u8]| fs.lookup(Ino::ROOT, name).unwrap().ino;
    let [one, two, none] = [&b"one"[..], b"two", b"none"].map(dir);
    for dir in [one, two, none] {
        fs.create(dir, b"file", &node(FileKind::File)).unwrap();
        fs.create(dir, b"other", &node(FileKind::File)).unwrap();
    }
    let refused = |done: pumice_vfs::Result<()>| done.unwrap_err().errno() == Errno::CrossDevice;
    let link = |from: Ino, to: Ino| fs.link(fs.lookup(from, b"file")?.ino, to, b"link").map(drop);
    let (replace, exchange) = (RenameMode::Replace, RenameMode::Exchange);
    for (from, to) in [(one, two), (none, one), (two, one)] {
        assert!(refused(fs.rename(from, b"file", to, b"new", replace)));
        assert!(refused(fs.rename(from, b"file", to, b"file", replace)));
        assert!(refused(fs.rename(from, b"file", to, b"file", exchange)));
        assert!(refused(fs.rename(to, b"file", from, b"file", exchange)));
        assert!(refused(link(from, to)));
    }
    fs.rename(one, b"file", one, b"moved", replace).unwrap();
    fs.rename(one, b"moved", none, b"out", replace).unwrap();
    link(two, none).unwrap();
    assert!(refused(fs.rename(none, b"link", one, b"in", replace)));
    fs.rename(none, b"link", two, b"back", replace).unwrap();
    let out = fs.lookup(none, b"out").unwrap().ino;
    fs.unmount().unwrap();
    let how = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover: None };
    let reader = F2fs::mount(vec![Box::new(live)], how).unwrap();
    assert_eq!(reader.inode(out).unwrap().0.extra.unwrap().project, 1, "it keeps its project");
}
