//! Tencent's cloud block storage (Zhang, Huang, Zhou, Cheng, Hu, Wang and others, ATC 2020).

use super::{Access, Format, Op, Problem, fields::Fields, format::Meaning};

/// Sectors; times in seconds since 1970.
pub(super) const FORMAT: Format = Format {
    name: "tencent",
    fields: "time,sector,sectors,0 read|1 write,volume",
    parser: || Box::new(line),
};

fn line(line: &str) -> Meaning {
    let mut fields = Fields::comma(line);
    let time_ns = fields.time("timestamp", 1_000_000_000)?;
    let (offset, bytes) = (fields.sectors("offset")?, fields.sectors("size")?);
    let op = match fields.text("type")? {
        "0" => Op::Read,
        "1" => Op::Write,
        other => return Err(Problem::field("type", other, "0 or 1")),
    };
    let volume = fields.number("volume")?;
    fields.end()?;
    Ok(Some(Access { time_ns, op, volume, offset, bytes }))
}
