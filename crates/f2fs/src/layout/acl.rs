//! Access control lists: as they stand on the medium, and as programs see them.

const STORED_VERSION: [u8; 4] = [1, 0, 0, 0];
const SHOWN_VERSION: [u8; 4] = [2, 0, 0, 0];
/// Tags of entries that have an id on the medium: named users and named groups.
const NAMED: [[u8; 2]; 2] = [[0x02, 0], [0x08, 0]];

/// An access control list as it stands on the medium; `None` if it is none.
pub(crate) fn stored_acl(shown: &[u8]) -> Option<Vec<u8>> {
    let (version, entries) = shown.split_first_chunk::<4>()?;
    let (entries, rest) = entries.as_chunks::<8>();
    if *version != SHOWN_VERSION || !rest.is_empty() {
        return None;
    }
    let mut stored = STORED_VERSION.to_vec();
    for [low, high, perm @ .., a, b, c, d] in entries {
        stored.extend_from_slice(&[*low, *high]);
        stored.extend_from_slice(perm);
        if NAMED.contains(&[*low, *high]) {
            stored.extend_from_slice(&[*a, *b, *c, *d]);
        }
    }
    Some(stored)
}

/// An access control list as programs see it: every entry has an id. On the medium only those of named users
/// and groups have one, and the version is another.
pub(crate) fn shown_acl(stored: &[u8]) -> Option<Vec<u8>> {
    let (version, mut rest) = stored.split_first_chunk::<4>()?;
    if *version != STORED_VERSION {
        return None;
    }
    let mut shown = SHOWN_VERSION.to_vec();
    while let Some((head, more)) = rest.split_first_chunk::<4>() {
        shown.extend_from_slice(head);
        let [low, high, ..] = *head;
        if NAMED.contains(&[low, high]) {
            let (id, more) = more.split_first_chunk::<4>()?;
            shown.extend_from_slice(id);
            rest = more;
        } else {
            shown.extend_from_slice(&[0xff; 4]);
            rest = more;
        }
    }
    rest.is_empty().then_some(shown)
}
