//! `cargo xtask test`: all tests of the workspace, or of some packages, two programs at a time, and the time of each.

use std::{
    cmp::Reverse,
    fmt::Write as _,
    fs,
    path::Path,
    process::Command,
    sync::{Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

use xtask::Failure;

use super::{
    AT_ONCE,
    programs::{Program, Run, build, cargo, run},
    ran::{Line, Ran},
    say,
};

/// Programs that are listed at the end.
const SLOWEST: usize = 10;

/// The arguments for every crate of the workspace.
const ALL: &[&str] = &["--workspace"];

/// A job: a name, and the command.
type Job = (String, Command);

/// Builds and runs the test programs that `cargo test` with these arguments would; without arguments all of the
/// workspace, and the examples in its documentation. `only` selects those of these packages: `NAME`, or `NAME:units`
/// for the tests inside its library or command. Logs go to `place`.
pub(crate) fn test(arguments: &[&str], only: &[&str], place: &Path) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut programs = build(if arguments.is_empty() { ALL } else { arguments })?;
    programs.retain(|program| only.is_empty() || only.iter().any(|word| names(word, program)));
    let built = begun.elapsed();
    let mut jobs: Vec<(u64, Job)> = Vec::new();
    for program in &programs {
        jobs.push((fs::metadata(&program.path)?.len(), (program.name.clone(), program.command())));
    }
    // Long jobs come first, so that none of them is left alone at the end: a program's size is a good guess.
    jobs.sort_by_key(|(size, _)| Reverse(*size));
    let mut jobs: Vec<Job> = jobs.into_iter().map(|(_, job)| job).collect();
    if arguments.is_empty() {
        jobs.insert(jobs.len().min(AT_ONCE), ("examples in documentation".to_owned(), examples()));
    }

    let begun = Instant::now();
    fs::create_dir_all(place)?;
    let ran = Ran::new(place.join("campaigns"))?;
    for (_, command) in &mut jobs {
        ran.asked_of(command);
    }
    let runs = run_all(&jobs, place)?;
    say(&closing(&runs, built, begun.elapsed()))?;
    say("\nof the campaigns, which make soak runs at length:\n")?;
    for Line { campaign, covered, cases } in ran.sums()? {
        say(&format!("{campaign}: {covered}, {cases} cases\n"))?;
    }
    let failed: Vec<&str> = runs.iter().filter(|run| !run.status.success()).map(|run| &*run.name).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("FAILED: {}", failed.join(", ")).into()),
    }
}

fn names(word: &str, program: &Program) -> bool {
    match word.strip_suffix(":units") {
        Some(package) => package == program.package && program.units,
        None => word == program.package,
    }
}

/// Cargo, running the examples in documentation.
fn examples() -> Command {
    let mut cargo = cargo();
    cargo.args(["test", "--doc", "--no-fail-fast"]).args(ALL);
    cargo
}

/// Runs them, [`AT_ONCE`] at the same time, and shows the output of each when it ends.
fn run_all(jobs: &[Job], place: &Path) -> Result<Vec<Run>, Failure> {
    let (waiting, (tell, told)) = (Mutex::new(jobs.iter()), mpsc::channel());
    let next = || waiting.lock().ok().and_then(|mut jobs| jobs.next());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            let (tell, next) = (tell.clone(), &next);
            scope.spawn(move || {
                while let Some((name, command)) = next() {
                    let _ = say(&format!("    running {name}\n"));
                    if tell.send(run(name, command, place)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(tell);
        let mut runs = Vec::new();
        for done in told {
            let done = done?;
            say(&format!("\n=== {}: {}\n{}", done.name, took(&done), done.said))?;
            runs.push(done);
        }
        Ok(runs)
    })
}

fn took(run: &Run) -> String {
    format!("{}, {:.1} s of CPU, {:.1} s", run.status, run.cpu.as_secs_f64(), run.wall.as_secs_f64())
}

/// Whether a line of a test program is shown once more at the end.
fn is_closing(line: &str) -> bool {
    line.starts_with("SKIPPED:")
        || line.starts_with("test result:")
        || line.starts_with("test ") && line.ends_with(" ... FAILED")
}

/// The last lines: skipped tests, the last line of each program, the slowest, and the sum.
fn closing(runs: &[Run], built: Duration, tested: Duration) -> String {
    let mut text = "\n".to_owned();
    for run in runs {
        for line in run.said.lines().filter(|line| is_closing(line)) {
            let _ = writeln!(text, "{line} ({})", run.name);
        }
    }
    let mut slowest: Vec<&Run> = runs.iter().collect();
    slowest.sort_by_key(|run| Reverse(run.wall));
    let _ = writeln!(text, "\n   CPU s  wall s  slowest programs");
    for run in slowest.iter().take(SLOWEST) {
        let _ = writeln!(text, "{:8.1}{:8.1}  {}", run.cpu.as_secs_f64(), run.wall.as_secs_f64(), run.name);
    }
    let cpu: Duration = runs.iter().map(|run| run.cpu).sum();
    let _ = writeln!(
        text,
        "{:8.1}{:8.1}  all {} programs; building took {:.1} s before",
        cpu.as_secs_f64(),
        tested.as_secs_f64(),
        runs.len(),
        built.as_secs_f64()
    );
    text
}
