//! WiscSee's block events (He, Kannan, Arpaci-Dusseau and Arpaci-Dusseau, EuroSys 2017).

use super::{Access, Format, Op, Problem, fields::Fields, format::Meaning};

/// Bytes; times in seconds. Issues (D) count, completions (C) do not.
pub(super) const FORMAT: Format = Format {
    name: "wiscsee",
    fields: "pid D|C read|write|discard offset bytes time wait sync",
    parser: || Box::new(line),
};

fn line(line: &str) -> Meaning {
    let mut fields = Fields::blank(line);
    fields.number("pid")?;
    let issued = match fields.text("event")? {
        "D" => true,
        "C" => false,
        other => return Err(Problem::field("event", other, "D or C")),
    };
    let op = match fields.text("operation")? {
        "read" => Op::Read,
        "write" => Op::Write,
        "discard" => Op::Trim,
        other => return Err(Problem::field("operation", other, "read, write or discard")),
    };
    let (offset, bytes) = (fields.number("offset")?, fields.number("size")?);
    let time_ns = fields.time("time", 1_000_000_000)?;
    Ok(issued.then_some(Access { time_ns, op, volume: 0, offset, bytes }))
}
