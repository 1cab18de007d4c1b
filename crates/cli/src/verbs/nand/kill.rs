//! `pumice nand kill`: makes pages and blocks fail.

use pumice_media::{BlockId, ChipFile, Codeword, Nand, PageId};

use super::{alter, checked_block, checked_page};
use crate::{
    context::Context,
    failure::{Failure, Outcome},
    options::Writer,
    verbs::Container,
};

/// Make pages unreadable, or whole blocks unreadable and impossible to program and erase
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Container,
    /// Pages, counted from the start of the chip: beyond correction until their block is erased
    #[arg(long, value_delimiter = ',', required_unless_present_any = ["block", "lift"])]
    page: Vec<u32>,
    /// The pages still read right so many times
    #[arg(long, value_name = "READS", requires = "page")]
    after: Option<u32>,
    /// The pages read right again after so many tries
    #[arg(long, value_name = "READS", requires = "page", conflicts_with = "after")]
    until: Option<u32>,
    /// Only these codewords of the pages, counted from 0; the spare area has the last
    #[arg(long, value_delimiter = ',', requires = "page", conflicts_with_all = ["after", "until"])]
    codeword: Vec<u32>,
    /// Blocks
    #[arg(long, value_delimiter = ',')]
    block: Vec<u32>,
    /// Let everything that was killed live again
    #[arg(long, conflicts_with_all = ["page", "block"])]
    lift: bool,
    #[command(flatten)]
    writer: Writer,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        alter(&self.image, &self.writer, context, |chip| self.say(chip), |chip| self.apply(chip))
    }

    fn pages(&self, chip: &ChipFile) -> Outcome<Vec<PageId>> {
        self.page.iter().map(|page| checked_page(chip, *page)).collect()
    }

    fn blocks(&self, chip: &ChipFile) -> Outcome<Vec<BlockId>> {
        self.block.iter().map(|block| checked_block(chip, *block)).collect()
    }

    fn codewords(&self, chip: &ChipFile) -> Outcome<Vec<Codeword>> {
        let count = chip.spec().codewords();
        if let Some(number) = self.codeword.iter().find(|number| **number >= count) {
            return Err(Failure::new(format!(
                "no codeword {number}: a page has codewords 0 to {}",
                count - 1
            )));
        }
        let pages = self.pages(chip)?;
        let of = |number| pages.iter().map(move |page| Codeword { page: *page, number });
        Ok(self.codeword.iter().copied().flat_map(of).collect())
    }

    fn say(&self, chip: &ChipFile) -> Outcome<Vec<String>> {
        let (pages, codewords, blocks) = (self.pages(chip)?, self.codewords(chip)?, self.blocks(chip)?);
        if self.lift {
            return Ok(vec!["would let everything that was killed live again".into()]);
        }
        let when = match (self.after, self.until) {
            (Some(reads), _) => format!(" after {reads} reads"),
            (_, Some(reads)) => format!(" for {reads} reads"),
            (None, None) => String::new(),
        };
        let parts = codewords.iter().map(|it| format!("codeword {} of page {}", it.number, it.page.0));
        let pages = pages.iter().filter(|_| codewords.is_empty()).map(|page| format!("page {}", page.0));
        let pages = parts.chain(pages).map(|what| format!("would make {what} unreadable{when}"));
        let blocks = blocks.iter().map(|block| format!("would kill block {}", block.0));
        Ok(pages.chain(blocks).collect())
    }

    fn apply(&self, chip: &mut ChipFile) -> Outcome {
        let (pages, blocks) = (self.pages(chip)?, self.blocks(chip)?);
        let codewords = self.codewords(chip)?;
        let faults = chip.faults_mut();
        if self.lift {
            faults.unreadable.clear();
            faults.dead_codewords.clear();
            faults.fading.clear();
            faults.stuttering.clear();
            faults.program_fails.clear();
            faults.erase_fails.clear();
        }
        match (self.after, self.until) {
            _ if !codewords.is_empty() => faults.dead_codewords.extend(codewords),
            (Some(reads), _) => faults.fading.extend(pages.into_iter().map(|page| (page, reads))),
            (_, Some(reads)) => faults.stuttering.extend(pages.into_iter().map(|page| (page, reads))),
            (None, None) => faults.unreadable.extend(pages),
        }
        for block in blocks {
            kill_block(chip, block);
        }
        Ok(())
    }
}

fn kill_block(chip: &mut ChipFile, block: BlockId) {
    let geometry = chip.geometry();
    let pages: Vec<PageId> = (0..geometry.pages_per_block).map(|index| geometry.page(block, index)).collect();
    let faults = chip.faults_mut();
    faults.unreadable.extend(pages.iter().copied());
    faults.program_fails.extend(pages);
    faults.erase_fails.insert(block);
}
