//! What a user does wrong, and what goes wrong around the command: files of every kind, numbers, names, closed pipes,
//! full disks, signals in the middle. Each gives one clear line, nothing hangs or aborts, and nothing half written
//! stays. Each table has one line for each kind of bad input.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, missing_docs)]

#[path = "../common/mod.rs"]
mod common;
mod f2fs;
mod files;
mod ground;
mod hosts;
mod images;
mod names;
mod numbers;
mod signals;
mod words;

/// The promise that this whole program is about.
#[test]
fn there_are_three_hundred_kinds_of_bad_input() {
    let kinds = files::KINDS.len()
        + f2fs::MADE.len()
        + f2fs::FOREIGN.len()
        + f2fs::DAMAGES.len()
        + f2fs::ROWS.len()
        + images::DAMAGES.len()
        + images::STRANGERS.len()
        + names::ROWS.len()
        + numbers::ROWS.len()
        + words::ROWS.len()
        + hosts::KINDS
        + signals::ROWS.len()
        + signals::KILLED.len();
    assert!(kinds >= 300, "{kinds}");
}
