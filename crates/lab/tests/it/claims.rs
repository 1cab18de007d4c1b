//! The papers' statements stand in `docs/` with the verdicts that the experiments give.
//!
//! All but the longest experiments are run by one seed here, and their verdicts are those of the documents. With `PUMICE_RECORDS=DIR` the
//! records there are judged in place of that, and figures are compared, too; with `PUMICE_BLESS=1` they are written down.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use pumice_knobs::{BLESS, RECORDS};
use pumice_lab::{
    claim::{Claim, Judged, Paper, Verdict, counts, figures, lists, starts, statements},
    experiment::{Experiment, Line, Options, run},
    report::{judged, records},
};

/// Experiments of which one seed takes more than six seconds of a processor.
const LONG: [&str; 6] = ["cat-fig14", "cat-fig15", "cat-fig16", "cat-fig17", "f2fs-fig7", "f2fs-aged"];

type Records = Vec<(Experiment<'static>, Vec<Line>)>;

/// The columns of a page's table of figures, by paper.
const SYSTEMS: [(Paper, &[&str]); 3] = [
    (Paper::ScaleFfs, &["scaleffs", "nandfs"]),
    (Paper::Cffs, &["cffs", "nandfs"]),
    (
        Paper::Rcffs,
        &["rcffs", "rcffs, plain", "nandfs", "nandfs, LZ4", "nandfs, parity", "nandfs, parity and LZ4"],
    ),
];

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// The shorter experiments of the papers by one seed, on two threads.
fn by_one_seed() -> Records {
    const ALL: &[Experiment<'static>] = &Experiment::ALL;
    let all: Vec<_> = ALL.iter().filter(|it| it.is_of_a_paper() && !LONG.contains(&it.name)).collect();
    let (next, dir) = (AtomicUsize::new(0), tempfile::tempdir().unwrap());
    let options = Options { traces: "nowhere".into(), ..Options::default() };
    let some = || {
        let mut done = Records::new();
        while let Some(experiment) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((**experiment, run(experiment, &options, dir.path(), &()).unwrap().lines));
        }
        done
    };
    thread::scope(|scope| {
        let both = [scope.spawn(some), scope.spawn(some)];
        both.into_iter().flat_map(|one| one.join().unwrap()).collect()
    })
}

/// The text between two marks of a page.
fn between<'a>(text: &'a str, name: &str) -> (&'a str, &'a str, &'a str) {
    let parts = || {
        let (before, rest) = text.split_once(&format!("<!-- {name}: begin -->\n"))?;
        let (inside, after) = rest.split_once(&format!("<!-- {name}: end -->"))?;
        Some((before, inside, after))
    };
    parts().unwrap_or_else(|| panic!("no marks `{name}`"))
}

/// Compares a part of a page, or writes it down.
fn hold(file: &str, name: &str, wanted: &str) {
    let text = fs::read_to_string(page(file)).unwrap();
    let (before, inside, after) = between(&text, name);
    if BLESS.is_set() {
        let new = format!("{before}<!-- {name}: begin -->\n{wanted}<!-- {name}: end -->{after}");
        return fs::write(page(file), new).unwrap();
    }
    assert_eq!(inside, wanted, "docs/{file}: {name}");
}

#[test]
fn verdicts_are_those_of_the_documents() {
    let Some(dir) = RECORDS.text() else { return by_verdict(&judged(&by_one_seed()).unwrap()) };
    let records = records(&Experiment::ALL, Path::new(&dir)).unwrap().into_iter();
    let records: Records = records.map(|(experiment, stored)| (experiment, stored.lines)).collect();
    let judged = judged(&records).unwrap();
    let open: Vec<_> = judged.iter().filter(|(_, judged)| *judged.verdict() == Verdict::NotRun).collect();
    assert!(open.is_empty(), "not run: {open:?}");
    hold("papers.md", "counts", &counts(&judged));
    for paper in Paper::ALL {
        hold("papers.md", paper.name(), &statements(paper, &judged));
    }
    for (paper, systems) in SYSTEMS {
        hold(&format!("{}.md", paper.name()), "figures", &figures(paper, systems, &records));
    }
}

/// Each judged statement has a line, with the same verdict: one on which the seeds do not agree is left out, and one that
/// needs a recorded trace. Lists of the others are the same.
fn by_verdict(judged: &[(Claim, Judged)]) {
    let text = fs::read_to_string(page("papers.md")).unwrap();
    let mut wrong = Vec::new();
    for paper in Paper::ALL {
        let (_, inside, _) = between(&text, paper.name());
        assert!(inside.ends_with(&lists(paper, judged)), "docs/papers.md: lists of {}", paper.name());
        let found: Vec<_> = inside.lines().take_while(|line| line.starts_with("- ")).collect();
        let wanted = starts(paper, judged);
        assert_eq!(found.len(), wanted.len(), "docs/papers.md: lines of {}", paper.name());
        for ((start, claim, judged), found) in wanted.into_iter().zip(found) {
            if !is_right(found.strip_prefix(&start), claim, judged) {
                wrong.push(format!("{start}\n  here: {judged}\n  there: {found}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), judged.len(), wrong.join("\n"));
}

fn is_right(found: Option<&str>, claim: &Claim, judged: &Judged) -> bool {
    let experiment = claim.experiment().unwrap();
    match found {
        None => false,
        Some(_) if *judged.verdict() == Verdict::NotRun => {
            experiment == "f2fs-fig3" || LONG.contains(&experiment)
        }
        Some(found) => found.contains(" seeds)") || begins(found, &judged.verdict().to_string()),
    }
}

/// True if a line begins with these words and the sentence goes on with figures or a source, or ends.
fn begins(line: &str, words: &str) -> bool {
    let parts = line.split_at_checked(words.len());
    parts.is_some_and(|(start, rest)| {
        let is_whole = rest.is_empty() || [": ", " (", ". "].iter().any(|next| rest.starts_with(next));
        start.eq_ignore_ascii_case(words) && is_whole
    })
}
