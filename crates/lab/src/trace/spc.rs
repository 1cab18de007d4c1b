//! UMass traces in the SPC form (Storage Performance Council, trace file format 1.0.1).

use super::{Access, Format, fields::Fields, format::Meaning};

/// Sectors and bytes; times in seconds from the beginning; more fields may follow.
pub(super) const FORMAT: Format =
    Format { name: "spc", fields: "unit,sector,bytes,r|w,time[,...]", parser: || Box::new(line) };

fn line(line: &str) -> Meaning {
    let mut fields = Fields::comma(line);
    let volume = fields.number("unit")?;
    let (offset, bytes) = (fields.sectors("address")?, fields.number("size")?);
    let op = fields.op("opcode", "r", "w")?;
    let time_ns = fields.time("timestamp", 1_000_000_000)?;
    Ok(Some(Access { time_ns, op, volume, offset, bytes }))
}
