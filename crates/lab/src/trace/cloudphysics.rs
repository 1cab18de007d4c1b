//! CloudPhysics' virtual disks (Waldspurger, Park, Garthwaite and Ahmad, FAST 2015), as CSV.

use super::{Access, Format, Op, Problem, fields::Fields, format::Meaning};

/// Sectors and bytes; times in microseconds.
pub(super) const FORMAT: Format = Format {
    name: "cloudphysics",
    fields: "version,time,SCSI opcode in hexadecimal,bytes,sector",
    parser: || Box::new(line),
};

fn line(line: &str) -> Meaning {
    let mut fields = Fields::comma(line);
    fields.number("version")?;
    let time_ns = fields.time("time", 1_000)?;
    let op = op(fields.text("op")?)?;
    let size = fields.text("size")?;
    let bytes = size.parse().ok().filter(|bytes| bytes % 512 == 0 || op.is_none());
    let bytes = bytes.ok_or_else(|| Problem::field("size", size, "a multiple of 512"))?;
    let offset = fields.sectors("lbn")?;
    fields.end()?;
    Ok(op.map(|op| Access { time_ns, op, volume: 0, offset, bytes }))
}

/// The effect of an operation code of SBC-4 on the medium; `None` for one that moves no data.
fn op(text: &str) -> Result<Option<Op>, Problem> {
    let digits = text.trim_start_matches("0x");
    let code = u8::from_str_radix(digits, 16)
        .map_err(|_| Problem::field("op", text, "an operation code in hexadecimal"))?;
    Ok(match code {
        // READ (6), (10), (12), (16).
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Op::Read),
        // WRITE (6), (10), (12), (16); WRITE AND VERIFY (10), (12), (16); WRITE SAME (10), (16).
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e | 0x41 | 0x93 => Some(Op::Write),
        // UNMAP.
        0x42 => Some(Op::Trim),
        _ => None,
    })
}
