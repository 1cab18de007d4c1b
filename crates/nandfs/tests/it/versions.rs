//! Blocks of files that are written over at random, each time with the next version, on nearly full volumes where pages
//! hold several blocks and cleaning never rests. After cuts and orderly ends none is older than its fsync.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use pumice_knobs::NANDFS_VERSIONS;
use pumice_media::{BlockId, Nand, SimChip};
use pumice_nandfs::{MountOptions, NandFs, RepairOptions, check, repair};
use pumice_vfs::conformance::{TestClock, write_file};
use pumice_vfs::{FileSystem, Ino};

use crate::cut::random::Random;
use crate::cut::runner::chip;
use crate::cut::shared::Shared;

/// Chips with two or more blocks a page, or that pack them.
const CHIPS: [&str; 6] =
    ["slots", "slots/dist3", "mlc/dist3", "2048+64:16:96@lz4", "tlc/by3", "16384+1952:8:64"];
const BLOCK: u64 = 4096;
/// Writes of a life in `make test`.
const WRITES: u64 = 1500;

/// The known versions of a block.
#[derive(Clone, Copy, Default)]
struct Versions {
    /// The one that fsync promised.
    promised: u64,
    newest: u64,
    /// The newest that was ever written. A cut may have taken it, and its page may be readable still.
    written: u64,
}

impl Versions {
    fn write(&mut self, version: u64) {
        (self.newest, self.written) = (version, version);
    }

    fn is(&self) -> RangeInclusive<u64> {
        self.newest..=self.newest
    }

    fn after_a_cut(&self) -> RangeInclusive<u64> {
        self.promised..=self.newest
    }

    /// Without anchors no tag tells which pages a mount gave up.
    fn by_tags(&self) -> RangeInclusive<u64> {
        self.promised..=self.written
    }
}

struct Life {
    name: &'static str,
    random: Random,
    clock: TestClock,
    files: u64,
    blocks: u64,
    known: BTreeMap<(u64, u64), Versions>,
    version: u64,
}

impl Life {
    fn mount(&self, shared: &Shared) -> NandFs<Shared> {
        let options = MountOptions::new(256 << 10, self.clock.clock());
        NandFs::mount(shared.clone(), options).unwrap_or_else(|error| panic!("{}: mount: {error}", self.name))
    }

    fn ino(fs: &NandFs<Shared>, file: u64) -> Ino {
        fs.lookup(Ino::ROOT, format!("f{file}").as_bytes()).unwrap().ino
    }

    /// Files over four fifths of the volume.
    fn fill(&mut self, fs: &NandFs<Shared>) {
        let free = fs.space().unwrap().free_bytes;
        self.blocks = free * 4 / 5 / BLOCK / self.files;
        for file in 0..self.files {
            write_file(fs, &format!("/f{file}"), &vec![0; (self.blocks * BLOCK) as usize]).unwrap();
        }
        fs.sync().unwrap();
    }

    fn write(&mut self, fs: &NandFs<Shared>) -> Result<(), pumice_vfs::FsError> {
        // A few blocks are hot.
        let span = if self.random.below(2) == 0 { 4.min(self.blocks) } else { self.blocks };
        let (file, block) = (self.random.below(self.files), self.random.below(span));
        self.version += 1;
        self.known.entry((file, block)).or_default().write(self.version);
        let ino = Life::ino(fs, file);
        let mut bytes = vec![self.version as u8; BLOCK as usize];
        bytes[..8].copy_from_slice(&self.version.to_le_bytes());
        fs.write(ino, block * BLOCK, &bytes)?;
        if self.random.below(3) == 0 {
            fs.fsync(ino, false)?;
            let all = self.known.range_mut((file, 0)..(file + 1, 0));
            all.for_each(|(_, known)| known.promised = known.newest);
        }
        Ok(())
    }

    /// Compares all blocks; their versions.
    fn compare(
        &self,
        fs: &NandFs<Shared>,
        what: &str,
        allowed: impl Fn(&Versions) -> RangeInclusive<u64>,
    ) -> BTreeMap<(u64, u64), u64> {
        let look = |(place, known): (&(u64, u64), &Versions)| {
            let (file, block) = *place;
            let mut bytes = [0; 8];
            fs.read(Life::ino(fs, file), block * BLOCK, &mut bytes)
                .unwrap_or_else(|error| panic!("{what}: block {block} of f{file}: {error}"));
            let found = u64::from_le_bytes(bytes);
            let allowed = allowed(known);
            assert!(
                allowed.contains(&found),
                "{}, {what}: block {block} of f{file} has version {found}, want {allowed:?}",
                self.name,
            );
            (*place, found)
        };
        self.known.iter().map(look).collect()
    }

    /// Takes the present versions as the promised and the newest ones.
    fn adopt(&mut self, found: &BTreeMap<(u64, u64), u64>) {
        for (place, known) in &mut self.known {
            let found = found[place];
            (known.promised, known.newest) = (found, found);
        }
    }

    /// Repairs a chip without its anchors, by the tags of its pages. A cut may have destroyed what the newest nodes name, and
    /// no anchor leads to those before: such blocks are named.
    fn compare_by_tags(&mut self, mut chip: SimChip) {
        (0..4).for_each(|block| chip.erase(BlockId(block)).unwrap());
        let options = RepairOptions::default().with(|it| it.now = self.clock.now());
        let (chip, findings) = repair(Shared::new(chip), options).unwrap();
        let fs = self.mount(&chip);
        let is_named = |file: u64, block: u64| {
            let hole = format!("block {block} of inode {} cannot be read", Life::ino(&fs, file).0);
            findings.iter().any(|finding| finding.detail.starts_with(&hole))
        };
        let mut readable = self.known.clone();
        readable.retain(|(file, block), _| !is_named(*file, *block));
        let known = std::mem::replace(&mut self.known, readable);
        self.compare(&fs, "after a cut, by tags", Versions::by_tags);
        self.known = known;
    }

    fn live(seed: u64, writes: u64) {
        let name = CHIPS[(seed % CHIPS.len() as u64) as usize];
        let clock = TestClock::new();
        let shared = Shared::new(chip(name, &clock));
        let mut life = Life {
            name,
            random: Random(seed),
            clock,
            files: 3,
            blocks: 0,
            known: BTreeMap::new(),
            version: 0,
        };
        let mut fs = life.mount(&shared);
        life.fill(&fs);
        let mut done = 0;
        while done < writes {
            let session = 20 + life.random.below(400);
            let will_be_cut = life.random.below(2) == 0;
            if will_be_cut {
                let (after, mode) = (life.random.below(400), life.random.cut_mode());
                shared.0.lock().unwrap().cut_after(after, mode);
            }
            let wrote = (0..session).try_for_each(|_| life.write(&fs));
            done += session;
            let powered = shared.is_powered();
            assert!(wrote.is_ok() || !powered, "{name}: {wrote:?}");
            shared.0.lock().unwrap().faults_mut().power_cut = None;
            if powered && life.random.below(2) == 0 {
                fs.unmount().unwrap();
                fs = life.mount(&shared);
                let found = life.compare(&fs, "after an unmount", Versions::is);
                life.adopt(&found);
                continue;
            }
            drop(fs);
            shared.0.lock().unwrap().power_on();
            let report = check(shared.copy(), &mut |_, _| {}).unwrap();
            assert!(report.findings.is_empty(), "{name}: {:?}", report.findings);
            if done % 5 == 0 {
                life.compare_by_tags(shared.copy());
            }
            fs = life.mount(&shared);
            let found = life.compare(&fs, "after a cut", Versions::after_a_cut);
            life.adopt(&found);
        }
        fs.unmount().unwrap();
    }
}

#[test]
fn none_is_older_than_its_fsync() {
    let seeds = NANDFS_VERSIONS.seeds(0..12);
    let mut cases = 0;
    for seed in seeds.clone() {
        NANDFS_VERSIONS.begin(seed);
        let writes = if NANDFS_VERSIONS.is_usual() { WRITES } else { 10 * WRITES };
        Life::live(seed, writes);
        cases += writes;
    }
    NANDFS_VERSIONS.ran(seeds, cases);
}
