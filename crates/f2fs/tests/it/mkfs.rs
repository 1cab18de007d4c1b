//! Volumes that are made here, under the eyes of others: our check, f2fs-tools, the kernel.

mod compressed;
mod read_only;
mod sample;
mod sealed;

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    process::Command,
};

use crate::common::{
    manifest::{self, Record},
    walk,
};
use pumice_f2fs::{
    F2fs, MountOptions,
    check::check,
    crypt::Keyring,
    layout::{BlockSize, Features},
    mkfs::{Attributes, EntryId, FormatError, FormatOptions, NoContent, Plan, Shape, Size, Source, Tree},
    read_super_block,
    verity::HashAlgorithm,
};
use pumice_media::{FileDisk, ReadAt};
use pumice_vfs::FileKind;
use sample::{Sample, time};
use xtask::{
    Machine,
    f2fs::{self, Run},
};

/// The number of threads that read files.
const THREADS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1);

fn options() -> FormatOptions {
    FormatOptions {
        uuid: [7; 16],
        time: time(1_600_000_000),
        label: "Bimsstein".into(),
        ..FormatOptions::default()
    }
}

fn with_features(features: &[&str]) -> FormatOptions {
    let features = features.iter().map(|name| Features::by_name(name).unwrap());
    let shape = Shape { features: features.fold(Features::default(), Features::with), ..Shape::default() };
    FormatOptions { shape, ..options() }
}

fn root() -> Tree {
    Tree::new(Attributes::directory(0o755, 0, 0, time(1_400_000_000)))
}

/// The digests of sealed files, by path.
type Digests = Vec<(String, Vec<u8>)>;

/// Makes a volume in a file.
fn make(
    path: &Path,
    options: FormatOptions,
    tree: Tree,
    source: &dyn Source,
    size: Size,
) -> Result<Digests, FormatError> {
    make_by(path, options, tree, source, size, THREADS)
}

/// The same by a number of threads.
fn make_by(
    path: &Path,
    options: FormatOptions,
    tree: Tree,
    source: &dyn Source,
    size: Size,
    threads: NonZeroUsize,
) -> Result<Digests, FormatError> {
    let plan = Plan::new(options, tree, source, size, threads)?;
    let (blocks, block_bytes) = plan.blocks();
    let disk = FileDisk::create(path, block_bytes, blocks, true).unwrap();
    plan.write(Box::new(disk), true, source, &mut |_| ())
}

fn empty(path: &Path, options: FormatOptions, bytes: u64) -> Result<(), FormatError> {
    make(path, options, root(), &NoContent, Size::Bytes(bytes)).map(drop)
}

fn open(path: &Path) -> Box<dyn ReadAt> {
    Box::new(FileDisk::open(path, 512, true).unwrap())
}

/// Neither our check nor that of f2fs-tools finds anything.
#[track_caller]
fn sound(path: &Path) {
    let report = check(vec![open(path)], 2, &mut |_, _| ()).unwrap();
    let shown: Vec<String> = report.findings.iter().take(20).map(|found| format!("{found:?}")).collect();
    assert_eq!(report.count, 0, "{}: {shown:#?}", path.display());
    let output =
        Command::new("fsck.f2fs").arg("--dry-run").arg(path).output().expect("f2fs-tools are installed");
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = [
        "[Fail]",
        "Invalid",
        "ASSERT",
        "[FIX]",
        "corrupted!",
        "Unreachable nat entries                        [F",
    ];
    let found: Vec<&str> = said.lines().filter(|line| wrong.iter().any(|word| line.contains(word))).collect();
    assert!(output.status.success() && found.is_empty(), "{}: {found:#?} {said}", path.display());
}

fn mount(path: &Path) -> F2fs {
    let options = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover: None };
    F2fs::mount(vec![open(path)], options).unwrap()
}

struct Dir(tempfile::TempDir);

impl Dir {
    fn new() -> Dir {
        Dir(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

#[test]
fn empty_volumes_of_every_size_are_sound() {
    let dir = Dir::new();
    let path = dir.at("image");
    let mut made = Vec::new();
    for mib in
        [20, 30, 36, 40, 42, 44, 46, 48, 64, 100, 512, 1000, 4 << 10, 100 << 10, 1 << 20, (16 << 20) - 1]
    {
        match empty(&path, options(), mib << 20) {
            Ok(()) => made.push(mib),
            Err(FormatError::TooSmall { .. }) => continue,
            Err(error) => panic!("{mib} MiB: {error}"),
        }
        if mib <= 1000 {
            sound(&path);
        } else {
            assert_eq!(check(vec![open(&path)], 2, &mut |_, _| ()).unwrap().count, 0, "{mib} MiB");
        }
    }
    assert!(made.len() >= 10, "{made:?}");
}

#[test]
fn a_tree_comes_back_as_it_went_in() {
    let dir = Dir::new();
    let path = dir.at("image");
    let sample = Sample::everything(true);
    let count = sample.tree.len();
    make(&path, options(), sample.tree, &sample.files, Size::Free(1 << 20)).unwrap();
    sound(&path);
    let records = walk::records(&mount(&path));
    assert_eq!(records.len(), count + 2);
}

#[test]
fn every_feature_and_shape_is_sound() {
    let dir = Dir::new();
    let all = [
        "extra_attr",
        "inode_checksum",
        "flexible_inline_xattr",
        "inode_crtime",
        "quota_ino",
        "project_quota",
        "lost_found",
        "verity",
        "sb_checksum",
        "casefold",
        "compression",
        "encrypt",
    ];
    let mut cases: Vec<(String, FormatOptions)> = vec![
        ("all".into(), with_features(&all)),
        ("folded".into(), FormatOptions { ignore_case: true, ..with_features(&["casefold"]) }),
        ("levels".into(), FormatOptions { dir_level: 3, ..options() }),
        ("quota".into(), with_features(&["quota_ino"])),
        ("plain".into(), options()),
    ];
    for (section, zone) in [(2, 1), (1, 2), (3, 2)] {
        let shape = Shape { section_segments: section, zone_sections: zone, ..Shape::default() };
        cases.push((format!("section-{section}-{zone}"), FormatOptions { shape, ..options() }));
    }
    let shape = Shape { nodes: 20 << 20, ..Shape::default() };
    cases.push(("nodes".into(), FormatOptions { shape, ..options() }));
    for (name, options) in cases {
        let path = dir.at(&name);
        let sample = Sample::everything(false);
        let size = if name == "nodes" { Size::Bytes(90 << 30) } else { Size::Free(0) };
        make(&path, options, sample.tree, &sample.files, size)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        sound(&path);
    }
}

#[test]
fn larger_blocks_are_sound() {
    let dir = Dir::new();
    for log2 in [13, 14] {
        for features in [&[][..], &["packed_ssa"]] {
            let shape = Shape { block: BlockSize::from_log2(log2).unwrap(), ..with_features(features).shape };
            let path = dir.at("image");
            let sample = Sample::everything(false);
            make(
                &path,
                FormatOptions { shape, ..options() },
                sample.tree,
                &sample.files,
                Size::Free(1 << 20),
            )
            .unwrap();
            assert_eq!(check(vec![open(&path)], 2, &mut |_, _| ()).unwrap().count, 0, "{log2} {features:?}");
        }
    }
}

/// A tree decides every byte, not the order in which it was put together; a seed decides the numbers that chance would.
#[test]
fn the_same_tree_gives_the_same_bytes() {
    let dir = Dir::new();
    let build = |name: &str, names: &[&str], seed: u64| {
        let mut tree = root();
        for name in names {
            tree.add(EntryId::ROOT, name.as_bytes(), sample::plain(FileKind::Fifo, 1)).unwrap();
        }
        let path = dir.at(name);
        make(&path, FormatOptions { seed, ..options() }, tree, &NoContent, Size::Free(0)).unwrap();
        fs::read(path).unwrap()
    };
    let first = build("first", &["a", "b", "c"], 1);
    assert!(first == build("second", &["c", "a", "b"], 1));
    assert!(first != build("third", &["a", "b", "c"], 2));
}

/// Old contents of a device are not found in the new volume, an older volume least of all.
#[test]
fn a_device_may_hold_anything_before() {
    let dir = Dir::new();
    let path = dir.at("image");
    let sample = Sample::everything(false);
    let bytes = 80 << 20;
    make(&path, options(), sample.tree, &sample.files, Size::Bytes(bytes)).unwrap();
    for fill in [None, Some(0xff), Some(0x5a)] {
        if let Some(byte) = fill {
            fs::write(&path, vec![byte; usize::try_from(bytes).unwrap()]).unwrap();
        }
        let plan = Plan::new(options(), root(), &NoContent, Size::Bytes(bytes), NonZeroUsize::MIN).unwrap();
        let disk = FileDisk::open(&path, 4096, false).unwrap();
        plan.write(Box::new(disk), false, &NoContent, &mut |_| ()).unwrap();
        sound(&path);
        assert_eq!(walk::records(&mount(&path)).len(), 1);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let dir = Dir::new();
    let path = dir.at("image");
    let mut sample = Sample::new();
    sample.full(EntryId::ROOT, "large", 60 << 20);
    let made = make(&path, options(), sample.tree, &sample.files, Size::Bytes(64 << 20));
    assert!(matches!(made, Err(FormatError::Full { .. })), "{made:?}");
    assert!(!path.exists());
    let wrong = [(&["inode_checksum"][..], "extra_attr"), (&["blkzoned"], "blkzoned")];
    for (features, word) in wrong {
        let error = empty(&path, with_features(features), 64 << 20).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

/// The kernel's work on each volume: everything is read, files are written and removed, everything is moved by the
/// cleaner, which believes the summaries, and read again.
const EXERCISE: &str = "
trap 'dmesg | grep F2FS-fs | tee /host/dmesg' EXIT
# A block in the middle of a file that may be compressed is written once more.
over() {
    file=/mnt/more/text.txt
    touch -r $file /tmp/times
    if dd if=$file of=/tmp/block bs=4096 skip=21 count=1 2>/dev/null && dd if=/tmp/block of=$file bs=4096 seek=21 conv=notrunc 2>/dev/null; then
        touch -r /tmp/times $file
        echo written >/host/$1.over
    else
        echo refused >/host/$1.over
    fi
    sync
}
# Without moving everything, which takes long.
look() {
    mount -t f2fs -o noatime $1 /mnt
    guest-manifest /mnt >/host/$2.before
    [ ! -d /mnt/sealed ] || fsverity measure /mnt/sealed/* >/host/measured
    over $2
    umount /mnt
    mount -t f2fs -o noatime $1 /mnt
    guest-manifest /mnt >/host/$2.after
    umount /mnt
}
exercise() {
    mount -t f2fs -o noatime $1 /mnt
    guest-manifest /mnt >/host/$2.before
    mkdir /mnt/new
    i=0
    while [ $i -lt 60 ]; do echo $i >/mnt/new/$i; i=$((i + 1)); done
    dd if=/dev/urandom of=/mnt/new/large bs=64k count=8 2>/dev/null
    sha256sum /mnt/new/large >/host/$2.large
    rm -r /mnt/new/1*
    sync
    over $2
    guest-control clean /mnt $3 $4 $5 >/host/$2.cleaned
    sync
    umount /mnt
    mount -t f2fs -o noatime $1 /mnt
    sha256sum -c /host/$2.large >/dev/null
    rm -r /mnt/new
    guest-manifest /mnt >/host/$2.after
    umount /mnt
}
";

/// The root changes, because something was made in it, and a file because it was written to.
fn without_changed(mut records: BTreeMap<String, Record>) -> BTreeMap<String, Record> {
    records.remove(".");
    records.entry("more/text.txt".into()).and_modify(|record| drop(record.0.remove("ctime")));
    records
}

#[test]
fn the_kernel_writes_to_them_and_cleans_them() {
    let Some(machine) = Machine::for_test() else { return };
    let dir = Dir::new();
    let all = [
        "extra_attr",
        "inode_checksum",
        "flexible_inline_xattr",
        "inode_crtime",
        "quota_ino",
        "project_quota",
        "lost_found",
    ];
    let lz4hc = compressed::options("lz4:9", 3, false);
    let sections = Shape { section_segments: 2, ..lz4hc.shape };
    let cases = [
        ("features", with_features(&all), true),
        ("sections", FormatOptions { shape: sections, ..lz4hc }, true),
        ("zstd", compressed::options("zstd:19", 8, false), false),
        ("lzo", compressed::options("lzo", 5, false), false),
        ("lzo-rle", compressed::options("lzo-rle", 4, true), false),
        ("sealed", sealed::everything(HashAlgorithm::Sha512, &[9; 20]), false),
    ];
    let mut script = EXERCISE.to_owned();
    let (mut images, mut digests) = (Vec::new(), Digests::new());
    for ((name, options, large), letter) in cases.into_iter().zip('a'..) {
        let path = dir.at(name);
        let mut sample = Sample::everything(large);
        compressed::add(&mut sample);
        if name == "sealed" {
            sealed::add(&mut sample);
        }
        let made = make(&path, options, sample.tree, &sample.files, Size::Free(4 << 20)).unwrap();
        digests.extend(made);
        sound(&path);
        let sb = read_super_block(&*open(&path)).unwrap();
        let (start, end) = (sb.main_start().0, sb.main_end());
        let step = sb.raw().segs_per_sec.get() * 512;
        let what = if large { "exercise" } else { "look" };
        writeln!(script, "{what} /dev/vd{letter} {name} {start} {end} {step}").unwrap();
        images.push(path);
    }
    let before: Vec<_> = images.iter().map(|path| walk::records(&mount(path))).collect();
    let run = f2fs::run_in_kernel(&machine, &images, &script).unwrap();
    for (path, ours) in images.iter().zip(&before) {
        exercised(path.file_name().unwrap().to_str().unwrap(), ours, &run);
        sound(path);
    }
    measured_as_sealed(&digests, &run);
    no_warnings(&run);
}

/// The kernel saw our files, and its own writes stayed.
fn exercised(name: &str, ours: &BTreeMap<String, Record>, run: &Run) {
    let kernel = manifest::parse(&run.file(&format!("{name}.before")).unwrap());
    let lines = manifest::differences(ours, &kernel);
    assert!(
        lines.is_empty(),
        "{name}: {} of {}: {:#?}",
        lines.len(),
        kernel.len(),
        &lines[..lines.len().min(20)]
    );
    let after = manifest::parse(&run.file(&format!("{name}.after")).unwrap());
    let lines = manifest::differences(&without_changed(after), &without_changed(kernel));
    assert!(lines.is_empty(), "{name}: {:#?}", &lines[..lines.len().min(20)]);
    let over = run.file(&format!("{name}.over")).unwrap();
    // Nobody writes to a file that gave its room back.
    assert_eq!(over.trim(), if name == "lzo-rle" { "refused" } else { "written" }, "{name}");
    if ["features", "sections"].contains(&name) {
        let cleaned: u64 = run.file(&format!("{name}.cleaned")).unwrap().trim().parse().unwrap();
        assert!(cleaned >= 2, "{name}: {cleaned} sections were cleaned");
    }
}

/// The kernel's digests are those of sealing.
fn measured_as_sealed(digests: &Digests, run: &Run) {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let mut said: Vec<String> =
        digests.iter().map(|(path, digest)| format!("sha512:{} /mnt{path}", hex(digest))).collect();
    let measured = run.file("measured").unwrap();
    let mut measured: Vec<&str> = measured.lines().collect();
    said.sort_unstable();
    measured.sort_unstable();
    assert_eq!(measured, said);
}

fn no_warnings(run: &Run) {
    let warnings: Vec<String> = run
        .file("dmesg")
        .unwrap()
        .lines()
        .map(str::to_owned)
        .filter(|line| line.contains("F2FS-fs"))
        .filter(|line| {
            !["Mounted with", "Found nat_bits", "Using encoding"].iter().any(|said| line.contains(said))
        })
        .collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
}
