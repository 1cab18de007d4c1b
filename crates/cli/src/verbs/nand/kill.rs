//! `pumice nand kill`: pages and blocks that no longer work.

use pumice_media::{BlockId, ChipFile, Nand, PageId};

use crate::{
    context::Context,
    failure::Outcome,
    image::{Access, open_container},
    options::Writer,
    output,
    verbs::Image,
};

/// Make pages unreadable, or whole blocks unreadable and impossible to program and erase
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Image,
    /// Pages, counted from the start of the chip: beyond correction until their block is erased
    #[arg(long, value_delimiter = ',', required_unless_present_any = ["block", "lift"])]
    page: Vec<u32>,
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
        let mut chip = open_container(&self.image.image, Access::write_unless(self.writer.dry_run))?;
        let pages = self.page.iter().map(|page| super::checked_page(&chip, *page));
        let pages: Vec<PageId> = pages.collect::<Outcome<_>>()?;
        let blocks = self.block.iter().map(|block| super::checked_block(&chip, *block));
        let blocks: Vec<BlockId> = blocks.collect::<Outcome<_>>()?;
        if self.writer.dry_run {
            return self.say();
        }
        if self.lift {
            let faults = chip.faults_mut();
            faults.unreadable.clear();
            faults.program_fails.clear();
            faults.erase_fails.clear();
        }
        chip.faults_mut().unreadable.extend(pages);
        for block in blocks {
            kill_block(&mut chip, block);
        }
        super::close(chip, context)
    }

    fn say(&self) -> Outcome {
        if self.lift {
            return output::lines(["would let everything that was killed live again"]);
        }
        let pages = self.page.iter().map(|page| format!("would make page {page} unreadable"));
        let blocks = self.block.iter().map(|block| format!("would kill block {block}"));
        output::lines(pages.chain(blocks))
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
