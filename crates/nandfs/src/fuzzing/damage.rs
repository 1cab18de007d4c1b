//! Damage to images that their checksums do not tell.

use alloc::{vec, vec::Vec};

use pumice_media::{BlockId, Nand, NandError, PageId};
use pumice_vfs::Result;

use super::{Choices, hostile};
use crate::error::device;
use crate::flash::{Flash, Peek};
use crate::mount::params_of;
use crate::params::Params;
use crate::tag::{ChunkKind, DESC_BYTES, LogKind, TAG_BYTES, Tag, seal};

/// The pages of a volume that hold something, by what they hold.
#[derive(Clone)]
pub struct Catalogue {
    params: Params,
    pages: Vec<(u32, Tag)>,
}

/// A log page as it lies on the chip.
#[derive(Clone)]
pub(super) struct Raw {
    /// Chunks, then descriptors for which the head has no room.
    payload: Vec<u8>,
    /// The tag, and the descriptors beside it.
    head: Vec<u8>,
}

impl Catalogue {
    /// Looks at every page of the volume.
    pub fn of<N: Nand>(nand: &mut N) -> Result<Catalogue> {
        let params = params_of(nand)?;
        let mut flash = Flash::new(nand, params);
        let mut pages = Vec::new();
        for block in 0..params.blocks {
            for index in 0..params.pages_per_block {
                let page = params.page(block, index);
                if flash.peek(page)? == Peek::Erased {
                    break;
                }
                if let Ok(found) = flash.read(page) {
                    pages.push((page, found.tag.clone()));
                }
            }
        }
        Ok(Catalogue { params, pages })
    }

    /// Does some damage to a copy of the volume.
    pub fn damage<N: Nand>(&self, nand: &mut N, choices: &mut Choices<'_>) -> Result<()> {
        for _ in 0..=choices.below(3) {
            match choices.below(16) {
                0 => self.swap(nand, choices)?,
                1 => self.edit(nand, choices, false, scratch)?,
                2 | 3 => self.edit(nand, choices, true, retag)?,
                4..=8 => self.edit(nand, choices, true, overwrite)?,
                9 => self.edit(nand, choices, true, blank)?,
                _ => self.edit(nand, choices, true, hostile::rewrite)?,
            }
        }
        Ok(())
    }

    /// A page, of the rarer kinds as often as of the others.
    fn pick(&self, choices: &mut Choices<'_>) -> Option<&(u32, Tag)> {
        let kind = choices.below(8);
        let fits = |tag: &Tag| match kind {
            0 => tag.log == LogKind::Anchor,
            1 | 2 => tag.log == LogKind::Checkpoint,
            3 => tag.descs.iter().any(|desc| desc.kind == ChunkKind::NodeTable),
            4 => tag.descs.iter().any(|desc| desc.kind == ChunkKind::BlockTable),
            5 | 6 => tag.descs.iter().any(|desc| desc.kind == ChunkKind::Node),
            _ => true,
        };
        let of_kind: Vec<&(u32, Tag)> = self.pages.iter().filter(|(_, tag)| fits(tag)).collect();
        // The newest are those that count.
        let newest = choices.place(of_kind.len()) % (choices.place(of_kind.len()) + 1);
        of_kind.iter().rev().nth(newest).copied()
    }

    fn edit<N: Nand>(
        &self,
        nand: &mut N,
        choices: &mut Choices<'_>,
        sealed: bool,
        change: impl Fn(&Params, &Tag, &mut Raw, &mut Choices<'_>),
    ) -> Result<()> {
        let Some((page, tag)) = self.pick(choices) else { return Ok(()) };
        self.rewrite(nand, *page, |raw| {
            change(&self.params, tag, raw, choices);
            if sealed {
                seal(&raw.payload, &mut raw.head);
            }
        })
    }

    fn swap<N: Nand>(&self, nand: &mut N, choices: &mut Choices<'_>) -> Result<()> {
        let (Some((one, _)), Some((other, _))) = (self.pick(choices), self.pick(choices)) else {
            return Ok(());
        };
        let mut kept = None;
        self.rewrite(nand, *one, |raw| kept = Some(raw.clone()))?;
        self.rewrite(nand, *other, |raw| {
            if let Some(kept) = &mut kept {
                core::mem::swap(raw, kept);
            }
        })?;
        self.rewrite(nand, *one, |raw| *raw = kept.take().unwrap_or_else(|| raw.clone()))
    }

    /// Changes a page: its block is erased and programmed anew.
    fn rewrite<N: Nand>(&self, nand: &mut N, page: u32, change: impl FnOnce(&mut Raw)) -> Result<()> {
        let (block, params) = (self.params.block_of(page), &self.params);
        let mut pages = Vec::new();
        for index in 0..params.pages_per_block {
            pages.push(self.read(nand, params.page(block, index))?);
        }
        if let Some(raw) = pages.get_mut((page % params.pages_per_block) as usize) {
            change(raw);
        }
        nand.erase(BlockId(block)).map_err(device)?;
        for (index, raw) in (0..).zip(&pages) {
            let blank = raw.payload.iter().chain(&raw.head).all(|byte| *byte == 0xff);
            if !blank {
                self.program(nand, params.page(block, index), raw)?;
            }
        }
        Ok(())
    }

    fn read<N: Nand>(&self, nand: &mut N, page: u32) -> Result<Raw> {
        let params = &self.params;
        let (mut payload, mut head) = (Vec::new(), Vec::new());
        for part in 0..params.gang {
            let mut data = vec![0; params.chip_page as usize];
            let mut spare = vec![0; params.spare as usize];
            match nand.read(PageId(page * params.gang + part), &mut data, &mut spare) {
                Ok(_) | Err(NandError::Uncorrectable(_)) => {}
                Err(error) => return Err(device(error)),
            }
            payload.append(&mut data);
            head.append(&mut spare);
        }
        if params.tag_in_spare {
            head.truncate((TAG_BYTES + params.spare_descs * DESC_BYTES) as usize);
        } else {
            head = payload.split_off(params.payload as usize);
        }
        Ok(Raw { payload, head })
    }

    fn program<N: Nand>(&self, nand: &mut N, page: u32, raw: &Raw) -> Result<()> {
        let params = &self.params;
        let mut data = raw.payload.clone();
        let mut spare = Vec::new();
        (if params.tag_in_spare { &mut spare } else { &mut data }).extend_from_slice(&raw.head);
        spare.resize((params.spare * params.gang) as usize, 0xff);
        let parts = data.chunks(params.chip_page as usize).zip(spare.chunks(params.spare.max(1) as usize));
        for (part, (data, spare)) in (0..params.gang).zip(parts) {
            let done = nand.program(PageId(page * params.gang + part), data, spare);
            done.map_err(device)?;
        }
        Ok(())
    }
}

/// Bytes that nothing sealed.
fn scratch(_: &Params, _: &Tag, raw: &mut Raw, choices: &mut Choices<'_>) {
    for _ in 0..=choices.below(8) {
        let bytes = if choices.below(2) == 0 { &mut raw.payload } else { &mut raw.head };
        let place = choices.place(bytes.len());
        if let Some(byte) = bytes.get_mut(place) {
            *byte = byte.wrapping_add(1);
        }
    }
}

/// Bytes of the tag.
fn retag(params: &Params, _: &Tag, raw: &mut Raw, choices: &mut Choices<'_>) {
    let last = raw.head.len();
    put_edge(params, &mut raw.head, 0..last, choices);
}

/// Numbers in a chunk.
fn overwrite(params: &Params, tag: &Tag, raw: &mut Raw, choices: &mut Choices<'_>) {
    let place = choices.place(tag.descs.len());
    let Some((start, desc)) = tag.chunks().nth(place) else { return };
    let start = usize::from(start);
    // What comes first weighs most.
    let length = usize::from(desc.len) / [1, 2, 8, 16].get(choices.place(4)).copied().unwrap_or(1);
    for _ in 0..=choices.below(4) {
        put_edge(params, &mut raw.payload, start..start + length, choices);
    }
}

/// A chunk that ends early, or holds one thing all over.
fn blank(_: &Params, tag: &Tag, raw: &mut Raw, choices: &mut Choices<'_>) {
    let place = choices.place(tag.descs.len());
    let Some((start, desc)) = tag.chunks().nth(place) else { return };
    let (start, length) = (usize::from(start), usize::from(desc.len));
    let from = start + choices.place(length) * choices.place(2);
    let pattern = choices.edge(&[]).to_le_bytes();
    let bytes = raw.payload.get_mut(from..start + length).unwrap_or_default();
    bytes.iter_mut().zip(pattern.iter().cycle()).for_each(|(to, from)| *to = *from);
}

fn put_edge(params: &Params, bytes: &mut [u8], range: core::ops::Range<usize>, choices: &mut Choices<'_>) {
    let place = range.start + choices.place(range.len());
    let width = [1, 2, 4, 4].get(choices.place(4)).copied().unwrap_or(1);
    let value = choices.edge(&[params.blocks, params.pages(), params.payload]).to_le_bytes();
    let bytes = bytes.get_mut(place..).unwrap_or_default();
    bytes.iter_mut().zip(value).take(width).for_each(|(to, from)| *to = from);
}

impl Raw {
    /// Puts a record in place of a chunk, cut off where that ends.
    pub(super) fn replace(&mut self, start: u16, length: u16, record: &[u8]) {
        let start = usize::from(start);
        let bytes = self.payload.get_mut(start..start + usize::from(length)).unwrap_or_default();
        bytes.fill(0);
        bytes.iter_mut().zip(record).for_each(|(to, from)| *to = *from);
    }

    pub(super) fn chunk(&self, start: u16, length: u16) -> &[u8] {
        let start = usize::from(start);
        self.payload.get(start..start + usize::from(length)).unwrap_or_default()
    }
}
