//! The default output of blkparse(1).

use super::{
    Access, Format, Op, Problem,
    fields::{Fields, sectors},
    format::{Meaning, Parser},
};

/// Sectors; times in seconds. A request passes several stages: of queued (Q), issued (D) and completed (C) the one
/// that appears first in the file is counted, the others are not.
pub(super) const FORMAT: Format = Format {
    name: "blkparse",
    fields: "major,minor cpu sequence time pid action RWBS sector + sectors [process]",
    parser,
};

/// The lines seen so far.
#[derive(Default)]
struct Log {
    stage: Option<char>,
    summary: bool,
}

fn parser() -> Parser {
    let mut log = Log::default();
    Box::new(move |line| log.line(line))
}

impl Log {
    fn line(&mut self, line: &str) -> Meaning {
        // Sums for each processor end the file.
        self.summary |= line.starts_with("CPU") || line.starts_with("Total (");
        if self.summary {
            return Ok(None);
        }
        let mut fields = Fields::blank(line);
        let volume = device(fields.text("device")?)?;
        fields.number("cpu")?;
        fields.number("sequence")?;
        let time_ns = fields.time("time", 1_000_000_000)?;
        fields.number("pid")?;
        let action = fields.text("action")?;
        if !self.counts(action) {
            return Ok(None);
        }
        let op = op(fields.text("RWBS")?);
        let sector = fields.text("sector")?;
        // A flush alone has a process here, and no sectors.
        let Some(op) = op.filter(|_| !sector.starts_with('[')) else { return Ok(None) };
        let offset = sectors("sector", sector)?;
        match fields.text("+")? {
            "+" => {}
            other => return Err(Problem::field("separator", other, "+")),
        }
        let bytes = fields.sectors("sectors")?;
        Ok(Some(Access { time_ns, op, volume, offset, bytes }))
    }

    /// True if `action` is the stage that is counted.
    fn counts(&mut self, action: &str) -> bool {
        let stage = match action {
            "Q" => 'Q',
            "D" => 'D',
            "C" => 'C',
            _ => return false,
        };
        *self.stage.get_or_insert(stage) == stage
    }
}

/// Major and minor number as one.
fn device(text: &str) -> Result<u64, Problem> {
    let numbers = text.split_once(',').and_then(|(major, minor)| {
        let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
        Some((u64::from(major) << 20) | u64::from(minor))
    });
    numbers.ok_or_else(|| Problem::field("device", text, "major,minor"))
}

/// The operation in a word such as `W`, `RA`, `FWS` or `D`; `None` for a flush or a barrier alone.
fn op(rwbs: &str) -> Option<Op> {
    ['D', 'W', 'R'].into_iter().find(|letter| rwbs.contains(*letter)).map(|letter| match letter {
        'D' => Op::Trim,
        'W' => Op::Write,
        _ => Op::Read,
    })
}
