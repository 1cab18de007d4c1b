//! A campaign on volumes that are nearly full: tiny files until there is no room, deleted and made again, files written
//! over at 80 to 100 % of df's space. It compares the files with their expected contents. `PUMICE_FULL=N` runs N seeds of each.

use std::collections::BTreeMap;

use pumice_media::{CutMode, Nand, SimChip};
use pumice_vfs::{Errno, FileSystem, FsError, Ino, SetAttr, Timestamp};

use super::{FILE, Subject, mount};

/// The contents that a file must hold: its bytes follow from its seed.
#[derive(Clone, Copy, Debug)]
struct Content {
    ino: Ino,
    seed: u64,
    bytes: usize,
}

fn bytes_of(seed: u64, bytes: usize) -> Vec<u8> {
    let mut all = vec![0; bytes];
    fastrand::Rng::with_seed(seed).fill(&mut all);
    all
}

/// The state of a campaign.
struct Campaign {
    rng: fastrand::Rng,
    files: BTreeMap<String, Content>,
    made: u64,
    /// Calls that were refused for want of room.
    refused: u64,
    /// Bytes that df may show as free where a call of a small file is refused: of each call, its worst case is asked for.
    slack: u64,
}

/// The reason why a campaign stopped.
#[derive(Debug)]
enum Stop {
    /// A call failed that must not.
    Wrong(#[allow(dead_code, reason = "messages show it")] String),
    /// The chip has no power.
    Dark,
}

fn stop(what: &str, error: &FsError) -> Stop {
    if error.to_string().contains("power") { Stop::Dark } else { Stop::Wrong(format!("{what}: {error}")) }
}

impl Campaign {
    fn new(seed: u64, slack: u64) -> Campaign {
        Campaign { rng: fastrand::Rng::with_seed(seed), files: BTreeMap::new(), made: 0, refused: 0, slack }
    }

    fn free(fs: &dyn FileSystem) -> u64 {
        fs.space().map_or(0, |space| space.free_bytes)
    }

    /// Takes a refusal: it must be for want of room, and there must be little.
    fn refuse(
        &mut self,
        fs: &dyn FileSystem,
        what: &str,
        wanted: usize,
        error: &FsError,
    ) -> Result<(), Stop> {
        if error.errno() != Errno::NoSpace {
            return Err(stop(what, error));
        }
        let free = Campaign::free(fs);
        self.refused += 1;
        if free > wanted as u64 * 9 / 8 + self.slack {
            return Err(Stop::Wrong(format!("{what}: {wanted} bytes refused, df has {free}")));
        }
        Ok(())
    }

    /// Makes a file of up to `most` bytes; false if there was no room.
    fn make(&mut self, fs: &dyn FileSystem, most: usize) -> Result<bool, Stop> {
        self.made += 1;
        let (name, seed, bytes) = (format!("f{}", self.made), self.made, self.rng.usize(..=most));
        let ino = match fs.create(Ino::ROOT, name.as_bytes(), &FILE) {
            Ok(attr) => attr.ino,
            Err(error) => {
                self.refuse(fs, "create", 0, &error)?;
                return Ok(false);
            }
        };
        self.files.insert(name.clone(), Content { ino, seed, bytes: 0 });
        if let Err(error) = fs.write(ino, 0, &bytes_of(seed, bytes)) {
            self.refuse(fs, "write", bytes, &error)?;
            fs.unlink(Ino::ROOT, name.as_bytes()).map_err(|error| stop("unlink after ENOSPC", &error))?;
            self.files.remove(&name);
            return Ok(false);
        }
        self.files.insert(name, Content { ino, seed, bytes });
        Ok(true)
    }

    fn pick(&mut self) -> Option<(String, Content)> {
        let at = self.rng.usize(..self.files.len().max(1));
        self.files.iter().nth(at).map(|(name, content)| (name.clone(), *content))
    }

    fn remove(&mut self, fs: &dyn FileSystem) -> Result<(), Stop> {
        if let Some((name, _)) = self.pick() {
            self.files.remove(&name);
            fs.unlink(Ino::ROOT, name.as_bytes()).map_err(|error| stop("unlink", &error))?;
        }
        Ok(())
    }

    /// Writes a file over: nothing is added, so nothing may be refused.
    fn overwrite(&mut self, fs: &dyn FileSystem) -> Result<(), Stop> {
        if let Some((name, content)) = self.pick() {
            self.made += 1;
            let seed = self.made;
            // The bytes after a cut may be old or new.
            fs.write(content.ino, 0, &bytes_of(seed, content.bytes))
                .map_err(|error| stop("overwrite", &error))?;
            self.files.insert(name, Content { seed, ..content });
        }
        Ok(())
    }

    fn truncate(&mut self, fs: &dyn FileSystem) -> Result<(), Stop> {
        if let Some((name, content)) = self.pick() {
            let bytes = self.rng.usize(..=content.bytes);
            let change = SetAttr { size: Some(bytes as u64), ..SetAttr::default() };
            fs.set_attr(content.ino, &change).map_err(|error| stop("truncate", &error))?;
            // The rest is a prefix of the same bytes.
            self.files.insert(name, Content { bytes, ..content });
        }
        Ok(())
    }

    /// One round: full, some deleted, full again, written over, some deleted.
    fn round(&mut self, fs: &dyn FileSystem, most: usize) -> Result<(), Stop> {
        while self.make(fs, most)? {}
        for _ in 0..self.files.len() / 3 {
            self.remove(fs)?;
        }
        while self.make(fs, most)? {}
        for number in 0..self.files.len() / 2 {
            self.overwrite(fs)?;
            if number % 16 == 0 {
                let ino = self.pick().map_or(Ino::ROOT, |(_, content)| content.ino);
                fs.fsync(ino, false).map_err(|error| stop("fsync", &error))?;
            }
            if number % 8 == 0 {
                self.truncate(fs)?;
            }
        }
        fs.sync().map_err(|error| stop("sync", &error))?;
        for _ in 0..self.files.len() / 5 {
            self.remove(fs)?;
        }
        Ok(())
    }

    /// Reads all files.
    fn verify(&self, fs: &dyn FileSystem) -> Result<(), Stop> {
        for (name, content) in &self.files {
            let attr = fs.lookup(Ino::ROOT, name.as_bytes()).map_err(|error| stop(name, &error))?;
            let mut found = vec![0; content.bytes + 1];
            let read = fs.read(attr.ino, 0, &mut found).map_err(|error| stop(name, &error))?;
            // A truncated file holds the first of its written bytes.
            if read != content.bytes || found[..read] != bytes_of(content.seed, read)[..] {
                return Err(Stop::Wrong(format!("{name}: {read} bytes, want {content:?}")));
            }
        }
        Ok(())
    }

    /// Removes everything; all of it must be free again but for `left` bytes.
    fn empty(&mut self, fs: &dyn FileSystem, left: u64) -> Result<(), Stop> {
        while !self.files.is_empty() {
            self.remove(fs)?;
        }
        fs.sync().map_err(|error| stop("sync", &error))?;
        let space = fs.space().map_err(|error| stop("space", &error))?;
        if space.free_bytes + left < space.total_bytes {
            return Err(Stop::Wrong(format!("emptied, but {space:?}")));
        }
        Ok(())
    }
}

/// The seeds of a campaign, with one volume each; each is named before it begins.
fn seeds(campaign: &pumice_knobs::Campaign) -> impl Iterator<Item = u64> {
    let seeds = campaign.seeds(1..2);
    campaign.ran(seeds.clone(), seeds.end - seeds.start);
    seeds.inspect(|seed| campaign.begin(*seed))
}

/// Full volumes go on; emptied, so many blocks may stay in use.
pub(crate) fn go_on<S: Subject>(chips: &[S], campaign: &pumice_knobs::Campaign, left_blocks: u32) {
    for seed in seeds(campaign) {
        for chip in chips {
            for most in [300, 3000, 60_000] {
                goes_on(chip, seed, most, left_blocks);
            }
        }
    }
}

/// Full volumes outlive so many power cuts each.
pub(crate) fn outlive_cuts<S: Subject>(chips: &[S], campaign: &pumice_knobs::Campaign, cuts: u64) {
    for seed in seeds(campaign) {
        for chip in chips {
            (0..cuts).for_each(|number| outlives_a_cut(chip, seed, number));
        }
    }
}

pub(crate) fn sound<S: Subject>(chip: &SimChip, what: &str) {
    assert_eq!(chip.stats().violations, 0, "{what}");
    let report = S::check(chip.clone()).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(report.findings, [], "{what}");
}

/// Three rounds with files of up to so many bytes, a check behind each; emptied at the end.
fn goes_on<S: Subject>(subject: &S, seed: u64, most: usize, left_blocks: u32) {
    let what = format!("seed {seed}, {}, {most}", subject.name());
    let mut campaign = Campaign::new(seed, subject.slack());
    let mut chip = subject.formatted(Timestamp::default());
    for _ in 0..3 {
        let fs = mount::<S>(chip);
        let done = campaign.round(&fs, most).and_then(|()| campaign.verify(&fs));
        done.unwrap_or_else(|stop| panic!("{what}: {stop:?}"));
        chip = fs.unmount().unwrap();
        sound::<S>(&chip, &what);
    }
    assert!(campaign.refused >= 6, "{what}: never full");
    let fs = mount::<S>(chip);
    let left = left_blocks * fs.space().unwrap().block_bytes;
    campaign.empty(&fs, left.into()).unwrap_or_else(|stop| panic!("{what}: {stop:?}"));
    sound::<S>(&fs.unmount().unwrap(), &what);
}

/// A power cut, the `number`th, in the second round. Whatever is there afterwards can be removed, and the volume is as good as before.
pub(crate) fn outlives_a_cut<S: Subject>(subject: &S, seed: u64, number: u64) {
    const MOST: usize = 3000;
    let what = format!("seed {seed}, {}, cut {number}", subject.name());
    let mut campaign = Campaign::new(seed, subject.slack());
    let fs = mount::<S>(subject.formatted(Timestamp::default()));
    campaign.round(&fs, MOST).unwrap_or_else(|stop| panic!("{what}: {stop:?}"));
    let mut chip = fs.unmount().unwrap();
    let at = chip.operations() + 20 + number * 193;
    let modes = [CutMode::Nothing, CutMode::Torn { seed: at }, CutMode::Half { seed: at }];
    chip.cut_after(at - chip.operations(), modes[usize::try_from(number).unwrap() % 3]);
    let fs = mount::<S>(chip);
    match campaign.round(&fs, MOST) {
        Err(Stop::Dark) => {}
        other => panic!("{what}: {other:?}"),
    }
    let mut chip = fs.abandon().unwrap();
    chip.power_on();
    sound::<S>(&chip, &what);
    let fs = mount::<S>(chip);
    let mut names = Vec::new();
    fs.readdir(Ino::ROOT, 0, &mut |entry| {
        names.push(entry.name.to_vec());
        true
    })
    .unwrap();
    let remove = |name: &Vec<u8>| {
        fs.unlink(Ino::ROOT, name).unwrap_or_else(|error| panic!("{what}: {error}"));
    };
    names.iter().step_by(2).for_each(remove);
    let mut again = Campaign::new(seed + 1000, subject.slack());
    names.iter().skip(1).step_by(2).for_each(remove);
    again.round(&fs, MOST).unwrap_or_else(|stop| panic!("{what}, afterwards: {stop:?}"));
    sound::<S>(&fs.unmount().unwrap(), &what);
}
