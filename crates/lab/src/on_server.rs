//! The flash memory server beside the simulator of its policies (CAT paper, section 6.2): the same space, the same writes.

use pumice_cleaning::{Params, Sim, registry::Store};
use pumice_ftl::{CreateOptions, Export, Ftl, OpenOptions, PolicyNames, create};
use pumice_media::{BlockDevice, Lba, SimChip};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use crate::{
    LabError, Medium, Sources,
    files::float,
    measured::{Figure, Found, Job},
};

/// Bytes of a logical block: a page of the chip.
const BLOCK: u32 = 2048;
/// The chip, and its bytes.
const CHIP: &str = "slc-2k-2g";
const FLASH: u64 = 64 << 20;
/// Blocks that hold data, of a thousand of the chip.
const EXPORT: u32 = 875;
/// Segments that the server keeps free while users write: one for a checkpoint, which copies may borrow, and two ahead.
const KEPT: u32 = 3;
/// Overwrites of the whole disk before counting, and counted.
const TURNOVERS: (u64, u64) = (2, 2);
/// The same where the server has to learn which blocks are never written over.
const LESSONS: (u64, u64) = (8, 2);

/// The cleaner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cleaner {
    /// The server, on a simulated chip.
    Server,
    /// The simulator, which knows of no chip.
    Simulator,
}

/// The pattern of the writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// All blocks, in order, again and again.
    Sequential,
    /// Any block.
    Random,
    /// Nine writes of ten go to one block in ten.
    Locality,
    /// The same, and so many blocks in ten are never written again.
    ReadOnly(u64),
}

/// A run, before it is made.
#[derive(Clone, Debug)]
pub struct Task {
    /// The cleaner.
    pub cleaner: Cleaner,
    /// The victim policy, by its name in the registry.
    pub victim: &'static str,
    /// The placement policy, by its name in the registry.
    pub placement: &'static str,
    /// The pattern of the writes.
    pub order: Order,
    /// The chip, if another was asked for.
    pub medium: Medium,
}

impl Job for Task {
    fn names(&self) -> [String; 3] {
        let Task { cleaner, victim, placement, order, medium } = self;
        let turnovers = self.turnovers();
        [
            format!("{cleaner:?}, {victim}, {placement}"),
            medium.name(CHIP, Some(FLASH)),
            format!("{order:?}, {} turnovers to warm up and {} counted", turnovers.0, turnovers.1),
        ]
    }

    fn sources(&self) -> Sources {
        Sources::Server
    }

    fn measure(&self, seed: u64) -> Result<Found, LabError> {
        let rules = self.rules()?;
        let mut disk = disk(rules, &self.medium)?;
        let (cleaned, copied) = match self.cleaner {
            Cleaner::Server => self.serve(&mut disk, seed)?,
            Cleaner::Simulator => self.simulate(space(&disk)?, rules, seed)?,
        };
        Ok(vec![(Figure::Cleaned, float(cleaned)), (Figure::Copied, float(copied))].into())
    }
}

impl Task {
    fn rules(&self) -> Result<PolicyNames, LabError> {
        let (victim, placement, wear) = (self.victim.parse()?, self.placement.parse()?, "none".parse()?);
        Ok(PolicyNames { victim, placement, wear })
    }

    fn turnovers(&self) -> (u64, u64) {
        match self.order {
            Order::ReadOnly(_) => LESSONS,
            Order::Sequential | Order::Random | Order::Locality => TURNOVERS,
        }
    }

    fn serve(&self, disk: &mut Ftl<SimChip>, seed: u64) -> Result<(u64, u64), LabError> {
        let bytes = vec![7; BLOCK as usize];
        let failed = |error| LabError::Setup(format!("the server: {error}"));
        for lba in 0..disk.blocks() {
            disk.write(Lba(lba), &bytes).map_err(failed)?;
        }
        let mut next = self.next(disk.blocks(), seed);
        for _ in 0..disk.blocks() * self.turnovers().0 {
            disk.write(Lba(next()), &bytes).map_err(failed)?;
        }
        let before = disk.info().counters;
        for _ in 0..disk.blocks() * self.turnovers().1 {
            disk.write(Lba(next()), &bytes).map_err(failed)?;
        }
        let after = disk.info().counters;
        Ok((after.cleaned - before.cleaned, after.copied - before.copied))
    }

    fn simulate(
        &self,
        params: Params,
        PolicyNames { victim, placement, wear }: PolicyNames,
        seed: u64,
    ) -> Result<(u64, u64), LabError> {
        let store = Store::new(params, seed);
        let mut sim = Sim::new(params, victim.build(&store), placement.build(&store), wear.build(&store))?;
        sim.fill()?;
        let blocks = u64::from(params.logical);
        let mut next = self.next(blocks, seed);
        let mut write = |sim: &mut Sim<_, _, _>, writes: u64| -> Result<(), LabError> {
            for _ in 0..writes {
                let page = u32::try_from(next()).map_err(|error| LabError::Setup(error.to_string()))?;
                sim.write(page)?;
            }
            Ok(())
        };
        write(&mut sim, blocks * self.turnovers().0)?;
        sim.reset_stats();
        write(&mut sim, blocks * self.turnovers().1)?;
        let stats = sim.stats();
        Ok((stats.erasures, stats.blocks_copied))
    }

    /// Draws the block that is written next, of so many.
    fn next(&self, blocks: u64, seed: u64) -> impl FnMut() -> u64 {
        let (order, mut random, mut at) = (self.order, Xoshiro256PlusPlus::seed_from_u64(seed), 0);
        move || match order {
            Order::Sequential => {
                at = (at + 1) % blocks;
                at
            }
            Order::Random => random.random_range(..blocks),
            Order::Locality => local(&mut random, blocks, 0),
            Order::ReadOnly(tenths) => local(&mut random, blocks, tenths),
        }
    }
}

/// A block of a disk whose hot blocks lie all over it, as do so many tenths that are never drawn.
fn local(random: &mut Xoshiro256PlusPlus, blocks: u64, read_only: u64) -> u64 {
    let is_hot = random.random_range(..10_u32) > 0;
    loop {
        let lba = random.random_range(..blocks);
        let tenth = lba % 10;
        if is_hot == (tenth == 0) && tenth + read_only < 10 {
            return lba;
        }
    }
}

fn disk(policies: PolicyNames, medium: &Medium) -> Result<Ftl<SimChip>, LabError> {
    let setup = |error: &dyn core::fmt::Display| LabError::Setup(error.to_string());
    let mut chip = SimChip::new(&medium.spec(CHIP, Some(FLASH))?);
    let export = Export::Permille(EXPORT);
    let options =
        CreateOptions { block_bytes: BLOCK, export, policies, erased: true, ..CreateOptions::default() };
    create(&mut chip, &options, &mut |_, _| {}).map_err(|error| setup(&error))?;
    Ftl::open(chip, OpenOptions::default()).map_err(|error| setup(&error))
}

/// The space that a new disk has, for the simulator: all that is free, without the segments of its table.
fn space(disk: &Ftl<SimChip>) -> Result<Params, LabError> {
    let info = disk.info();
    let blocks = u32::try_from(disk.blocks()).map_err(|error| LabError::Setup(error.to_string()))?;
    let params = Params::new(info.free_segments - info.map_segments, info.segment_blocks, blocks);
    Ok(params.with(|it| (it.reserve, it.high_water) = (KEPT, KEPT)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With one free segment survivors that M6 tells apart share heads, and the simulator copied 9 % more than the server.
    #[test]
    fn survivors_of_two_kinds_take_several_free_segments() {
        let task = Task {
            cleaner: Cleaner::Simulator,
            victim: "cat",
            placement: "m6",
            order: Order::Locality,
            medium: Medium::default(),
        };
        let rules = task.rules().unwrap();
        let params = space(&disk(rules, &task.medium).unwrap()).unwrap();
        let copies = |free| {
            let params = params.with(|it| (it.reserve, it.high_water) = (free, free));
            task.simulate(params, rules, 1).unwrap().1
        };
        assert!(
            copies(1) > copies(params.reserve) / 100 * 104,
            "{} and {}",
            copies(1),
            copies(params.reserve)
        );
    }
}
