//! Parts that several JSON documents share.

use std::fmt::Write;

use pumice_media::{Geometry, Timing};
use pumice_vfs::{Attr, FileKind};
use serde_json::{Map, Value, json};

use crate::text;

/// Attributes of an inode.
pub(crate) fn attr(attr: &Attr) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("inode".into(), attr.ino.0.into());
    map.insert("kind".into(), text::kind(attr.kind).into());
    map.insert("mode_octal".into(), format!("{:04o}", attr.perm).into());
    map.insert("links".into(), attr.nlink.into());
    map.insert("uid".into(), attr.uid.into());
    map.insert("gid".into(), attr.gid.into());
    map.insert("size_bytes".into(), attr.size.into());
    map.insert("allocated_bytes".into(), attr.allocated.into());
    if matches!(attr.kind, FileKind::CharDevice | FileKind::BlockDevice) {
        let (major, minor) = text::device(attr.rdev);
        map.insert("device_major".into(), major.into());
        map.insert("device_minor".into(), minor.into());
    }
    for (key, time) in [
        ("accessed_utc", attr.atime),
        ("modified_utc", attr.mtime),
        ("changed_utc", attr.ctime),
        ("born_utc", attr.btime),
    ] {
        map.insert(key.into(), text::time(time).into());
    }
    map
}

/// Puts bytes under a key as text; if they are not UTF-8, the bytes themselves follow in hexadecimal.
pub(crate) fn put_bytes(map: &mut Map<String, Value>, key: &str, bytes: &[u8]) {
    map.insert(key.into(), String::from_utf8_lossy(bytes).into());
    if std::str::from_utf8(bytes).is_err() {
        map.insert(format!("{key}_hex"), hex(bytes).into());
    }
}

/// Extended attributes, names and values.
pub(crate) fn xattrs(list: &[(Vec<u8>, Vec<u8>)]) -> Value {
    let each = list.iter().map(|(name, value)| {
        let mut map = Map::new();
        put_bytes(&mut map, "name", name);
        map.insert("value_hex".into(), hex(value).into());
        Value::Object(map)
    });
    each.collect::<Vec<_>>().into()
}

/// Two digits for each byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The geometry of a chip.
pub(crate) fn geometry(geometry: &Geometry) -> Value {
    json!({
        "page_bytes": geometry.page_bytes,
        "spare_bytes": geometry.spare_bytes,
        "free_spare_bytes": geometry.free_spare_bytes,
        "pages_per_block": geometry.pages_per_block,
        "blocks": geometry.blocks,
        "capacity_bytes": geometry.capacity_bytes(),
    })
}

/// The timing of a chip.
pub(crate) fn timing(timing: &Timing) -> Value {
    json!({
        "read_page_ns": timing.read_page_ns,
        "read_spare_ns": timing.read_spare_ns,
        "program_ns": timing.program_ns,
        "erase_ns": timing.erase_ns,
    })
}
