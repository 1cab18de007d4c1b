//! Android's list of owners, modes and capabilities ("canned fs_config"): a line for each path, `PATH UID GID MODE` with the
//! mode in octal, and `capabilities=NUMBER` where there are any. Paths begin with the mount point.

use std::path::Path;

use pumice_f2fs::mkfs::{EntryId, Tree};

use super::manifest;
use crate::failure::{Failure, Outcome};

/// The attribute that holds capabilities, and the head of its second revision with the bit "effective".
const CAPABILITIES: &[u8] = b"security.capability";
const REVISION_2_EFFECTIVE: u32 = 0x0200_0001;

/// Changes a tree by a list with paths that begin with `mount_point`. Returns a warning of paths that are not in the tree.
pub(crate) fn apply(path: &Path, mount_point: &str, tree: &mut Tree) -> Outcome<Option<String>> {
    let text = manifest::read(path)?;
    let mount_point = mount_point.trim_matches('/');
    let mut missing = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let failed = |what: String| Failure::new(format!("{}: line {number}: {what}", path.display()));
        if !line.trim().is_empty() && !line.starts_with('#') {
            let found = entry(tree, mount_point, line).map_err(failed)?;
            missing.extend((!found).then_some((number, line)));
        }
    }
    Ok(missing.first().map(|(number, line)| {
        let (name, _) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let others = match missing.len() {
            1 => String::new(),
            count => format!("; {} more", count - 1),
        };
        format!("{}: line {number}: `{name}` is not in the tree{others}", path.display())
    }))
}

/// Changes an entry; false if there is none of that path.
fn entry(tree: &mut Tree, mount_point: &str, line: &str) -> Result<bool, String> {
    // The root has an empty name.
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [uid, gid, mode, extra @ ..] = words.as_slice() else {
        return Err(format!("`{line}` is incomplete (want PATH UID GID MODE)"));
    };
    let number = |what: &str, text: &str| text.parse().map_err(|_| format!("invalid {what} `{text}`"));
    let (uid, gid) = (number("user", uid)?, number("group", gid)?);
    let perm = u32::from_str_radix(mode, 8).ok().filter(|perm| *perm < 0o10000);
    let perm = perm.ok_or_else(|| format!("invalid mode `{mode}` (want octal digits)"))?;
    let mut capabilities = 0;
    for word in extra {
        let value = word.strip_prefix("capabilities=").ok_or_else(|| format!("unknown word `{word}`"))?;
        capabilities = mask(value).ok_or_else(|| format!("invalid capabilities `{value}`"))?;
    }
    let found = find(tree, mount_point, name).and_then(|found| tree.attributes_mut(found));
    let Some(what) = found else { return Ok(false) };
    (what.uid, what.gid, what.perm) = (uid, gid, perm);
    if capabilities != 0 {
        what.xattrs.insert(CAPABILITIES.into(), stored(capabilities));
    }
    Ok(true)
}

fn find(tree: &Tree, mount_point: &str, name: &str) -> Option<EntryId> {
    let name = name.trim_matches('/');
    let below = match name.strip_prefix(mount_point) {
        Some(rest) if rest.is_empty() || mount_point.is_empty() || rest.starts_with('/') => rest,
        // Roots are listed without the mount point, too.
        _ if name.is_empty() => name,
        _ => return None,
    };
    let mut names = below.split('/').filter(|name| !name.is_empty());
    names.try_fold(EntryId::ROOT, |dir, name| tree.find(dir, name.as_bytes()))
}

fn mask(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Permitted capabilities as Linux keeps them: lower half, nothing inheritable, upper half, nothing inheritable.
fn stored(mask: u64) -> Vec<u8> {
    let halves = mask.to_le_bytes();
    let (low, high) = halves.split_at(4);
    [&REVISION_2_EFFECTIVE.to_le_bytes(), low, &[0; 4], high, &[0; 4]].concat()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pumice_f2fs::mkfs::Attributes;
    use pumice_vfs::Timestamp;

    use super::*;

    fn applied(text: &str, mount_point: &str) -> Result<(Tree, Option<String>), String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        let dir = Attributes::directory(0o700, 7, 7, Timestamp::default());
        let mut tree = Tree::new(dir.clone());
        let bin = tree.add(EntryId::ROOT, b"bin", dir.clone()).unwrap();
        tree.add(bin, b"ping", dir).unwrap();
        let applied = apply(file.path(), mount_point, &mut tree);
        applied.map(|warning| (tree, warning)).map_err(|failure| failure.to_string())
    }

    #[test]
    fn owners_modes_and_capabilities_are_set() {
        let text = " 0 0 755\nsystem 0 0 0755\nsystem/bin 0 2000 751\nsystem/bin/ping 0 1 0750 capabilities=0x2000\n";
        for (text, mount_point) in
            [(text.to_owned(), "/system"), (text.replace("system/", "").replace("system 0 0 0755\n", ""), "")]
        {
            let (tree, warning) = applied(&text, mount_point).unwrap();
            assert_eq!(warning, None);
            let root = tree.attributes(EntryId::ROOT).unwrap();
            assert_eq!((root.uid, root.gid, root.perm), (0, 0, 0o755));
            let bin = tree.find(EntryId::ROOT, b"bin").unwrap();
            assert_eq!(tree.attributes(bin).unwrap().gid, 2000);
            let ping = tree.attributes(tree.find(bin, b"ping").unwrap()).unwrap();
            assert_eq!((ping.gid, ping.perm), (1, 0o750));
            // As `setcap cap_net_raw=ep` leaves it.
            let kept: [u8; 20] = [1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            assert_eq!(ping.xattrs[CAPABILITIES], kept);
        }
    }

    /// Lists are longer than trees: other images are made by them, too.
    #[test]
    fn paths_that_are_not_there_are_told_in_one_line() {
        let (tree, warning) = applied("\nsystem/none 0 0 755\nsystem/bin 0 1 755", "system").unwrap();
        assert!(warning.unwrap().ends_with("line 2: `system/none` is not in the tree"));
        assert_eq!(tree.attributes(tree.find(EntryId::ROOT, b"bin").unwrap()).unwrap().gid, 1);
        let (_, warning) = applied("systemd 0 0 755\nx 0 0 755\ny 0 0 755", "system").unwrap();
        assert!(warning.unwrap().ends_with("line 1: `systemd` is not in the tree; 2 more"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, word) in [
            ("\nsystem/none 0 0", "line 2: `system/none 0 0` is incomplete"),
            ("system/none 0 0 888", "invalid mode"),
            ("system/bin 0 0", "incomplete"),
            ("system/bin x 0 755", "invalid user `x`"),
            ("system/bin 0 -1 755", "invalid group `-1`"),
            ("system/bin 0 0 888", "invalid mode `888`"),
            ("system/bin 0 0 10000", "invalid mode"),
            ("system/bin 0 0 755 selabel=x", "unknown word"),
            ("system/bin 0 0 755 capabilities=x", "invalid capabilities `x`"),
        ] {
            let said = applied(text, "system").err().unwrap();
            assert!(said.contains(word), "{said}");
        }
    }
}
