//! The statements as lists in Markdown, and the figures of an experiment as rows of a table.

use super::{Claim, Judged, Paper, Standing, Verdict};
use crate::{
    experiment::{Cell, Experiment, Line, Metric, Summary},
    measured::Figure,
};

/// A paper's statements: those that an experiment judges, then those built and those not had. An experiment stands in
/// its first line, and so does what several in a row hang on. One that holds as the paper has it hangs on nothing.
pub fn statements(paper: Paper, judged: &[(Claim, Judged)]) -> String {
    let mut last = (None, None);
    let lines = starts(paper, judged).into_iter().map(|(start, claim, judged)| {
        let (last_experiment, last_hangs_on) = last;
        let doubted = claim.hangs_on().filter(|_| *judged.verdict() != Verdict::Holds);
        last = (claim.experiment(), doubted);
        let experiment = claim.experiment().filter(|name| last_experiment != Some(*name));
        let hangs_on = match doubted {
            None => String::new(),
            same if same == last_hangs_on => ". Hangs on the same".to_owned(),
            Some(what) => format!(". Hangs on {what}"),
        };
        let source = experiment.map(|name| format!(" (`{name}`)")).unwrap_or_default();
        format!("{start}{}{source}{hangs_on}\n", sentence(paper, judged))
    });
    lines.collect::<String>() + &lists(paper, judged)
}

/// The verdict with its figures. Those of our own statements that hold stand in the papers' pages.
fn sentence(paper: Paper, judged: &Judged) -> String {
    let is_elsewhere = paper == Paper::Pumice && *judged.verdict() == Verdict::Holds;
    let text = if is_elsewhere { judged.verdict().to_string() } else { judged.to_string() };
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters.clone()).collect()
}

/// The judged statements of a paper, each with its line up to the verdict. A section stands in its first line.
pub fn starts(paper: Paper, judged: &[(Claim, Judged)]) -> Vec<(String, &Claim, &Judged)> {
    let mut section = "";
    let is_meant = |claim: &Claim| claim.paper() == paper && claim.experiment().is_some();
    let of = judged.iter().filter(|(claim, _)| is_meant(claim));
    of.map(|(claim, judged)| {
        let head = if claim.section() == section { String::new() } else { format!("{}: ", claim.section()) };
        section = claim.section();
        let value = claim.value().map(|value| format!(" ({value})")).unwrap_or_default();
        (format!("- {head}{}{value}. ", clause(claim)), claim, judged)
    })
    .collect()
}

/// The statements of a paper that no experiment judges: those built, with the first of their files, and those not had,
/// with the reason.
pub fn lists(paper: Paper, judged: &[(Claim, Judged)]) -> String {
    let list = |title: &str, support: fn(&Standing) -> Option<String>| {
        let of = judged.iter().filter(|(claim, _)| claim.paper() == paper);
        let lines = of.filter_map(|(claim, _)| {
            let support = support(claim.standing())?;
            Some(format!("- {}: {} ({support})\n", claim.section(), clause(claim)))
        });
        let lines: String = lines.collect();
        if lines.is_empty() { lines } else { format!("\n{title}:\n\n{lines}") }
    };
    let built = list("Built", |standing| match standing {
        Standing::Built(paths) => paths.first().map(|path| format!("`{path}`")),
        Standing::Judged { .. } | Standing::Without(_) => None,
    });
    let without = list("Not had", |standing| match standing {
        Standing::Without(reason) => Some(reason.clone()),
        Standing::Judged { .. } | Standing::Built(_) => None,
    });
    built + &without
}

/// A statement without its full stop.
fn clause(claim: &Claim) -> &str {
    claim.says().trim_end_matches('.')
}

/// The number of statements of each paper by verdict.
pub fn counts(judged: &[(Claim, Judged)]) -> String {
    const COUNTS: &str = "| paper | statements | hold | hold with a reservation | do not | built as described | not had |\n\
                          |---|---|---|---|---|---|---|\n";
    let is_of = |paper: Option<Paper>| move |claim: &Claim| paper.is_none_or(|paper| claim.paper() == paper);
    let row = |paper: Option<Paper>| {
        let is_meant = is_of(paper);
        let count = |is: fn(&Verdict) -> bool| {
            judged.iter().filter(|(claim, judged)| is_meant(claim) && is(judged.verdict())).count()
        };
        let cells = [
            count(|_| true),
            count(|verdict| *verdict == Verdict::Holds),
            count(|verdict| matches!(verdict, Verdict::HoldsIf(_))),
            count(|verdict| *verdict == Verdict::DoesNot),
            count(|verdict| matches!(verdict, Verdict::Built(_))),
            count(|verdict| matches!(verdict, Verdict::Without(_))),
        ];
        let cells = cells.map(|cell| cell.to_string()).join(" | ");
        let name = paper.map_or("all", Paper::name);
        format!("| {name} | {cells} |\n")
    };
    let rows = Paper::ALL.map(Some).into_iter().chain([None]).map(row);
    COUNTS.to_owned() + &rows.collect::<Vec<_>>().concat()
}

/// Experiments that sweep beyond the papers' own figures: their verdicts have what counts.
const SWEEPS: [&str; 7] = [
    "scaleffs-refill",
    "cffs-cache",
    "cffs-wear",
    "rcffs-reread",
    "rcffs-parity",
    "rcffs-cache",
    "rcffs-compress",
];

/// The figures of a paper's experiments, but for sweeps beyond its own: a row for each metric, a column for the paper
/// and for each file system. With several places a cell has one figure for each, in their order.
pub fn figures(paper: Paper, systems: &[&str], all: &[(Experiment<'_>, Vec<Line>)]) -> String {
    let head = systems.iter().map(|system| format!(" {system} |")).collect::<Vec<_>>().concat();
    let mut text = format!("| figure | paper |{head}\n|---|---|{}\n", "---|".repeat(systems.len()));
    let is_own = |it: &Experiment<'_>| it.is_of(paper.name()) && !SWEEPS.contains(&it.name);
    for (experiment, lines) in all.iter().filter(|(experiment, _)| is_own(experiment)) {
        // What is computed stands in the verdicts alone.
        let is_measured = |metric: &&Metric| **metric != Metric::Measured(Figure::YaffsRate);
        for metric in experiment.metrics.iter().filter(is_measured) {
            let summary = Summary::new(experiment, *metric, lines);
            for variant in variants(&summary, systems) {
                text += &figure_row(experiment, &summary, systems, &variant);
            }
        }
    }
    text
}

/// The ends of series behind the names of systems: nothing, or `, 22 MB`.
fn variants(summary: &Summary, systems: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for series in &summary.series {
        if let Some((_, variant)) = system_of(&series.name, systems)
            && !found.iter().any(|known| known == variant)
        {
            found.push(variant.to_owned());
        }
    }
    found
}

/// The longest name of a system that a series begins with, and the rest of its name.
fn system_of<'a, 'b>(series: &'a str, systems: &[&'b str]) -> Option<(&'b str, &'a str)> {
    let is_whole = |rest: &str| rest.is_empty() || rest.starts_with(", ");
    let fits = systems.iter().filter_map(|system| {
        let rest = series.strip_prefix(system)?;
        is_whole(rest).then_some((*system, rest))
    });
    fits.max_by_key(|(system, _)| system.len())
}

fn figure_row(experiment: &Experiment<'_>, summary: &Summary, systems: &[&str], variant: &str) -> String {
    let cells = |name: &str, is_the_paper: bool| {
        let of = summary.series.iter().find(|series| match is_the_paper {
            true => series.name.strip_prefix("paper: ") == Some(name),
            false => system_of(&series.name, systems) == Some((name, variant)),
        });
        of.map(|series| join(&series.cells, summary.metric.digits())).unwrap_or_default()
    };
    let paper = systems.first().map(|first| cells(first, true)).unwrap_or_default();
    let ours =
        systems.iter().map(|system| format!(" {} |", cells(system, false))).collect::<Vec<_>>().concat();
    let places = match summary.xs.as_slice() {
        [one] => one.clone(),
        several => format!("{} {}", experiment.x, several.join("; ")),
    };
    let (name, title) = (experiment.name, summary.metric.title());
    format!("| `{name}`{variant}: {title}, {places} | {paper} |{ours}\n")
}

/// The means at all places, or one of them if all are alike.
fn join(cells: &[Option<Cell>], digits: usize) -> String {
    let figure = |cell: &Option<Cell>| cell.map_or("-".to_owned(), |cell| format!("{:.digits$}", cell.mean));
    let mut all: Vec<String> = cells.iter().map(figure).collect();
    if all.iter().all(|cell| Some(cell) == all.first()) {
        all.truncate(1);
    }
    all.join("; ")
}
