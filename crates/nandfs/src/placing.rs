//! The choices of the cleaner: which erase block is cleaned, which head a block of a file goes to, and when cold data
//! moves into worn blocks.

use alloc::{boxed::Box, format, string::String, vec::Vec};
use core::cmp::Reverse;

use hashbrown::HashMap;
use pumice_cleaning::registry::{PlacementRule, Store, VictimRule, WearRule};
use pumice_cleaning::wear::Swap;
use pumice_cleaning::{CandidatePool, Class, Cleaned, Old, Placement};
use pumice_vfs::{Errno, FsError, Result};

use crate::addr::Addr;
use crate::params::Params;
use crate::tag::Desc;

/// Heads for data that a checkpoint has room to name.
const HEADS_MOST: u8 = 6;
/// Chips of fewer blocks have fewer heads, as each head costs a block.
const FEW_BLOCKS: u32 = 512;
const HEADS_OF_FEW: u8 = 2;
/// Heads of the default rule of volumes (measured: `docs/figures.md`).
const HEADS_USUAL: u8 = 3;
/// Blocks of files that a rule keeps something for, at the most.
const PAGES_MOST: u64 = 1 << 24;

/// The policies that a volume is cleaned by, as the registry of `pumice-cleaning` names them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PolicyNames {
    /// The rule for the erase block to clean next.
    pub victim: VictimRule,
    /// The rule for the head of a file's block.
    pub placement: PlacementRule,
    /// The rule for moving cold data into worn erase blocks.
    pub wear: WearRule,
}

/// The most candidates for cleaning; of a larger chip they are the emptiest blocks seen.
const CANDIDATES_MOST: u16 = 2048;

/// Candidates for cleaning that a chip has at the most.
pub(crate) fn candidates_most(params: &Params) -> u16 {
    u16::try_from(params.blocks).unwrap_or(CANDIDATES_MOST).min(CANDIDATES_MOST)
}

/// Units, at the least, that the rule for victims counts the live part of an erase block in: nodes are a fraction of a slot.
const UNITS_LEAST: u32 = 256;

fn units(params: &Params) -> u32 {
    let slots = params.pages_per_block * params.slots;
    slots * (UNITS_LEAST / slots).max(1)
}

/// Heads for data that a chip has room for.
fn heads_of_chip(params: &Params) -> u8 {
    if params.blocks < FEW_BLOCKS { HEADS_OF_FEW } else { HEADS_MOST }
}

impl PolicyNames {
    /// The default policies of a volume on this chip.
    pub(crate) fn usual(params: &Params) -> Result<PolicyNames> {
        let heads = heads_of_chip(params).min(HEADS_USUAL);
        PolicyNames::named("root-age", &format!("sepbit:{heads}"), "behind:8")
    }

    /// The policies of these names.
    pub(crate) fn named(victim: &str, placement: &str, wear: &str) -> Result<PolicyNames> {
        let refuse = |error| FsError::new(Errno::NotSupported, format!("{error}"));
        Ok(PolicyNames {
            victim: victim.parse().map_err(refuse)?,
            placement: placement.parse().map_err(refuse)?,
            wear: wear.parse().map_err(refuse)?,
        })
    }

    /// Refuses rules that cannot clean a volume on this chip, which withstands so many erases.
    pub(crate) fn check(&self, params: &Params, endurance: Option<u32>) -> Result<()> {
        let refuse = |what: String| Err(FsError::new(Errno::NotSupported, what));
        let PolicyNames { placement, wear, .. } = self;
        if WearRule::swap_names().all(|name| name != wear.entry().name) {
            let known: Vec<&str> = WearRule::swap_names().collect();
            return refuse(format!(
                "wear rule `{wear}` chooses a free erase block for each head, and nandfs takes them in turn (known: {})",
                known.join(", ")
            ));
        }
        if wear.needs_endurance() && endurance.is_none() {
            return refuse(format!(
                "wear rule `{wear}` asks how often an erase block can be erased, which this chip does not tell"
            ));
        }
        if placement.needs_future() {
            return refuse(format!("placement `{placement}` has to be told every write beforehand"));
        }
        let heads = heads_of_chip(params);
        if placement.heads().is_some_and(|wanted| wanted > heads.into()) {
            return refuse(format!(
                "placement `{placement}`: a chip of {} erase blocks has room for {heads} heads",
                params.blocks
            ));
        }
        if placement.keeps_pages() && params.slots_of_chip() > PAGES_MOST {
            return refuse(format!(
                "placement `{placement}` keeps something for each block of a file, and the chip holds {} (at most {PAGES_MOST})",
                params.slots_of_chip()
            ));
        }
        Ok(())
    }

    /// Heads for data that the placement is given: as many as it always has, else as many as there is room for.
    pub(crate) fn heads(&self, params: &Params) -> u8 {
        let most = heads_of_chip(params);
        self.placement.heads().map_or(most, |wanted| {
            debug_assert!(wanted <= most.into(), "policies are checked where a volume is made or opened");
            u8::try_from(wanted).unwrap_or(most).min(most)
        })
    }

    /// The volume as a store; its logical pages are the blocks of files that the chip could hold. If these are more
    /// than have a number, rules that keep something for each are refused.
    pub(crate) fn store(params: &Params) -> Store {
        let logical = u32::try_from(params.slots_of_chip()).unwrap_or(u32::MAX);
        let segment = params.pages_per_block * params.slots;
        Store::new(pumice_cleaning::Params::new(params.blocks, segment, logical), 0)
            .with_slots(candidates_most(params), units(params))
    }

    /// The pool of a chip, with no candidates in it, and the rule for victims.
    pub(crate) fn candidates(&self, params: &Params, store: &Store) -> CandidatePool {
        let rule = self.victim.build(store);
        CandidatePool::new(candidates_most(params), params.block_payload(), units(params), rule)
    }

    /// The rule for swaps; an error if nandfs does not have it.
    pub(crate) fn swap(&self, endurance: Option<u32>) -> Result<Box<dyn Swap + Send>> {
        debug_assert!(
            endurance.is_some() || !self.wear.needs_endurance(),
            "policies are checked where they are chosen"
        );
        self.wear.swap(endurance.unwrap_or(u32::MAX)).ok_or(Errno::NotSupported.into())
    }
}

/// The placement at work.
pub(crate) struct Placer {
    rule: Box<dyn Placement + Send>,
    heads: u8,
    /// Numbers that blocks of files have.
    pages: u32,
    /// Chunks lie back to back, from page to page.
    packs: bool,
}

impl Placer {
    /// The placement of these names, made of the store that the rule for victims is made of.
    pub(crate) fn new(names: &PolicyNames, params: &Params, store: &Store) -> Placer {
        Placer {
            rule: names.placement.build(store),
            heads: names.heads(params),
            pages: store.params.logical,
            packs: params.packs,
        }
    }

    /// The number of a block of a file: blocks of a file follow each other, files begin anywhere. Two blocks may have
    /// the same, and then the notes on one serve the other.
    fn page(&self, ino: u32, index: u32) -> u32 {
        ino.wrapping_mul(0x9E37_79B1).wrapping_add(index) % self.pages
    }

    /// The head of a class; those without a head of their own share the last.
    fn head(&self, class: Class) -> usize {
        class.0.min(self.heads - 1).into()
    }

    /// The head for a block that a user writes, counted from the first for data.
    pub(crate) fn user_write(&mut self, now: u32, (ino, index): (u32, u32), old: Option<Old>) -> usize {
        let page = self.page(ino, index);
        let class = self.rule.user_write(now, page, old);
        self.head(class)
    }

    /// The head for a block that cleaning copies.
    pub(crate) fn cleaner_copy(&mut self, now: u32, (ino, index): (u32, u32), from: &Cleaned) -> usize {
        let page = self.page(ino, index);
        let class = self.rule.cleaner_copy(now, page, from);
        self.head(class)
    }

    /// Tells the placement that a block of a file is not needed any more.
    pub(crate) fn trimmed(&mut self, now: u32, (ino, index): (u32, u32), old: Old) {
        let page = self.page(ino, index);
        self.rule.trimmed(now, page, old);
    }

    /// A block was cleaned.
    pub(crate) fn reclaimed(&mut self, now: u32, from: &Cleaned) {
        self.rule.reclaimed(now, from);
    }

    /// Sorts chunks for their copies: large ones first, for a small one in between would leave the rest of its page
    /// empty; equal ones by the rule.
    pub(crate) fn sort(&mut self, now: u32, chunks: &mut [(Addr, Desc)]) {
        let number = |desc: &Desc| self.page(desc.id, desc.index);
        let is_data = |chunk: &&(Addr, Desc)| chunk.1.kind.is_block();
        let mut order: Vec<u32> = chunks.iter().filter(is_data).map(|(_, desc)| number(desc)).collect();
        self.rule.sort(now, &mut order);
        let places: HashMap<u32, usize> = order.into_iter().zip(0..).collect();
        chunks.sort_by_key(|(addr, desc)| {
            let place = places.get(&self.page(desc.id, desc.index)).filter(|_| desc.kind.is_block());
            // Chunks that go on from page to page may lie in any order: the order of its file is read best.
            let len = if self.packs && desc.kind.is_block() { 0 } else { addr.len };
            (Reverse(len), place.copied())
        });
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use pumice_media::{ChipSpec, Geometry, SimChip};
    use pumice_vfs::FileKind;

    use super::*;
    use crate::api::check;
    use crate::mount::format;
    use crate::nodes::ROOT;
    use crate::options::FormatOptions;
    use crate::testing::{chip_of, mounted};
    use crate::volume::Volume;

    const GEOMETRY: &str = "2048+64:16:80";

    fn formatted(policies: PolicyNames, endurance: Option<u32>) -> Result<SimChip> {
        let mut chip = SimChip::new(&ChipSpec::parse_geometry(GEOMETRY).unwrap());
        let PolicyNames { victim, placement, wear } = policies;
        let options = FormatOptions {
            erased: true,
            victim: Some(victim),
            placement: Some(placement),
            wear: Some(wear),
            endurance,
            ..FormatOptions::default()
        };
        format(&mut chip, &options, &mut |_, _| {}).map(|()| chip)
    }

    /// A volume with an empty file, and the blocks that are to be written to it.
    fn with_file(policies: PolicyNames, endurance: Option<u32>) -> (Volume<'static>, u32, u64) {
        let mut volume = mounted(formatted(policies, endurance).unwrap(), 1 << 18);
        volume.begin().unwrap();
        let file = volume.make(ROOT, "file", FileKind::File);
        let blocks = volume.room().free_bytes() / 2048 * 9 / 10;
        (volume, file, blocks)
    }

    /// Writes over a file until much was cleaned, takes a part of it away, and checks the rest.
    fn play(policies: PolicyNames) {
        let PolicyNames { victim, placement, wear } = policies;
        let policy = format!("{victim} {placement} {wear}");
        let (mut volume, file, blocks) = with_file(policies, Some(20));
        let mut rng = fastrand::Rng::with_seed(5);
        for turn in 0..blocks * 5 {
            let at = if turn < blocks { turn } else { rng.u64(0..blocks) };
            let bytes = [at.to_le_bytes()[0]; 2048];
            volume.begin_writing(bytes.len()).unwrap();
            volume.write(file, at * 2048, &bytes);
        }
        volume.begin().unwrap();
        volume.files.truncate(&mut volume.log, file, (blocks / 2) * 2048).unwrap();
        volume.checkpoint(true).unwrap();
        assert!(volume.log.cleaner.copied_bytes() > blocks * 2048, "{policy}: nothing was cleaned");
        let mut volume = mounted(chip_of(volume), 1 << 18);
        assert_eq!(volume.log.recorded.superblock().policies, policies);
        for at in 0..blocks / 2 {
            let mut bytes = [0; 2048];
            volume.read(file, at * 2048, &mut bytes);
            assert_eq!(bytes, [at.to_le_bytes()[0]; 2048], "{policy}");
        }
        let chip = chip_of(volume);
        let found = check(chip, &mut |_, _| {}).unwrap().findings;
        assert!(found.is_empty(), "{policy}: {found:?}");
    }

    /// One that a small chip has heads for.
    fn small(placement: PlacementRule) -> PlacementRule {
        match (placement.wrapper(), placement.parameter()) {
            (Some(wrapper), _) => format!("{}:m1", wrapper.name).parse().unwrap(),
            (None, Some(_)) => format!("{}:2", placement.entry().name).parse().unwrap(),
            (None, None) => placement,
        }
    }

    #[test]
    fn a_volume_works_by_every_rule_that_it_has() {
        let usual = PolicyNames::named("root-age", "sepbit:2", "none").unwrap();
        for victim in VictimRule::all() {
            play(PolicyNames { victim, ..usual });
        }
        for placement in PlacementRule::all().filter(|placement| !placement.needs_future()) {
            play(PolicyNames { placement: small(placement), ..usual });
        }
        for name in WearRule::swap_names() {
            play(PolicyNames { wear: name.parse().unwrap(), ..usual });
        }
    }

    /// Bytes that cleaning copies while the half of a file is written over again and again, and the other half, which
    /// lies between, never.
    fn copied(placement: &str) -> u64 {
        let policies = PolicyNames::named("cost-benefit", placement, "none").unwrap();
        let (mut volume, file, blocks) = with_file(policies, None);
        let mut rng = fastrand::Rng::with_seed(5);
        for turn in 0..blocks * 20 {
            let at = if turn < blocks { turn } else { rng.u64(0..blocks / 2) * 2 };
            volume.begin_writing(2048).unwrap();
            volume.files.write_file(&mut volume.log, file, at * 2048, &[1; 2048]).unwrap();
        }
        volume.log.cleaner.copied_bytes()
    }

    #[test]
    fn read_only_data_apart_is_not_copied_again_and_again() {
        let [apart, together] = ["read-only:m1", "m1"].map(copied);
        assert!(apart * 3 < together * 2, "{apart} bytes copied, and {together} without");
    }

    #[test]
    fn the_least_worn_free_blocks_are_written_first_where_the_rule_says_so() {
        let worn = |wear: &str| -> Vec<u32> {
            let policies = PolicyNames::named("root-age", "m1", wear).unwrap();
            let (mut volume, file, blocks) = with_file(policies, None);
            let mut rng = fastrand::Rng::with_seed(5);
            for turn in 0..blocks * 9 {
                // A tenth is written over far more often.
                let part = if rng.bool() { blocks } else { blocks / 10 };
                let at = if turn < blocks { turn } else { rng.u64(0..part) };
                volume.begin_writing(2048).unwrap();
                volume.write(file, at * 2048, &[1; 2048]);
            }
            volume.files.truncate(&mut volume.log, file, 0).unwrap();
            let spares = volume.log.choose_window().unwrap();
            spares.into_iter().map(|spare| volume.log.usage(spare.block).unwrap().erases).collect()
        };
        assert!(worn("least-worn").is_sorted());
        assert!(!worn("none").is_sorted());
    }

    #[test]
    fn rules_that_cannot_work_are_refused_by_name() {
        for (victim, placement, wear, says) in [
            ("greedy", "oracle", "none", "told every write"),
            ("greedy", "sepbit:3", "none", "has room for 2 heads"),
            ("greedy", "read-only:sepbit:2", "none", "has room for 2 heads"),
            ("greedy", "m1", "even", "wear rule `even` chooses a free erase block for each head"),
            ("greedy", "m1", "dual-pool", "(known: behind, end-of-life, least-worn, none)"),
            ("greedy", "m1", "end-of-life", "how often an erase block can be erased"),
        ] {
            let names = PolicyNames::named(victim, placement, wear).unwrap();
            let refusal = formatted(names, None).unwrap_err().to_string();
            assert!(refusal.contains(says), "{refusal}");
        }
        let spec = ChipSpec::named("mlc-8k-64g").unwrap().geometry();
        let large = Params::of(&Geometry { blocks: 1 << 17, ..spec }).unwrap();
        let keeps = |placement| PolicyNames::named("greedy", placement, "none").unwrap().check(&large, None);
        assert!(keeps("m6").unwrap_err().to_string().contains("for each block of a file"));
        assert!(keeps("sepbit:6").is_ok() && keeps("adaptive").is_ok());
        let adaptive = PolicyNames::named("greedy", "adaptive", "none").unwrap();
        let mut placer = Placer::new(&adaptive, &large, &PolicyNames::store(&large));
        assert!(placer.user_write(1, (5, 1 << 30), None) < HEADS_MOST.into());
        assert!(keeps("read-only:sepbit:5").unwrap_err().to_string().contains("for each block of a file"));
    }
}
