//! Space, by seed, over all chips: a volume is filled with tiny files, emptied and filled with others, or written over
//! at random while it is nearly full. Calls that free space or keep a promise (unlink, truncate, rename, chmod, fsync,
//! sync, unmount) must never fail for lack of it, and existing files can be written over.
//!
//! A round is told by chip and seed; `PUMICE_SPACE=N` plays `N` of each kind on each chip.

use std::collections::BTreeMap;

use pumice_knobs::{NANDFS_SPACE, SPACE_CHIP};
use pumice_media::{ChipSpec, Pairing, SimChip, chips};
use pumice_nandfs::{FormatOptions, FsyncProtection, MountOptions, NandFs, check, format};
use pumice_vfs::conformance::TestClock;
use pumice_vfs::{Errno, FileKind, FileSystem, FsError, Ino, NewNode, RenameMode, SetAttr};

/// The command's default.
const CACHE_BYTES: usize = 8 << 20;
/// The least a chip has, in blocks and in bytes.
const BLOCKS: u64 = 64;
const BYTES: u64 = 16 << 20;
/// A chip on which it is always played with fsync protected at once.
const PROTECTED: &str = "slc-2k-2g";

const FILE: NewNode<'_> = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };
const DIR: NewNode<'_> = NewNode { kind: FileKind::Dir, perm: 0o755, uid: 0, gid: 0, rdev: 0, target: b"" };

/// Calls refused for lack of space though they may not be.
#[derive(Default)]
struct Refused(BTreeMap<&'static str, usize>);

impl Refused {
    /// Takes note of a refusal; any other error ends the round.
    fn must(&mut self, what: &'static str, done: Result<(), FsError>) {
        match done {
            Ok(()) => {}
            Err(error) if error.errno() == Errno::NoSpace => *self.0.entry(what).or_default() += 1,
            Err(error) => panic!("{what}: {error}"),
        }
    }
}

/// True unless the volume is full.
fn fits(done: Result<(), FsError>) -> bool {
    match done {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error.errno(), Errno::NoSpace, "{error}");
            false
        }
    }
}

/// A volume with a parity page in each erase block where fsync is protected at once.
fn start(spec: &ChipSpec, clock: &TestClock, from: FsyncProtection) -> NandFs<SimChip> {
    let mut chip = SimChip::new(spec);
    let options = FormatOptions::default().with(|it| {
        it.created = clock.now();
        it.erased = true;
        it.parity_pages = u8::from(from == FsyncProtection::Now);
        it.fsync_protection = from;
    });
    format(&mut chip, &options, &mut |_, _| {}).unwrap();
    let options = MountOptions::new(CACHE_BYTES, clock.clock());
    NandFs::mount(chip, options).unwrap()
}

/// A volume under a round.
struct Round {
    fs: NandFs<SimChip>,
    rng: fastrand::Rng,
    refused: Refused,
    /// Directory, name and inode of each file.
    files: Vec<(Ino, String, Ino)>,
    dirs: Vec<Ino>,
}

impl Round {
    fn new(spec: &ChipSpec, seed: u64, from: FsyncProtection) -> Round {
        let fs = start(spec, &TestClock::new(), from);
        let dirs =
            (0..8).map(|n| fs.create(Ino::ROOT, format!("d{n}").as_bytes(), &DIR).unwrap().ino).collect();
        Round {
            fs,
            rng: fastrand::Rng::with_seed(seed),
            refused: Refused::default(),
            files: Vec::new(),
            dirs,
        }
    }

    /// Makes files of up to so many bytes until nothing fits any more.
    fn fill(&mut self, up_to: usize) {
        let bytes = vec![5; up_to];
        for number in 0.. {
            let dir = self.dirs[self.rng.usize(..self.dirs.len())];
            let name = format!("{up_to}-{number}");
            let Ok(file) = self.fs.create(dir, name.as_bytes(), &FILE) else { break };
            self.files.push((dir, name, file.ino));
            let len = self.rng.usize(..up_to);
            if !fits(self.fs.write(file.ino, 0, &bytes[..len])) {
                break;
            }
            if number % 64 == 0 {
                self.refused.must("fsync", self.fs.fsync(file.ino, false));
            }
        }
        self.refused.must("sync", self.fs.sync());
        for (.., ino) in &self.files {
            let mut first = [0];
            // An empty file that grew begins with a hole, which has no room yet.
            if self.fs.read(*ino, 0, &mut first).unwrap() > 0 && first != [0] {
                self.refused.must("an overwrite of one byte", self.fs.write(*ino, 0, b"x"));
            }
        }
    }

    /// Takes files away, cuts them, renames them, and touches their attributes.
    fn thin(&mut self, share: f64) {
        for (dir, name, ino) in std::mem::take(&mut self.files) {
            if self.rng.f64() < share {
                self.refused.must("unlink", self.fs.unlink(dir, name.as_bytes()));
                continue;
            }
            match self.rng.u32(..8) {
                0 => {
                    let cut = SetAttr { size: Some(self.rng.u64(..100)), ..SetAttr::default() };
                    let grows = self.fs.attr(ino).unwrap().size < 100;
                    let done = self.fs.set_attr(ino, &cut).map(drop);
                    if !grows || fits(done.clone()) {
                        self.refused.must("truncate", done);
                    }
                }
                1 => {
                    let change = SetAttr { perm: Some(0o600), ..SetAttr::default() };
                    self.refused.must("chmod", self.fs.set_attr(ino, &change).map(drop));
                }
                2 => {
                    let to = format!("r{name}");
                    let moved = self.fs.rename(dir, name.as_bytes(), dir, to.as_bytes(), RenameMode::Replace);
                    let is_moved = moved.is_ok();
                    self.refused.must("rename", moved);
                    self.files.push((dir, if is_moved { to } else { name }, ino));
                    continue;
                }
                3 => self.refused.must("fsync", self.fs.fsync(ino, false)),
                _ => {}
            }
            self.files.push((dir, name, ino));
        }
        self.refused.must("sync", self.fs.sync());
    }

    /// Unmounts and checks.
    fn end(mut self) -> Refused {
        self.refused.must("sync", self.fs.sync());
        match self.fs.unmount() {
            Ok(chip) => {
                let report = check(chip, &mut |_, _| {}).unwrap();
                assert!(report.findings.is_empty(), "{:?}", report.findings);
            }
            Err(error) => self.refused.must("unmount", Err(error)),
        }
        self.refused
    }
}

/// Tiny files to the brim, some or all taken away, and files of all sizes in their place.
fn refill(spec: &ChipSpec, seed: u64, from: FsyncProtection) -> Refused {
    let mut round = Round::new(spec, seed, from);
    let page = spec.geometry().page_bytes as usize;
    round.fill(page / 4 + 100);
    round.thin([1.0, 0.5, 0.1][seed as usize % 3]);
    round.fill(16 * page);
    round.thin(0.4);
    round.fill(page);
    round.end()
}

/// A file that takes 70 to 100 % of the free space, written over here and there through the cache.
fn overwrite(spec: &ChipSpec, seed: u64, from: FsyncProtection) -> Refused {
    let mut round = Round::new(spec, seed, from);
    let percent = 70 + seed * 7 % 31;
    let free = round.fs.space().unwrap().free_bytes;
    let file = round.fs.create(Ino::ROOT, b"large", &FILE).unwrap().ino;
    let piece = 4096_u64;
    let count = free * percent / 100 / piece;
    for n in 0..count {
        round.refused.must("a write that df promised", round.fs.write(file, n * piece, &[1; 4096]));
    }
    for turn in 0..count * 2 {
        let at = round.rng.u64(..count) * piece;
        round.refused.must("an overwrite", round.fs.write(file, at, &[2; 4096]));
        if turn % 97 == 0 {
            round.refused.must("fsync", round.fs.fsync(file, false));
        }
    }
    round.end()
}

/// Plays a kind of round on every chip and prints the refusals; returns their number.
fn campaign(name: &str, round: fn(&ChipSpec, u64, FsyncProtection) -> Refused) -> usize {
    let (seeds, asked, only) = (NANDFS_SPACE.seeds(0..1), NANDFS_SPACE.count(), SPACE_CHIP.text());
    let is_wanted = |chip: &ChipSpec| only.as_deref().is_none_or(|only| only == chip.name());
    let chips: Vec<ChipSpec> = chips().into_iter().filter(is_wanted).collect();
    if chips.is_empty() {
        SPACE_CHIP.unknown("a chip that is listed");
    }
    let (mut sum, mut played) = (0, 0);
    for chip in chips {
        let blocks = BLOCKS * chip.geometry().block_bytes();
        let spec = chip.clone().with_size(blocks.max(BYTES)).unwrap();
        let is_paired = chip.pairing() != Pairing::Unpaired;
        for (seed, from) in
            seeds.clone().flat_map(|seed| [(seed, FsyncProtection::AtClose), (seed, FsyncProtection::Now)])
        {
            // Chips with pages that share cells have no parity; one of the others is enough unless more is asked for.
            if from == FsyncProtection::Now && (is_paired || (asked.is_none() && chip.name() != PROTECTED)) {
                continue;
            }
            let refused = round(&spec, seed, from).0;
            played += 1;
            println!("nandfs {} {name} PUMICE_SEED={seed} {from}: refused {refused:?}", chip.name());
            sum += refused.values().sum::<usize>();
        }
    }
    NANDFS_SPACE.ran(seeds, played);
    sum
}

#[test]
fn tiny_files_and_others_in_their_place() {
    assert_eq!(campaign("refill", refill), 0);
}

#[test]
fn what_is_there_can_be_written_over() {
    assert_eq!(campaign("overwrite", overwrite), 0);
}
