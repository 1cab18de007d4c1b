//! `cargo xtask`: work on this repository that needs more than cargo.

mod doors;

use std::{
    env, fs,
    io::{Write, stderr, stdout},
    path::{Path, PathBuf},
    process::ExitCode,
};

use xtask::{Failure, Guest, Machine, f2fs, f2fs_tools, installed};

const USAGE: &str = "\
usage: cargo xtask guest SCRIPT [PROGRAM...]   run a shell script as root on Debian's kernel in QEMU, with these programs
       cargo xtask f2fs-images [NAME...]        make F2FS volumes with the kernel, all or these, in target/f2fs-images
       cargo xtask f2fs-tools-images            make those that only newer f2fs-tools make, in target/f2fs-images
       cargo xtask test                         run all tests, two programs at a time, and say what each took
       cargo xtask test PACKAGE... [-- ARG...]  run those of these packages, of what `cargo test ARG...` would run;
                                                PACKAGE:units are those inside its library or command
       cargo xtask soak                         run the campaigns of SOAK=CRATES, or all, for SOAK_HOURS, from SOAK_SEED on";

/// The place of volumes, in the target directory.
const IMAGES: &str = "f2fs-images";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["guest", script, programs @ ..] => guest(script, programs),
        ["f2fs-images", names @ ..] => f2fs_images(names),
        ["f2fs-tools-images"] => target().and_then(|target| f2fs_tools::keep(&target.join(IMAGES))),
        ["test", words @ ..] => test(words),
        ["soak"] => target().and_then(|target| doors::soak(&target.join("soak"))),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn guest(script: &str, programs: &[&str]) -> Result<(), Failure> {
    let script = fs::read_to_string(script)?;
    let guest = Guest::new(&Machine::find()?)?;
    for program in programs {
        let path = Path::new(program);
        guest.add_program(&if path.is_file() { path.into() } else { installed(program)? })?;
    }
    let said = guest.run(&script)?.good()?;
    Ok(stdout().write_all(said.as_bytes())?)
}

fn f2fs_images(names: &[&str]) -> Result<(), Failure> {
    let all: Vec<&str> = f2fs::recipes().collect();
    f2fs::keep(&Machine::find()?, if names.is_empty() { &all } else { names }, &target()?.join(IMAGES))
}

fn test(words: &[&str]) -> Result<(), Failure> {
    let mut parts = words.splitn(2, |word| *word == "--");
    let (packages, arguments) = (parts.next().unwrap_or(&[]), parts.next().unwrap_or(&[]));
    doors::test(arguments, packages, &target()?.join("test"))
}

/// The directory that cargo builds in.
fn target() -> Result<PathBuf, Failure> {
    let program = env::current_exe()?;
    Ok(program.ancestors().nth(2).unwrap_or(Path::new("target")).to_owned())
}
