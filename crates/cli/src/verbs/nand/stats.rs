//! `pumice nand stats`: shows the work and wear of a simulated chip.

use pumice_media::{BlockId, ChipFile, Nand};
use serde_json::json;

use crate::{
    context::Context,
    document,
    failure::{Failure, Outcome},
    image::{Access, open_container},
    options::Reader,
    output, text,
    verbs::Container,
};

/// Show the counters of a simulated chip since it was made, its wear and its faults
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Container,
    #[command(flatten)]
    reader: Reader,
}

/// Erase counts of all blocks.
struct Wear {
    least: u32,
    most: u32,
    /// Thousandths of an erase.
    mean_milli: u64,
    bad: u32,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let mut chip = open_container(&self.image.image, Access::Read)?;
        let wear = wear(&mut chip)?;
        context.meter.add(chip.stats());
        if self.reader.json {
            let most_reads = most_reads(&mut chip)?;
            print_json(&chip, &wear, most_reads)
        } else {
            print(&chip, &wear)
        }
    }
}

fn wear(chip: &mut ChipFile) -> Outcome<Wear> {
    let blocks = chip.geometry().blocks;
    let mut wear = Wear { least: u32::MAX, most: 0, mean_milli: 0, bad: 0 };
    let mut sum = 0_u64;
    for block in (0..blocks).map(BlockId) {
        let erases = chip.erase_count(block);
        wear.least = wear.least.min(erases);
        wear.most = wear.most.max(erases);
        sum += u64::from(erases);
        wear.bad += u32::from(chip.is_bad(block).map_err(|error| Failure::new(error.to_string()))?);
    }
    wear.mean_milli = sum * 1000 / u64::from(blocks.max(1));
    Ok(wear)
}

/// Reads of the block that was read most since its erase.
fn most_reads(chip: &mut ChipFile) -> Outcome<u32> {
    let mut blocks = (0..chip.geometry().blocks).map(BlockId);
    blocks.try_fold(0, |most, block| {
        let reads = chip.reads(block).map_err(|error| Failure::new(error.to_string()))?;
        Ok(most.max(reads))
    })
}

fn print(chip: &ChipFile, wear: &Wear) -> Outcome {
    let (stats, faults) = (chip.lifetime_stats(), chip.faults());
    output::lines([
        format!("chip:        {}, {}", chip.spec().name(), text::shape(&chip.geometry())),
        format!("page reads:  {}", stats.page_reads),
        format!("spare reads: {}", stats.spare_reads),
        format!("programs:    {}", stats.programs),
        format!("erases:      {}", stats.erases),
        format!("device time: {}.{:03} ms", stats.device_ns / 1_000_000, stats.device_ns / 1000 % 1000),
        format!(
            "wear:        {} to {} erases a block, mean {}.{:03}, of {} promised",
            wear.least,
            wear.most,
            wear.mean_milli / 1000,
            wear.mean_milli % 1000,
            chip.spec().endurance_erases()
        ),
        format!("bad blocks:  {}", wear.bad),
        format!("age:         {} s", chip.clock_s()),
        format!(
            "faults set:  {} wrong bits, {} unreadable pages, {} codewords, {} fading, {} unreadable at first, {} dead blocks",
            faults.flips.len(),
            faults.unreadable.len(),
            faults.dead_codewords.len(),
            faults.fading.len(),
            faults.stuttering.len(),
            faults.erase_fails.len()
        ),
    ])
}

fn print_json(chip: &ChipFile, wear: &Wear, most_reads: u32) -> Outcome {
    let (stats, faults) = (chip.lifetime_stats(), chip.faults());
    output::document(
        "nand-stats",
        json!({
            "chip": chip.spec().name(),
            "geometry": document::geometry(&chip.geometry()),
            "page_reads": stats.page_reads,
            "spare_reads": stats.spare_reads,
            "programs": stats.programs,
            "erases": stats.erases,
            "device_ns": stats.device_ns,
            "violations": stats.violations,
            "wear_min_erases": wear.least,
            "wear_mean_millierases": wear.mean_milli,
            "wear_max_erases": wear.most,
            "endurance_erases": chip.spec().endurance_erases(),
            "bad_blocks": wear.bad,
            "flipped_bits": faults.flips.len(),
            "unreadable_pages": faults.unreadable.len(),
            "dead_codewords": faults.dead_codewords.len(),
            "fading_pages": faults.fading.len(),
            "stuttering_pages": faults.stuttering.len(),
            "dead_blocks": faults.erase_fails.len(),
            "age_s": chip.clock_s(),
            "lost_millibits_per_month": faults.retention.map(|law| law.millibits_per_month),
            "harmless_reads": faults.read_disturb.map(|disturb| disturb.harmless_reads),
            "most_reads_since_erase": most_reads,
            "block_life_erases": faults.endurance.map(|endurance| endurance.erases),
            "power_cut_after_operations": faults.power_cut.map(|cut| cut.after_operations),
            "operations": chip.operations(),
        }),
    )
}
