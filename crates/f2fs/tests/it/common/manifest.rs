//! A manifest: the kernel's view of each file, one JSON object a line.

use std::{collections::BTreeMap, fmt::Write};

use pumice_vfs::Timestamp;
use serde_json::{Map, Value};

/// The facts about a file.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Record(pub(crate) Map<String, Value>);

impl Record {
    pub(crate) fn set(&mut self, field: &str, value: impl Into<Value>) {
        self.0.insert(field.into(), value.into());
    }

    /// Fields that are not as `wanted` has them.
    pub(crate) fn differences<'a>(&'a self, wanted: &'a Record) -> impl Iterator<Item = String> + 'a {
        let keys = wanted.0.keys().chain(self.0.keys().filter(|key| !wanted.0.contains_key(*key)));
        keys.filter_map(|key| {
            let (found, want) = (self.0.get(key), wanted.0.get(key));
            let show = |value: Option<&Value>| value.map_or("missing".into(), short);
            (found != want).then(|| format!("{key} is {}, want {}", show(found), show(want)))
        })
    }
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(120).collect()
}

/// Compares a volume with its manifest and returns the differences, one line each.
pub(crate) fn differences(
    found: &BTreeMap<String, Record>,
    wanted: &BTreeMap<String, Record>,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (path, record) in wanted {
        match found.get(path) {
            None => lines.push(format!("{path}: missing")),
            Some(found) => lines.extend(found.differences(record).map(|line| format!("{path}: {line}"))),
        }
    }
    lines.extend(
        found.keys().filter(|path| !wanted.contains_key(*path)).map(|path| format!("{path}: too many")),
    );
    lines
}

pub(crate) fn parse(text: &str) -> BTreeMap<String, Record> {
    let record = |line: &str| {
        let value: Map<String, Value> = serde_json::from_str(line).unwrap();
        (value["path"].as_str().unwrap().to_owned(), Record(value))
    };
    text.lines().filter(|line| !line.is_empty()).map(record).collect()
}

/// The latest change of anything.
pub(crate) fn last_change(records: &BTreeMap<String, Record>) -> Timestamp {
    let time = |record: &Record| {
        let (seconds, nanos) = record.0["ctime"].as_str().unwrap().split_once('.').unwrap();
        Timestamp { seconds: seconds.parse().unwrap(), nanos: nanos.parse().unwrap() }
    };
    records.values().map(time).max().unwrap()
}

/// Bytes as the manifest writes them.
pub(crate) fn escape(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'%' | b'"' | b'\\' | ..=0x20 | 0x7f.. => write!(text, "%{byte:02X}").unwrap(),
            _ => text.push(char::from(*byte)),
        }
    }
    text
}
