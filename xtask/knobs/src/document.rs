//! The tables of CONTRIBUTING.md.
#![cfg(test)]

use std::{fmt::Write, fs, path::Path};

use crate::{BLESS, CAMPAIGNS, Campaign, KNOBS, Rounds};

/// The heading of the first column of each table, and the table.
fn tables() -> [(&'static str, String); 2] {
    let mut campaigns = "| campaign | a longer run | one case again |\n|---|---|---|\n".to_owned();
    for Campaign { name, tests, size, of, longer, again, rounds } in CAMPAIGNS {
        let names = tests.names.join(" ");
        let command = format!("{}={longer} cargo test --test {} -- {names}", size.name, tests.program);
        let part = if matches!(rounds, Rounds::Parts(_)) { "; `PUMICE_PART=K/N` a part" } else { "" };
        let again = if again.is_empty() { "`PUMICE_SEED=` the seed that the failure names" } else { again };
        let _ = writeln!(campaigns, "| {name} | `{command}`: {of}{part} | {again} |");
    }
    let mut knobs = "| knob | value | if not set | for |\n|---|---|---|---|\n".to_owned();
    for knob in KNOBS {
        let _ = writeln!(
            knobs,
            "| `{}` | {} | {} | {} |",
            knob.name,
            knob.form.wanted(),
            knob.usual,
            knob.purpose
        );
    }
    [("| campaign ", campaigns), ("| knob ", knobs)]
}

/// `PUMICE_BLESS=1` writes the tables down.
#[test]
fn contributing_lists_campaigns_and_knobs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CONTRIBUTING.md");
    let text = fs::read_to_string(&path).unwrap();
    let mut wanted = text.clone();
    for (begin, table) in tables() {
        let start = wanted.find(&format!("\n{begin}")).unwrap() + 1;
        let end = start + wanted[start..].find("\n\n").unwrap() + 1;
        wanted.replace_range(start..end, &table);
    }
    if BLESS.is_set() {
        fs::write(&path, &wanted).unwrap();
    } else {
        assert!(
            text == wanted,
            "CONTRIBUTING.md: PUMICE_BLESS=1 cargo test -p pumice-knobs writes the tables anew"
        );
    }
}

/// A size that a document or `make soak` asks for is one that the knob takes; a name stands once.
#[test]
fn campaigns_can_be_asked_for() {
    for campaign in CAMPAIGNS {
        let Campaign { name, size, longer, rounds, .. } = campaign;
        assert!(size.takes(longer), "{name}: {longer}");
        assert_eq!(size.is_whole(longer), matches!(rounds, Rounds::Parts(_)), "{name}: {longer}");
        assert_eq!(CAMPAIGNS.iter().filter(|other| other.name == name).count(), 1, "{name}");
    }
    for knob in KNOBS {
        assert_eq!(KNOBS.iter().filter(|other| other.name == knob.name).count(), 1, "{}", knob.name);
    }
}
