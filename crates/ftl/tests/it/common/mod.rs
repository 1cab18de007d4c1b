//! Chips of every layout for the tests, and a model of the disk.

#[path = "../../../../nandfs/tests/it/cut/probe.rs"]
pub mod probe;
pub mod raw;
#[path = "../../../../nandfs/tests/it/cut/shared.rs"]
pub mod shared;

use pumice_ftl::{CreateOptions, Export, Ftl, OpenOptions, PolicyNames, create};
use pumice_media::{BlockDevice, ChipSpec, CutMode, Lba, Nand, Pairing, SimChip};

/// A chip, and the logical blocks on it.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub name: &'static str,
    pub geometry: &'static str,
    pub block_bytes: u32,
    /// Log pages of each segment that are parity.
    pub parity: u8,
}

/// Few erases, as the makers of these chips might promise, so that wear levelling sets in.
pub const ENDURANCE: u32 = 40;

const fn case(name: &'static str, geometry: &'static str, block_bytes: u32) -> Case {
    Case { name, geometry, block_bytes, parity: 0 }
}

const fn with_parity(parity: u8, case: Case) -> Case {
    Case { parity, ..case }
}

/// Small chips of every layout.
pub const CASES: [Case; 13] = [
    // Eight small pages to a block, four blocks to a segment, tags in the spare areas.
    case("gang", "512+16:32:64", 4096),
    // Small blocks on small pages with room for a checksum alone in their spare areas.
    case("small", "512+16:32:48", 512),
    // A tag beside each page, and no summary.
    case("tags", "2048+64:8:40", 2048),
    // Tags and summaries.
    case("summary", "2048+64:32:32", 2048),
    // Four spare bytes.
    case("few", "4096+54:16:40", 4096),
    // On-die ECC: four spare bytes a page, two pages a block.
    case("spi", "spinand-1g:40", 4096),
    // Two blocks in a page.
    case("slots", "8192+448:8:40", 4096),
    // Four blocks in a page with a checksum alone.
    case("packed", "2048+32:16:48", 512),
    // A page of parity behind tags and a summary.
    with_parity(1, case("parity", "2048+64:33:32", 2048)),
    // Two behind checksums alone.
    with_parity(2, case("parity2", "2048+32:18:48", 512)),
    // More blocks than a checkpoint has room for: the table lies in leaves. With tags; without; with parity.
    case("leaves", "512+64:32:420", 512),
    case("leaves-few", "512+16:32:420", 512),
    with_parity(1, case("leaves-parity", "512+64:33:420", 512)),
];

/// So many segments that twelve of them wait for one commit; it would take long in all tests.
const MANY: Case = case("many", "512+16:8:3100", 512);

/// Real chips with pages that share cells, of few blocks.
const PAIRED: [Case; 2] = [case("mlc", "mlc-8k-64g:24", 4096), case("tlc", "tlc-16k-96g:24", 4096)];

impl Case {
    pub fn named(name: &str) -> Case {
        *CASES.iter().chain(&PAIRED).chain([&MANY]).find(|case| case.name == name).unwrap()
    }

    pub fn spec(&self) -> ChipSpec {
        match self.geometry.split_once(':') {
            Some((name @ ("spinand-1g" | "mlc-8k-64g" | "tlc-16k-96g"), blocks)) => {
                let spec = ChipSpec::named(name).unwrap();
                let bytes = spec.geometry().block_bytes() * blocks.parse::<u64>().unwrap();
                spec.with_size(bytes).unwrap()
            }
            _ => ChipSpec::parse_geometry(self.geometry).unwrap(),
        }
    }

    /// A fresh chip with a disk that takes `permille` of it.
    pub fn chip(&self, permille: u32, policies: &PolicyNames) -> SimChip {
        self.chip_with(&self.spec(), permille, policies)
    }

    /// The same for a case by name; `/dist3` or `/by4` behind it pairs the pages, `/own` leaves them as the chip has them.
    pub fn chip_of(name: &str, permille: u32, policies: &PolicyNames) -> SimChip {
        let (layout, pairing) = name.split_once('/').unwrap_or((name, ""));
        let case = Case::named(layout);
        let pairing = match pairing {
            "own" => SimChip::new(&case.spec()).pairing(),
            "" => Pairing::Unpaired,
            "dist3" => Pairing::Dist3,
            "by4" => Pairing::WordLine { pages: 4 },
            other => panic!("no pairing {other}"),
        };
        case.chip_with(&case.spec().with_pairing(pairing).unwrap(), permille, policies)
    }

    fn chip_with(&self, spec: &ChipSpec, permille: u32, policies: &PolicyNames) -> SimChip {
        let mut chip = SimChip::new(spec);
        self.create_on(&mut chip, permille, policies);
        chip
    }

    /// Makes such a disk on a chip.
    pub fn create_on(&self, chip: &mut (impl Nand + Send), permille: u32, policies: &PolicyNames) {
        let options = CreateOptions {
            block_bytes: self.block_bytes,
            export: Export::Permille(permille),
            policies: *policies,
            uuid: *b"0123456789abcdef",
            endurance: ENDURANCE,
            parity_pages: self.parity,
            erased: true,
        };
        create(chip, &options, &mut |_, _| {}).unwrap();
    }
}

pub fn policies(victim: &str, placement: &str, wear: &str) -> PolicyNames {
    PolicyNames {
        victim: victim.parse().unwrap(),
        placement: placement.parse().unwrap(),
        wear: wear.parse().unwrap(),
    }
}

pub fn start<N: Nand + Send + 'static>(chip: N) -> Ftl<N> {
    Ftl::open(chip, OpenOptions::default()).unwrap()
}

/// The chip that a disk was started on.
pub fn chip_of<N: 'static>(disk: &Ftl<N>) -> &N {
    disk.chip().get().unwrap()
}

/// A mode of a power cut: in half of them the page seems sound, and may fade.
pub fn cut_mode(rng: &mut fastrand::Rng) -> CutMode {
    let seed = rng.u64(..);
    match rng.u32(..10) {
        0 => CutMode::Nothing,
        1 => CutMode::Complete,
        2 => CutMode::Torn { seed },
        3 => CutMode::Garbage { seed },
        4 => CutMode::Half { seed },
        _ => CutMode::Unstable { seed },
    }
}

/// Whether such a finding means harm: after power cuts one copy of a root or summary may have faded, of those in the
/// checkpoint, too.
pub fn is_harm(code: &str) -> bool {
    !["anchors", "records", "summary"].contains(&code)
}

/// The values that each block may hold. A value of 0 is a block of zeros; every write has a value of its own.
#[derive(Clone, Debug)]
pub struct Model {
    block_bytes: usize,
    flushed: Vec<u64>,
    /// Values since the last flush, oldest first.
    since: Vec<Vec<u64>>,
    dirty: Vec<usize>,
    next: u64,
}

impl Model {
    pub fn new(blocks: u64, block_bytes: u32) -> Model {
        let blocks = usize::try_from(blocks).unwrap();
        let (flushed, since) = (vec![0; blocks], vec![Vec::new(); blocks]);
        Model { block_bytes: block_bytes as usize, flushed, since, dirty: Vec::new(), next: 1 }
    }

    pub fn blocks(&self) -> u64 {
        self.flushed.len() as u64
    }

    fn put(&mut self, lba: u64, value: u64) {
        let at = usize::try_from(lba).unwrap();
        self.since[at].push(value);
        self.dirty.push(at);
    }

    /// The bytes of the next write to a block.
    pub fn write(&mut self, lba: u64) -> Vec<u8> {
        let value = self.next;
        self.next += 1;
        self.put(lba, value);
        content(lba, value, self.block_bytes)
    }

    pub fn trim(&mut self, lba: u64) {
        self.put(lba, 0);
    }

    /// Forgets the newest value of a block, which was not flushed.
    pub fn take_back(&mut self, lba: u64) {
        assert!(self.since[usize::try_from(lba).unwrap()].pop().is_some());
    }

    pub fn flush(&mut self) {
        for at in std::mem::take(&mut self.dirty) {
            if let Some(value) = self.since[at].last() {
                self.flushed[at] = *value;
            }
            self.since[at].clear();
        }
    }

    /// Takes the blocks found after a cut as stored; an error if one holds a value that it must not.
    pub fn adopt(&mut self, disk: &mut impl BlockDevice) -> Result<(), String> {
        for lba in 0..self.blocks() {
            let found = self.found(disk, lba)?;
            let at = usize::try_from(lba).unwrap();
            if found != self.flushed[at] && !self.since[at].contains(&found) {
                return Err(format!(
                    "block {lba} holds value {found}, want {} or one of {:?}",
                    self.flushed[at], self.since[at]
                ));
            }
            self.flushed[at] = found;
        }
        self.since.iter_mut().for_each(Vec::clear);
        self.dirty.clear();
        Ok(())
    }

    /// Meets a disk after a cut: each block holds its flushed value, or one written since, and counts as written so;
    /// other values that it may hold until the next flush stay.
    pub fn meet(&mut self, disk: &mut impl BlockDevice) -> Result<(), String> {
        for lba in 0..self.blocks() {
            let found = self.found(disk, lba)?;
            let at = usize::try_from(lba).unwrap();
            let since = &mut self.since[at];
            if found != self.flushed[at] && !since.contains(&found) {
                return Err(format!(
                    "block {lba} holds value {found}, want {} or one of {since:?}",
                    self.flushed[at]
                ));
            }
            if !since.is_empty() {
                since.push(found);
            }
        }
        Ok(())
    }

    /// Compares with a disk that was repaired. These blocks may be zeros; a block that was trimmed may hold anything that
    /// was written to it before, if `forgot` says that trims may be forgotten.
    pub fn compare_repaired(
        &self,
        disk: &mut impl BlockDevice,
        given_up: &[u64],
        forgot: bool,
    ) -> Result<(), String> {
        for lba in 0..self.blocks() {
            let found = self.found(disk, lba)?;
            let want = self.flushed[usize::try_from(lba).unwrap()];
            let is_excused = found == 0 && given_up.contains(&lba) || want == 0 && forgot;
            if found != want && !is_excused {
                return Err(format!("block {lba} holds value {found}, want {want}"));
            }
        }
        Ok(())
    }

    /// The blocks that a disk cannot read.
    pub fn unreadable(&self, disk: &mut impl BlockDevice) -> Vec<u64> {
        let mut bytes = vec![0; self.block_bytes];
        (0..self.blocks()).filter(|lba| disk.read(Lba(*lba), &mut bytes).is_err()).collect()
    }

    /// Takes blocks of a repaired disk as they are, if they are excused; no others may differ.
    pub fn give_up(
        &mut self,
        disk: &mut impl BlockDevice,
        is_excused: impl Fn(u64) -> bool,
    ) -> Result<(), String> {
        for lba in 0..self.blocks() {
            if self.judge_cut(disk, lba).is_ok() {
                continue;
            }
            let found = self.found(disk, lba)?;
            if !is_excused(lba) {
                return self.judge_cut(disk, lba);
            }
            let at = usize::try_from(lba).unwrap();
            self.flushed[at] = found;
            self.since[at].clear();
        }
        Ok(())
    }

    /// Compares with a disk that may say of some blocks that they cannot be read.
    pub fn compare_read(&self, disk: &mut impl BlockDevice) -> Result<(), String> {
        for lba in 0..self.blocks() {
            let at = usize::try_from(lba).unwrap();
            let want = self.since[at].last().copied().unwrap_or(self.flushed[at]);
            match self.found(disk, lba) {
                Ok(found) if found != want => {
                    return Err(format!("block {lba} holds value {found}, want {want}"));
                }
                Err(what) if !what.ends_with("cannot be read") => return Err(what),
                _ => {}
            }
        }
        Ok(())
    }

    /// Compares with a disk that lost nothing.
    pub fn compare(&self, disk: &mut impl BlockDevice) -> Result<(), String> {
        for lba in 0..self.blocks() {
            let found = self.found(disk, lba)?;
            let at = usize::try_from(lba).unwrap();
            let want = self.since[at].last().copied().unwrap_or(self.flushed[at]);
            if found != want {
                return Err(format!("block {lba} holds value {found}, want {want}"));
            }
        }
        Ok(())
    }

    /// Judges whether a block holds the right value; the error tells the fault, and ends with `cannot be read` where
    /// the disk says so itself.
    pub fn judge(&self, disk: &mut impl BlockDevice, lba: u64) -> Result<(), String> {
        let found = self.found(disk, lba)?;
        let want = self.flushed[usize::try_from(lba).unwrap()];
        if found == want { Ok(()) } else { Err(format!("block {lba} holds value {found}, want {want}")) }
    }

    /// The same after a power cut: a value written since the last flush is right, too.
    pub fn judge_cut(&self, disk: &mut impl BlockDevice, lba: u64) -> Result<(), String> {
        let found = self.found(disk, lba)?;
        let at = usize::try_from(lba).unwrap();
        let (flushed, since) = (self.flushed[at], &self.since[at]);
        let is_right = found == flushed || since.contains(&found);
        if is_right {
            Ok(())
        } else {
            Err(format!("block {lba} holds value {found}, want {flushed} or one of {since:?}"))
        }
    }

    fn found(&self, disk: &mut impl BlockDevice, lba: u64) -> Result<u64, String> {
        let mut bytes = vec![0xA5; self.block_bytes];
        disk.read(Lba(lba), &mut bytes).map_err(|error| format!("block {lba}: {error}"))?;
        let value = u64::from_le_bytes(*bytes.first_chunk().unwrap());
        if !is_content(&bytes, lba, value) {
            return Err(format!("block {lba} is torn; it begins as value {value}"));
        }
        Ok(value)
    }
}

/// A block's bytes: its value first, noise that only this block has with this value behind.
pub fn content(lba: u64, value: u64, bytes: usize) -> Vec<u8> {
    let mut content = vec![0; bytes];
    if value != 0 {
        fastrand::Rng::with_seed(value << 24 ^ lba).fill(&mut content);
        content[..8].copy_from_slice(&value.to_le_bytes());
    }
    content
}

/// True if a block's bytes are those of [`content`]: compared as they are made, for most of a test's time goes here.
fn is_content(bytes: &[u8], lba: u64, value: u64) -> bool {
    let mut noise = fastrand::Rng::with_seed(value << 24 ^ lba);
    // The first word made way for the value.
    noise.u64(..);
    let mut next = || if value == 0 { 0 } else { noise.u64(..) };
    bytes[8..].chunks_exact(8).all(|word| *word == next().to_le_bytes())
}

/// Something done to the disk.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Write {
        first: u64,
        count: u64,
    },
    Trim {
        first: u64,
        count: u64,
    },
    Flush,
    Close,
    /// The process ends, the power stays.
    Die,
}

impl Step {
    /// A random one on a disk of so many blocks; 90 % of the writes go to 10 % of them.
    pub fn random(rng: &mut fastrand::Rng, blocks: u64) -> Step {
        let hot = rng.u32(..10) > 0;
        let first = if hot { rng.u64(..(blocks / 10).max(1)) } else { rng.u64(..blocks) };
        let count = rng.u64(1..6).min(blocks - first);
        match rng.u32(..100) {
            0..8 => Step::Flush,
            8..14 => Step::Trim { first, count: count * 3 },
            14 => Step::Close,
            15 => Step::Die,
            _ => Step::Write { first, count },
        }
    }
}

/// Does a step that needs no start to a disk and its model.
pub fn change<N: Nand>(disk: &mut Ftl<N>, model: &mut Model, step: Step) -> Result<(), String> {
    let said = |error: pumice_media::BlockError| error.to_string();
    let blocks = model.blocks();
    match step {
        Step::Write { first, count } => {
            for lba in first..(first + count).min(blocks) {
                let bytes = model.write(lba);
                disk.write(Lba(lba), &bytes).map_err(said)?;
            }
        }
        Step::Trim { first, count } => {
            let count = count.min(blocks - first);
            (first..first + count).for_each(|lba| model.trim(lba));
            disk.discard(Lba(first), count).map_err(said)?;
        }
        Step::Flush => {
            disk.flush().map_err(said)?;
            model.flush();
        }
        Step::Close | Step::Die => panic!("{step:?} needs a start"),
    }
    Ok(())
}

/// A disk and its model, on a chip that outlives the server.
pub struct Player<N: Nand + Clone + Send + 'static> {
    pub chip: N,
    pub disk: Option<Ftl<N>>,
    pub model: Model,
}

impl<N: Nand + Clone + Send + 'static> Player<N> {
    pub fn new(chip: N) -> Player<N> {
        let disk = start(chip.clone());
        let model = Model::new(disk.blocks(), disk.block_bytes());
        Player { chip, disk: Some(disk), model }
    }

    pub fn play(&mut self, step: Step) -> Result<(), String> {
        let disk = self.disk.as_mut().ok_or("no disk")?;
        match step {
            Step::Write { .. } | Step::Trim { .. } | Step::Flush => change(disk, &mut self.model, step)?,
            Step::Close => {
                self.disk.take().unwrap().close().map_err(|error| error.to_string())?;
                self.model.flush();
                self.restart()?;
                self.model.compare(self.disk.as_mut().unwrap())?;
            }
            Step::Die => {
                self.disk = None;
                self.restart()?;
                self.model.adopt(self.disk.as_mut().unwrap())?;
            }
        }
        Ok(())
    }

    fn restart(&mut self) -> Result<(), String> {
        let opened = Ftl::open(self.chip.clone(), OpenOptions::default());
        self.disk = Some(opened.map_err(|error| error.to_string())?);
        Ok(())
    }
}
