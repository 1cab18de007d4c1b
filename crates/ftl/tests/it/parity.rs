//! Segments with parity lose nothing while as many of their pages cannot be read: campaigns by seed, in which writes, trims, cuts
//! of the power, starts and cleaning go on between.

use crate::campaign::harm::{Harm, Layout};
use crate::campaign::newest::{Last, Newest};
use crate::common::shared::Shared;
use crate::common::{Case, Model, Step, change, policies, start};
use pumice_ftl::Ftl;
use pumice_knobs::FTL_PARITY;
use pumice_media::{BlockDevice, BlockId, CutMode, Nand, SimChip};

/// Layouts with parity, and how they are hurt.
const KINDS: [(&str, Harm); 6] = [
    ("parity", Harm::Pages),
    ("parity2", Harm::Pages),
    ("parity", Harm::Bits),
    ("parity2", Harm::Bits),
    ("parity", Harm::Codewords),
    ("parity2", Harm::Codewords),
];

/// The number of lives in CI with a hurt chip, and steps between.
const LIVES: u64 = 6;
const STEPS: u32 = 300;

/// The sums of a campaign.
#[derive(Default)]
struct Sums {
    hurt_blocks: usize,
    rebuilt_pages: u64,
    cuts: u64,
}

struct Campaign {
    rng: fastrand::Rng,
    chip: Shared,
    model: Model,
    layout: Layout,
    harm: Harm,
    /// Blocks that were being programmed when the power went, with their erases then: any parity of theirs may be torn.
    torn: Vec<(BlockId, u32)>,
    sums: Sums,
}

impl Campaign {
    fn new(seed: u64) -> Campaign {
        let (name, harm) = KINDS[usize::try_from(seed).unwrap() % KINDS.len()];
        let case = Case::named(name);
        let mut rng = fastrand::Rng::with_seed(seed);
        let chip = case.chip([300, 600, 800][rng.usize(..3)], &policies("cost-benefit", "sepbit", "even"));
        let layout = Layout { parity: case.parity.into(), gang: case.gang(false) };
        let model = Model::new(start(chip.clone()).blocks(), case.block_bytes);
        Campaign {
            rng,
            chip: Shared::new(chip),
            model,
            layout,
            harm,
            torn: Vec::new(),
            sums: Sums::default(),
        }
    }

    /// Steps until they are over, or the power is gone.
    fn use_it(&mut self, mut disk: Ftl<Newest<Shared>>) {
        if self.rng.bool() {
            let reach = [4, 30, 300, 2000][self.rng.usize(..4)];
            let after = self.rng.u64(..reach);
            let seed = self.rng.u64(..);
            let modes =
                [CutMode::Nothing, CutMode::Complete, CutMode::Garbage { seed }, CutMode::Torn { seed }];
            let mode = modes[self.rng.usize(..4)];
            self.chip.0.lock().unwrap().cut_after(after, mode);
        }
        let life = (0..STEPS).try_for_each(|_| self.step(&mut disk));
        let is_powered = self.chip.0.lock().unwrap().is_powered();
        assert!(life.is_ok() || !is_powered, "{life:?}");
        if is_powered && self.rng.bool() {
            while self.rng.bool() && disk.maintain(0).unwrap_or(false) {}
            if disk.close().is_ok() {
                self.model.flush();
            }
        }
        self.sums.cuts += u64::from(!self.chip.0.lock().unwrap().is_powered());
        self.chip.0.lock().unwrap().power_on();
        self.chip.0.lock().unwrap().faults_mut().power_cut = None;
    }

    fn step(&mut self, disk: &mut Ftl<Newest<Shared>>) -> Result<(), String> {
        match Step::random(&mut self.rng, self.model.blocks()) {
            Step::Close | Step::Die => change(disk, &mut self.model, Step::Flush),
            step => change(disk, &mut self.model, step),
        }
    }

    /// A copy of the chip in which every block that has its parity is hurt as much as that can bear.
    fn hurt(&mut self, last: &Last) -> SimChip {
        let mut chip = self.chip.copy();
        self.torn.retain(|(block, erases)| chip.erase_count(*block) == *erases);
        let block = last.lock().unwrap().back().map(|page| chip.geometry().block_of(*page));
        self.torn.extend(block.map(|block| (block, chip.erase_count(block))));
        chip.faults_mut().unreadable.clear();
        chip.faults_mut().dead_codewords.clear();
        chip.faults_mut().flips.clear();
        let torn: Vec<BlockId> = self.torn.iter().map(|(block, _)| *block).collect();
        let blocks = self.layout.protected(&mut chip, &torn);
        self.layout.hurt(&mut chip, &blocks, self.harm, &mut |end| self.rng.u32(..end));
        self.sums.hurt_blocks += blocks.len();
        chip
    }
}

fn campaign(seed: u64, lives: u64) -> Sums {
    let mut campaign = Campaign::new(seed);
    for life in 0..lives {
        let about = |what: String| -> () { panic!("PUMICE_SEED={seed}, life {life}: {what}") };
        let (nand, last) = Newest::new(campaign.chip.clone(), 1);
        let disk = start(nand);
        campaign.use_it(disk);
        let hurt = campaign.hurt(&last);
        let mut disk = start(hurt.clone());
        campaign.model.clone().adopt(&mut disk).unwrap_or_else(about);
        let found = disk.scrub(0, &mut |_, _| {}).unwrap();
        assert_eq!(
            (&found.lost[..], found.read_only),
            (&[][..], false),
            "seed {seed}, life {life}: {found:?}"
        );
        assert_eq!(disk.info().weak_segments, 0);
        campaign.sums.rebuilt_pages += found.rebuilt_pages;
        let moved = disk.close().unwrap();
        // Read without harm: the blocks are the same.
        let (nand, _) = Newest::new(campaign.chip.clone(), 1);
        campaign.model.adopt(&mut start(nand)).unwrap_or_else(about);
        // Damaged blocks have moved: the same may happen to all of it again.
        let mut again = moved;
        let blocks = campaign.layout.protected(&mut again, &[]);
        campaign.layout.hurt(&mut again, &blocks, campaign.harm, &mut |end| campaign.rng.u32(..end));
        let (again, hurt) = if campaign.rng.bool() { (again, true) } else { (campaign.chip.copy(), false) };
        campaign.model.adopt(&mut start(again.clone())).unwrap_or_else(about);
        if hurt {
            *campaign.chip.0.lock().unwrap() = again;
        }
    }
    campaign.sums
}

#[test]
fn as_many_pages_of_each_segment_as_have_parity_lose_nothing() {
    let seeds = FTL_PARITY.seeds(0..2 * KINDS.len() as u64);
    for seed in seeds.clone() {
        let Sums { hurt_blocks, rebuilt_pages, cuts } = campaign(seed, FTL_PARITY.lives(LIVES));
        println!("PUMICE_SEED={seed}: {hurt_blocks} blocks hurt, {rebuilt_pages} pages rebuilt, {cuts} cuts");
        assert!(hurt_blocks > 0, "seed {seed}: no block had parity");
    }
    FTL_PARITY.ran(seeds.clone(), seeds.end - seeds.start);
}

/// The segment of the newest page lacks its parity after a cut; it is emptied soon, though the page was not sure at first.
#[test]
fn the_segment_of_the_newest_page_is_weak_after_a_cut() {
    let case = Case::named("parity");
    let chip = Shared::new(case.chip(500, &policies("cost-benefit", "m1", "even")));
    let mut disk = start(chip.clone());
    let mut model = Model::new(disk.blocks(), case.block_bytes);
    change(&mut disk, &mut model, Step::Write { first: 0, count: 5 }).unwrap();
    change(&mut disk, &mut model, Step::Flush).unwrap();
    drop(disk);
    let mut disk = start(chip);
    change(&mut disk, &mut model, Step::Write { first: 9, count: 1 }).unwrap();
    assert_eq!(disk.info().weak_segments, 1);
    while disk.maintain(0).unwrap() {}
    assert_eq!((disk.info().weak_segments, disk.info().mended_segments), (0, 1));
    model.compare(&mut disk).unwrap();
}

/// Parity that a chip cannot have is refused by name.
#[test]
fn parity_that_no_disk_has_is_refused() {
    use pumice_ftl::{CreateOptions, FtlError, create};
    use pumice_media::ChipSpec;

    let make = |spec: &ChipSpec, parity_pages| {
        let options = CreateOptions { parity_pages, ..CreateOptions::default() };
        create(&mut SimChip::new(spec), &options, &mut |_, _| {})
    };
    let plain = ChipSpec::parse_geometry("2048+64:64:64").unwrap();
    assert_eq!(make(&plain, 9), Err(FtlError::Parity(9)));
    assert!(make(&plain, 8).is_ok());
    let short = ChipSpec::parse_geometry("2048+64:10:64").unwrap();
    assert!(matches!(make(&short, 2), Err(FtlError::Segments { pages: 3, .. })));
    let paired = ChipSpec::named("mlc-8k-64g").unwrap().with_size(24 << 21).unwrap();
    assert_eq!(make(&paired, 1), Err(FtlError::Parity(1)));
}
