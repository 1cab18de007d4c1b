//! Runs in a guest: holds a chip behind `/dev/mtdN` to the contract of `media::Nand`.
//!
//! ```text
//! guest-nand DEVICE contract PAGE+OOB:PAGES:BLOCKS FREE
//! guest-nand DEVICE contract-before-6.1 ...    the same by the calls of older kernels
//! guest-nand DEVICE bad [BLOCK...]        these blocks are bad, and no others
//! guest-nand DEVICE mark BLOCK            mark it bad
//! guest-nand DEVICE program-fails PAGE    programming this page fails, its block's other pages work
//! guest-nand DEVICE erase-fails BLOCK ERASES    it can be erased so often and no more
//! guest-nand DEVICE unreadable PAGE READS    after so many reads the page is beyond correction
//! guest-nand DEVICE program PAGE          erase its block and program it
//! guest-nand DEVICE lost PAGE FROM TO     these bytes of its data are beyond correction, and no others
//! guest-nand DEVICE lost-before-6.1 ...   the same by the calls of older kernels
//! guest-nand DEVICE corrects              wrong bits are corrected and counted
//! guest-nand DEVICE codes hamming|bch4|bch8    the driver's software ECC equals that of `flashlog`
//! ```

mod words;

use std::{ops::Range, process::ExitCode};

use pumice_ecc::Strength;
use pumice_flashlog::{PageCode, SoftwareCode};
use pumice_media::{BlockId, Geometry, MediaError, MtdChip, Nand, NandError, PageId, ReadOutcome};
use words::Outcome;

fn main() -> ExitCode {
    words::run("guest-nand", run)
}

fn run(words: &[&str]) -> Outcome {
    let [device, verb, rest @ ..] = words else { return Err("want DEVICE VERB".into()) };
    let mut chip = MtdChip::open(device, false)?;
    match (*verb, rest) {
        ("contract", [shape, free]) => contract(device, &mut chip, shape, free.parse()?),
        ("contract-before-6.1", [shape, free]) => {
            chip.read_as_before_linux_6_1();
            contract(device, &mut chip, shape, free.parse()?)
        }
        ("bad", blocks) => only_bad(&mut chip, &numbers(blocks)?),
        ("mark", [block]) => mark(&mut chip, BlockId(block.parse()?)),
        ("program-fails", [page]) => program_fails(&mut chip, PageId(page.parse()?)),
        ("erase-fails", [block, erases]) => erase_fails(&mut chip, BlockId(block.parse()?), erases.parse()?),
        ("unreadable", [page, reads]) => unreadable(&mut chip, PageId(page.parse()?), reads.parse()?),
        ("program", [page]) => program(&mut chip, PageId(page.parse()?)),
        ("lost", [page, from, to]) => lost(&mut chip, PageId(page.parse()?), from.parse()?..to.parse()?),
        ("lost-before-6.1", [page, from, to]) => {
            chip.read_as_before_linux_6_1();
            lost(&mut chip, PageId(page.parse()?), from.parse()?..to.parse()?)
        }
        ("corrects", []) => corrects(&mut chip),
        ("codes", ["hamming"]) => codes(&mut chip, SoftwareCode::Hamming),
        ("codes", ["bch4"]) => codes(&mut chip, SoftwareCode::Bch(Strength::Four)),
        ("codes", ["bch8"]) => codes(&mut chip, SoftwareCode::Bch(Strength::Eight)),
        _ => Err("no such verb, or not its arguments".into()),
    }
}

fn numbers(words: &[&str]) -> Result<Vec<u32>, std::num::ParseIntError> {
    words.iter().map(|word| word.parse()).collect()
}

/// Fails with words unless two things are the same.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, want: &T) -> Outcome {
    if found == want { Ok(()) } else { Err(format!("{what}: {found:?}, want {want:?}").into()) }
}

/// The content of a page, different for each.
struct Content {
    data: Vec<u8>,
    spare: Vec<u8>,
}

impl Content {
    fn blank(geometry: &Geometry) -> Content {
        let (data, spare) = (geometry.page_bytes as usize, geometry.free_spare_bytes as usize);
        Content { data: vec![0xFF; data], spare: vec![0xFF; spare] }
    }

    fn of(geometry: &Geometry, page: PageId) -> Content {
        let mut content = Content::blank(geometry);
        let mut state = page.0.wrapping_mul(2_654_435_761) | 1;
        for byte in content.data.iter_mut().chain(&mut content.spare) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            [*byte, ..] = state.to_le_bytes();
        }
        content
    }

    fn program(&self, chip: &mut MtdChip, page: PageId) -> Result<(), NandError> {
        chip.program(page, &self.data, &self.spare)
    }

    /// The page reads as this, whole and by its spare area alone.
    fn is_in(&self, chip: &mut MtdChip, page: PageId) -> Outcome {
        let mut found = Content::of(&chip.geometry(), PageId(page.0 + 1));
        chip.read(page, &mut found.data, &mut found.spare)?;
        let spare = found.spare.clone();
        found.spare.fill(0x5A);
        chip.read_spare(page, &mut found.spare)?;
        same(&format!("data of page {}", page.0), &found.data, &self.data)?;
        same(&format!("spare area of page {} read with it", page.0), &spare, &self.spare)?;
        same(&format!("spare area of page {} read alone", page.0), &found.spare, &self.spare)
    }
}

fn contract(device: &str, chip: &mut MtdChip, shape: &str, free: u32) -> Outcome {
    let g = chip.geometry();
    let found = format!("{}+{}:{}:{}", g.page_bytes, g.spare_bytes, g.pages_per_block, g.blocks);
    same("shape", &found.as_str(), &shape)?;
    same("free spare bytes", &g.free_spare_bytes, &free)?;
    let last = g.blocks - 1;
    for block in [0, 1, last] {
        erased_and_programmed(chip, BlockId(block))?;
    }
    gaps_are_allowed(chip, BlockId(2))?;
    neighbours_are_spared(chip, BlockId(3))?;
    rules(chip)?;
    same(
        "a second writer is refused",
        &matches!(MtdChip::open(device, false), Err(MediaError::Busy { .. })),
        &true,
    )
}

/// Erases a block, programs all its pages, reads them, and erases it again.
fn erased_and_programmed(chip: &mut MtdChip, block: BlockId) -> Outcome {
    let g = chip.geometry();
    let pages = || (0..g.pages_per_block).map(move |index| g.page(block, index));
    chip.erase(block)?;
    for page in pages() {
        Content::blank(&g).is_in(chip, page)?;
        Content::of(&g, page).program(chip, page)?;
    }
    for page in pages().rev() {
        Content::of(&g, page).is_in(chip, page)?;
    }
    chip.erase(block)?;
    let mut blank = Content::of(&g, PageId(0));
    for page in pages() {
        let outcome = chip.read(page, &mut blank.data, &mut blank.spare)?;
        same("an erased page", &outcome, &ReadOutcome::Clean)?;
        Content::blank(&g).is_in(chip, page)?;
    }
    Ok(())
}

fn gaps_are_allowed(chip: &mut MtdChip, block: BlockId) -> Outcome {
    let g = chip.geometry();
    chip.erase(block)?;
    let last = g.page(block, g.pages_per_block - 1);
    for page in [g.page(block, 1), last] {
        Content::of(&g, page).program(chip, page)?;
    }
    Content::blank(&g).is_in(chip, g.page(block, 0))?;
    Content::of(&g, last).is_in(chip, last)
}

/// Erasing a block touches no other, and a page of zeros or ones is kept like any.
fn neighbours_are_spared(chip: &mut MtdChip, block: BlockId) -> Outcome {
    let g = chip.geometry();
    chip.erase(block)?;
    let zeros = Content { data: vec![0; g.page_bytes as usize], spare: vec![0; g.free_spare_bytes as usize] };
    zeros.program(chip, g.page(block, 0))?;
    Content::blank(&g).program(chip, g.page(block, 1))?;
    chip.erase(BlockId(block.0 - 1))?;
    chip.erase(BlockId(block.0 + 1))?;
    zeros.is_in(chip, g.page(block, 0))?;
    Content::blank(&g).is_in(chip, g.page(block, 1))
}

/// Wrong calls are refused and do nothing.
fn rules(chip: &mut MtdChip) -> Outcome {
    let g = chip.geometry();
    let content = Content::of(&g, PageId(0));
    let outside = g.page(BlockId(g.blocks), 0);
    let is_violation = |result| matches!(result, Err(NandError::Violation(..)));
    same("a page outside", &is_violation(content.program(chip, outside)), &true)?;
    same("a block outside", &is_violation(chip.erase(BlockId(g.blocks))), &true)?;
    let short = content.data.get(1..).unwrap_or_default();
    same("short data", &is_violation(chip.program(PageId(0), short, &content.spare)), &true)?;
    same("violations", &chip.stats().violations, &3)?;
    Content::blank(&g).is_in(chip, PageId(0))
}

fn only_bad(chip: &mut MtdChip, want: &[u32]) -> Outcome {
    let mut found = Vec::new();
    for block in 0..chip.geometry().blocks {
        if chip.is_bad(BlockId(block))? {
            found.push(block);
        }
    }
    same("bad blocks", &found.as_slice(), &want)
}

fn mark(chip: &mut MtdChip, block: BlockId) -> Outcome {
    same("bad before", &chip.is_bad(block)?, &false)?;
    chip.mark_bad(block)?;
    same("bad after", &chip.is_bad(block)?, &true)?;
    same("erase of a bad block", &chip.erase(block), &Err(NandError::EraseFailed(block)))
}

fn program_fails(chip: &mut MtdChip, weak: PageId) -> Outcome {
    let g = chip.geometry();
    let block = g.block_of(weak);
    chip.erase(block)?;
    for page in (0..g.pages_per_block).map(|index| g.page(block, index)) {
        let want = if page == weak { Err(NandError::ProgramFailed(page)) } else { Ok(()) };
        same("program", &Content::of(&g, page).program(chip, page), &want)?;
    }
    for page in (0..g.pages_per_block).map(|index| g.page(block, index)).filter(|page| *page != weak) {
        Content::of(&g, page).is_in(chip, page)?;
    }
    Ok(())
}

fn erase_fails(chip: &mut MtdChip, block: BlockId, erases: u32) -> Outcome {
    for _ in 0..erases {
        chip.erase(block)?;
    }
    same("erase", &chip.erase(block), &Err(NandError::EraseFailed(block)))
}

fn unreadable(chip: &mut MtdChip, page: PageId, reads: u32) -> Outcome {
    let g = chip.geometry();
    chip.erase(g.block_of(page))?;
    Content::of(&g, page).program(chip, page)?;
    let mut found = Content::blank(&g);
    for _ in 0..reads {
        chip.read(page, &mut found.data, &mut found.spare)?;
    }
    let answer = chip.read(page, &mut found.data, &mut found.spare);
    same("read", &answer, &Err(NandError::Uncorrectable(page)))?;
    let next = PageId(page.0 + 1);
    Content::of(&g, next).program(chip, next)?;
    Content::of(&g, next).is_in(chip, next)
}

fn program(chip: &mut MtdChip, page: PageId) -> Outcome {
    let g = chip.geometry();
    chip.erase(g.block_of(page))?;
    Ok(Content::of(&g, page).program(chip, page)?)
}

fn lost(chip: &mut MtdChip, page: PageId, want: Range<usize>) -> Outcome {
    let g = chip.geometry();
    let (content, mut found) = (Content::of(&g, page), Content::blank(&g));
    let answer = chip.read(page, &mut found.data, &mut found.spare);
    same("read", &answer, &Err(NandError::Uncorrectable(page)))?;
    let lost = chip.read_by_codeword(page, &mut found.data, &mut found.spare)?;
    same("lost bytes", &lost, &vec![want.clone()])?;
    same("spare area", &found.spare, &content.spare)?;
    for part in [0..want.start, want.end..content.data.len()] {
        same("other bytes", &found.data.get(part.clone()), &content.data.get(part))?;
    }
    Ok(())
}

/// A chip with a wrong bit in one read of a thousand: the bytes are right all the same, and the correction is told.
fn corrects(chip: &mut MtdChip) -> Outcome {
    let g = chip.geometry();
    chip.erase(BlockId(0))?;
    let content = Content::of(&g, PageId(0));
    content.program(chip, PageId(0))?;
    let mut found = Content::blank(&g);
    for _ in 0..50_000 {
        let outcome = chip.read(PageId(0), &mut found.data, &mut found.spare)?;
        same("data", &found.data, &content.data)?;
        if matches!(outcome, ReadOutcome::Corrected { bits: 1, .. }) {
            return Ok(());
        }
    }
    Err("no read was corrected".into())
}

/// The driver's spare area equals, byte for byte, that of the layer of `flashlog`.
fn codes(chip: &mut MtdChip, code: SoftwareCode) -> Outcome {
    let g = chip.geometry();
    let code = PageCode::new(code, &g)?;
    same("free bytes", &code.free().len(), &(g.free_spare_bytes as usize))?;
    chip.erase(BlockId(0))?;
    for page in (0..g.pages_per_block).map(|index| g.page(BlockId(0), index)) {
        let content = Content::of(&g, page);
        content.program(chip, page)?;
        let mut raw = vec![0; g.spare_bytes as usize];
        chip.read_raw_spare(page, &mut raw)?;
        let mut own = vec![0xff; raw.len()];
        own.iter_mut().skip(code.free().start).zip(&content.spare).for_each(|(to, from)| *to = *from);
        code.seal(&content.data, &mut own)?;
        same(&format!("spare area of page {}", page.0), &own, &raw)?;
    }
    Ok(())
}
