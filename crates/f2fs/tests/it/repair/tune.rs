//! Labels, identities, lists of extensions and features that are changed: all files stay, and every check is content.

use pumice_f2fs::{
    layout::Features,
    read_super_block,
    repair::{Repair, Tuning, tune},
};
use pumice_vfs::{FileKind, Ino, Timestamp};
use xtask::{Machine, f2fs};

use crate::writable::{
    disk::{SharedDisk, save},
    policy::POLICIES,
    subject::{Card, Shape, node, ours, theirs},
    tree::tree,
};

const UUID: [u8; 16] = [0x5d; 16];

fn tuned(disk: &SharedDisk, tuning: &Tuning) -> pumice_f2fs::Result<Repair> {
    tune(Box::new(disk.clone()), tuning, Timestamp::default(), 2, &mut |_, _| ())
}

/// A volume with files, unmounted.
fn filled(shape: &Shape) -> Card {
    let mut card = Card::new(64 << 20, shape);
    for number in 0..500_usize {
        let name = format!("file {number}");
        let file = card.fs().create(Ino::ROOT, name.as_bytes(), &node(FileKind::File)).unwrap().ino;
        card.fs().write(file, 0, &vec![7; number * 60]).unwrap();
    }
    card.close();
    card
}

fn uuid_alone() -> Tuning {
    Tuning { uuid: Some(UUID), ..Tuning::default() }
}

#[test]
fn all_changes_leave_the_files_and_linux_takes_them() {
    let shape = Shape { features: &["extra_attr", "inode_checksum"], ..Shape::PLAIN };
    let mut card = filled(&shape);
    let wanted = tree(card.fs());
    card.close();
    let tuning = Tuning {
        label: Some("photos".to_owned()),
        cold: vec!["!apk".to_owned(), "raw".to_owned()],
        hot: vec!["sqlite".to_owned()],
        features: Tuning::FEATURES.into_iter().fold(Features::default(), Features::with),
        ..uuid_alone()
    };
    let before = card.disk().bytes_now();
    let repair = tuned(card.disk(), &tuning).unwrap();
    assert!(card.disk().bytes_now() == before, "a plan writes");
    // Each inode has another checksum.
    assert!(repair.blocks() > 500, "{}", repair.blocks());
    repair.commit().unwrap();
    ours(card.disk());
    theirs(card.disk());
    let sb = read_super_block(card.disk()).unwrap();
    assert_eq!((sb.label().as_str(), sb.uuid()), ("photos", UUID));
    assert!(sb.features().has(tuning.features) && sb.features().has(Features::INODE_CHECKSUM));
    let raw = sb.raw();
    let has = |name: &[u8]| raw.extension_list.iter().any(|listed| listed.starts_with(name));
    assert!(!has(b"apk") && has(b"raw\0") && has(b"sqlite\0") && has(b"zst\0"));
    assert_eq!((raw.extension_count.get(), raw.hot_ext_count), (36, 5));
    assert!(tree(card.fs()) == wanted);
    card.close();
    let Some(machine) = Machine::for_test() else { return };
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = dir.path().join("card");
    save(card.disk(), &path);
    let said = f2fs::mount_in_kernel(&machine, &path, "cat file* | wc -c; : >new.sqlite").unwrap();
    assert_eq!(said.trim(), (0..500).map(|number| number * 60).sum::<u32>().to_string());
}

#[test]
fn a_uuid_stays_where_keys_derive_from_it() {
    for policy in &POLICIES {
        let shape = Shape { features: &["encrypt"], policy: Some(policy), ..Shape::PLAIN };
        let mut card = filled(&shape);
        let wanted = tree(card.fs());
        card.close();
        let done = tuned(card.disk(), &uuid_alone());
        if policy.name.starts_with("inode-") {
            let error = done.err().unwrap().to_string();
            assert!(error.contains("may derive from its UUID"), "{}: {error}", policy.name);
            continue;
        }
        done.unwrap().commit().unwrap();
        assert!(tree(card.fs()) == wanted, "{}", policy.name);
    }
}

/// Checksums are made anew only where nothing is wrong, and nothing waits to be rolled forward.
#[test]
fn a_uuid_stays_where_the_volume_is_not_sound() {
    let shape = Shape { features: &["extra_attr", "inode_checksum"], ..Shape::PLAIN };
    let mut card = filled(&shape);
    let file = card.fs().lookup(Ino::ROOT, b"file 9").unwrap().ino;
    // The first fsync of a mount is a checkpoint.
    for byte in [8, 9] {
        card.fs().write(file, 0, &[byte; 9000]).unwrap();
        card.fs().fsync(file, false).unwrap();
    }
    card.cut_power();
    let error = tuned(card.disk(), &uuid_alone()).err().unwrap().to_string();
    assert!(error.contains("not unmounted"), "{error}");
    card.fs();
    card.close();
    let mut bytes = card.disk().bytes_now();
    let sb = read_super_block(card.disk()).unwrap();
    let ssa = usize::try_from(u64::from(sb.raw().ssa_blkaddr.get()) * 4096).unwrap();
    bytes[ssa..ssa + 64 * 4096].fill(0);
    let disk = SharedDisk::of(4096, bytes);
    let error = tuned(&disk, &uuid_alone()).err().unwrap().to_string();
    assert!(error.contains("repair them first"), "{error}");
    // A label needs no more than the super block.
    let label = Tuning { label: Some("x".to_owned()), ..Tuning::default() };
    tuned(&disk, &label).unwrap().commit().unwrap();
    assert_eq!(read_super_block(&disk).unwrap().label(), "x");
}
