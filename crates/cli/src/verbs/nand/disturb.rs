//! `pumice nand disturb`: sets read disturb and failing reads.

use pumice_media::{ChipFile, Rate, ReadDisturb};

use super::set;
use crate::{context::Context, failure::Outcome, options::Writer, verbs::Container};

/// Let reading disturb a simulated chip, or fail now and then
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Container,
    /// Reads of a block's pages that do no harm; the chip counts from now on
    #[arg(long, value_name = "N", required_unless_present_any = ["fail", "lift"])]
    harmless: Option<u32>,
    /// Each further run of so many reads makes one more bit wrong in every page of the block
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "harmless", value_parser = clap::value_parser!(u32).range(1..))]
    per_bit: u32,
    /// So many reads of a million fail, and may succeed at the next try
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    fail: Option<u32>,
    /// Seed that decides the bits and the reads
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Let reads do no harm, and none of them fail
    #[arg(long, conflicts_with_all = ["harmless", "fail"])]
    lift: bool,
    #[command(flatten)]
    writer: Writer,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        set(&self.image, &self.writer, context, self.say(), |chip| self.apply(chip))
    }

    fn say(&self) -> Vec<String> {
        let per_bit = self.per_bit;
        let harm =
            self.harmless.map(|reads| format!("would let every {per_bit} reads after {reads} harm a block"));
        let fail = self.fail.map(|reads| format!("would let {reads} reads of a million fail"));
        let lift = self.lift.then(|| "would let reads do no harm".to_owned());
        harm.into_iter().chain(fail).chain(lift).collect()
    }

    fn apply(&self, chip: &mut ChipFile) {
        let faults = chip.faults_mut();
        if self.lift {
            (faults.read_disturb, faults.read_fail_rate) = (None, None);
        }
        if let Some(harmless_reads) = self.harmless {
            let (reads_per_flip, seed) = (self.per_bit, self.seed);
            faults.read_disturb = Some(ReadDisturb { harmless_reads, reads_per_flip, seed });
        }
        if let Some(million) = self.fail {
            faults.read_fail_rate = Some(Rate { per_billion: million * 1000, seed: self.seed });
        }
    }
}
