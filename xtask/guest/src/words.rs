//! A program with words: a failure is one line on stderr.

use std::{
    env,
    io::{Write, stderr},
    process::ExitCode,
};

pub(crate) type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Runs `body` with the words behind the program's name.
pub(crate) fn run(program: &str, body: impl FnOnce(&[&str]) -> Outcome) -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match body(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(stderr(), "{program} {}: {error}", words.join(" "));
            ExitCode::FAILURE
        }
    }
}
