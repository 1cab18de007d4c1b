//! Access control lists as archives hold them, in words, and as extended attributes hold them, in bytes.

use std::fs;

/// What the value of an attribute begins with.
const VERSION: [u8; 4] = 2_u32.to_le_bytes();
/// Entries for the owner, the group and others, of which no list has fewer.
const MINIMAL: usize = 3;
/// The id of entries that name nobody.
const NOBODY: u32 = u32::MAX;

// Tags of entries.
const USER_OBJ: u16 = 0x01;
const USER: u16 = 0x02;
const GROUP_OBJ: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;

/// A tag, the id of a user or group, permissions. In the kernel's order, which is that of the numbers.
type Entry = (u16, u32, u16);

/// What a list is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum List {
    Access,
    /// New files of a directory.
    Default,
}

/// A list in words, as the value of an attribute; `None` if it is empty or says no more than permission bits.
///
/// Entries stand on lines or between commas: `user:lisa:rw-`, with a number for a name or behind the permissions (star).
/// Names are those of this machine.
///
/// # Errors
/// A malformed entry, an unknown name.
pub(super) fn from_words(of: List, list: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let text = str::from_utf8(list).map_err(|_| "its access control list is no text")?;
    let entries = text.split(['\n', ',']).map(|entry| entry.split('#').next().unwrap_or_default().trim());
    let mut entries: Vec<Entry> =
        entries.filter(|entry| !entry.is_empty()).map(parse).collect::<Result<_, _>>()?;
    entries.sort_unstable();
    let bytes = entries.iter().flat_map(|(tag, id, perm)| {
        [&tag.to_le_bytes()[..], &perm.to_le_bytes()[..], &id.to_le_bytes()[..]].concat()
    });
    let needed = match of {
        List::Access => entries.len() > MINIMAL,
        List::Default => !entries.is_empty(),
    };
    Ok(needed.then(|| VERSION.into_iter().chain(bytes).collect()))
}

fn parse(entry: &str) -> Result<Entry, String> {
    let malformed = || format!("`{}` is no entry of an access control list", entry.escape_default());
    let mut fields = entry.split(':').map(str::trim);
    let (Some(tag), Some(named), Some(perm)) = (fields.next(), fields.next(), fields.next()) else {
        return Err(malformed());
    };
    let perm = permissions(perm).ok_or_else(malformed)?;
    let behind = fields.next().and_then(|id| id.parse().ok());
    let id = |names: &str| {
        let number = behind.or_else(|| named.parse().ok()).or_else(|| known(names, named));
        number.ok_or_else(|| format!("its access control list names {named}, who is not known here"))
    };
    Ok(match (tag, named.is_empty()) {
        ("user" | "u", true) => (USER_OBJ, NOBODY, perm),
        ("user" | "u", false) => (USER, id("/etc/passwd")?, perm),
        ("group" | "g", true) => (GROUP_OBJ, NOBODY, perm),
        ("group" | "g", false) => (GROUP, id("/etc/group")?, perm),
        ("mask" | "m", true) => (MASK, NOBODY, perm),
        ("other" | "o", true) => (OTHER, NOBODY, perm),
        _ => return Err(malformed()),
    })
}

fn permissions(letters: &str) -> Option<u16> {
    let [r, w, x] = letters.as_bytes() else { return None };
    let bit = |letter: &u8, set: u8, bit: u16| match *letter {
        b'-' => Some(0),
        letter if letter == set => Some(bit),
        _ => None,
    };
    Some(bit(r, b'r', 4)? | bit(w, b'w', 2)? | bit(x, b'x', 1)?)
}

/// The id of a name in a table of users or groups, whose third field it is.
fn known(table: &str, name: &str) -> Option<u32> {
    let table = fs::read_to_string(table).ok()?;
    let mut rows = table.lines().map(|line| line.split(':'));
    rows.find_map(|mut fields| (fields.next()? == name).then(|| fields.nth(1))?)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_the_bytes_of_the_kernel() {
        let list = b"user::rw-\nuser:7:r--\ngroup::r-x\nmask::rwx\nother::--x\n";
        let entries: [Entry; 5] = [
            (USER_OBJ, NOBODY, 6),
            (USER, 7, 4),
            (GROUP_OBJ, NOBODY, 5),
            (MASK, NOBODY, 7),
            (OTHER, NOBODY, 1),
        ];
        let mut wanted = VERSION.to_vec();
        for (tag, id, perm) in entries {
            wanted.extend(tag.to_le_bytes());
            wanted.extend(perm.to_le_bytes());
            wanted.extend(id.to_le_bytes());
        }
        assert_eq!(from_words(List::Access, list), Ok(Some(wanted.clone())));
        let star = b"o::--x,u::rw-,u:nobody-knows:r--:7,g::r-x\t#effective:r-x,m::rwx";
        assert_eq!(from_words(List::Access, star), Ok(Some(wanted)));
        let minimal = b"user::rw-\ngroup::r--\nother::---\n";
        assert_eq!(from_words(List::Access, minimal), Ok(None));
        assert_eq!(from_words(List::Default, minimal).map(|list| list.map(|list| list.len())), Ok(Some(28)));
        assert_eq!(from_words(List::Default, b"\n"), Ok(None));
    }

    #[test]
    fn users_and_groups_are_looked_up() {
        let root = from_words(List::Default, b"user:root:r--,group:root:r--").unwrap().unwrap();
        assert_eq!(root, [&VERSION[..], &[2, 0, 4, 0, 0, 0, 0, 0, 8, 0, 4, 0, 0, 0, 0, 0]].concat());
        let unknown = from_words(List::Default, b"user:nobody-knows:r--").unwrap_err();
        assert_eq!(unknown, "its access control list names nobody-knows, who is not known here");
    }

    #[test]
    fn malformed_entries_are_refused() {
        for bad in ["user", "user:", "user::rwz", "user::rw", "mask:7:rwx", "x::rwx"] {
            assert!(from_words(List::Access, bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
