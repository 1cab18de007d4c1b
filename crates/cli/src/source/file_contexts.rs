//! SELinux's list of labels (`file_contexts`): on each line a regular expression for whole paths, a kind of file or none, and
//! the context. As libselinux has it, an expression that is a plain path goes first, then the last in the list.

use std::path::Path;

use pumice_f2fs::mkfs::{Attributes, Tree};
use pumice_vfs::FileKind;
use regex::bytes::{Regex, RegexBuilder};

use super::manifest;
use crate::failure::{Failure, Outcome};

/// The attribute that holds the label, which a zero ends.
const LABEL: &[u8] = b"security.selinux";
/// The context of files without a label.
const NONE: &str = "<<none>>";
/// Letters that mean something else than themselves.
const META: &[u8] = b".^$?*+|[({";
/// Those of them that the letter in front may be missing before.
const OPTIONAL: &[u8] = b"?*{";

const KINDS: [(&str, FileKind); 7] = [
    ("--", FileKind::File),
    ("-d", FileKind::Dir),
    ("-c", FileKind::CharDevice),
    ("-b", FileKind::BlockDevice),
    ("-p", FileKind::Fifo),
    ("-l", FileKind::Symlink),
    ("-s", FileKind::Socket),
];

/// Gives each file the label that a list has for its path behind `mount_point`, or none.
pub(crate) fn apply(path: &Path, mount_point: &str, tree: &mut Tree) -> Outcome {
    let list = List::parse(path)?;
    let mount_point = mount_point.trim_matches('/');
    let mount_point = if mount_point.is_empty() { String::new() } else { format!("/{mount_point}") };
    tree.each_mut(|path, what| {
        let full = match (mount_point.as_bytes(), path) {
            ([], []) => b"/".to_vec(),
            (mount_point, []) => mount_point.to_vec(),
            (mount_point, path) => [mount_point, b"/", path].concat(),
        };
        list.label(&full, what);
    });
    Ok(())
}

/// A line of the list.
struct Rule {
    form: Form,
    kind: Option<FileKind>,
    context: Option<String>,
}

/// The paths that a line is for.
enum Form {
    /// This one.
    Path(Vec<u8>),
    /// Those that begin so, and that an expression fits as a whole.
    Paths(Vec<u8>, Regex),
}

/// The lines of a list, the weakest first.
struct List(Vec<Rule>);

impl List {
    fn parse(path: &Path) -> Outcome<List> {
        let text = manifest::read(path)?;
        let mut rules = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let failed = |what: String| Failure::new(format!("{}: line {number}: {what}", path.display()));
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.first().is_some_and(|word| !word.starts_with('#')) {
                rules.push(Rule::parse(&words).map_err(failed)?);
            }
        }
        // The order stays otherwise.
        rules.sort_by_key(|rule| matches!(rule.form, Form::Path(_)));
        Ok(List(rules))
    }

    fn label(&self, path: &[u8], what: &mut Attributes) {
        let rule = self.0.iter().rev().find(|rule| rule.fits(path, what.kind));
        match rule.and_then(|rule| rule.context.as_ref()) {
            Some(context) => {
                what.xattrs.insert(LABEL.into(), [context.as_bytes(), &[0]].concat());
            }
            None => drop(what.xattrs.remove(LABEL)),
        }
    }
}

impl Rule {
    fn parse(words: &[&str]) -> Result<Rule, String> {
        let (expression, kind, context) = match *words {
            [expression, context] => (expression, None, context),
            [expression, kind, context] => {
                let known = KINDS.iter().find(|(word, _)| *word == kind).map(|(_, kind)| *kind);
                let known = known.ok_or_else(|| {
                    format!("unknown kind of file `{kind}` (want --, -d, -c, -b, -p, -l or -s)")
                })?;
                (expression, Some(known), context)
            }
            _ => {
                return Err(format!(
                    "`{}` is no line of three words (want PATH KIND CONTEXT)",
                    words.join(" ")
                ));
            }
        };
        // USER:ROLE:TYPE, and often a level.
        if context != NONE && context.split(':').count() < 3 {
            return Err(format!("`{context}` is no context (want USER:ROLE:TYPE, or {NONE})"));
        }
        let context = (context != NONE).then(|| context.to_owned());
        Ok(Rule { form: Form::parse(expression)?, kind, context })
    }

    fn fits(&self, path: &[u8], kind: FileKind) -> bool {
        self.kind.is_none_or(|wanted| wanted == kind)
            && match &self.form {
                Form::Path(only) => only == path,
                Form::Paths(start, expression) => path.starts_with(start) && expression.is_match(path),
            }
    }
}

impl Form {
    fn parse(expression: &str) -> Result<Form, String> {
        let (start, is_whole) = start(expression);
        if is_whole {
            return Ok(Form::Path(start));
        }
        let built = RegexBuilder::new(&format!("^(?:{expression})$"))
            .unicode(false)
            .dot_matches_new_line(true)
            .build();
        let built = built.map_err(|error| {
            // The last line says what is wrong.
            let text = error.to_string();
            let why = text.lines().last().unwrap_or(&text).trim_start_matches("error: ").to_owned();
            format!("invalid expression `{expression}`: {why}")
        })?;
        Ok(Form::Paths(start, built))
    }
}

/// The letters that each path of an expression begins with, and whether these are all of it.
fn start(expression: &str) -> (Vec<u8>, bool) {
    let mut start = Vec::new();
    let mut letters = expression.bytes();
    while let Some(letter) = letters.next() {
        match letter {
            b'\\' => match letters.next() {
                Some(letter) if !letter.is_ascii_alphanumeric() => start.push(letter),
                _ => return (start, false),
            },
            letter if META.contains(&letter) => {
                if OPTIONAL.contains(&letter) {
                    // A letter may have several bytes.
                    while start.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
                }
                // The other side of a choice may begin in any way.
                return (if has_choice(expression) { Vec::new() } else { start }, false);
            }
            letter => start.push(letter),
        }
    }
    (start, true)
}

/// True if there is a `|` outside of parentheses.
fn has_choice(expression: &str) -> bool {
    let (mut depth, mut is_escaped) = (0_u32, false);
    for letter in expression.bytes() {
        match letter {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b'|' if depth == 0 => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pumice_f2fs::mkfs::EntryId;
    use pumice_vfs::Timestamp;

    use super::*;

    fn list(text: &str) -> Result<List, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        List::parse(file.path()).map_err(|failure| failure.to_string())
    }

    fn found(list: &List, path: &str, kind: FileKind) -> Option<String> {
        let mut what = Attributes { kind, ..Attributes::directory(0, 0, 0, Timestamp::default()) };
        what.xattrs.insert(LABEL.into(), b"of the host".to_vec());
        list.label(path.as_bytes(), &mut what);
        let label = what.xattrs.get(LABEL)?;
        let label = label.strip_prefix(b"u:r:").and_then(|label| label.strip_suffix(b"\0"));
        Some(String::from_utf8(label.unwrap().to_vec()).unwrap())
    }

    #[test]
    fn the_exact_path_goes_first_and_then_the_last_line() {
        let text = "# labels\n\n/system(/.*)?  u:r:any\n/system/bin/sh  -- u:r:shell\n/system/bin(/.*)? u:r:bin\n\
                    /system/bin/.* -l u:r:link\n/system/lost\\+found <<none>>\n/system/b[a-z]+/late.* u:r:late\n\
                    /odm|/vendor/odm u:r:part\n/system/x\\.so u:r:exact\n/system/v\\d+ u:r:class\n\
                    /sys?temé?2{1,2}x u:r:count\n";
        let list = list(text).unwrap();
        for (path, kind, wanted) in [
            ("/system", FileKind::Dir, Some("any")),
            ("/system/bin/sh", FileKind::File, Some("shell")),
            ("/system/bin/sh", FileKind::Symlink, Some("link")),
            ("/system/bin/ls", FileKind::File, Some("bin")),
            ("/system/bin/later", FileKind::File, Some("late")),
            ("/system/lost+found", FileKind::Dir, None),
            ("/systemd", FileKind::File, None),
            ("/odm", FileKind::Dir, Some("part")),
            ("/vendor/odm", FileKind::Dir, Some("part")),
            ("/system/x.so", FileKind::File, Some("exact")),
            ("/system/xxso", FileKind::File, Some("any")),
            ("/system/v12", FileKind::File, Some("class")),
            ("/sytem22x", FileKind::File, Some("count")),
            ("/system/a\nb", FileKind::File, Some("any")),
        ] {
            assert_eq!(found(&list, path, kind).as_deref(), wanted, "{path}");
        }
    }

    #[test]
    fn paths_are_below_the_mount_point() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "/vendor u:r:root\n/vendor/a u:r:inside\n/ u:r:slash\n/a u:r:plain\n")
            .unwrap();
        let dir = Attributes::directory(0o700, 0, 0, Timestamp::default());
        for (mount_point, wanted) in
            [("vendor/", ["root", "inside"]), ("/", ["slash", "plain"]), ("", ["slash", "plain"])]
        {
            let mut tree = Tree::new(dir.clone());
            let below = tree.add(EntryId::ROOT, b"a", dir.clone()).unwrap();
            apply(file.path(), mount_point, &mut tree).unwrap();
            let label = |entry| tree.attributes(entry).unwrap().xattrs[LABEL].clone();
            assert_eq!(
                [label(EntryId::ROOT), label(below)],
                wanted.map(|word| format!("u:r:{word}\0").into_bytes())
            );
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, word) in [
            ("\n/a", "line 2: `/a` is no line of three words"),
            ("/a -x u:r:t", "unknown kind of file `-x`"),
            ("/a -- u:r:t more", "three words"),
            ("/a text", "`text` is no context"),
            ("/a( u:r:t", "invalid expression `/a(`: unclosed group"),
            ("/(?!a) u:r:t", "look-around"),
        ] {
            let said = list(text).err().unwrap();
            assert!(said.contains(word), "{said}");
        }
    }
}
