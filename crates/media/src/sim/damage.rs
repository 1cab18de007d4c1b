//! The effects of operations that fail or lose power. Pure: contents in, contents out.

use alloc::vec;
use alloc::vec::Vec;

use crate::store::PageState;

/// A page as it is to be stored.
pub(super) struct Page {
    pub(super) state: PageState,
    pub(super) data: Vec<u8>,
    pub(super) spare: Vec<u8>,
}

impl Page {
    fn ones(state: PageState, data_bytes: usize, spare_bytes: usize) -> Page {
        Page { state, data: vec![0xFF; data_bytes], spare: vec![0xFF; spare_bytes] }
    }
}

/// The page after a program that stopped on its way: bits that should fall to 0 fall or stay 1, no others.
pub(super) fn torn(rng: &mut fastrand::Rng, data: &[u8], spare: &[u8], step_bytes: u32) -> Page {
    let mut page = Page::ones(PageState::Garbage, data.len(), spare.len());
    match rng.u8(..4) {
        0 => page.state = PageState::Spoiled,
        1 => {
            let step = step_bytes as usize;
            copy_prefix(&mut page.data, data, rng.usize(..=data.len() / step) * step);
            if rng.bool() {
                page.spare.copy_from_slice(spare);
            }
            let untouched = page.data.iter().chain(&page.spare).all(|byte| *byte == 0xFF);
            page.state = if untouched { PageState::Spoiled } else { PageState::Programmed };
        }
        2 => copy_prefix(&mut page.data, data, rng.usize(..=data.len())),
        _ => {
            fall_partly(rng, &mut page.data, data);
            fall_partly(rng, &mut page.spare, spare);
        }
    }
    page
}

/// Noise in place of a page. `readable` noise passes ECC.
pub(super) fn garbage(
    rng: &mut fastrand::Rng,
    data_bytes: usize,
    spare_bytes: usize,
    readable: bool,
) -> Page {
    let state = if readable { PageState::Programmed } else { PageState::Garbage };
    let mut page = Page::ones(state, data_bytes, spare_bytes);
    rng.fill(&mut page.data);
    rng.fill(&mut page.spare);
    page
}

fn copy_prefix(to: &mut [u8], from: &[u8], bytes: usize) {
    for (to, from) in to.iter_mut().zip(from).take(bytes) {
        *to = *from;
    }
}

fn fall_partly(rng: &mut fastrand::Rng, to: &mut [u8], want: &[u8]) {
    for (to, want) in to.iter_mut().zip(want) {
        *to = want | rng.u8(..);
    }
}

/// The state of one page of a block after its erase stopped.
#[derive(Clone, Copy)]
pub(super) enum Half {
    /// As it was.
    Kept,
    /// Noise beyond correction.
    Noise,
    /// Looks erased.
    LooksErased,
}

/// Decides for the whole block how far the erase came: not at all, here and there, or nearly done.
pub(super) fn halves(rng: &mut fastrand::Rng, pages: u32) -> impl Iterator<Item = Half> + '_ {
    let progress = rng.u8(..3);
    (0..pages).map(move |_| match (progress, rng.u8(..4)) {
        (0, _) | (1, 0) => Half::Kept,
        (1, 1) => Half::Noise,
        _ => Half::LooksErased,
    })
}
