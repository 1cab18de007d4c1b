//! Large chips and very many inodes: the window of blocks to be opened holds neither table whole, and every call must find
//! room all the same.

use crate::common::{mount, spec};
use pumice_media::{BlockId, ChipSpec, SimChip};
use pumice_nandfs::{FormatOptions, NandFs, check, format};
use pumice_vfs::conformance::TestClock;
use pumice_vfs::{FileKind, FileSystem, Ino, NewNode, RenameMode, SetAttr};

const FILE: NewNode<'_> = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };

fn start(spec: &ChipSpec, clock: &TestClock) -> NandFs<SimChip> {
    let mut chip = SimChip::new(spec);
    let options = FormatOptions::default().with(|it| {
        it.created = clock.now();
        it.erased = true;
    });
    format(&mut chip, &options, &mut |_, _| {}).unwrap();
    mount(chip, clock.clock())
}

/// Every kind of call that makes room, over a remount and a cut; the volume as it is in the end.
fn use_it(fs: NandFs<SimChip>, clock: &TestClock) -> SimChip {
    let data: Vec<u8> = (0..100_000).map(|n: u32| (n % 251) as u8).collect();
    let create = |fs: &NandFs<SimChip>, name: &str| fs.create(Ino::ROOT, name.as_bytes(), &FILE).unwrap().ino;
    let file = create(&fs, "kept");
    fs.write(file, 0, &data).unwrap();
    fs.fsync(file, false).unwrap();
    let gone = create(&fs, "gone");
    fs.write(gone, 0, &data).unwrap();
    fs.unlink(Ino::ROOT, b"gone").unwrap();
    fs.sync().unwrap();
    fs.rename(Ino::ROOT, b"kept", Ino::ROOT, b"moved", RenameMode::Replace).unwrap();
    fs.fsync(Ino::ROOT, false).unwrap();
    let fs = mount(fs.unmount().unwrap(), clock.clock());
    let file = fs.lookup(Ino::ROOT, b"moved").unwrap().ino;
    fs.set_attr(file, &SetAttr { size: Some(50_000), ..SetAttr::default() }).unwrap();
    fs.fsync(file, false).unwrap();
    while fs.maintain().unwrap() {}
    let fs = mount(fs.abandon().unwrap(), clock.clock());
    let file = fs.lookup(Ino::ROOT, b"moved").unwrap().ino;
    let mut found = vec![0; data.len()];
    let read = fs.read(file, 0, &mut found).unwrap();
    assert_eq!(found[..read], data[..50_000]);
    fs.unmount().unwrap()
}

/// So many that no window would do, had it to hold the node table whole.
const MANY: u32 = 100_000;

#[test]
fn a_table_of_very_many_inodes() {
    let clock = TestClock::new();
    let fs = start(&spec("scaleffs-256m"), &clock);
    for number in 0..MANY {
        fs.create(Ino::ROOT, format!("file number {number}").as_bytes(), &FILE).unwrap();
    }
    use_it(fs, &clock);
}

#[test]
fn a_chip_of_64_gib() {
    let clock = TestClock::new();
    let spec = spec("scaleffs-256m").with_size(64 << 30).unwrap();
    let chip = use_it(start(&spec, &clock), &clock);
    let report = check(chip, &mut |_, _| {}).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

/// The table of blocks of an empty volume changes in many places: a chip has bad blocks all over.
#[test]
fn bad_blocks_all_over() {
    let clock = TestClock::new();
    for (blocks, bad) in [(32_768, 256), (131_072, 2_600)] {
        let mut random = crate::cut::random::Random(1);
        let geometry = format!("512+16:32:{blocks}");
        let mut chip = SimChip::new(&ChipSpec::parse_geometry(&geometry).unwrap());
        let bad = (0..bad).map(|_| BlockId(4 + random.below(blocks - 4) as u32));
        chip.faults_mut().factory_bad.extend(bad);
        let options = FormatOptions::default().with(|it| it.created = clock.now());
        format(&mut chip, &options, &mut |_, _| {}).unwrap();
        use_it(mount(chip, clock.clock()), &clock);
    }
}
