//! Mistakes of users, and faults around the command: files of every kind, numbers, names, closed pipes, full disks,
//! signals in the middle. Each gives one clear line, nothing hangs or aborts, and nothing half written stays. Each
//! table has one line for each kind of bad input.

mod f2fs;
mod files;
mod ground;
mod hosts;
mod images;
mod names;
mod numbers;
mod signals;
mod words;

use std::collections::BTreeSet;

/// The promise that this whole program is about. No line counts twice, and none that is not refused.
#[test]
fn there_are_three_hundred_kinds_of_bad_input() {
    let plain = names::ROWS.iter().chain(numbers::ROWS).chain(words::ROWS).chain(f2fs::ROWS);
    let plain = plain.map(|(line, _)| (*line).to_owned());
    let made = f2fs::MADE.iter().map(|(words, _)| format!("mkfs -t f2fs {words}"));
    let foreign = f2fs::FOREIGN.iter().map(|(words, _)| format!("mkfs {words}"));
    let strangers = images::STRANGERS.iter().map(|(verb, image, _)| format!("{verb} {image}"));
    let signals = signals::ROWS.iter().map(|(line, signal, _)| format!("{line} {signal}"));
    let killed = signals::KILLED.iter().map(|line| format!("{line} KILL"));
    let mut lines = BTreeSet::new();
    for line in plain.chain(made).chain(foreign).chain(strangers).chain(signals).chain(killed) {
        assert!(lines.insert(line.clone()), "twice: {line}");
    }
    let damages = images::DAMAGES.iter().filter(|(_, says)| !says.is_empty()).count() + f2fs::DAMAGES.len();
    let kinds = lines.len() + files::KINDS.len() + damages + hosts::KINDS;
    assert!(kinds >= 300, "{kinds}");
    eprintln!("{kinds} kinds");
}
