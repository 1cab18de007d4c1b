//! `pumice nand flip`: wrong bits in a page.

use pumice_media::{BitFlip, Nand};

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    image::{Access, open_container},
    options::Writer,
    output,
    verbs::Image,
};

/// Make bits of a page read wrong until its block is erased
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Image,
    /// The page, counted from the start of the chip
    #[arg(long, required_unless_present = "lift")]
    page: Option<u32>,
    /// Bits of the page: its data first, then the free bytes of its spare area
    #[arg(long, value_name = "BIT", value_delimiter = ',', default_value = "0")]
    bits: Vec<u32>,
    /// Make wrong bits right again, of one page or of all
    #[arg(long)]
    lift: bool,
    #[command(flatten)]
    writer: Writer,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        let mut chip = open_container(&self.image.image, Access::write_unless(self.writer.dry_run))?;
        let page = self.page.map(|page| super::checked_page(&chip, page)).transpose()?;
        let geometry = chip.geometry();
        let limit = (u64::from(geometry.page_bytes) + u64::from(geometry.free_spare_bytes)) * 8;
        if let Some(bit) = self.bits.iter().find(|bit| u64::from(**bit) >= limit) {
            return Err(Failure::new(format!("no bit {bit}: a page has bits 0 to {}", limit - 1)));
        }
        if self.writer.dry_run {
            let which = page.map_or("all pages".into(), |page| format!("page {}", page.0));
            let bits = format!("would flip bits {:?} of {which}", self.bits);
            let lift = format!("would make right the wrong bits of {which}");
            return output::lines([if self.lift { lift } else { bits }]);
        }
        let flips = &mut chip.faults_mut().flips;
        if self.lift {
            flips.retain(|flip| page.is_some_and(|page| flip.page != page));
        } else if let Some(page) = page {
            flips.extend(self.bits.iter().map(|bit| BitFlip { page, bit: *bit }));
        }
        super::close(chip, context)
    }
}
