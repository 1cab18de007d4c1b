//! DiskSim's ASCII form, which SSDsim and MQSim read too.

use super::{Access, Format, Op, Problem, fields::Fields, format::Meaning};

/// Sectors; times in nanoseconds if whole (SSDsim), in milliseconds if with a fraction (DiskSim).
pub(super) const FORMAT: Format = Format {
    name: "disksim",
    fields: "time device sector sectors 0 write|1 read",
    parser: || Box::new(line),
};

fn line(line: &str) -> Meaning {
    let unit_ns = if line.contains('.') { 1_000_000 } else { 1 };
    let mut fields = Fields::blank(line);
    let time_ns = fields.time("time", unit_ns)?;
    let volume = fields.number("device")?;
    let (offset, bytes) = (fields.sectors("sector")?, fields.sectors("size")?);
    let op = match fields.text("flags")? {
        "0" => Op::Write,
        "1" => Op::Read,
        other => return Err(Problem::field("flags", other, "0 or 1")),
    };
    fields.end()?;
    Ok(Some(Access { time_ns, op, volume, offset, bytes }))
}
