//! A volume in memory, mounted to be written to.

use std::{num::NonZeroUsize, process::Command};

use super::{
    compressed::rule,
    disk::{SharedDisk, save},
    policy::{Policy, keys, set_policy},
    power::{Image, Live},
};

use pumice_f2fs::{
    WritableF2fs, WritableOptions,
    check::check,
    layout::Features,
    mkfs::{Attributes, Content, EntryId, FormatOptions, NoContent, Plan, Size, Source, Tree},
};
use pumice_media::ReadAt;
use pumice_vfs::{
    FileKind, FileSystem, NewNode,
    conformance::{Leeway, Subject, TestClock},
};

/// The shape of a new volume.
#[derive(Clone, Default)]
pub(crate) struct Shape {
    pub(crate) features: &'static [&'static str],
    pub(crate) section_segments: Option<u32>,
    pub(crate) dir_level: u8,
    /// Everything below the root is encrypted.
    pub(crate) policy: Option<&'static Policy>,
    /// All directories ignore case.
    pub(crate) folds: bool,
}

impl Shape {
    /// Nothing special.
    pub(crate) const PLAIN: Shape =
        Shape { features: &[], section_segments: None, dir_level: 0, policy: None, folds: false };
}

/// A volume.
pub(crate) struct Card {
    disk: SharedDisk,
    clock: TestClock,
    fs: Option<WritableF2fs>,
    /// The format has a time of birth.
    has_btime: bool,
    /// All files are compressed.
    compresses: bool,
    /// Every unmounted state is looked at.
    checks: bool,
}

impl Card {
    pub(crate) fn new(bytes: u64, shape: &Shape) -> Card {
        Card::with_clock(bytes, shape, &TestClock::new())
    }

    fn with_clock(bytes: u64, shape: &Shape, clock: &TestClock) -> Card {
        let plan = plan(bytes, shape, clock);
        let (blocks, block_bytes) = plan.blocks();
        let disk = SharedDisk::new(block_bytes, blocks);
        plan.write(Box::new(disk.clone()), true, &NoContent, &mut |_| ()).unwrap();
        shape.policy.iter().for_each(|policy| set_policy(&disk, b"", policy));
        let has = |name| shape.features.contains(&name);
        let (has_btime, compresses) = (has("inode_crtime"), has("compression"));
        let mut card = Card { disk, clock: clock.clone(), fs: None, has_btime, compresses, checks: false };
        card.open();
        card
    }

    /// The device below.
    pub(crate) fn disk(&self) -> &SharedDisk {
        &self.disk
    }

    fn open(&mut self) {
        let mut options =
            WritableOptions { cache_bytes: 1 << 20, ..WritableOptions::new(self.clock.clock()) };
        options.keys = Some(keys());
        if self.compresses {
            options.compression = rule("lz4", 2);
        }
        self.fs = Some(WritableF2fs::mount(Box::new(self.disk.clone()), options).unwrap());
    }

    /// Cuts the power: unsynced changes are lost.
    pub(crate) fn cut_power(&mut self) {
        self.fs = None;
    }

    pub(crate) fn close(&mut self) {
        if let Some(fs) = self.fs.take() {
            fs.unmount().unwrap();
        }
    }

    pub(crate) fn fs(&mut self) -> &dyn FileSystem {
        if self.fs.is_none() {
            self.open();
        }
        self.fs.as_ref().unwrap()
    }
}

impl Subject for Card {
    fn fs(&self) -> &dyn FileSystem {
        self.fs.as_ref().unwrap()
    }

    fn remount(&mut self) -> pumice_vfs::Result<()> {
        if let Some(fs) = self.fs.take() {
            fs.unmount()?;
        }
        if self.checks {
            ours(&self.disk);
        }
        self.open();
        Ok(())
    }

    fn leeway(&self) -> Leeway {
        Leeway { no_btime: !self.has_btime, ..Leeway::default() }
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        if std::thread::panicking() || !self.checks {
            return;
        }
        self.close();
        ours(&self.disk);
        theirs_but(&self.disk, if self.compresses { MISCOUNTED } else { &[] });
    }
}

/// f2fs-tools before 1.16 count a compressed file's blocks wrong where empty places of an indirect node stand in front
/// of a compressed cluster; these three lines say so. Our own check counts them.
const MISCOUNTED: &[&str] = &["has i_blocks", "valid_block_count", "other corrupted bugs"];

fn plan(bytes: u64, shape: &Shape, clock: &TestClock) -> Plan {
    let tree = Tree::new(Attributes::directory(0o755, 0, 0, clock.now()));
    plan_with(tree, &NoContent, bytes, shape, clock)
}

fn plan_with(tree: Tree, source: &dyn Source, bytes: u64, shape: &Shape, clock: &TestClock) -> Plan {
    let features = shape.features.iter().map(|name| Features::by_name(name).unwrap());
    let mut options = FormatOptions { uuid: [9; 16], time: clock.now(), ..FormatOptions::default() };
    options.shape.features = features.fold(Features::default(), Features::with);
    options.shape.section_segments = shape.section_segments.unwrap_or(1);
    options.dir_level = shape.dir_level;
    options.ignore_case = shape.folds;
    Plan::new(options, tree, source, Size::Bytes(bytes), NonZeroUsize::MIN).unwrap()
}

/// Files that hold the same byte everywhere.
struct Same(u8);

impl Source for Same {
    fn open(&self, _file: EntryId) -> std::io::Result<Box<dyn Content + '_>> {
        Ok(Box::new(Same(self.0)))
    }
}

impl Content for Same {
    fn read(&mut self, _at: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        buffer.fill(self.0);
        Ok(())
    }

    fn next_data(&mut self, _from: u64) -> std::io::Result<Option<(u64, u64)>> {
        Ok(None)
    }
}

/// A volume with `count` files, called by their numbers, of `size` bytes each, all of which are 7.
pub(crate) fn filled(bytes: u64, count: u32, size: u64) -> Image {
    let clock = TestClock::new();
    let directory = Attributes::directory(0o755, 0, 0, clock.now());
    let mut tree = Tree::new(directory.clone());
    for number in 0..count {
        let what = Attributes { kind: FileKind::File, size, ..directory.clone() };
        tree.add(EntryId::ROOT, number.to_string().as_bytes(), what).unwrap();
    }
    let plan = plan_with(tree, &Same(7), bytes, &Shape::default(), &clock);
    let disk = Live::new(Image::zeros(plan.blocks().0));
    plan.write(Box::new(disk.clone()), true, &Same(7), &mut |_| ()).unwrap();
    disk.image()
}

/// An empty volume in blocks of 4096 bytes.
pub(crate) fn volume(bytes: u64, shape: &Shape, clock: &TestClock) -> Image {
    let plan = plan(bytes, shape, clock);
    let disk = Live::new(Image::zeros(plan.blocks().0));
    plan.write(Box::new(disk.clone()), true, &NoContent, &mut |_| ()).unwrap();
    shape.policy.iter().for_each(|policy| set_policy(&disk, b"", policy));
    disk.image()
}

/// A card that is looked at each time it is unmounted.
pub(crate) fn make_card(bytes: u64, shape: &Shape, clock: &TestClock) -> Box<dyn Subject> {
    let mut card = Card::with_clock(bytes, shape, clock);
    card.checks = true;
    Box::new(card)
}

pub(crate) fn node(kind: FileKind) -> NewNode<'static> {
    NewNode { kind, perm: 0o755, uid: 1000, gid: 100, rdev: 0, target: b"" }
}

/// Our check finds nothing.
#[track_caller]
pub(crate) fn ours(disk: &(impl ReadAt + Clone + 'static)) {
    let report = check(vec![Box::new(disk.clone())], 1, &mut |_, _| ()).unwrap();
    let shown: Vec<String> = report.findings.iter().take(20).map(|found| format!("{found:?}")).collect();
    assert_eq!(report.count, 0, "{shown:#?}");
}

/// Neither our check nor that of f2fs-tools finds anything.
#[track_caller]
pub(crate) fn sound(disk: &(impl ReadAt + Clone + 'static)) {
    ours(disk);
    theirs(disk);
}

/// f2fs-tools find nothing.
#[track_caller]
pub(crate) fn theirs(disk: &dyn ReadAt) {
    theirs_but(disk, &[]);
}

/// f2fs-tools find nothing but what has one of these words.
#[track_caller]
fn theirs_but(disk: &dyn ReadAt, known: &[&str]) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = dir.path().join("card");
    save(disk, &path);
    let output =
        Command::new("fsck.f2fs").arg("--dry-run").arg(path).output().expect("f2fs-tools are installed");
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = ["[Fail]", "Invalid", "ASSERT", "[FIX]", "corrupted!"];
    let (known, found): (Vec<&str>, Vec<&str>) = said
        .lines()
        .filter(|line| wrong.iter().any(|word| line.contains(word)))
        .partition(|line| known.iter().any(|word| line.contains(word)));
    assert!(found.is_empty() && (output.status.success() || !known.is_empty()), "{found:#?} {said}");
}
