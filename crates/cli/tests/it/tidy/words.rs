//! The words of comments and documents, in figures: heads of doc comments, clauses with what, who and whose, and long
//! sentences.

use std::ops::AddAssign;

/// Words that a sentence may have.
pub(crate) const LONGEST: usize = 35;

/// Relatives and prepositions: a doc comment that begins with one has no subject, and its verb comes late.
const HEADS: &[&str] = &[
    "whose",
    "what",
    "which",
    "where",
    "who",
    "whom",
    "that",
    "when",
    "how",
    "why",
    "whatever",
    "whichever",
    "whoever",
    "wherever",
    "whenever",
    "of",
    "in",
    "for",
    "from",
    "with",
    "at",
    "by",
    "on",
    "to",
    "after",
    "before",
    "behind",
    "into",
    "onto",
    "over",
    "under",
    "up",
    "among",
    "between",
    "without",
    "within",
    "through",
    "above",
    "below",
    "against",
    "beside",
];

/// The counts of comments or documents.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Count {
    /// Doc comments.
    pub(crate) comments: usize,
    /// Doc comments that begin with one of `HEADS`.
    pub(crate) heads: usize,
    /// Clauses of doc comments, or of documents: the text between full stops, semicolons and colons.
    pub(crate) clauses: usize,
    /// Clauses with what, who or whose.
    pub(crate) relatives: usize,
    /// The lines where long sentences begin, or their paragraph, with the words of each.
    pub(crate) long: Vec<(usize, usize)>,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.comments += other.comments;
        self.heads += other.heads;
        self.clauses += other.clauses;
        self.relatives += other.relatives;
        self.long.extend(other.long);
    }
}

impl Count {
    /// Heads in a thousand doc comments, and relatives in a thousand clauses, rounded up.
    pub(crate) fn shares(&self) -> (usize, usize) {
        let share = |part: usize, whole: usize| (part * 1000).div_ceil(whole.max(1));
        (share(self.heads, self.comments), share(self.relatives, self.clauses))
    }

    /// Counts the comments of a source file.
    pub(crate) fn of_source(text: &str) -> Self {
        let mut count = Self::default();
        for (mark, line, lines) in comments(text) {
            let is_doc = mark != "//";
            if is_doc {
                count.comments += 1;
                count.heads += usize::from(has_bad_head(&lines));
            }
            count.add_prose(line, &lines, is_doc);
        }
        count
    }

    /// Counts a document.
    pub(crate) fn of_document(text: &str) -> Self {
        // Behind an empty line, lines with four spaces in front are programs.
        let mut may_be_code = true;
        let prose = |line| {
            may_be_code &= str::starts_with(line, "    ");
            let is_code = may_be_code;
            may_be_code |= line.is_empty();
            if is_code { "" } else { line.trim() }
        };
        let lines: Vec<&str> = text.lines().map(prose).collect();
        let mut count = Self::default();
        count.add_prose(1, &lines, true);
        count
    }

    fn add_prose(&mut self, line: usize, lines: &[&str], has_clauses: bool) {
        for (offset, paragraph) in paragraphs(lines) {
            let paragraph = without_code(&paragraph);
            let mut words = 0;
            let mut is_relative = false;
            let mut clause = 0;
            let all: Vec<&str> = paragraph.split_whitespace().collect();
            for (index, token) in all.iter().enumerate() {
                let is_last = index + 1 == all.len();
                let bare = token.trim_end_matches([')', '"', '\'', '*', '_']);
                let word = bare.trim_matches(|letter: char| !letter.is_alphanumeric());
                words += usize::from(!word.is_empty());
                clause += usize::from(!word.is_empty());
                is_relative |= ["what", "who", "whose"].contains(&word.to_lowercase().as_str());
                let ends_sentence = is_last || bare.ends_with(['.', '!', '?']);
                if (ends_sentence || bare.ends_with([';', ':'])) && has_clauses && clause > 0 {
                    self.clauses += 1;
                    self.relatives += usize::from(is_relative);
                    (is_relative, clause) = (false, 0);
                }
                if ends_sentence {
                    if words > LONGEST {
                        self.long.push((line + offset, words));
                    }
                    words = 0;
                }
            }
        }
    }
}

/// Whether a comment begins with one of `HEADS`.
fn has_bad_head(lines: &[&str]) -> bool {
    let first = lines.iter().find(|line| !line.is_empty()).map_or("", |line| line);
    let first = first.trim_start_matches(['*', '_', '(', '"', '\'']);
    let word: String = first.chars().take_while(|letter| letter.is_alphabetic()).collect();
    HEADS.contains(&word.to_lowercase().as_str())
}

/// Comments that stand on lines of their own: their mark, their first line, and their text.
fn comments(text: &str) -> Vec<(&'static str, usize, Vec<&str>)> {
    let mut all: Vec<(&'static str, usize, Vec<&str>)> = Vec::new();
    let mut before = "";
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let mark = ["//!", "///", "//"].into_iter().find(|mark| line.starts_with(mark)).unwrap_or("");
        if !mark.is_empty() {
            let text = line[mark.len()..].trim();
            match all.last_mut().filter(|_| mark == before) {
                Some((_, _, lines)) => lines.push(text),
                None => all.push((mark, index + 1, vec![text])),
            }
        }
        before = mark;
    }
    all
}

/// Paragraphs, points of lists and cells of tables, with their first lines; programs and headings are left out.
fn paragraphs(lines: &[&str]) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let (mut is_code, mut is_open) = (false, false);
    for (index, line) in lines.iter().enumerate() {
        if line.starts_with("```") {
            (is_code, is_open) = (!is_code, false);
        } else if is_code || line.is_empty() || line.starts_with('#') {
            is_open = false;
        } else if line.starts_with('|') {
            is_open = false;
            all.extend(line.split('|').map(|cell| (index, cell.to_owned())));
        } else {
            let text = after_bullet(line);
            match all.last_mut().filter(|_| is_open && text.is_none()) {
                Some((_, paragraph)) => *paragraph = format!("{paragraph} {line}"),
                None => all.push((index, text.unwrap_or(line).to_owned())),
            }
            is_open = true;
        }
    }
    all
}

/// The text of a point of a list.
fn after_bullet(line: &str) -> Option<&str> {
    let (mark, text) = line.split_once(' ')?;
    let number = mark.trim_end_matches(['.', ')']);
    let is_number = number != mark && number.bytes().all(|byte| byte.is_ascii_digit());
    (["-", "*", "+"].contains(&mark) || is_number).then(|| text.trim_start())
}

/// A paragraph with `code` as one word each, and links as their names.
fn without_code(paragraph: &str) -> String {
    let pieces = paragraph.split('`').enumerate();
    let prose: String = pieces.map(|(index, piece)| if index % 2 == 0 { piece } else { "x" }).collect();
    let mut links = prose.split("](");
    let first = links.next().unwrap_or_default().to_owned();
    links.fold(first, |all, rest| all + "]" + rest.split_once(')').map_or("", |(_, after)| after))
}

#[test]
fn heads_clauses_and_long_sentences_are_counted() {
    let of = |text: &str| {
        let count = Count::of_source(text);
        (count.comments, count.heads, count.clauses, count.relatives, count.long.len())
    };
    assert_eq!(of("/// Whose a block is, as the summary says.\nfn a() {}"), (1, 1, 1, 1, 0));
    assert_eq!(
        of("/// The owner of a block. Of two, the newer:\n/// that holds.\nfn a() {}"),
        (1, 0, 3, 0, 0)
    );
    assert_eq!(of("//! `of` a.\n\n/// *In* it.\n// What a plain comment says.\n"), (2, 1, 2, 0, 0));
    let long = "word ".repeat(LONGEST);
    assert_eq!(of(&format!("/// {long}.\n/// {long}.")), (1, 0, 2, 0, 0));
    assert_eq!(of(&format!("// {long}\n// more.")), (0, 0, 0, 0, 1));
    assert_eq!(of(&format!("/// - {long}\n/// - more.\n/// ```\n/// {long} {long}\n/// ```")).4, 0);
    let document = format!(
        "# {long} {long}\n\n    {long} {long}\n\n| {long} | {long} |\n\n{long}`a b` `c.`\n\n1. {long}\n2. Who.\n"
    );
    let count = Count::of_document(&document);
    assert_eq!((count.long, count.relatives), (vec![(7, LONGEST + 2)], 1));
}
