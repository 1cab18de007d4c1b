//! MSR Cambridge (Narayanan, Donnelly and Rowstron, FAST 2008).

use super::{Access, Format, fields::Fields, format::Meaning};

/// Bytes; times in Windows' 100 ns since 1601.
pub(super) const FORMAT: Format = Format {
    name: "msr",
    fields: "time,host,disk,Read|Write,offset,bytes,response time",
    parser: || Box::new(line),
};

/// Nanoseconds of a unit of time.
const TICK_NS: u64 = 100;

/// 100 ns ticks from 1601 until 1970, so that times fit.
const EPOCH: u64 = 116_444_736_000_000_000;

fn line(line: &str) -> Meaning {
    let mut fields = Fields::comma(line);
    let ticks = fields.number("time")?;
    fields.skip("host")?;
    let volume = fields.number("disk")?;
    let op = fields.op("type", "read", "write")?;
    let (offset, bytes) = (fields.number("offset")?, fields.number("size")?);
    fields.number("response time")?;
    fields.end()?;
    let time_ns = ticks.saturating_sub(EPOCH).saturating_mul(TICK_NS);
    Ok(Some(Access { time_ns, op, volume, offset, bytes }))
}
