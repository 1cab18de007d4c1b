//! Extended attributes: one list that begins in the inode and goes on in a block of its own.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, little_endian::U16};

/// The first word of the list.
pub(crate) const XATTR_MAGIC: u32 = 0xf2f5_2011;
/// Bytes in front of the first entry: magic, count of references, four words unused.
const HEADER_BYTES: usize = 24;

/// The attribute that is the inode's [`Advise`](super::Advise), by which users call a file cold or hot. No list has it.
pub(crate) const ADVISE: &[u8] = b"system.advise";

/// The head of an entry, raw: 4 bytes. Name and value follow, then zeros to a multiple of 4.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Debug)]
#[repr(C)]
pub struct RawXattrEntry {
    /// Namespace.
    pub name_index: u8,
    /// Bytes of the name, which stands here without its namespace.
    pub name_len: u8,
    /// Bytes of the value.
    pub value_size: U16,
}

const _: () = assert!(size_of::<RawXattrEntry>() == 4);

/// The namespace of an attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum XattrSpace {
    /// `user.`
    User,
    /// `system.posix_acl_access`
    AclAccess,
    /// `system.posix_acl_default`
    AclDefault,
    /// `trusted.`
    Trusted,
    /// `security.`
    Security,
    /// The encryption policy of an inode; not shown.
    Encryption,
    /// The place of the fs-verity descriptor; not shown.
    Verity,
    /// Any other.
    Other(u8),
}

impl XattrSpace {
    /// The space of a number on the medium.
    pub fn from_index(index: u8) -> XattrSpace {
        match index {
            1 => XattrSpace::User,
            2 => XattrSpace::AclAccess,
            3 => XattrSpace::AclDefault,
            4 => XattrSpace::Trusted,
            6 => XattrSpace::Security,
            9 => XattrSpace::Encryption,
            11 => XattrSpace::Verity,
            other => XattrSpace::Other(other),
        }
    }

    /// The prefix of the names (an access control list has no other name); `None` if they are not shown.
    pub fn prefix(self) -> Option<&'static str> {
        match self {
            XattrSpace::User => Some("user."),
            XattrSpace::AclAccess => Some("system.posix_acl_access"),
            XattrSpace::AclDefault => Some("system.posix_acl_default"),
            XattrSpace::Trusted => Some("trusted."),
            XattrSpace::Security => Some("security."),
            XattrSpace::Encryption | XattrSpace::Verity | XattrSpace::Other(_) => None,
        }
    }

    /// The namespace of an attribute that programs may set, and the rest of its name; `None` if F2FS has no place for it.
    pub fn of_name(name: &[u8]) -> Option<(XattrSpace, &[u8])> {
        let lists = [XattrSpace::AclAccess, XattrSpace::AclDefault];
        if let Some(list) =
            lists.into_iter().find(|list| list.prefix().is_some_and(|all| all.as_bytes() == name))
        {
            return Some((list, &[]));
        }
        [XattrSpace::User, XattrSpace::Trusted, XattrSpace::Security].into_iter().find_map(|space| {
            let rest = name.strip_prefix(space.prefix()?.as_bytes())?;
            (!rest.is_empty()).then_some((space, rest))
        })
    }

    /// The number on the medium.
    pub fn index(self) -> u8 {
        match self {
            XattrSpace::User => 1,
            XattrSpace::AclAccess => 2,
            XattrSpace::AclDefault => 3,
            XattrSpace::Trusted => 4,
            XattrSpace::Security => 6,
            XattrSpace::Encryption => 9,
            XattrSpace::Verity => 11,
            XattrSpace::Other(other) => other,
        }
    }
}

/// An attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct XattrEntry<'a> {
    /// Namespace.
    pub space: XattrSpace,
    /// Name without it.
    pub name: &'a [u8],
    /// Value.
    pub value: &'a [u8],
}

impl XattrEntry<'_> {
    /// The head as it stands on the medium.
    pub fn to_raw(&self) -> RawXattrEntry {
        RawXattrEntry {
            name_index: self.space.index(),
            name_len: u8::try_from(self.name.len()).unwrap_or(u8::MAX),
            value_size: U16::new(u16::try_from(self.value.len()).unwrap_or(u16::MAX)),
        }
    }

    /// Bytes it takes on the medium.
    pub fn bytes(&self) -> usize {
        (size_of::<RawXattrEntry>() + self.name.len() + self.value.len()).next_multiple_of(4)
    }
}

/// All attributes of an inode: the part in the inode and the part in the block, joined.
#[derive(Clone, Debug, Default)]
pub struct XattrList {
    bytes: Vec<u8>,
}

impl XattrList {
    /// Joins the two parts. A list without its magic was never written, and is empty.
    pub fn new(inline: &[u8], block: &[u8]) -> XattrList {
        let bytes = [inline, block].concat();
        let magic = bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        if magic == Some(XATTR_MAGIC) { XattrList { bytes } } else { XattrList::default() }
    }

    /// The list of these entries, with the zeros that end it; empty if there are none.
    pub fn of(entries: &[XattrEntry<'_>]) -> XattrList {
        if entries.is_empty() {
            return XattrList::default();
        }
        let mut bytes = XATTR_MAGIC.to_le_bytes().to_vec();
        // A count of references, as the kernel writes it.
        bytes.extend_from_slice(&1_u32.to_le_bytes());
        bytes.resize(HEADER_BYTES, 0);
        for entry in entries {
            bytes.extend_from_slice(entry.to_raw().as_bytes());
            bytes.extend_from_slice(entry.name);
            bytes.extend_from_slice(entry.value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes.extend_from_slice(&[0; 4]);
        XattrList { bytes }
    }

    /// The entries, in their order. `Err` is the offset in bytes of one that reaches beyond the end.
    pub fn entries(&self) -> impl Iterator<Item = Result<XattrEntry<'_>, usize>> {
        let mut at = HEADER_BYTES;
        core::iter::from_fn(move || {
            let rest = self.bytes.get(at..)?;
            let (raw, body) = RawXattrEntry::read_from_prefix(rest).ok()?;
            if raw.as_bytes() == [0; 4] {
                return None;
            }
            let here = at;
            let entry = entry(raw, body);
            // After a broken entry nothing can be found.
            at = entry.map_or(usize::MAX, |entry| here.saturating_add(entry.bytes()));
            Some(entry.ok_or(here))
        })
    }

    /// The byte behind the last entry.
    pub fn end(&self) -> usize {
        let entries = self.entries().map_while(Result::ok);
        HEADER_BYTES + entries.map(|entry| entry.bytes()).sum::<usize>()
    }

    /// As it stands on the medium.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

fn entry(raw: RawXattrEntry, body: &[u8]) -> Option<XattrEntry<'_>> {
    let (name, rest) = body.split_at_checked(usize::from(raw.name_len))?;
    let value = rest.get(..usize::from(raw.value_size.get()))?;
    Some(XattrEntry { space: XattrSpace::from_index(raw.name_index), name, value })
}
