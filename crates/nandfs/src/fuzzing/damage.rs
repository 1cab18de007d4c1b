//! Damage to images that their checksums do not tell.

use alloc::vec::Vec;

use pumice_flashlog::{ANCHOR, ANCHOR_BLOCKS, CHECKPOINT, Medium, Peek, Roots, Shape, seal};
use pumice_media::{AnyChip, Nand};
use pumice_vfs::{Errno, Result};

use super::page::{Known, Raw};
use super::{Choices, hostile};
use crate::error::device;
use crate::mount::params_of;
use crate::params::Params;
use crate::superblock::{MAGIC, Superblock};
use crate::tag::{ChunkKind, Tag};

/// The programmed pages of a volume, by their contents.
#[derive(Clone)]
pub struct Catalogue {
    params: Params,
    pages: Vec<Known>,
}

impl Catalogue {
    /// Looks at every page of the volume.
    pub fn of(nand: &mut (dyn Nand + Send)) -> Result<Catalogue> {
        let chip = params_of(nand)?;
        let roots = Roots::find(&mut *nand, MAGIC).map_err(device)?.ok_or(Errno::Invalid)?;
        let params = Superblock::of(roots.anchor(), &nand.geometry(), nand.pairing())?.params(chip)?;
        let mut catalogue = Catalogue { params, pages: Vec::new() };
        for block in 0..params.blocks {
            let shape = catalogue.shape(nand, block);
            let mut medium = Medium::new(AnyChip::lend(&mut *nand), shape);
            for index in 0..shape.pages() {
                let page = shape.page(block, index);
                if medium.peek(page).map_err(device)? == Peek::Erased {
                    break;
                }
                let Some(found) = medium.read_proved(page).map_err(device)? else { continue };
                let (kind, tag) = (found.tag.kind, Tag::of(&found, &params.tags));
                if tag.is_some() || matches!(kind, ANCHOR | CHECKPOINT) {
                    catalogue.pages.push(Known { block, index, kind, tag });
                }
            }
        }
        Ok(catalogue)
    }

    /// Anchors have a shape of their own.
    fn shape(&self, nand: &dyn Nand, block: u32) -> Shape {
        let anchors = Shape::of_anchors(&nand.geometry()).filter(|_| block < ANCHOR_BLOCKS);
        anchors.unwrap_or(self.params.shape)
    }

    /// Does some damage to a copy of the volume.
    pub fn damage(&self, nand: &mut (dyn Nand + Send), choices: &mut Choices<'_>) -> Result<()> {
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

    /// A page, of rare kinds as often as of common ones.
    fn pick(&self, choices: &mut Choices<'_>) -> Option<&Known> {
        let kind = choices.below(8);
        let fits = |known: &&Known| match kind {
            0 => known.kind == ANCHOR,
            1 | 2 => known.kind == CHECKPOINT,
            3 => known.has(ChunkKind::NodeTable),
            4 => known.has(ChunkKind::BlockTable),
            5 | 6 => known.has(ChunkKind::Node),
            _ => true,
        };
        let of_kind: Vec<&Known> = self.pages.iter().filter(fits).collect();
        // The newest are those that count.
        let newest = choices.place(of_kind.len()) % (choices.place(of_kind.len()) + 1);
        of_kind.iter().rev().nth(newest).copied()
    }

    fn edit(
        &self,
        nand: &mut (dyn Nand + Send),
        choices: &mut Choices<'_>,
        sealed: bool,
        change: impl Fn(&Params, &Known, &mut Raw, &mut Choices<'_>),
    ) -> Result<()> {
        let Some(known) = self.pick(choices) else { return Ok(()) };
        let shape = self.shape(nand, known.block);
        self.rewrite(nand, known, |raw| {
            change(&self.params, known, raw, choices);
            if sealed {
                seal(&shape, shape.page(known.block, known.index), &raw.payload, &mut raw.head);
            }
        })
    }

    fn swap(&self, nand: &mut (dyn Nand + Send), choices: &mut Choices<'_>) -> Result<()> {
        let (Some(one), Some(other)) = (self.pick(choices), self.pick(choices)) else { return Ok(()) };
        if (one.kind == ANCHOR) != (other.kind == ANCHOR) {
            return Ok(());
        }
        let mut kept = None;
        self.rewrite(nand, one, |raw| kept = Some(raw.clone()))?;
        self.rewrite(nand, other, |raw| {
            if let Some(kept) = &mut kept {
                core::mem::swap(raw, kept);
            }
        })?;
        self.rewrite(nand, one, |raw| *raw = kept.take().unwrap_or_else(|| raw.clone()))
    }

    /// Changes a page: its block is erased and programmed anew.
    fn rewrite(
        &self,
        nand: &mut (dyn Nand + Send),
        known: &Known,
        change: impl FnOnce(&mut Raw),
    ) -> Result<()> {
        let (block, shape) = (known.block, self.shape(nand, known.block));
        let mut medium = Medium::new(AnyChip::lend(nand), shape);
        let mut pages = Vec::new();
        for index in 0..shape.pages() {
            let raw = medium.read_raw(shape.page(block, index)).map_err(device)?;
            pages.push(Raw { payload: raw.payload, head: raw.head });
        }
        if let Some(raw) = pages.get_mut(known.index as usize) {
            change(raw);
        }
        medium.erase(block).map_err(device)?;
        for (index, raw) in (0..).zip(&pages) {
            let blank = raw.payload.iter().chain(&raw.head).all(|byte| *byte == 0xff);
            if !blank {
                let done = medium.program_raw(shape.page(block, index), &raw.payload, &raw.head);
                done.map_err(device)?;
            }
        }
        Ok(())
    }
}

/// Changes bytes without a new seal.
fn scratch(_: &Params, _: &Known, raw: &mut Raw, choices: &mut Choices<'_>) {
    for _ in 0..=choices.below(8) {
        let bytes = if choices.below(2) == 0 { &mut raw.payload } else { &mut raw.head };
        let place = choices.place(bytes.len());
        if let Some(byte) = bytes.get_mut(place) {
            *byte = byte.wrapping_add(1);
        }
    }
}

/// Bytes of the tag.
fn retag(params: &Params, _: &Known, raw: &mut Raw, choices: &mut Choices<'_>) {
    let last = raw.head.len();
    put_edge(params, &mut raw.head, 0..last, choices);
}

/// Numbers in a chunk.
fn overwrite(params: &Params, known: &Known, raw: &mut Raw, choices: &mut Choices<'_>) {
    let Some((start, length, _)) = known.chunk(choices) else { return };
    let start = usize::from(start);
    // What comes first weighs most.
    let length = usize::from(length) / [1, 2, 8, 16].get(choices.place(4)).copied().unwrap_or(1);
    for _ in 0..=choices.below(4) {
        put_edge(params, &mut raw.payload, start..start + length, choices);
    }
}

/// Ends a chunk early, or fills it with one thing all over.
fn blank(_: &Params, known: &Known, raw: &mut Raw, choices: &mut Choices<'_>) {
    let Some((start, length, _)) = known.chunk(choices) else { return };
    let (start, length) = (usize::from(start), usize::from(length));
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
