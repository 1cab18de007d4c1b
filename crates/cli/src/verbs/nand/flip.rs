//! `pumice nand flip`: makes bits of a page wrong.

use pumice_media::{BitFlip, ChipFile, Nand};

use super::{alter, checked_page};
use crate::{
    context::Context,
    failure::{Failure, Outcome},
    options::Writer,
    verbs::Container,
};

/// Make bits of a page read wrong until its block is erased
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Container,
    /// The page, counted from the start of the chip
    #[arg(long, required_unless_present = "lift")]
    page: Option<u32>,
    /// Bits of the page: its data first, then the free bytes of its spare area
    #[arg(long, value_name = "BIT", value_delimiter = ',', default_value = "0")]
    bits: Vec<u32>,
    /// Count the bits from the first free byte of the spare area
    #[arg(long)]
    spare: bool,
    /// Make wrong bits right again, of one page or of all
    #[arg(long)]
    lift: bool,
    #[command(flatten)]
    writer: Writer,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        alter(&self.image, &self.writer, context, |chip| self.say(chip), |chip| self.apply(chip))
    }

    /// The bits as the chip counts them.
    fn flips(&self, chip: &ChipFile) -> Outcome<Vec<BitFlip>> {
        let Some(page) = self.page else { return Ok(Vec::new()) };
        let (page, geometry) = (checked_page(chip, page)?, chip.geometry());
        let (data, spare) = (u64::from(geometry.page_bytes) * 8, u64::from(geometry.free_spare_bytes) * 8);
        let (first, count) = if self.spare { (data, spare) } else { (0, data + spare) };
        let what = if self.spare { "a spare area" } else { "a page" };
        let place = |bit: &u32| {
            let bit = Some(u64::from(*bit)).filter(|bit| *bit < count).map(|bit| bit + first);
            bit.and_then(|bit| u32::try_from(bit).ok()).map(|bit| BitFlip { page, bit })
        };
        let missing = |bit| Failure::new(format!("no bit {bit}: {what} has bits 0 to {}", count - 1));
        self.bits.iter().map(|bit| place(bit).ok_or_else(|| missing(bit))).collect()
    }

    fn say(&self, chip: &ChipFile) -> Outcome<Vec<String>> {
        self.flips(chip)?;
        let which = self.page.map_or("all pages".into(), |page| format!("page {page}"));
        let bits = format!("would flip bits {:?} of {which}", self.bits);
        let lift = format!("would make right the wrong bits of {which}");
        Ok(vec![if self.lift { lift } else { bits }])
    }

    fn apply(&self, chip: &mut ChipFile) -> Outcome {
        let bits = self.flips(chip)?;
        let flips = &mut chip.faults_mut().flips;
        if self.lift {
            flips.retain(|flip| self.page.is_some_and(|page| flip.page.0 != page));
        } else {
            flips.extend(bits);
        }
        Ok(())
    }
}
