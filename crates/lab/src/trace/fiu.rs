//! FIU's traces with fingerprints of the data (Koller and Rangaswami, FAST 2010).

use super::{Access, Format, fields::Fields, format::Meaning};

/// Sectors; times in nanoseconds.
pub(super) const FORMAT: Format = Format {
    name: "fiu",
    fields: "time pid process sector sectors R|W major minor [digest]",
    parser: || Box::new(line),
};

fn line(line: &str) -> Meaning {
    let mut fields = Fields::blank(line);
    let time_ns = fields.number("time")?;
    fields.number("pid")?;
    fields.skip("process")?;
    let (offset, bytes) = (fields.sectors("sector")?, fields.sectors("size")?);
    let op = fields.op("type", "r", "w")?;
    let (major, minor) = (fields.number("major")?, fields.number("minor")?);
    let volume = (major << 20) | minor;
    Ok(Some(Access { time_ns, op, volume, offset, bytes }))
}
