//! The page.

use std::fmt::Write;

use crate::{
    claim::{Claim, Judged, Verdict},
    experiment::{Cell, Experiment, PassedOver, Points, Seeds, Stored, Summary},
};

/// The page's head; no script, no other file.
const HEAD: &str = "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<title>Pumice: experiments</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }
h2 { margin-top: 3rem; border-bottom: 1px solid #ccc }
nav li { list-style: none }
svg { max-width: 100%; height: auto; display: block }
table { border-collapse: collapse; margin: 1rem 0 2rem; font-size: 14px; display: block; overflow-x: auto }
th, td { padding: 0.15rem 0.6rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap }
th:first-child { text-align: left }
td.known { color: #777; font-style: italic }
code { background: #f2f2f2; padding: 0 0.3em }
table.claims td { text-align: left; white-space: normal }
td.holds { color: #060 } td.if { color: #850 } td.not { color: #a00 } td.open { color: #777 }
</style>
</head>
<body>
<h1>Pumice: experiments</h1>
";

/// A page as it grows.
#[derive(Debug, Default)]
pub(super) struct Page {
    contents: String,
    body: String,
}

impl Page {
    pub(super) fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// The papers' statements with their verdicts.
    pub(super) fn claims(&mut self, judged: &[(Claim, Judged)]) {
        let count =
            |is: fn(&Verdict) -> bool| judged.iter().filter(|(_, judged)| is(judged.verdict())).count();
        let _ = writeln!(
            self.body,
            "<h2 id=\"claims\">The papers' statements</h2>\n<p>{} statements: {} hold, {} hold with a reservation, {} do \
             not, {} are built as described, {} are not had, {} are not run.</p>\n<table class=\"claims\">\n\
             <tr><th>paper</th><th>section</th><th>the paper says</th><th>its value</th><th>here</th><th>experiment</th></tr>",
            judged.len(),
            count(|verdict| *verdict == Verdict::Holds),
            count(|verdict| matches!(verdict, Verdict::HoldsIf(_))),
            count(|verdict| *verdict == Verdict::DoesNot),
            count(|verdict| matches!(verdict, Verdict::Built(_))),
            count(|verdict| matches!(verdict, Verdict::Without(_))),
            count(|verdict| *verdict == Verdict::NotRun),
        );
        for (claim, judged) in judged {
            let class = match judged.verdict() {
                Verdict::Holds => "holds",
                Verdict::HoldsIf(_) => "if",
                Verdict::DoesNot => "not",
                Verdict::Built(_) | Verdict::Without(_) | Verdict::NotRun => "open",
            };
            let hangs_on = claim.hangs_on().map(|what| format!("; hangs on {what}")).unwrap_or_default();
            let experiment = claim.experiment().map(|name| format!("<a href=\"#{name}\">{name}</a>"));
            let _ = writeln!(
                self.body,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"{class}\">{}{}</td><td>{}</td></tr>",
                claim.paper().name(),
                escaped(claim.section()),
                escaped(claim.says()),
                escaped(claim.value().unwrap_or("-")),
                escaped(&judged.to_string()),
                escaped(&hangs_on),
                experiment.unwrap_or_default(),
            );
        }
        self.body.push_str("</table>\n");
        self.contents.push_str("<li><a href=\"#claims\">the papers' statements</a></li>\n");
    }

    /// The head of an experiment.
    pub(super) fn experiment(&mut self, experiment: &Experiment<'_>, stored: &Stored) {
        let Stored { lines, passed_over: PassedOver { foreign, changed } } = stored;
        let (name, about) = (escaped(experiment.name), escaped(experiment.about));
        let seeds = Seeds::of(lines);
        let (first, last) = seeds.ends();
        let command = match experiment.points {
            Points::Described(_) => format!("{name}.toml"),
            _ => name.clone(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(self.contents, "<li><a href=\"#{name}\">{name}</a>: {about}</li>");
        let _ = writeln!(
            self.body,
            "<h2 id=\"{name}\">{name}</h2>\n<p>{about}. {} runs, seeds {first} to {last}; figures are means, with least \
             and most where seeds differ. <code>pumice lab run {command} --seeds {seeds}</code> makes them again.</p>",
            lines.len()
        );
        if foreign + changed > 0 {
            let _ = writeln!(
                self.body,
                "<p class=\"passed\">Not shown: {foreign} records of other builds, {changed} that were changed after they were \
                 written.</p>"
            );
        }
    }

    /// A picture and its table.
    pub(super) fn summary(&mut self, experiment: &Experiment<'_>, summary: &Summary, svg: &str) {
        let heads: Vec<_> = summary.xs.iter().map(|x| format!("<th>{}</th>", escaped(x))).collect();
        let _ = writeln!(
            self.body,
            "<h3>{}</h3>\n{svg}\n<table>\n<tr><th>{}</th>{}</tr>",
            escaped(summary.metric.title()),
            escaped(experiment.x),
            heads.concat()
        );
        for series in &summary.series {
            let cells: String = series.cells.iter().map(|cell| data(*cell, summary)).collect();
            let _ = writeln!(self.body, "<tr><th>{}</th>{cells}</tr>", escaped(&series.name));
        }
        self.body.push_str("</table>\n");
        if let Some(note) = summary.note() {
            let _ = writeln!(self.body, "<p>{}</p>", escaped(&note));
        }
    }

    /// Requests to disks by time and address.
    pub(super) fn maps(&mut self, svg: &str) {
        let _ = writeln!(self.body, "<h3>requests to the disk, by device time and address</h3>\n{svg}");
    }

    pub(super) fn finish(self) -> String {
        format!("{HEAD}<nav><ul>\n{}</ul></nav>\n{}</body>\n</html>\n", self.contents, self.body)
    }
}

fn data(cell: Option<Cell>, summary: &Summary) -> String {
    let Some(cell) = cell else { return "<td></td>".to_owned() };
    let digits = summary.metric.digits();
    let (mean, least, most) =
        (figure(cell.mean, digits), figure(cell.range.0, digits), figure(cell.range.1, digits));
    match cell.runs {
        0 => format!("<td class=\"known\">{mean}</td>"),
        _ if least == most => format!("<td>{mean}</td>"),
        runs => format!("<td title=\"{runs} runs\">{mean}<br><small>{least} to {most}</small></td>"),
    }
}

/// A figure with `digits` after the point.
pub(super) fn figure(value: f64, digits: usize) -> String {
    format!("{value:.digits$}")
}

/// Text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(escaped("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
    }
}
