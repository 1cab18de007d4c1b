//! Help texts stay the same. `PUMICE_BLESS=1 cargo test --test cli help::` takes new ones over.

use std::{fs, path::Path, process::Command};

use crate::common::World;
use pumice_knobs::BLESS;

const VERBS: &[&str] = &[
    "",
    "mkfs",
    "mount",
    "ls",
    "tree",
    "cat",
    "stat",
    "find",
    "get",
    "tar",
    "put",
    "mkdir",
    "rm",
    "mv",
    "ln",
    "quota",
    "attr",
    "seal",
    "tune",
    "resize",
    "defrag",
    "clean",
    "info",
    "df",
    "map",
    "whois",
    "dump",
    "dump sb",
    "dump cp",
    "dump nat",
    "dump sit",
    "dump ssa",
    "dump node",
    "dump dentry",
    "fsck",
    "rescue",
    "undelete",
    "scrub",
    "chips",
    "sim",
    "lab",
    "lab list",
    "lab run",
    "lab merge",
    "lab report",
    "nand",
    "nand create",
    "nand import",
    "nand export",
    "nand flip",
    "nand kill",
    "nand age",
    "nand wear",
    "nand disturb",
    "nand cut",
    "ftl",
    "ftl check",
    "ftl create",
    "ftl info",
    "ftl mount",
    "ftl scrub",
    "man",
    "completions",
];

#[test]
fn help_texts_are_as_recorded() {
    let world = World::new();
    for verb in VERBS.iter().copied().chain(["nand stats"]) {
        let text = world.say(&format!("{verb} --help")).good();
        let name = if verb.is_empty() { "pumice".to_owned() } else { verb.replace(' ', "-") };
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/help/{name}.txt"));
        if BLESS.is_set() {
            fs::write(&path, &text).unwrap();
        }
        let recorded = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(text, recorded, "{} differs; see the head of this test", path.display());
    }
}

/// Manual pages have what manual pages have, and troff takes them without a warning.
#[test]
fn manual_pages_are_whole() {
    let world = World::new();
    world.say("man pages").good();
    for verb in VERBS.iter().copied().filter(|verb| !verb.is_empty()).chain(["nand stats"]) {
        let page = world.path("pages").join(format!("pumice-{}.1", verb.replace(' ', "-")));
        let text = fs::read_to_string(&page).unwrap();
        for section in
            ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "\"EXIT STATUS\"", "EXAMPLES", "\"SEE ALSO\""]
        {
            assert!(text.contains(&format!("\n.SH {section}\n")), "{verb}: {section}");
        }
        if let Ok(run) =
            Command::new("groff").args(["-man", "-ww", "-Wbreak", "-z", "-Tascii"]).arg(&page).output()
        {
            assert!(
                run.status.success() && run.stderr.is_empty(),
                "{verb}: {}",
                String::from_utf8_lossy(&run.stderr)
            );
        }
    }
    let mount = fs::read_to_string(world.path("pages/pumice-mount.1")).unwrap();
    assert!(mount.contains(r"[\fB\-\-cache\fR \fISIZE\fR]") && mount.contains(r"\fIIMAGE\fR"), "{mount}");
}

#[test]
fn no_arguments_show_the_verbs() {
    let run = World::new().say("");
    assert_eq!((run.code, run.out.as_str()), (2, ""));
    assert!(run.err.contains("mkfs"));
}

#[test]
fn an_unknown_verb_is_named() {
    let run = World::new().say("mfks image");
    assert_eq!(run.code, 2);
    assert!(run.err.contains("'mfks'") && run.err.contains("mkfs"), "{run:?}");
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let world = World::new();
    let mut child = world.command().arg("chips").stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().code().is_some_and(|code| code <= 1));
}
