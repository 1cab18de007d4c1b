//! Alibaba block traces (Li, Wang, Lee and Xu, IISWC 2020).

use super::{Access, Format, fields::Fields, format::Meaning};

/// Bytes; times in microseconds since 1970.
pub(super) const FORMAT: Format =
    Format { name: "alibaba", fields: "device,R|W,offset,bytes,time", parser: || Box::new(line) };

fn line(line: &str) -> Meaning {
    let mut fields = Fields::comma(line);
    let volume = fields.number("device")?;
    let op = fields.op("opcode", "r", "w")?;
    let (offset, bytes) = (fields.number("offset")?, fields.number("length")?);
    let time_ns = fields.time("timestamp", 1_000)?;
    fields.end()?;
    Ok(Some(Access { time_ns, op, volume, offset, bytes }))
}
