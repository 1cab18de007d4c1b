//! Blocks with parity lose nothing while as many of their pages cannot be read: campaigns by seed, in which random calls, cuts
//! of the power, remounts and cleaning go on between.

use crate::campaign::harm::{ANCHORS, Harm, Layout as Blocks};
use crate::campaign::newest::{Last, Newest};
use crate::cut::image::Image;
use crate::cut::player::Player;
use crate::cut::random::Random;
use crate::cut::rebuild::rebuild;
use crate::cut::runner::chip;
use crate::cut::shared::Shared;
use crate::cut::step::Step;
use crate::cut::verify::{CACHE_BYTES, mount, verify};
use pumice_knobs::NANDFS_PARITY;
use pumice_media::{BlockId, Codeword, Nand, SimChip};
use pumice_nandfs::{FsyncProtection, MountOptions, NandFs, Scrubbed};
use pumice_vfs::FileSystem;
use pumice_vfs::conformance::{TestClock, write_file};

/// Chips with their parity pages, and how they are hurt.
const CHIPS: [(&str, Harm); 15] = [
    ("rcffs-128m+1", Harm::Bits),
    ("slc-2k-2g+1", Harm::Pages),
    ("spares+1", Harm::Pages),
    ("gangs+2", Harm::Pages),
    ("inpage+1", Harm::Pages),
    ("slc-2k-2g+2", Harm::Pages),
    ("rcffs-128m+1", Harm::Pages),
    ("spares+1now", Harm::Pages),
    ("gangs+2now", Harm::Pages),
    ("inpage+1now", Harm::Pages),
    ("spares+1@lz4", Harm::Pages),
    ("gangs+2now@zstd", Harm::Pages),
    ("slc-2k-2g+1", Harm::Codewords),
    ("gangs+2now", Harm::Codewords),
    ("inpage+1now", Harm::Codewords),
];

/// Campaigns that failed once, by seed, with the lives up to there. A begun block of which no page could be read without a
/// copy of its parity was taken for one of copies.
const FAILED: [(u64, u64); 1] = [(7_700_414, 2)];

/// The number of lives in CI with a hurt chip.
const LIVES: u64 = 4;
/// Calls between, and how long files get, in bytes.
const CALLS: u64 = 250;
const FILE_BYTES: u64 = 90_000;
/// The layout of a volume on its chip.
#[derive(Clone, Copy)]
struct Layout {
    blocks: Blocks,
    /// The place of the first byte of a tag in a chip page, or behind it in its spare area.
    tag_at: Option<usize>,
    from: FsyncProtection,
}

/// The kind of pages that say that copies of parity follow.
const COPIES: u8 = 7;

impl Layout {
    /// Blocks that have begun and not all of their parity, but copies of it; and those with the copies, full or not.
    fn begun(self, chip: &mut SimChip) -> (Vec<BlockId>, Vec<BlockId>) {
        let ended = self.blocks.protected(chip, &[]);
        let geometry = chip.geometry();
        let mut kind = |block: BlockId| {
            let part = if self.tag_at.is_some() { self.blocks.gang - 1 } else { 0 };
            let mut data = vec![0; geometry.page_bytes as usize];
            let mut spare = vec![0; geometry.free_spare_bytes as usize];
            chip.read(geometry.page(block, part), &mut data, &mut spare).ok()?;
            Some(self.tag_at.map_or(spare[0], |at| data[at]) & 0x0f)
        };
        let (mut begun, mut copies) = (Vec::new(), Vec::new());
        for block in (ANCHORS..geometry.blocks).map(BlockId) {
            match kind(block) {
                Some(COPIES) => copies.push(block),
                Some(..14) if !ended.contains(&block) => begun.push(block),
                _ => {}
            }
        }
        (begun, copies)
    }
}

/// The sums of a campaign.
#[derive(Default)]
struct Sums {
    hurt_blocks: usize,
    rebuilt_pages: u64,
    cuts: u64,
}

/// A chip that is used, loses its power, is hurt, and used again.
struct Campaign {
    random: Random,
    clock: TestClock,
    shared: Shared,
    layout: Layout,
    harm: Harm,
    /// Blocks that were being programmed when the power went, with their erases then: any parity of theirs may be torn,
    /// and their live data is moved.
    torn: Vec<(BlockId, u32)>,
    /// The power went while something was being promised: its pages count as promised if the next page is there, and
    /// have no copy of their parity yet.
    is_promising: bool,
    /// The power went, whatever was being done.
    is_cut: bool,
    sums: Sums,
}

impl Campaign {
    fn mount(&self) -> (NandFs<Newest<Shared>>, Last) {
        let (nand, last) = Newest::new(self.shared.clone(), 1);
        (mount(nand, &self.clock).unwrap(), last)
    }

    /// Calls until they are over, or the power is gone.
    fn use_it(&mut self, player: &mut Player<Newest<Shared>>) {
        let is_cut = self.random.below(2) == 0;
        if is_cut {
            let reach = [4, 30, 300, 2000][self.random.below(4) as usize];
            let (after, mode) = (self.random.below(reach), self.random.cut_mode());
            self.shared.0.lock().unwrap().cut_after(after, mode);
        }
        let life = (0..CALLS).try_for_each(|_| {
            let step = self.random.step(FILE_BYTES);
            self.is_promising = matches!(step, Step::Fsync(_) | Step::Sync | Step::Remount);
            player.play(&step)
        });
        let ends = life.is_ok() && self.random.below(2) == 0;
        let life = if ends { player.play(&Step::Remount) } else { life };
        let is_powered = self.shared.is_powered();
        assert!(life.is_ok() || !is_powered, "{life:?}");
        self.is_cut = !is_powered;
        self.sums.cuts += u64::from(self.is_cut);
        self.shared.0.lock().unwrap().power_on();
        self.shared.0.lock().unwrap().faults_mut().power_cut = None;
    }

    /// A copy of the chip in which every block that has its parity is hurt as much as that can bear.
    fn hurt(&mut self, last: &Last) -> SimChip {
        let mut chip = self.shared.copy();
        self.torn.retain(|(block, erases)| chip.erase_count(*block) == *erases);
        let block = last.lock().unwrap().back().map(|page| chip.geometry().block_of(*page));
        self.torn.extend(block.map(|block| (block, chip.erase_count(block))));
        chip.faults_mut().unreadable.clear();
        chip.faults_mut().dead_codewords.clear();
        chip.faults_mut().flips.clear();
        let torn: Vec<BlockId> = self.torn.iter().map(|(block, _)| *block).collect();
        let mut blocks = self.layout.blocks.protected(&mut chip, &torn);
        if self.layout.from == FsyncProtection::Now {
            let (begun, copies) = self.layout.begun(&mut chip);
            // A copy is parity of another block: as much of both together can be borne as of one.
            blocks.retain(|block| !copies.contains(block));
            let of_copies = self.random.below(2) == 0;
            // In front of the torn page there may be others that have no copy of their parity.
            let torn = block.filter(|_| self.is_cut);
            let hurt = if of_copies { copies } else { begun };
            blocks.extend(hurt.into_iter().filter(|block| !self.is_promising && Some(*block) != torn));
        }
        self.layout
            .blocks
            .hurt(&mut chip, &blocks, self.harm, &mut |end| self.random.below(end.into()) as u32);
        self.sums.hurt_blocks += blocks.len();
        chip
    }

    /// Scrubs: live data moves away from unreadable pages, so that the same may happen again.
    fn scrub(&mut self, chip: SimChip) -> SimChip {
        let fs = mount(chip, &self.clock).unwrap();
        let found = fs.scrub(&mut |_, _| {}).unwrap();
        assert_eq!(found.lost_bytes, 0, "{found:?}");
        self.sums.rebuilt_pages += u64::from(fs.info().unwrap().rebuilt_pages);
        let mut chip = fs.unmount().unwrap();
        let left = seen_weak(&chip, &self.clock);
        assert_eq!((left.weak_blocks, left.rebuilt_pages), (0, 0), "without parity, or not moved: {left:?}");
        let blocks = self.layout.blocks.protected(&mut chip, &[]);
        self.layout
            .blocks
            .hurt(&mut chip, &blocks, self.harm, &mut |end| self.random.below(end.into()) as u32);
        chip
    }
}

/// The blocks that a scrub would move.
fn seen_weak(chip: &SimChip, clock: &TestClock) -> Scrubbed {
    let options = MountOptions::new(CACHE_BYTES, clock.clock()).with(|it| it.read_only = true);
    NandFs::mount(chip.clone(), options).unwrap().scrub(&mut |_, _| {}).unwrap()
}

fn campaign(seed: u64, lives: u64) -> Sums {
    let (name, harm) = CHIPS[(seed % CHIPS.len() as u64) as usize];
    let clock = TestClock::new();
    let shared = Shared::new(chip(name, &clock));
    let info = mount(shared.clone(), &clock).unwrap().info().unwrap();
    let tag_at = (!info.tag_in_spare).then_some(info.block_bytes as usize % 2048);
    let from = info.fsync_protection;
    let blocks = Blocks { parity: info.parity_pages.into(), gang: info.gang_pages };
    let layout = Layout { blocks, tag_at, from };
    let sums = Sums::default();
    let mut campaign = Campaign {
        random: Random(seed),
        clock,
        shared,
        layout,
        harm,
        torn: Vec::new(),
        is_promising: false,
        is_cut: false,
        sums,
    };
    let (fs, mut last) = campaign.mount();
    let model = pumice_vfs::model::MemFs::new(campaign.clock.clock());
    let mut player = Player::of(fs, model, campaign.clock.clone(), 0);
    for life in 0..lives {
        let told = |what: String| -> Image { panic!("PUMICE_SEED={seed}, {name}, life {life}: {what}") };
        campaign.use_it(&mut player);
        let notes = player.notes.clone();
        drop(player);
        let hurt = campaign.hurt(&last);
        let judge = |found: &Image| notes.history.lock().unwrap().judge(found, notes.promise());
        let found = verify(hurt.clone(), &judge).unwrap_or_else(told);
        if campaign.random.below(2) == 0 {
            let twice = campaign.scrub(hurt.clone());
            let same = |again: &Image| found.compare(again).map_err(|what| format!("scrubbed: {what:?}"));
            verify(twice, &same).unwrap_or_else(told);
        }
        if campaign.random.below(2) == 0 {
            *campaign.shared.0.lock().unwrap() = hurt;
        }
        let (fs, newest) = campaign.mount();
        last = newest;
        let found = Image::take(&fs, &Image::default()).unwrap();
        judge(&found).map_or_else(told, |()| Image::default());
        let model = rebuild(&found, &campaign.clock).unwrap();
        player = Player::of(fs, model, campaign.clock.clone(), (life + 1) as usize * 10_000);
    }
    campaign.sums
}

/// Since the checkpoint a block was filled, and each of its pages lacks a codeword, each another one. What fsync promised
/// there is replayed, whether blocks of copies are looked for or not.
#[test]
fn a_full_block_of_which_each_page_lacks_a_codeword_is_replayed() {
    for name in ["inpage+1", "inpage+1now"] {
        let clock = TestClock::new();
        let shared = Shared::new(chip(name, &clock));
        let fs = mount(shared.clone(), &clock).unwrap();
        fs.sync().unwrap();
        let bytes: Vec<u8> = (0..60_000_u32).map(|at| (at % 251) as u8).collect();
        let ino = write_file(&fs, "/file", &bytes).unwrap();
        fs.fsync(ino, false).unwrap();
        let content = Image::take(&fs, &Image::default()).unwrap();
        let mut chip = shared.copy();
        drop(fs);
        let codewords = chip.spec().codewords();
        let full = Blocks { parity: 1, gang: 1 }.protected(&mut chip, &[]);
        assert!(full.len() > 2, "{name}: {full:?}");
        for block in full {
            let pages = chip.geometry().pages_per_block;
            let page = |number| chip.geometry().page(block, number % pages);
            let dead: Vec<_> = (0..codewords).map(|number| Codeword { page: page(number), number }).collect();
            chip.faults_mut().dead_codewords.extend(dead);
        }
        let same = |found: &Image| content.compare(found).map_err(|what| format!("{name}: {what:?}"));
        verify(chip, &same).unwrap();
    }
}

#[test]
fn as_many_pages_of_each_block_as_have_parity_lose_nothing() {
    let seeds = NANDFS_PARITY.seeds(0..CHIPS.len() as u64);
    for seed in seeds.clone() {
        let sums = campaign(seed, NANDFS_PARITY.lives(LIVES));
        let Sums { hurt_blocks, rebuilt_pages, cuts } = sums;
        println!("PUMICE_SEED={seed}: {hurt_blocks} blocks hurt, {rebuilt_pages} pages rebuilt, {cuts} cuts");
        assert!(hurt_blocks > 0, "seed {seed}: no block had parity");
    }
    NANDFS_PARITY.ran(seeds.clone(), seeds.end - seeds.start);
    for (seed, lives) in FAILED {
        campaign(seed, lives);
    }
}
