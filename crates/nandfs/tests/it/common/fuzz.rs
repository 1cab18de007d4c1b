//! The fuzzers, in three depths: bytes into the parsers, damaged images into the reader and the writer, operations into
//! the writer until the power is cut. Shared by the bounded run of `tests/it/fuzz.rs` and by the targets in `fuzz/`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pumice_media::{BlockId, ChipSpec, CutMode, Layer, Nand, NandError, PageId, ReadOutcome, SimChip};
use pumice_nandfs::fuzzing::{Catalogue, Choices};
use pumice_nandfs::{FormatOptions, MountOptions, NandFs, check, format};
use pumice_vfs::model::MemFs;
use pumice_vfs::{
    Errno, FileKind, FileSystem, Ino, NewNode, RenameMode, Result, Seek, SetAttr, SpaceMode, Timestamp,
    XattrMode,
};

/// Small chips with different layouts: superpages of several pages, tags in the page, several blocks in a page, one;
/// and those of volumes that compress, with their method.
pub const GEOMETRIES: [&str; 7] = [
    "512+16:32:96",
    "2048+64:16:96",
    "4096+128:16:64",
    "16384+1952:16:48",
    "1024+32:32:80",
    "2048+64:16:96@lz4",
    "16384+1952:16:48@zstd",
];

/// Operations of the chip that one call may take, as often as the chip has pages.
const CAP: u64 = 200;

const CACHE_BYTES: usize = 256 << 10;

/// The operations of the chip that a call may still make.
#[derive(Clone)]
pub struct Meter(Arc<AtomicU64>, u64);

impl Meter {
    /// A new call begins.
    pub fn start(&self) {
        self.0.store(self.1, Ordering::Relaxed);
    }

    fn spend(&self) {
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.checked_sub(1).expect("no end of operations in one call"), Ordering::Relaxed);
    }
}

/// A chip that counts the operations of a call, and ends the run once they are beyond all measure.
pub struct Metered {
    chip: SimChip,
    meter: Meter,
}

impl Metered {
    pub fn new(chip: SimChip) -> (Metered, Meter) {
        let meter = Meter(Arc::default(), CAP * chip.geometry().pages());
        meter.start();
        (Metered { chip, meter: meter.clone() }, meter)
    }
}

impl Layer for Metered {
    type Chip = SimChip;
    fn behind(&self) -> &SimChip {
        &self.chip
    }
    fn behind_mut(&mut self) -> &mut SimChip {
        &mut self.chip
    }
    fn pass_read(
        &mut self,
        page: PageId,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> std::result::Result<ReadOutcome, NandError> {
        self.meter.spend();
        self.chip.read(page, data, spare)
    }
    fn pass_read_spare(
        &mut self,
        page: PageId,
        spare: &mut [u8],
    ) -> std::result::Result<ReadOutcome, NandError> {
        self.meter.spend();
        self.chip.read_spare(page, spare)
    }
    fn pass_program(
        &mut self,
        page: PageId,
        data: &[u8],
        spare: &[u8],
    ) -> std::result::Result<(), NandError> {
        self.meter.spend();
        self.chip.program(page, data, spare)
    }
    fn pass_erase(&mut self, block: BlockId) -> std::result::Result<(), NandError> {
        self.meter.spend();
        self.chip.erase(block)
    }
}

/// A mounted file system under watch.
pub struct Watched {
    fs: NandFs<Metered>,
    meter: Meter,
}

impl Watched {
    pub fn mount(chip: SimChip, read_only: bool) -> Result<Watched> {
        let (nand, meter) = Metered::new(chip);
        let options =
            MountOptions::new(CACHE_BYTES, Box::new(Timestamp::default)).with(|it| it.read_only = read_only);
        Ok(Watched { fs: NandFs::mount(nand, options)?, meter })
    }

    /// The file system, for one call.
    pub fn fs(&self) -> &NandFs<Metered> {
        self.meter.start();
        &self.fs
    }

    pub fn unmount(self) -> Result<SimChip> {
        self.meter.start();
        Ok(self.fs.unmount()?.chip)
    }

    pub fn abandon(self) -> SimChip {
        self.fs.abandon().expect("nobody panicked").chip
    }
}

pub fn blank(geometry: &str, uuid: [u8; 16]) -> SimChip {
    let (geometry, method) = geometry.split_once('@').unwrap_or((geometry, ""));
    let compression = (!method.is_empty()).then(|| method.parse().unwrap());
    let mut chip = SimChip::new(&ChipSpec::parse_geometry(geometry).unwrap());
    let options = FormatOptions::default().with(|it| {
        it.uuid = uuid;
        it.compression = compression;
        it.erased = true;
    });
    format(&mut chip, &options, &mut |_, _| {}).unwrap();
    chip
}

fn node(kind: FileKind, target: &[u8]) -> NewNode<'_> {
    NewNode { kind, perm: 0o644, uid: 3, gid: 4, rdev: 0, target }
}

/// A volume with something of everything: directories in the inode and in buckets, files of all classes, attributes,
/// links, an inode without a name; unmounted cleanly, or left with things that only fsync has promised.
pub fn populated(geometry: &str, uuid: [u8; 16], clean: bool) -> SimChip {
    let watched = Watched::mount(blank(geometry, uuid), false).unwrap();
    let fs = watched.fs();
    let block = u64::from(fs.info().unwrap().block_bytes);
    let create = |dir: Ino, name: &str, kind, target: &[u8]| {
        fs.create(dir, name.as_bytes(), &node(kind, target)).unwrap().ino
    };
    let small = create(Ino::ROOT, "small", FileKind::Dir, b"");
    let large = create(Ino::ROOT, "large", FileKind::Dir, b"");
    for n in 0..300 {
        let file = create(large, &format!("a file of a large directory, number {n}"), FileKind::File, b"");
        fs.write(file, 0, &[7; 20]).unwrap();
    }
    for (n, length) in [(0, 100), (1, 3 * block - 5), (2, 40 * block)] {
        let file = create(small, &format!("file {n}"), FileKind::File, b"");
        fs.write(file, 0, &vec![n; usize::try_from(length).unwrap()]).unwrap();
    }
    for n in 1..4 {
        let file = create(small, &format!("sparse {n}"), FileKind::File, b"");
        fs.write(file, block * 200u64.pow(n), b"far out").unwrap();
        fs.write(file, block * 300, &[9; 9000]).unwrap();
        fs.allocate(file, SpaceMode::Reserve { keep_size: true }, 5 * block, 5 * block).unwrap();
    }
    let link = create(small, "link", FileKind::Symlink, b"where it leads");
    fs.set_xattr(link, b"user.short", b"value", XattrMode::Either).unwrap();
    fs.set_xattr(small, b"user.long", &[5; 9000], XattrMode::Either).unwrap();
    fs.link(link, Ino::ROOT, b"again").unwrap();
    let held = create(Ino::ROOT, "held", FileKind::File, b"");
    fs.hold(held).unwrap();
    fs.unlink(Ino::ROOT, b"held").unwrap();
    fs.sync().unwrap();
    if clean {
        return watched.unmount().unwrap();
    }
    let late = create(small, "late", FileKind::File, b"");
    fs.write(late, 0, &vec![3; 20_000]).unwrap();
    fs.fsync(late, false).unwrap();
    fs.write(late, 300 * block, &[4; 100]).unwrap();
    fs.fsync(late, false).unwrap();
    fs.write(small_file(fs, small), 10, &[8; 100]).unwrap();
    fs.fsync(small_file(fs, small), false).unwrap();
    watched.abandon()
}

fn small_file(fs: &NandFs<Metered>, dir: Ino) -> Ino {
    fs.lookup(dir, b"file 2").unwrap().ino
}

/// Reads all there is, as far as it can be read.
pub fn read_all(watched: &Watched) -> Vec<(Ino, FileKind)> {
    let _ = (watched.fs().info(), watched.fs().space());
    let (mut seen, mut found, mut dirs) = (BTreeSet::new(), Vec::new(), vec![Ino::ROOT]);
    while let Some(dir) = dirs.pop() {
        if !seen.insert(dir) || found.len() > 3000 {
            continue;
        }
        let mut names = Vec::new();
        let _ = watched.fs().readdir(dir, 0, &mut |entry| {
            names.push((entry.name.to_vec(), entry.ino, entry.kind));
            names.len() < 1000
        });
        for (name, ino, kind) in names {
            let _ = watched.fs().lookup(dir, &name);
            dirs.extend((kind == FileKind::Dir).then_some(ino));
            found.push((ino, kind));
            read_inode(watched, ino);
        }
    }
    found
}

fn read_inode(watched: &Watched, ino: Ino) {
    let Ok(attr) = watched.fs().attr(ino) else { return };
    let _ = (watched.fs().readlink(ino), watched.fs().parent(ino), watched.fs().lookup(ino, b".."));
    for name in watched.fs().list_xattr(ino).unwrap_or_default() {
        let _ = watched.fs().xattr(ino, &name);
    }
    let mut buffer = vec![0; 16 << 10];
    for offset in [0, 1, 16 << 10, attr.size / 2, attr.size.saturating_sub(9)] {
        let _ = watched.fs().read(ino, offset, &mut buffer);
        let _ = watched.fs().seek(ino, offset, Seek::Data);
        let _ = watched.fs().seek(ino, offset, Seek::Hole);
    }
}

/// A little of everything that changes a volume, whatever state that is in.
pub fn write_a_little(watched: &Watched, found: &[(Ino, FileKind)], choices: &mut Choices<'_>) {
    let dirs: Vec<Ino> =
        found.iter().filter(|(_, kind)| *kind == FileKind::Dir).map(|(ino, _)| *ino).collect();
    for step in 0..16 {
        let ino = found.get(choices.place(found.len())).map_or(Ino::ROOT, |(ino, _)| *ino);
        let dir = dirs.get(choices.place(dirs.len() + 1)).copied().unwrap_or(Ino::ROOT);
        let at = u64::from(choices.below(3_000_000));
        let name = format!("new {step}");
        let fs = watched.fs();
        let _ = match choices.below(14) {
            0 => fs.create(dir, name.as_bytes(), &node(FileKind::File, b"")).map(drop),
            1 => fs.create(dir, name.as_bytes(), &node(FileKind::Dir, b"")).map(drop),
            2 | 3 => fs.write(ino, at, &[1; 5000]),
            4 => fs.set_attr(ino, &SetAttr { size: Some(at), ..SetAttr::default() }).map(drop),
            5 => fs.allocate(ino, SpaceMode::PunchHole, at, 100_000),
            6 => fs.set_xattr(ino, b"user.new", &[2; 3000], XattrMode::Either),
            7 => fs.link(ino, dir, name.as_bytes()).map(drop),
            8 => take_away(watched, dir),
            9 => fs.rename(dir, b"small", Ino::ROOT, name.as_bytes(), RenameMode::Replace),
            10 => fs.fsync(ino, false),
            11 => fs.maintain().map(drop),
            12 => fs.remove_xattr(ino, b"user.long"),
            _ => fs.sync(),
        };
    }
}

/// Takes the first name of a directory away.
fn take_away(watched: &Watched, dir: Ino) -> Result<()> {
    let mut first = None;
    watched.fs().readdir(dir, 0, &mut |entry| {
        first = Some((entry.name.to_vec(), entry.kind));
        false
    })?;
    match first {
        Some((name, FileKind::Dir)) => watched.fs().rmdir(dir, &name),
        Some((name, _)) => watched.fs().unlink(dir, &name),
        None => Ok(()),
    }
}

/// Mounts a damaged volume and does everything with it; only panics and endless work are wrong.
pub fn exercise(chip: &SimChip, choices: &mut Choices<'_>) {
    let (nand, meter) = Metered::new(chip.clone());
    meter.start();
    let _ = check(nand, &mut |_, _| {});
    if let Ok(watched) = Watched::mount(chip.clone(), true) {
        read_all(&watched);
    }
    let Ok(watched) = Watched::mount(chip.clone(), false) else { return };
    let found = read_all(&watched);
    write_a_little(&watched, &found, choices);
    if let Ok(chip) = watched.unmount()
        && let Ok(watched) = Watched::mount(chip, true)
    {
        read_all(&watched);
    }
}

/// The second depth: a volume, damaged by these bytes, in use.
pub fn damaged(chip: &SimChip, catalogue: &Catalogue, bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut chip = chip.clone();
    catalogue.damage(&mut chip, &mut choices).unwrap();
    exercise(&chip, &mut choices);
}

/// The promises of fsync about a file: its name in the root and its bytes.
type Promises = BTreeMap<Vec<u8>, Vec<u8>>;

/// The third depth: operations on the volume and on the model alike, made up by the bytes, until the power is cut. Then
/// promised files must be there, and a second life must end as the model does.
pub fn operations(geometry: &str, bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut chip = blank(geometry, *b"0123456789abcdef");
    let seed = choices.number().into();
    let mode = match choices.below(5) {
        0 => CutMode::Nothing,
        1 => CutMode::Complete,
        2 => CutMode::Torn { seed },
        3 => CutMode::Garbage { seed },
        _ => CutMode::Half { seed },
    };
    chip.cut_after(choices.below(400).into(), mode);
    let mut promises = Promises::new();
    let mut chip = match Watched::mount(chip, false) {
        Ok(watched) => {
            run(&watched, &MemFs::new(Box::new(Timestamp::default)), &mut choices, &mut promises);
            watched.abandon()
        }
        // The cut came with the first checkpoint.
        Err(_) => return,
    };
    chip.power_on();
    chip.faults_mut().power_cut = None;
    let (nand, _) = Metered::new(chip.clone());
    let report = check(nand, &mut |_, _| {}).expect("a volume after a cut can be checked");
    assert_eq!(report.findings, [], "after a cut");
    let watched = Watched::mount(chip, false).expect("a volume after a cut can be mounted");
    for (name, content) in &promises {
        let ino = watched.fs().lookup(Ino::ROOT, name).expect("fsync promised the name").ino;
        let found = read_whole(watched.fs(), ino);
        assert_eq!(found.len(), content.len(), "fsync promised the length");
        assert!(found == *content, "fsync promised the bytes");
    }
    let file = watched.fs().create(Ino::ROOT, b"afterwards", &node(FileKind::File, b"")).unwrap().ino;
    watched.fs().write(file, 0, b"still in use").unwrap();
    let watched = Watched::mount(watched.unmount().unwrap(), true).unwrap();
    assert_eq!(read_whole(watched.fs(), file), b"still in use");
}

fn read_whole(fs: &dyn FileSystem, ino: Ino) -> Vec<u8> {
    let size = usize::try_from(fs.attr(ino).unwrap().size).unwrap();
    let mut bytes = vec![0; size];
    assert_eq!(fs.read(ino, 0, &mut bytes).unwrap(), size);
    bytes
}

/// Runs until the power is gone or the choices are used up; all answers up to there are those of the model.
fn run(watched: &Watched, model: &MemFs, choices: &mut Choices<'_>, promises: &mut Promises) {
    while !choices.is_used_up() {
        let name = format!("{}", choices.below(8)).into_bytes();
        let other = format!("{}", choices.below(8)).into_bytes();
        let kind = choices.below(10);
        let (at, length) = (u64::from(choices.below(20_000)), choices.below(6000) as usize);
        let step = |fs: &dyn FileSystem| -> Result<()> {
            let find = || fs.lookup(Ino::ROOT, &name).map(|attr| attr.ino);
            match kind {
                0..=2 => match fs.create(Ino::ROOT, &name, &node(FileKind::File, b"")) {
                    Ok(attr) => fs.write(attr.ino, 0, &vec![1; length]),
                    Err(error) if error.errno() == Errno::Exists => fs.write(find()?, at, &vec![2; length]),
                    Err(error) => Err(error),
                },
                3 => fs.set_attr(find()?, &SetAttr { size: Some(at), ..SetAttr::default() }).map(drop),
                4 => fs.unlink(Ino::ROOT, &name),
                5 => fs.rename(Ino::ROOT, &name, Ino::ROOT, &other, RenameMode::Replace),
                6 => fs.set_xattr(find()?, b"user.x", &vec![3; length], XattrMode::Either),
                7 => fs.sync(),
                _ => fs.fsync(find()?, false),
            }
        };
        // A promise holds until the file changes, and a cut may fall into the middle of the change.
        match kind {
            0..=4 => drop(promises.remove(&name)),
            5 => [&name, &other].into_iter().for_each(|name| drop(promises.remove(name))),
            _ => {}
        }
        let answer = step(watched.fs());
        let model_answer = step(model);
        match answer {
            Err(error) if error.errno() == Errno::Io => return,
            answer => assert_eq!(answer.map_err(|e| e.errno()), model_answer.map_err(|e| e.errno())),
        }
        let names: Vec<Vec<u8>> = match kind {
            7 => (0..8).map(|n| format!("{n}").into_bytes()).collect(),
            8.. => vec![name],
            _ => continue,
        };
        for name in names {
            if let Ok(attr) = model.lookup(Ino::ROOT, &name) {
                promises.insert(name, read_whole(model, attr.ino));
            }
        }
    }
}
