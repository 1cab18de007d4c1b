//! Files that were deleted come back, and none that is called sure has other content than it had.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use pumice_f2fs::{F2fs, Mapped, MountOptions, rescue::Undelete};
use pumice_vfs::{Attr, Errno, FileKind, FileSystem, Ino, Result, XattrMode};

use super::{at, options};
use crate::{
    common::{image::Golden, medium::Medium},
    writable::{
        compressed::SHAPE,
        policy::{POLICIES, key},
        subject::{Card, Shape, node},
    },
};

const FILES: usize = 1000;

fn undelete(bytes: &Arc<Vec<u8>>) -> Undelete {
    Undelete::open(vec![Box::new(Medium::new(bytes.clone()))], &options(key()), &|_| true).unwrap()
}

/// A volume with many files in some directories.
fn filled(shape: &Shape, bytes: u64, random: &mut fastrand::Rng) -> Card {
    let mut card = Card::new(bytes, shape);
    write(&mut card, "d", FILES, random);
    card.close();
    card
}

/// Writes so many files, or as many as there is room for.
fn write(card: &mut Card, dir: &str, files: usize, random: &mut fastrand::Rng) {
    let fs = card.fs();
    for number in 0..files {
        if let Err(error) = write_one(fs, &format!("{dir}{}", number % 7), number, random) {
            assert_eq!(error.errno(), Errno::NoSpace);
            break;
        }
    }
}

fn write_one(fs: &dyn FileSystem, dir: &str, number: usize, random: &mut fastrand::Rng) -> Result<()> {
    let above = match fs.lookup(Ino::ROOT, dir.as_bytes()) {
        Ok(above) => above,
        Err(_) => fs.create(Ino::ROOT, dir.as_bytes(), &node(FileKind::Dir))?,
    };
    let file = fs.create(above.ino, format!("file {number}").as_bytes(), &node(FileKind::File))?;
    let bytes = format!("content {number}\n").repeat(random.usize(..3000));
    fs.write(file.ino, 0, bytes.as_bytes())?;
    fs.set_xattr(file.ino, b"user.number", number.to_string().as_bytes(), XattrMode::Either)
}

fn read(fs: &dyn FileSystem, attr: &Attr) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(attr.size).unwrap()];
    assert_eq!(fs.read(attr.ino, 0, &mut bytes).unwrap(), bytes.len());
    bytes
}

/// The bytes and the blocks of each file, by its path.
type Files = BTreeMap<String, (Vec<u8>, Vec<usize>)>;

fn files(bytes: &Arc<Vec<u8>>) -> Files {
    let mount = MountOptions { cache_bytes: 8 << 20, keys: key(), recover: None };
    let fs = F2fs::mount(vec![Box::new(Medium::new(bytes.clone()))], mount).unwrap();
    let mut files = Files::new();
    for number in 0..FILES {
        let path = format!("d{}/file {number}", number % 7);
        let attr = at(&fs, &path).unwrap();
        let content = read(&fs, &attr);
        let (inode, node) = fs.inode(attr.ino).unwrap();
        let mut blocks = vec![node.addr.0 as usize];
        for index in 0..if inode.has_inline_data() { 0 } else { attr.size.div_ceil(4096) } {
            if let Mapped::At(addr) = fs.nodes().run_at(&inode, &node, index, 1).unwrap().mapped {
                blocks.push(addr.0 as usize);
            }
        }
        files.insert(path, (content, blocks));
    }
    files
}

fn remove(card: &mut Card) {
    let fs = card.fs();
    for number in 0..FILES {
        let dir = fs.lookup(Ino::ROOT, format!("d{}", number % 7).as_bytes()).unwrap();
        fs.unlink(dir.ino, format!("file {number}").as_bytes()).unwrap();
    }
    card.close();
}

/// Counts the files that are sure, all of which must have the content they had, and those of which no block has changed.
fn counted(files: &Files, before: &[u8], after: Vec<u8>) -> (usize, usize) {
    let after = Arc::new(after);
    let undelete = undelete(&after);
    let sure: Vec<String> = undelete
        .files()
        .iter()
        .filter(|file| file.is_sure)
        .map(|file| String::from_utf8(file.path.clone()).unwrap())
        .collect();
    let mut right = 0;
    for path in &sure {
        let Some((content, _)) = files.get(&path[1..]) else { continue };
        let attr = at(undelete.view(), &format!("sure{path}")).unwrap();
        assert!(read(undelete.view(), &attr) == *content, "{path} is called sure");
        let number = path.rsplit(' ').next().unwrap();
        assert_eq!(undelete.view().xattr(attr.ino, b"user.number").unwrap(), number.as_bytes());
        right += 1;
    }
    let block = |at: &usize| -> Range<usize> { at * 4096..(at + 1) * 4096 };
    let is_untouched = |blocks: &Vec<usize>| blocks.iter().all(|at| before[block(at)] == after[block(at)]);
    let untouched: Vec<_> = files.iter().filter(|(_, (_, blocks))| is_untouched(blocks)).collect();
    for (path, _) in &untouched {
        assert!(sure.contains(&format!("/{path}")), "{path} is untouched");
    }
    (right, untouched.len())
}

#[test]
fn deleted_files_come_back_and_none_is_wrong() {
    let encrypted = Shape { features: &["encrypt"], policy: Some(&POLICIES[0]), ..Shape::PLAIN };
    for (seed, shape) in (1..).zip([Shape::PLAIN, SHAPE, encrypted]) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut card = filled(&shape, 96 << 20, &mut random);
        let before = Arc::new(card.disk().bytes_now());
        let files = files(&before);
        remove(&mut card);
        let (sure, _) = counted(&files, &before, card.disk().bytes_now());
        assert!(sure * 100 >= FILES * 95, "seed {seed}: {sure} of {FILES}");
        // A twentieth of the volume is written.
        write(&mut card, "new", 240, &mut random);
        card.close();
        let (right, untouched) = counted(&files, &before, card.disk().bytes_now());
        assert!(untouched > 0 && right >= untouched, "seed {seed}: {right}, {untouched}");
    }
}

/// Linux deleted every second file of this one.
#[test]
fn files_that_linux_deleted_come_back() {
    let undelete = undelete(&Arc::new(Golden::own("fragmented").bytes()));
    let wanted: BTreeSet<String> = (0..30).map(|number| format!("/gone-{}", 2 * number + 1)).collect();
    let text = |path: &[u8]| String::from_utf8(path.to_vec()).unwrap();
    let sure = undelete.files().iter().filter(|file| file.is_sure && file.size == 3700);
    assert_eq!(sure.map(|file| text(&file.path)).collect::<BTreeSet<_>>(), wanted);
}
