//! `pumice nand wear`: sets wear and endurance of blocks.

use pumice_media::{BlockId, ChipFile, Endurance, Nand};

use super::{alter, checked_block};
use crate::{
    context::Context,
    failure::{Failure, Outcome},
    options::Writer,
    verbs::Container,
};

/// Make blocks as worn as they are after so many erases, and say how many erases they stand
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Container,
    /// Blocks to wear; all unless some are named
    #[arg(long, value_delimiter = ',', requires = "erases")]
    block: Vec<u32>,
    /// Erases that the blocks have behind them
    #[arg(long, value_name = "N", required_unless_present_any = ["endurance", "lift"])]
    erases: Option<u32>,
    /// Erases that still work in each block; all later ones fail
    #[arg(long, value_name = "N")]
    endurance: Option<u32>,
    /// Programs fail, too, in blocks that were erased so often
    #[arg(long, requires = "endurance")]
    programs_fail: bool,
    /// Let blocks live for ever
    #[arg(long, conflicts_with = "endurance")]
    lift: bool,
    #[command(flatten)]
    writer: Writer,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        alter(&self.image, &self.writer, context, |chip| self.say(chip), |chip| self.apply(chip))
    }

    /// The blocks to wear.
    fn blocks(&self, chip: &ChipFile) -> Outcome<Vec<BlockId>> {
        if self.block.is_empty() {
            return Ok((0..chip.geometry().blocks).map(BlockId).collect());
        }
        self.block.iter().map(|block| checked_block(chip, *block)).collect()
    }

    fn say(&self, chip: &ChipFile) -> Outcome<Vec<String>> {
        let blocks = self.blocks(chip)?.len();
        let erases = self.erases.map(|erases| format!("would set {blocks} blocks to {erases} erases"));
        let lift = self.lift.then(|| "would let blocks live for ever".to_owned());
        let end = self.endurance.map(|erases| format!("would let blocks die after {erases} erases"));
        Ok(erases.into_iter().chain(lift).chain(end).collect())
    }

    fn apply(&self, chip: &mut ChipFile) -> Outcome {
        if self.lift {
            chip.faults_mut().endurance = None;
        }
        if let Some(erases) = self.endurance {
            chip.faults_mut().endurance = Some(Endurance { erases, programs_fail: self.programs_fail });
        }
        let Some(erases) = self.erases else { return Ok(()) };
        for block in self.blocks(chip)? {
            chip.set_erase_count(block, erases).map_err(|error| Failure::new(error.to_string()))?;
        }
        Ok(())
    }
}
