//! The kernel's table of mounts: whether a mount became read-only, of which the kernel tells the server nothing.

use std::{
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// The table, as this process sees it.
const TABLE: &str = "/proc/self/mountinfo";

/// A mount, by the number of its device.
pub(crate) struct Mount {
    table: PathBuf,
    device: Vec<u8>,
}

impl Mount {
    /// The topmost mount on a directory.
    pub(crate) fn on(dir: &Path) -> Option<Mount> {
        Mount::of(Path::new(TABLE), dir)
    }

    /// The same by another table.
    pub(crate) fn of(table: &Path, dir: &Path) -> Option<Mount> {
        let bytes = fs::read(table).ok()?;
        Some(Mount { table: table.into(), device: topmost(&bytes, dir)?.device.to_vec() })
    }

    /// True if it takes no changes now. One that is in no table any more takes them.
    pub(crate) fn is_read_only(&self) -> bool {
        let bytes = fs::read(&self.table).unwrap_or_default();
        lines(&bytes).any(|line| line.device == self.device && line.is_read_only)
    }
}

/// The options of the mount on a directory, such as `nosuid`, if it is one of this program. Those of the file system are not among
/// them.
#[must_use]
pub fn mount_options(dir: &Path) -> Option<Vec<String>> {
    let bytes = fs::read(TABLE).ok()?;
    let line = topmost(&bytes, dir).filter(|line| line.kind == b"fuse.pumice")?;
    let words = line.options.split(|byte| *byte == b',');
    Some(words.map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}

fn lines(table: &[u8]) -> impl DoubleEndedIterator<Item = Line<'_>> {
    table.split(|byte| *byte == b'\n').filter_map(Line::of)
}

/// The last mount on a directory, which hides the others.
fn topmost<'a>(table: &'a [u8], dir: &Path) -> Option<Line<'a>> {
    lines(table).rfind(|line| line.dir == dir.as_os_str().as_bytes())
}

/// A line of the table.
struct Line<'a> {
    device: &'a [u8],
    dir: Vec<u8>,
    /// The mount's own options; those of the file system stand elsewhere.
    options: &'a [u8],
    kind: &'a [u8],
    /// The file system takes no changes. A bind mount may take none for itself.
    is_read_only: bool,
}

impl Line<'_> {
    fn of(line: &[u8]) -> Option<Line<'_>> {
        let mut words = line.split(|byte| *byte == b' ');
        let (device, dir, options) = (words.nth(2)?, words.nth(1)?, words.next()?);
        // Behind the hyphen stand kind, source, and the options of the file system.
        words.find(|word| *word == b"-")?;
        let kind = words.next()?;
        let is_read_only = words.nth(1)?.split(|byte| *byte == b',').any(|option| option == b"ro");
        Some(Line { device, dir: unescaped(dir), options, kind, is_read_only })
    }
}

/// A path without the escapes of blanks: a backslash, and three octal digits.
fn unescaped(path: &[u8]) -> Vec<u8> {
    let (mut plain, mut rest) = (Vec::new(), path);
    while let [first, behind @ ..] = rest {
        let digits = behind.first_chunk::<3>().filter(|_| *first == b'\\');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(escaped.unwrap_or(*first));
        rest = behind.get(if escaped.is_some() { 3 } else { 0 }..).unwrap_or_default();
    }
    plain
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_where_and_how() {
        let line = b"42 27 0:39 / /tmp/a\\040b\\134 ro,nosuid shared:1 - fuse.pumice /tmp/x,ro rw,user_id=0";
        let found = Line::of(line).unwrap();
        assert_eq!((found.device, found.is_read_only), (&b"0:39"[..], false));
        assert_eq!((found.options, found.kind), (&b"ro,nosuid"[..], &b"fuse.pumice"[..]));
        assert_eq!(found.dir, b"/tmp/a b\\");
        assert!(Line::of(b"42 27 0:39 / /mnt rw - fuse.pumice x ro,user_id=0").unwrap().is_read_only);
        assert!(Line::of(b"42 27 0:39 / /mnt rw").is_none() && Line::of(b"").is_none());
    }

    #[test]
    fn a_mount_is_the_last_on_its_directory() {
        assert!(!Mount::on(Path::new("/proc")).unwrap().is_read_only());
        let table = tempfile::NamedTempFile::new().unwrap();
        let write = |how: &str| {
            let lines = "1 1 0:1 / /mnt rw - tmpfs a ro\n2 1 0:2 / /mnt rw - fuse.pumice b ";
            fs::write(&table, format!("{lines}{how}\n")).unwrap();
        };
        write("rw,user_id=0");
        let mount = Mount::of(table.path(), Path::new("/mnt")).unwrap();
        assert!(!mount.is_read_only());
        write("ro,user_id=0");
        assert!(mount.is_read_only());
        assert!(Mount::of(table.path(), Path::new("/mn")).is_none());
    }
}
