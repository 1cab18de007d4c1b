//! Directory entries, in a block of their own or inside an inode: a bitmap of used slots, the entries, the names
//! in pieces of 8 bytes.

use pumice_vfs::FileKind;
use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32},
};

use super::{BlockSize, Nid};

/// Bytes of a name that a slot holds.
pub const DIR_SLOT_BYTES: usize = 8;
/// Longest name in bytes.
pub(crate) const NAME_MAX: usize = 255;

/// Raw: 11 bytes.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Debug, Default)]
#[repr(C)]
pub struct RawDentry {
    /// Hash of the name.
    pub hash_code: U32,
    /// The inode.
    pub ino: U32,
    /// Bytes of the name.
    pub name_len: U16,
    /// The kind: 1 file, 2 directory, 3 character device, 4 block device, 5 FIFO, 6 socket, 7 symbolic link.
    pub file_type: u8,
}

const _: () = assert!(size_of::<RawDentry>() == 11);

/// A directory entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dentry<'a> {
    /// Its first slot.
    pub slot: u32,
    /// Hash of the name.
    pub hash: u32,
    /// The inode.
    pub ino: Nid,
    /// The kind: 1 file, 2 directory, 3 character device, 4 block device, 5 FIFO, 6 socket, 7 symbolic link.
    pub file_type: u8,
    /// The name.
    pub name: &'a [u8],
}

impl Dentry<'_> {
    /// The entry as it stands on the medium, without the name.
    pub fn to_raw(&self) -> RawDentry {
        RawDentry {
            hash_code: U32::new(self.hash),
            ino: U32::new(self.ino.0),
            name_len: U16::new(u16::try_from(self.name.len()).unwrap_or(u16::MAX)),
            file_type: self.file_type,
        }
    }

    /// Slots it takes.
    pub fn slots(&self) -> u32 {
        slots(self.name.len())
    }
}

/// The number of an inode's kind in an entry.
pub(crate) fn file_type(kind: FileKind) -> u8 {
    match kind {
        FileKind::File => 1,
        FileKind::Dir => 2,
        FileKind::CharDevice => 3,
        FileKind::BlockDevice => 4,
        FileKind::Fifo => 5,
        FileKind::Socket => 6,
        FileKind::Symlink => 7,
    }
}

/// The kind of inode that an entry says.
pub(crate) fn file_kind(file_type: u8) -> FileKind {
    match file_type {
        2 => FileKind::Dir,
        3 => FileKind::CharDevice,
        4 => FileKind::BlockDevice,
        5 => FileKind::Fifo,
        6 => FileKind::Socket,
        7 => FileKind::Symlink,
        _ => FileKind::File,
    }
}

fn slots(name_bytes: usize) -> u32 {
    u32::try_from(name_bytes.div_ceil(DIR_SLOT_BYTES)).unwrap_or(u32::MAX)
}

/// The places of the parts of a directory block, or of an inline directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DentryLayout {
    /// Slots.
    pub slots: u32,
    entries_at: usize,
    names_at: usize,
}

impl DentryLayout {
    /// The layout of `bytes` bytes: as many slots as fit with their bits; the rest stands behind the bitmap.
    pub fn for_bytes(bytes: usize) -> DentryLayout {
        let per_slot = size_of::<RawDentry>() + DIR_SLOT_BYTES;
        let slots = bytes * 8 / (per_slot * 8 + 1);
        let names_at = bytes - slots * DIR_SLOT_BYTES;
        let entries_at = names_at - slots * size_of::<RawDentry>();
        DentryLayout { slots: u32::try_from(slots).unwrap_or(0), entries_at, names_at }
    }

    /// The layout of a directory block.
    pub fn for_block(size: BlockSize) -> DentryLayout {
        DentryLayout::for_bytes(size.width())
    }

    /// The beginning of a slot's entry.
    pub fn entry_at(&self, slot: u32) -> usize {
        self.entries_at + slot as usize * size_of::<RawDentry>()
    }

    /// The beginning of a slot's piece of name.
    pub fn name_at(&self, slot: u32) -> usize {
        self.names_at + slot as usize * DIR_SLOT_BYTES
    }

    /// True if a slot is used.
    pub fn is_used(&self, bytes: &[u8], slot: u32) -> bool {
        bytes.get((slot / 8) as usize).is_some_and(|byte| byte & (1 << (slot % 8)) != 0)
    }

    /// Marks a slot as used or free.
    pub fn set_used(&self, bytes: &mut [u8], slot: u32, used: bool) {
        if let Some(byte) = bytes.get_mut((slot / 8) as usize) {
            let bit = 1 << (slot % 8);
            *byte = if used { *byte | bit } else { *byte & !bit };
        }
    }

    /// Writes an entry into its slots, which must be free.
    pub fn put(&self, bytes: &mut [u8], dentry: &Dentry<'_>) {
        debug_assert!(dentry.slot + dentry.slots() <= self.slots && !dentry.name.is_empty());
        let (entry, name) = (self.entry_at(dentry.slot), self.name_at(dentry.slot));
        if let Some(place) = bytes.get_mut(entry..entry + size_of::<RawDentry>()) {
            place.copy_from_slice(dentry.to_raw().as_bytes());
        }
        if let Some(place) = bytes.get_mut(name..name + dentry.name.len()) {
            place.copy_from_slice(dentry.name);
        }
        for slot in dentry.slot..dentry.slot + dentry.slots() {
            debug_assert!(!self.is_used(bytes, slot));
            self.set_used(bytes, slot, true);
        }
    }

    /// The first entry at or behind slot `from`; `Err` is the slot of one with too long a name. The caller goes on at
    /// [`Dentry::slot`] + [`Dentry::slots`].
    pub fn next<'a>(&self, bytes: &'a [u8], from: u32) -> Result<Option<Dentry<'a>>, u32> {
        let mut slot = from;
        while slot < self.slots {
            let bits = bytes.get((slot / 8) as usize).copied().unwrap_or_default() >> (slot % 8);
            if bits == 0 {
                slot = (slot / 8 + 1) * 8;
                continue;
            }
            slot += bits.trailing_zeros();
            if slot < self.slots {
                return self.entry(bytes, slot).ok_or(slot).map(Some);
            }
        }
        Ok(None)
    }

    /// The entry in a slot; `None` if its name is empty, too long, or reaches beyond the last slot.
    pub fn entry<'a>(&self, bytes: &'a [u8], slot: u32) -> Option<Dentry<'a>> {
        let (raw, _) = RawDentry::read_from_prefix(bytes.get(self.entry_at(slot)..)?).ok()?;
        let length = usize::from(raw.name_len.get());
        if length == 0 || length > NAME_MAX || slots(length) > self.slots - slot {
            return None;
        }
        let name = bytes.get(self.name_at(slot)..)?.get(..length)?;
        Some(Dentry {
            slot,
            hash: raw.hash_code.get(),
            ino: Nid(raw.ino.get()),
            file_type: raw.file_type,
            name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_inodes_have_the_slots_of_the_format() {
        let block = DentryLayout::for_block(BlockSize::KIB4);
        assert_eq!((block.slots, block.entry_at(0), block.name_at(0)), (214, 30, 30 + 2354));
        let inline = DentryLayout::for_bytes(3488);
        assert_eq!((inline.slots, inline.entry_at(0), inline.name_at(0)), (182, 30, 30 + 2002));
    }
}
