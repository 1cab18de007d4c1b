//! The workspace's test programs: built by cargo, and run here, each with its time and its output.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use xtask::Failure;

/// One test program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) package: String,
    /// Whether it is the tests inside a library or a command, not one of the programs in `tests`.
    pub(crate) units: bool,
    /// `crate: program`: the package, and its library, command or file of tests.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// The place of its crate: cargo runs tests there, and so do we.
    pub(crate) directory: PathBuf,
}

/// One run of a program.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) name: String,
    pub(crate) status: ExitStatus,
    /// The processor time of it and its children, as far as they were waited for.
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
    /// All that it wrote, to stdout and stderr.
    pub(crate) said: String,
}

/// Cargo: the one that runs this program, if one does.
pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Builds the programs that `cargo test` with these arguments would run, but for documentation. The compiler's output
/// is shown.
pub(crate) fn build(arguments: &[&str]) -> Result<Vec<Program>, Failure> {
    let mut cargo = cargo();
    cargo.args(["test", "--no-run", "--message-format=json-render-diagnostics"]).args(arguments);
    let done = cargo.stderr(Stdio::inherit()).output()?;
    if !done.status.success() {
        return Err(format!("cargo test --no-run {}: {}", arguments.join(" "), done.status).into());
    }
    Ok(String::from_utf8_lossy(&done.stdout).lines().filter_map(program).collect())
}

/// The program that a message of cargo is about, if it is a test program.
fn program(message: &str) -> Option<Program> {
    let (_, profile) = message.split_once("\"profile\":{")?;
    let (profile, _) = profile.split_once('}')?;
    if !profile.ends_with("\"test\":true") {
        return None;
    }
    let path = PathBuf::from(field(message, "executable")?);
    let package = package(field(message, "package_id")?)?;
    let (_, target) = message.split_once("\"target\":{")?;
    let directory = Path::new(field(message, "manifest_path")?).parent()?.to_owned();
    let is = |kind: &str| target.starts_with(&format!("\"kind\":[\"{kind}\"]"));
    let command = if is("bin") { " (command)" } else { "" };
    let name = format!("{package}: {}{command}", field(target, "name")?);
    Some(Program { package: package.to_owned(), units: !is("test"), name, path, directory })
}

/// The name in a package's id, where it may stand for itself: `path+file:///w/xtask#0.1.0`.
fn package(id: &str) -> Option<&str> {
    let (place, name) = id.rsplit_once('#')?;
    name.split_once('@').map(|(name, _)| name).or_else(|| place.rsplit('/').next())
}

/// A field of a message of cargo that is a text.
fn field<'a>(message: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = message.split_once(&format!("\"{name}\":\""))?;
    rest.split_once('"').map(|(text, _)| text)
}

impl Program {
    /// The command that runs it as cargo would.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.directory).env("CARGO_MANIFEST_DIR", &self.directory);
        command
    }
}

/// Runs a command to its end. Its output and its times go through files in `place`, which are named after it.
pub(crate) fn run(name: &str, command: &Command, place: &Path) -> Result<Run, Failure> {
    let file = place.join(name.replace([':', ' ', '(', ')'], "-"));
    let (output, times) = (file.with_extension("log"), file.with_extension("times"));
    let mut shell = Command::new("bash");
    shell.arg("-c").arg("TIMEFORMAT='%U %S'; { time \"$@\" 2>&1; } 2>\"$0\"").arg(&times);
    shell.arg(command.get_program()).args(command.get_args());
    for (variable, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(variable, value),
            None => shell.env_remove(variable),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        shell.current_dir(directory);
    }
    let begun = Instant::now();
    let status = shell.stdin(Stdio::null()).stdout(File::create(&output)?).status()?;
    let wall = begun.elapsed();
    let said = String::from_utf8_lossy(&fs::read(&output)?).into_owned();
    let cpu = seconds(&fs::read_to_string(&times)?).ok_or("bash tells no times")?;
    Ok(Run { name: name.to_owned(), status, cpu, wall, said })
}

/// The sum of the times that bash wrote; a signal that killed the program may stand beside them.
fn seconds(times: &str) -> Option<Duration> {
    let sum = |line: &str| line.split(' ').map(|word| word.parse::<f64>().ok()).sum::<Option<f64>>();
    times.lines().rev().find_map(sum).map(Duration::from_secs_f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/crates/ecc#pumice-ecc@0.1.0","manifest_path":"/w/crates/ecc/Cargo.toml","target":{"kind":["test"],"name":"ecc","test":true},"profile":{"opt_level":"3","test":true},"executable":"/w/target/debug/deps/ecc-5f"}"#;

    #[test]
    fn programs_are_found_in_what_cargo_says() {
        let found = program(MESSAGE).unwrap();
        assert_eq!((&*found.package, &*found.name, found.units), ("pumice-ecc", "pumice-ecc: ecc", false));
        assert_eq!(found.path, Path::new("/w/target/debug/deps/ecc-5f"));
        assert_eq!(found.directory, Path::new("/w/crates/ecc"));
        let command = program(&MESSAGE.replace("[\"test\"]", "[\"bin\"]")).unwrap();
        assert_eq!((&*command.name, command.units), ("pumice-ecc: ecc (command)", true));
        assert_eq!(package("path+file:///w/xtask#0.1.0"), Some("xtask"));
        assert_eq!(program(&MESSAGE.replace(",\"test\":true},\"exe", ",\"test\":false},\"exe")), None);
        assert_eq!(program(&MESSAGE.replace("\"/w/target/debug/deps/ecc-5f\"", "null")), None);
        assert_eq!(program("{\"reason\":\"build-finished\",\"success\":true}"), None);
    }

    #[test]
    fn a_run_has_its_output_its_status_and_its_times() {
        let place = tempfile::tempdir().unwrap();
        let mut command = Command::new("bash");
        command.arg("-c").arg("echo \"$WORD\"; echo aloud >&2; for i in {1..20000}; do :; done; exit 3");
        let run = run("a: run", command.env("WORD", "word"), place.path()).unwrap();
        assert_eq!((run.status.code(), run.said.as_str()), (Some(3), "word\naloud\n"));
        assert!(run.cpu > Duration::ZERO && run.wall > Duration::ZERO, "{run:?}");
        assert_eq!(seconds("0.25 1.5\n"), Some(Duration::from_millis(1750)));
        assert_eq!(seconds("bash: line 1: 77 Killed\n1.0 0.0\n"), Some(Duration::from_secs(1)));
        assert_eq!(seconds(""), None);
    }
}
