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
        self.next_used(bytes, from).map(|slot| self.entry(bytes, slot).ok_or(slot)).transpose()
    }

    /// The first entry at or behind slot `from` that has a hash. Of those before it only the lengths are looked at.
    pub(crate) fn next_of<'a>(
        &self,
        bytes: &'a [u8],
        mut from: u32,
        hash: u32,
    ) -> Result<Option<Dentry<'a>>, u32> {
        let entries = bytes.get(self.entries_at..self.names_at).unwrap_or_default();
        let entries = <[RawDentry]>::ref_from_bytes(entries).unwrap_or_default();
        while let Some(slot) = self.next_used(bytes, from) {
            let Some(raw) = entries.get(slot as usize) else { return Err(slot) };
            let slots = self.slots_of(raw, slot).ok_or(slot)?;
            if raw.hash_code.get() == hash {
                return self.entry(bytes, slot).ok_or(slot).map(Some);
            }
            from = slot + slots;
        }
        Ok(None)
    }

    /// The hashes of all entries; `Err` is the slot of one with too long a name.
    pub(crate) fn hashes(&self, bytes: &[u8]) -> Result<Vec<u32>, u32> {
        let (mut hashes, mut from) = (Vec::new(), 0);
        while let Some(dentry) = self.next(bytes, from)? {
            hashes.push(dentry.hash);
            from = dentry.slot + dentry.slots();
        }
        Ok(hashes)
    }

    /// The first slot of a gap of so many slots.
    pub(crate) fn gap(&self, bytes: &[u8], slots: u32) -> Option<u32> {
        let (mut start, mut slot) = (0, 0);
        while slot < self.slots {
            if slot.is_multiple_of(8) && bytes.get((slot / 8) as usize) == Some(&u8::MAX) {
                slot += 8;
                start = slot;
                continue;
            }
            slot += 1;
            if self.is_used(bytes, slot - 1) {
                start = slot;
            } else if slot - start >= slots {
                return Some(start);
            }
        }
        None
    }

    /// The first used slot at or behind slot `from`.
    fn next_used(&self, bytes: &[u8], from: u32) -> Option<u32> {
        let mut slot = from;
        while slot < self.slots {
            let bits = bytes.get((slot / 8) as usize).copied().unwrap_or_default() >> (slot % 8);
            if bits != 0 {
                slot += bits.trailing_zeros();
                return (slot < self.slots).then_some(slot);
            }
            slot = (slot / 8 + 1) * 8;
        }
        None
    }

    /// Slots of the entry in a slot; `None` if its name is empty, too long, or reaches beyond the last slot.
    fn slots_of(&self, raw: &RawDentry, slot: u32) -> Option<u32> {
        let length = usize::from(raw.name_len.get());
        let slots = slots(length);
        (length > 0 && length <= NAME_MAX && slots <= self.slots - slot).then_some(slots)
    }

    /// The entry in a slot; `None` if its name is empty, too long, or reaches beyond the last slot.
    pub fn entry<'a>(&self, bytes: &'a [u8], slot: u32) -> Option<Dentry<'a>> {
        let (raw, _) = RawDentry::read_from_prefix(bytes.get(self.entry_at(slot)..)?).ok()?;
        self.slots_of(&raw, slot)?;
        let name = bytes.get(self.name_at(slot)..)?.get(..usize::from(raw.name_len.get()))?;
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

    /// Entries by their hash, and gaps, are those that a look at each slot finds.
    #[test]
    fn entries_and_gaps_are_found_as_slot_by_slot() {
        let mut random = fastrand::Rng::with_seed(1);
        for round in 0..400_u32 {
            let bytes = if round % 2 == 0 { 4096 } else { 3488 };
            let (layout, mut block) = (DentryLayout::for_bytes(bytes), vec![0; bytes]);
            let name = [b'n'; NAME_MAX];
            for slot in 0..layout.slots {
                let name = &name[..random.usize(1..30)];
                let free = (slot..slot + slots(name.len())).all(|slot| !layout.is_used(&block, slot));
                let ends = slot + slots(name.len()) <= layout.slots;
                if free && ends && random.u32(..10) > round % 10 {
                    let hash = random.u32(..8);
                    layout.put(&mut block, &Dentry { slot, hash, ino: Nid(4), file_type: 1, name });
                }
            }
            for wanted in 1..8 {
                let is_free = |slot: &u32| (*slot..slot + wanted).all(|slot| !layout.is_used(&block, slot));
                assert_eq!(layout.gap(&block, wanted), (0..=layout.slots - wanted).find(is_free));
            }
            if round % 4 == 3 {
                // One of the names is too long, or none.
                let at = layout.entry_at(random.u32(..layout.slots)) + 8;
                block.get_mut(at..at + 2).unwrap().fill(if round % 8 == 3 { 0xff } else { 0 });
            }
            let (hash, mut plain, mut fast) = (random.u32(..8), 0, 0);
            loop {
                let mut found = layout.next(&block, plain);
                while let Ok(Some(dentry)) = found {
                    plain = dentry.slot + dentry.slots();
                    if dentry.hash == hash {
                        break;
                    }
                    found = layout.next(&block, plain);
                }
                assert_eq!(layout.next_of(&block, fast, hash), found);
                let Ok(Some(dentry)) = found else { break };
                fast = dentry.slot + dentry.slots();
            }
        }
    }

    #[test]
    fn blocks_and_inodes_have_the_slots_of_the_format() {
        let block = DentryLayout::for_block(BlockSize::KIB4);
        assert_eq!((block.slots, block.entry_at(0), block.name_at(0)), (214, 30, 30 + 2354));
        let inline = DentryLayout::for_bytes(3488);
        assert_eq!((inline.slots, inline.entry_at(0), inline.name_at(0)), (182, 30, 30 + 2002));
    }
}
