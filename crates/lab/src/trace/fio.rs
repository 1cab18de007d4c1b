//! fio's iolog, versions 2 and 3 (HOWTO, "trace file format").

use super::{
    Access, Format, Op, Problem,
    fields::Fields,
    format::{Meaning, Parser},
};

/// Bytes; version 3 has times in microseconds, version 2 waits. Each file is a volume.
pub(super) const FORMAT: Format =
    Format { name: "fio", fields: "`fio version 2|3 iolog`, then [time] file action [offset bytes]", parser };

/// The lines seen so far.
#[derive(Default)]
struct Log {
    version: Option<u8>,
    files: Vec<String>,
    time_ns: u64,
}

fn parser() -> Parser {
    let mut log = Log::default();
    Box::new(move |line| log.line(line))
}

impl Log {
    fn line(&mut self, line: &str) -> Meaning {
        if let Some(version) = self.version {
            return self.action(version, line);
        }
        self.version = match line.trim() {
            "fio version 2 iolog" => Some(2),
            "fio version 3 iolog" => Some(3),
            _ => return Err(Problem::Line("`fio version 2 iolog` or `fio version 3 iolog` first")),
        };
        Ok(None)
    }

    fn action(&mut self, version: u8, line: &str) -> Meaning {
        let mut fields = Fields::blank(line);
        if version == 3 {
            self.time_ns = fields.time("time", 1_000)?;
        }
        let file = fields.text("file")?;
        let op = match fields.text("action")? {
            "read" => Op::Read,
            "write" => Op::Write,
            "trim" => Op::Trim,
            "wait" => {
                self.time_ns = self.time_ns.saturating_add(fields.time("wait", 1_000)?);
                return Ok(None);
            }
            "add" | "open" | "close" | "sync" | "datasync" => return Ok(None),
            other => return Err(Problem::field("action", other, "an action of an iolog")),
        };
        let volume = self.volume(file);
        let (offset, bytes) = (fields.number("offset")?, fields.number("length")?);
        fields.end()?;
        Ok(Some(Access { time_ns: self.time_ns, op, volume, offset, bytes }))
    }

    /// The number of a file: its place in the order of first use.
    fn volume(&mut self, file: &str) -> u64 {
        let known = self.files.iter().position(|known| known == file);
        let at = known.unwrap_or_else(|| {
            self.files.push(file.to_owned());
            self.files.len() - 1
        });
        at as u64
    }
}
