//! `pumice nand age`: lets time pass for a chip.

use pumice_media::{ChipFile, Retention};

use super::set;
use crate::{context::Context, failure::Outcome, options::Writer, verbs::Container};

/// Let time pass for a simulated chip, and say how many bits its pages lose in it
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    image: Container,
    /// Time to pass: a number and s, min, h, d, w, mo or y, such as 90d or 10y
    #[arg(value_name = "TIME", value_parser = seconds, required_unless_present_any = ["lose", "lift"])]
    time: Option<u32>,
    /// Bits that a page loses in a month, on average, from the moment it was programmed; remembered by the chip
    #[arg(long, value_name = "BITS", value_parser = thousandths)]
    lose: Option<u32>,
    /// Seed that decides which bits are lost, and when
    #[arg(long, value_name = "N", default_value_t = 1, requires = "lose")]
    seed: u64,
    /// Let pages lose nothing any more, and give back their lost bits
    #[arg(long, conflicts_with = "lose")]
    lift: bool,
    #[command(flatten)]
    writer: Writer,
}

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Outcome {
        set(&self.image, &self.writer, context, self.say(), |chip| self.apply(chip))
    }

    fn say(&self) -> Vec<String> {
        let lose = self
            .lose
            .map(|lose| format!("would let pages lose {}.{:03} bits a month", lose / 1000, lose % 1000));
        let lift = self.lift.then(|| "would give pages back their lost bits".to_owned());
        let pass = self.time.map(|time| format!("would let {time} seconds pass"));
        lose.into_iter().chain(lift).chain(pass).collect()
    }

    fn apply(&self, chip: &mut ChipFile) {
        if self.lift {
            chip.faults_mut().retention = None;
        }
        if let Some(millibits_per_month) = self.lose {
            chip.faults_mut().retention = Some(Retention { millibits_per_month, seed: self.seed });
        }
        chip.pass(self.time.unwrap_or(0));
    }
}

/// Seconds in a time on the command line. A year has 365.25 days, a month the twelfth part.
fn seconds(text: &str) -> Result<u32, String> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit: u32 = match unit {
        "s" => 1,
        "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 604_800,
        "mo" => 2_629_800,
        "y" => 31_557_600,
        _ => 0,
    };
    let number: u32 = number.parse().ok().filter(|_| unit > 0).ok_or_else(|| {
        format!("invalid time `{text}` (want a number and s, min, h, d, w, mo or y, such as 90d or 10y)")
    })?;
    number.checked_mul(unit).ok_or_else(|| format!("`{text}` is more than 136 years"))
}

/// Thousandths in a number with up to three digits behind the point.
fn thousandths(text: &str) -> Result<u32, String> {
    let wrong = || {
        format!("invalid number of bits `{text}` (want up to three digits behind the point, such as 0.25)")
    };
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    if part.is_empty() || part.len() > 3 || !part.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(wrong());
    }
    let whole: u32 = whole.parse().map_err(|_| wrong())?;
    let part: u32 = format!("{part:0<3}").parse().map_err(|_| wrong())?;
    whole
        .checked_mul(1000)
        .and_then(|whole| whole.checked_add(part))
        .ok_or_else(|| format!("`{text}` bits are too many"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_understood() {
        for (text, want) in
            [("0s", 0), ("90d", 7_776_000), ("10y", 315_576_000), ("2w", 1_209_600), ("1mo", 2_629_800)]
        {
            assert_eq!(seconds(text), Ok(want), "{text}");
        }
        for text in ["", "5", "y", "-1d", "1.5y", "1yr", "137y", "99999999999s"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bits_are_understood() {
        for (text, want) in [("1", 1000), ("0.25", 250), ("0.001", 1), ("12.5", 12_500)] {
            assert_eq!(thousandths(text), Ok(want), "{text}");
        }
        for text in ["", ".", "1.", ".5", "0.0001", "1.+2", "-1", "4294968"] {
            assert!(thousandths(text).is_err(), "{text}");
        }
    }
}
