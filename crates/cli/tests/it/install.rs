//! Manual pages, completions, and `make install`.

use std::{fs, path::Path, process::Command};

use crate::common::World;

#[test]
fn every_verb_has_a_page() {
    let world = World::new();
    world.say("man pages").good();
    let read = |name: &str| fs::read_to_string(world.path("pages").join(name)).unwrap();
    for name in
        ["pumice", "pumice-mkfs", "pumice-nand-create", "pumice-lab-run", "pumice-ftl-mount", "pumice-man"]
    {
        let page = read(&format!("{name}.1"));
        assert!(page.contains(&format!(".TH {name} 1")), "{page}");
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH DESCRIPTION"), "{page}");
    }
    assert!(read("pumice-mkfs.1").contains("\\-\\-chip"));
    assert_eq!(read("fsck.pumice.8"), ".so man1/pumice-fsck.1\n");
    fs::write(world.path("file"), "").unwrap();
    world.say("man file").bad(1, &["file"]);
}

#[test]
fn bash_completes_verbs_and_options() {
    let world = World::new();
    fs::write(world.path("pumice.bash"), world.say("completions bash").good()).unwrap();
    let complete = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let (last, before) = (words.len() - 1, words[words.len() - 2]);
        let script = format!(
            "source pumice.bash; COMP_WORDS=({line}); COMP_CWORD={last}; \
             _pumice pumice '{}' {before}; echo ${{COMPREPLY[@]}}",
            words[last]
        );
        let run = Command::new("bash").args(["-c", &script]).current_dir(world.path("")).output().unwrap();
        String::from_utf8(run.stdout).unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(complete("pumice mk"), ["mkfs", "mkdir"]);
    assert_eq!(complete("pumice lab r"), ["run", "report"]);
    assert_eq!(complete("pumice sim --vic"), ["--victim"]);
    assert!(world.say("completions zsh").good().starts_with("#compdef pumice"));
    assert!(world.say("completions fish").good().contains("complete -c pumice"));
    assert_eq!(world.say("completions tcsh").code, 2);
}

#[test]
fn make_install_puts_everything_in_its_place() {
    let world = World::new();
    let root = world.path("root");
    // Twice: the second time over the files of the first.
    for _ in 0..2 {
        let run = Command::new("make")
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
            .args(["install", "PREFIX=/usr", &format!("DESTDIR={}", root.display())])
            .arg(format!("PROGRAM={}", env!("CARGO_BIN_EXE_pumice")))
            .output()
            .unwrap();
        assert!(run.status.success(), "{run:?}");
    }
    let usr = root.join("usr");
    for file in [
        "bin/pumice",
        "share/man/man1/pumice-mkfs.1",
        "share/man/man8/mount.pumice.8",
        "share/bash-completion/completions/pumice",
        "share/zsh/site-functions/_pumice",
        "share/fish/vendor_completions.d/pumice.fish",
    ] {
        assert!(fs::metadata(usr.join(file)).unwrap().len() > 0, "{file}");
    }
    // The links are the program under the names that mkfs(8), fsck(8) and mount(8) look for.
    for (name, usage) in [
        ("mkfs.pumice", "mkfs"),
        ("fsck.pumice", "fsck"),
        ("mount.pumice", "mount"),
        ("mount.fuse.pumice", "mount"),
    ] {
        let run = Command::new(usr.join("sbin").join(name)).arg("--help").output().unwrap();
        let text = String::from_utf8(run.stdout).unwrap();
        assert!(run.status.success() && text.contains(&format!("Usage: pumice {usage}")), "{name}: {text}");
    }
}
