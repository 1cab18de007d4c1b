//! The statements as rows of a table in Markdown.

use super::{Claim, Judged, Paper};

/// The head of the table.
const HEAD: &str = "| section | the paper says | its value | here |\n|---|---|---|---|\n";

/// The table of a paper's statements, each with its verdict.
pub fn table(paper: Paper, judged: &[(Claim, Judged)]) -> String {
    let of = judged.iter().filter(|(claim, _)| claim.paper() == paper);
    let rows = of.map(|(claim, judged)| row(claim, judged) + "\n");
    HEAD.to_owned() + &rows.collect::<String>()
}

/// The row of a statement.
pub fn row(claim: &Claim, judged: &Judged) -> String {
    let hangs_on = claim.hangs_on().map(|what| format!("; hangs on {what}")).unwrap_or_default();
    let source = claim.experiment().map(|name| format!(" (`{name}`)")).unwrap_or_default();
    let (section, says, value) = (claim.section(), claim.says(), claim.value().unwrap_or("-"));
    format!("| {section} | {says} | {value} | {judged}{hangs_on}{source} |")
}
