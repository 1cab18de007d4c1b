//! Section 2.1 and figure 3: the `InodeMapBlock`, which lists the inode-stored blocks of a volume that was unmounted, and
//! the `InodeBlockHash`, the same in memory.
//!
//! The list has the blocks' numbers, ascending, 2 bytes each, from the first page of its block on.

use pumice_media::NandError;
use pumice_vfs::Result;

use crate::flash::Flash;
use crate::spare::MapMark;
use pumice_common::chip;

/// `InodeBlockHash`: the inode-stored blocks; the key is the block's number modulo the number of rows.
pub(crate) struct InodeBlockHash {
    rows: Vec<Vec<u16>>,
}

/// Rows of the hash.
const ROWS: usize = 64;

impl InodeBlockHash {
    pub(crate) fn new() -> InodeBlockHash {
        InodeBlockHash { rows: vec![Vec::new(); ROWS] }
    }

    fn row(&mut self, block: u32) -> Option<(&mut Vec<u16>, u16)> {
        let number = u16::try_from(block).ok()?;
        Some((self.rows.get_mut(usize::from(number) % ROWS)?, number))
    }

    /// A block was allocated for inodes.
    pub(crate) fn insert(&mut self, block: u32) {
        if let Some((row, number)) = self.row(block)
            && !row.contains(&number)
        {
            row.push(number);
        }
    }

    /// A block was reclaimed.
    pub(crate) fn remove(&mut self, block: u32) {
        if let Some((row, number)) = self.row(block) {
            row.retain(|kept| *kept != number);
        }
    }

    /// All of them, ascending.
    pub(crate) fn blocks(&self) -> Vec<u16> {
        let mut all: Vec<u16> = self.rows.iter().flatten().copied().collect();
        all.sort_unstable();
        all
    }
}

/// The inode-stored blocks that the `InodeMapBlock` lists; `None` if the last mount did not end with an unmount.
pub(crate) fn read(flash: &mut Flash<'_>, block: u32) -> Result<Option<Vec<u32>>> {
    let layout = flash.layout();
    if flash.is_bad(block)? {
        return Ok(None);
    }
    let mut listed: Vec<u32> = Vec::new();
    let mut first: Option<MapMark> = None;
    for index in 0..layout.pages().min(256) {
        let raw = flash.read_raw(layout.addr(block, index))?;
        let number = u8::try_from(index).unwrap_or(u8::MAX);
        let mark = MapMark::decode(raw.spare, number, &raw.data).filter(|_| raw.readable);
        let Some(mark) = mark.filter(|mark| mark.unmounted && *first.get_or_insert(*mark) == *mark) else {
            return Ok(None);
        };
        let numbers = raw.data.chunks_exact(2).map(|two| u32::from(u16::from_le_bytes([two[0], two[1]])));
        listed.extend(numbers.take(usize::from(mark.blocks).saturating_sub(listed.len())));
        if index + 1 >= u32::from(mark.pages) {
            break;
        }
    }
    let sane = first.is_some_and(|mark| usize::from(mark.blocks) == listed.len())
        && listed.windows(2).all(|two| two[0] < two[1])
        && listed.last().is_none_or(|last| *last < layout.blocks());
    Ok(sane.then_some(listed))
}

/// Writes the list, at unmounting. Where that fails the next mount scans.
pub(crate) fn write(flash: &mut Flash<'_>, block: u32, hash: &InodeBlockHash) -> Result<()> {
    let layout = flash.layout();
    let blocks = hash.blocks();
    let each = layout.page_bytes() / 2;
    let pages = blocks.len().div_ceil(each).max(1);
    let (Ok(pages), Ok(count)) = (u8::try_from(pages), u16::try_from(blocks.len())) else { return Ok(()) };
    if u32::from(pages) > layout.pages() || flash.is_bad(block)? {
        return Ok(());
    }
    let mark = MapMark { unmounted: true, blocks: count, pages };
    for index in 0..pages {
        let mut page: Vec<u8> = blocks
            .iter()
            .skip(usize::from(index) * each)
            .take(each)
            .flat_map(|block| block.to_le_bytes())
            .collect();
        page.resize(layout.page_bytes(), 0xff);
        let spare = mark.encode(index, &page);
        match flash.program(layout.addr(block, u32::from(index)), &page, spare) {
            Ok(()) => {}
            // A block that is not whole is not believed, and erased by the next mount.
            Err(NandError::ProgramFailed(_)) => return Ok(()),
            Err(error) => return Err(chip(error)),
        }
    }
    Ok(())
}
