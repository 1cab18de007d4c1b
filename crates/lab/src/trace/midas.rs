//! The form of MiDAS's own traces (Oh, Park, Kim, Hyun, Kim, Lee and others, FAST 2024).

use super::{Access, Format, Op, Problem, fields::Fields, format::Meaning};

/// Blocks of 4096 bytes, sizes in bytes; times in seconds; a stream number may follow.
pub(super) const FORMAT: Format = Format {
    name: "midas",
    fields: "time 0 read|1 write|2 unused|3 trim block bytes [stream]",
    parser: || Box::new(line),
};

/// Bytes of a block.
const BLOCK: u64 = 4096;

/// The smallest request to a block device; a column with smaller numbers is no size in bytes.
const SECTOR: u64 = 512;

fn line(line: &str) -> Meaning {
    let mut fields = Fields::blank(line);
    let time_ns = fields.time("time", 1_000_000_000)?;
    let op = match fields.text("type")? {
        "0" => Some(Op::Read),
        "1" => Some(Op::Write),
        "2" => None,
        "3" => Some(Op::Trim),
        other => return Err(Problem::field("type", other, "0 to 3")),
    };
    let block = fields.number("address")?;
    let offset = block.checked_mul(BLOCK).ok_or(Problem::Line("an address of fewer than 2^64 bytes"))?;
    let size = fields.text("size")?;
    let bytes = size.parse().ok().filter(|bytes| *bytes >= SECTOR || op.is_none());
    let bytes = bytes.ok_or_else(|| Problem::field("size", size, "at least 512 bytes"))?;
    Ok(op.map(|op| Access { time_ns, op, volume: 0, offset, bytes }))
}
