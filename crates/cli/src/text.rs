//! Names, sizes, modes and times in readable form.

use std::{os::unix::ffi::OsStrExt, path::Path};

use pumice_media::Geometry;
use pumice_vfs::{Attr, FileKind, Timestamp};
use serde_json::Value;

/// A name for a terminal: bytes that are not UTF-8 or would move the cursor are escaped.
pub(crate) fn name(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if letter.is_control() || letter == '\\' {
                out.extend(letter.escape_default());
            } else {
                out.push(letter);
            }
        }
        for byte in chunk.invalid() {
            out.extend(std::ascii::escape_default(*byte).map(char::from));
        }
    }
    out
}

/// A path of the host for a terminal.
pub(crate) fn path(path: impl AsRef<Path>) -> String {
    name(path.as_ref().as_os_str().as_bytes())
}

/// A line of text whose parts may hold anything, for a terminal: what would move the cursor is escaped.
pub(crate) fn line(text: &str) -> String {
    let escaped = |letter: char| letter.is_control().then(|| letter.escape_default().to_string());
    text.chars().map(|letter| escaped(letter).unwrap_or_else(|| letter.into())).collect()
}

/// A size with three digits and a binary unit: `4.00 KiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes;
    let mut unit = 0;
    while value >= 1024 * 1024 {
        value /= 1024;
        unit += 1;
    }
    let (whole, part) = (value / 1024, value % 1024);
    let unit = UNITS.get(unit).copied().unwrap_or("EiB");
    match whole {
        0..10 => format!("{whole}.{:02} {unit}", part * 100 / 1024),
        10..100 => format!("{whole}.{} {unit}", part * 10 / 1024),
        _ => format!("{whole} {unit}"),
    }
}

/// A number and its noun.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Type and permissions as `ls -l` shows them.
pub(crate) fn mode(attr: &Attr) -> String {
    let mut out = String::with_capacity(10);
    out.push(kind_letter(attr.kind));
    for (shift, special, on, off) in [(6, 0o4000, 's', 'S'), (3, 0o2000, 's', 'S'), (0, 0o1000, 't', 'T')] {
        let bits = attr.perm >> shift;
        out.push(if bits & 4 != 0 { 'r' } else { '-' });
        out.push(if bits & 2 != 0 { 'w' } else { '-' });
        out.push(match (attr.perm & special != 0, bits & 1 != 0) {
            (true, true) => on,
            (true, false) => off,
            (false, true) => 'x',
            (false, false) => '-',
        });
    }
    out
}

fn kind_letter(kind: FileKind) -> char {
    match kind {
        FileKind::File => '-',
        FileKind::Dir => 'd',
        FileKind::Symlink => 'l',
        FileKind::Fifo => 'p',
        FileKind::Socket => 's',
        FileKind::CharDevice => 'c',
        FileKind::BlockDevice => 'b',
    }
}

/// A kind in words, as JSON and `stat` have it.
pub(crate) fn kind(kind: FileKind) -> &'static str {
    match kind {
        FileKind::File => "file",
        FileKind::Dir => "directory",
        FileKind::Symlink => "symlink",
        FileKind::Fifo => "fifo",
        FileKind::Socket => "socket",
        FileKind::CharDevice => "character device",
        FileKind::BlockDevice => "block device",
    }
}

/// Major and minor number of a device node.
pub(crate) fn device(rdev: u32) -> (u32, u32) {
    ((rdev >> 8) & 0xfff, (rdev & 0xff) | ((rdev >> 12) & 0xf_ff00))
}

/// A time in UTC, to the nanosecond: `2026-01-02T03:04:05.000000006Z`.
pub(crate) fn time(time: Timestamp) -> String {
    let nanos = i32::try_from(time.nanos).unwrap_or_default();
    match jiff::Timestamp::new(time.seconds, 0) {
        Ok(whole) => format!("{}.{nanos:09}Z", whole.to_string().trim_end_matches('Z')),
        // Beyond the years -9999 to 9999 there is no calendar to agree on.
        Err(_) => format!("@{}.{nanos:09}", time.seconds),
    }
}

/// The same to the minute, for lists.
pub(crate) fn short_time(time: Timestamp) -> String {
    let Ok(whole) = jiff::Timestamp::new(time.seconds, 0) else { return format!("@{}", time.seconds) };
    let text = whole.to_string();
    text.split_once('T')
        .map_or(text.clone(), |(day, clock)| format!("{day} {}", clock.get(..5).unwrap_or(clock)))
}

/// A document as indented lines `key: value`.
pub(crate) fn tree(value: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    branch(value, 0, &mut lines);
    lines
}

fn branch(value: &Value, depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if matches!(value, Value::Object(_)) || is_table(value) {
                    lines.push(format!("{indent}{key}:"));
                    branch(value, depth + 1, lines);
                } else {
                    lines.push(format!("{indent}{key}: {}", leaf(value)));
                }
            }
        }
        Value::Array(rows) if is_table(value) => {
            for row in rows {
                let Value::Object(map) = row else { continue };
                let cells: Vec<String> =
                    map.iter().map(|(key, value)| format!("{key} {}", leaf(value))).collect();
                lines.push(format!("{indent}{}", cells.join(", ")));
            }
        }
        other => lines.push(format!("{indent}{}", leaf(other))),
    }
}

/// True for a list of objects, which are shown a line each.
fn is_table(value: &Value) -> bool {
    value.as_array().is_some_and(|rows| rows.iter().any(Value::is_object))
}

/// A value in a line.
pub(crate) fn leaf(value: &Value) -> String {
    match value {
        Value::String(text) => name(text.as_bytes()),
        Value::Array(list) => list.iter().map(leaf).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// A geometry as the command line takes it.
pub(crate) fn shape(geometry: &Geometry) -> String {
    format!(
        "{}+{}:{}:{}",
        geometry.page_bytes, geometry.spare_bytes, geometry.pages_per_block, geometry.blocks
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (1536, "1.50 KiB"),
            (128 << 20, "128 MiB"),
            (u64::MAX, "15.9 EiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn names_cannot_move_the_cursor() {
        assert_eq!(name(b"a\x1b[2Jb\xff\n"), "a\\u{1b}[2Jb\\xff\\n");
    }

    #[test]
    fn times_before_1970_are_right() {
        assert_eq!(time(Timestamp { seconds: -2, nanos: 800_000_000 }), "1969-12-31T23:59:58.800000000Z");
        assert_eq!(short_time(Timestamp { seconds: 0, nanos: 0 }), "1970-01-01 00:00");
    }

    #[test]
    fn devices_split_as_linux_joins_them() {
        assert_eq!(device(0x0010_042c), (4, 0x12c));
    }
}
