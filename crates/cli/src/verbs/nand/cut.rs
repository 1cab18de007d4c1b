//! `pumice nand cut`: cuts the power.

use pumice_media::{ChipFile, CutMode};

use super::set;
use crate::{context::Context, failure::Outcome, options::Writer, verbs::Container};

/// Let the power of a simulated chip fail in the middle of an operation
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Container,
    /// Programs, erases and bad-block marks that still go through
    #[arg(long, value_name = "N", required_unless_present = "lift")]
    after: Option<u32>,
    /// Effect on the operation that is hit
    #[arg(long, value_enum, default_value_t = Mode::Torn)]
    mode: Mode,
    /// Seed that decides between the possible effects
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Let the power stay
    #[arg(long, conflicts_with = "after")]
    lift: bool,
    #[command(flatten)]
    writer: Writer,
}

/// The modes of [`CutMode`] by name.
#[derive(Clone, Copy, clap::ValueEnum, Debug)]
enum Mode {
    /// Nothing: it had not begun
    Nothing,
    /// All: only the answer is lost
    Complete,
    /// Half a page; half an erase
    Torn,
    /// Noise; half an erase
    Garbage,
    /// Pages and blocks that only seem sound: pages that fade after some reads or fail at first, blocks that look
    /// erased
    Unstable,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        set(&self.image, &self.writer, context, self.say(), |chip| self.apply(chip))
    }

    fn say(&self) -> Vec<String> {
        let cut = self.after.map(|after| format!("would cut the power after {after} operations"));
        cut.into_iter().chain(self.lift.then(|| "would let the power stay".to_owned())).collect()
    }

    fn apply(&self, chip: &mut ChipFile) {
        let seed = self.seed;
        let mode = match self.mode {
            Mode::Nothing => CutMode::Nothing,
            Mode::Complete => CutMode::Complete,
            Mode::Torn => CutMode::Torn { seed },
            Mode::Garbage => CutMode::Garbage { seed },
            Mode::Unstable => CutMode::Unstable { seed },
        };
        match self.after {
            Some(after) => chip.cut_after(after.into(), mode),
            None => chip.faults_mut().power_cut = None,
        }
    }
}
