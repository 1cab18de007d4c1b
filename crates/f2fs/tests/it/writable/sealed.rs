//! Sealed files on a volume that is written to: their content stays, and all else goes on as with others.

use std::{fmt::Write, fs};

use pumice_f2fs::{
    F2fs, MountOptions, WritableF2fs,
    crypt::Keyring,
    verity::{HashAlgorithm, Seal},
};
use pumice_vfs::{Errno, FileKind, FileSystem, Ino, RenameMode, SetAttr, SpaceMode, XattrMode};
use xtask::{Machine, f2fs};

use super::{
    compressed::rule,
    crash::{mount_by, options},
    disk::{SharedDisk, save},
    power::Live,
    subject::{Shape, node, ours, sound, volume},
};
use pumice_f2fs::WritableOptions;
use pumice_vfs::conformance::TestClock;

const SHAPE: Shape = Shape {
    features: &["extra_attr", "inode_checksum", "quota_ino", "compression", "verity"],
    ..Shape::PLAIN
};

/// Around the end of inline content, of a block, and of the levels of the tree.
const SIZES: [usize; 8] = [0, 1, 3000, 4096, 4097, 128 * 4096, 128 * 4096 + 1, 3_000_000];

fn content(size: usize) -> Vec<u8> {
    (0..size).map(|at| u8::try_from((at / 7 + at / 4096 * 3) % 251).unwrap()).collect()
}

fn open(live: &Live) -> WritableF2fs {
    let compression = pumice_f2fs::CompressionRule { extensions: vec!["txt".into()], ..rule("lz4", 2) };
    mount_by(live, WritableOptions { compression, ..options() }).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// A volume with a sealed file of each size, plain and compressed, and the digests by name.
fn sealed_volume(seal: &Seal) -> (Live, Vec<(String, usize, String)>) {
    let live = Live::new(volume(96 << 20, &SHAPE, &TestClock::new()));
    let (fs, mut files) = (open(&live), Vec::new());
    for (size, ending) in SIZES.into_iter().flat_map(|size| [(size, "bin"), (size, "txt")]) {
        let name = format!("{size}.{ending}");
        let file = fs.create(Ino::ROOT, name.as_bytes(), &node(FileKind::File)).unwrap().ino;
        fs.write(file, 0, &content(size)).unwrap();
        let digest = fs.seal(file, seal).unwrap();
        files.push((name, size, hex(&digest)));
    }
    fs.unmount().unwrap();
    (live, files)
}

fn errno<T: std::fmt::Debug>(done: pumice_vfs::Result<T>) -> Errno {
    done.unwrap_err().errno()
}

#[track_caller]
fn stays_as_it_is(fs: &dyn FileSystem, ino: Ino, size: usize) {
    let resize = |size| SetAttr { size: Some(size), ..SetAttr::default() };
    assert_eq!(errno(fs.write(ino, 0, b"x")), Errno::Perm);
    assert_eq!(errno(fs.write(ino, size as u64, b"x")), Errno::Perm);
    assert_eq!(errno(fs.set_attr(ino, &resize(0))), Errno::Perm);
    assert_eq!(errno(fs.set_attr(ino, &resize(size as u64 + 1))), Errno::Perm);
    assert_eq!(errno(fs.allocate(ino, SpaceMode::PunchHole, 0, 4096)), Errno::Perm);
    let mut found = vec![0; size + 1];
    assert_eq!(fs.read(ino, 0, &mut found).unwrap(), size);
    assert!(found[..size] == content(size), "{size} bytes");
}

#[test]
fn a_sealed_file_keeps_its_content_and_nothing_else() {
    let seal = Seal::new(HashAlgorithm::Sha256, 4096, vec![7; 16]);
    let (live, files) = sealed_volume(&seal);
    let fs = open(&live);
    let dir = fs.create(Ino::ROOT, b"dir", &node(FileKind::Dir)).unwrap().ino;
    for (name, size, digest) in &files {
        let ino = fs.lookup(Ino::ROOT, name.as_bytes()).unwrap().ino;
        let wanted = seal
            .of(*size as u64, |at, piece| {
                let at = usize::try_from(at).unwrap();
                piece.copy_from_slice(&content(*size)[at..at + piece.len()]);
                Ok::<(), ()>(())
            })
            .unwrap();
        assert_eq!(hex(&wanted.digest), *digest);
        stays_as_it_is(&fs, ino, *size);
        assert!(matches!(fs.seal(ino, &seal), Err(pumice_f2fs::Error::Errno(Errno::Exists))));
        fs.set_attr(ino, &SetAttr { perm: Some(0o600), uid: Some(5), ..SetAttr::default() }).unwrap();
        fs.set_xattr(ino, b"user.pumice", &[1; 4000], XattrMode::Either).unwrap();
        fs.link(ino, dir, name.as_bytes()).unwrap();
        fs.rename(Ino::ROOT, name.as_bytes(), dir, b"moved", RenameMode::Replace).unwrap();
        fs.fsync(ino, false).unwrap();
        stays_as_it_is(&fs, ino, *size);
    }
    fs.unmount().unwrap();
    sound(&live);
    let fs = open(&live);
    for (name, size, _) in &files {
        let ino = fs.lookup(dir, name.as_bytes()).unwrap().ino;
        stays_as_it_is(&fs, ino, *size);
        fs.unlink(dir, name.as_bytes()).unwrap();
    }
    fs.unlink(dir, b"moved").unwrap();
    fs.rmdir(Ino::ROOT, b"dir").unwrap();
    fs.unmount().unwrap();
    ours(&live);
}

/// A number that is used again is another file.
#[test]
fn a_changed_block_is_not_read_and_a_number_used_again_is_another_file() {
    let seal = Seal::new(HashAlgorithm::Sha512, 1024, Vec::new());
    let (live, _) = sealed_volume(&seal);
    let read_only = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover: None };
    let reader = F2fs::mount(vec![Box::new(live.clone())], read_only).unwrap();
    let (inode, node) = reader.inode(reader.lookup(Ino::ROOT, b"3000000.bin").unwrap().ino).unwrap();
    let first = u32::from_le_bytes(node.block[inode.addrs_at()..][..4].try_into().unwrap());
    let disk = SharedDisk::of(4096, {
        let mut bytes = live.image().bytes_now();
        bytes[first as usize * 4096 + 17] ^= 1;
        bytes
    });
    let fs = super::linux::open(&disk).unwrap();
    let mut buffer = [0; 4096];
    let file = fs.lookup(Ino::ROOT, b"3000000.bin").unwrap().ino;
    assert_eq!(errno(fs.read(file, 0, &mut buffer)), Errno::Io);
    assert_eq!(fs.read(file, 4096, &mut buffer).unwrap(), 4096);
}

/// Linux measures what was sealed here, and refuses to change it.
#[test]
fn linux_takes_the_seals() {
    let Some(machine) = Machine::for_test() else { return };
    let seal = Seal::new(HashAlgorithm::Sha256, 4096, vec![1, 2, 3]);
    let (live, files) = sealed_volume(&seal);
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = place.path().join("sealed");
    save(&live, &path);
    let script = "
for file in *; do fsverity measure $file; cat $file >/tmp/content; if (echo >>$file) 2>/dev/null; then exit 9; fi; done
rm 4097.bin; mv 4096.bin moved; sync";
    let said = f2fs::mount_in_kernel(&machine, &path, script).unwrap();
    for (name, _, digest) in &files {
        assert!(said.lines().any(|line| line == format!("sha256:{digest} {name}")), "{name}: {said}");
    }
    sound(&SharedDisk::of(4096, fs::read(&path).unwrap()));
}
